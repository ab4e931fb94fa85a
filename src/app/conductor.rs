//! Owns the pollers: starts and stops them as the config says, and carries wanted reads to them. A store whose config
//! did not change keeps its connection through a reload.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::parts::Parts;
use super::sources::Sources;
use super::walker::Walker;
use crate::config::{Clock, Config, Store, WorkerGroup};
use crate::derive::{LivenessSource, ToRead, ToWatch, Wanted};
use crate::observe::{KeyId, Mono, Observation, StoreId};
use crate::poll::chrony::{self, ClocksHandle};
use crate::poll::redis::{self, StoreHandle};
use crate::poll::workers::{self, WorkerHandle};
use crate::poll::{Look, Out, TokenPid, WatchedWorker};

/// What the conductor is asked to do.
pub enum Errand {
    /// Poll what this config says; acknowledged when all pollers run.
    Apply(Arc<Config>, oneshot::Sender<()>),
    /// Make these reads.
    Wanted(Vec<Wanted>),
    /// Keep these keys watched for a while should they go.
    Keep(Vec<(StoreId, KeyId)>),
    /// Watch these workers, and read these sources.
    Watch(Vec<ToWatch>, Vec<ToRead>),
    /// Stop all pollers.
    Stop(oneshot::Sender<()>),
}

/// Where processes and cgroups are seen.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Mount of procfs.
    pub procfs: PathBuf,
    /// Mount of the cgroup file systems, if it is not where this process sees it.
    pub cgroupfs: Option<PathBuf>,
}

struct RunningStore {
    config: Arc<Store>,
    interval: Duration,
    sweep: Duration,
    retain: Duration,
    id: StoreId,
    handle: StoreHandle,
}

struct RunningWorkers {
    groups: Arc<Vec<WorkerGroup>>,
    interval: Duration,
    stall_poll: Duration,
    handle: WorkerHandle,
}

struct RunningClocks {
    clocks: Arc<Vec<Clock>>,
    interval: Duration,
    handle: ClocksHandle,
}

/// The pollers.
pub struct Conductor {
    out: Out,
    paths: Paths,
    stores: BTreeMap<String, RunningStore>,
    workers: Option<RunningWorkers>,
    clocks: Option<RunningClocks>,
    sockets: Walker,
    sources: Sources,
    parts: Parts,
    watched: Vec<ToWatch>,
    to_read: Vec<ToRead>,
    next_id: u32,
}

impl Conductor {
    /// No poller runs yet.
    pub fn new(out: Out, paths: Paths) -> Self {
        Self {
            sources: Sources::new(out.clone()),
            out,
            paths,
            stores: BTreeMap::new(),
            workers: None,
            clocks: None,
            sockets: Walker::default(),
            parts: Parts::default(),
            watched: Vec::new(),
            to_read: Vec::new(),
            next_id: 0,
        }
    }

    /// Runs errands until it is told to stop.
    pub async fn run(mut self, mut errands: mpsc::Receiver<Errand>) {
        while let Some(errand) = errands.recv().await {
            match errand {
                Errand::Apply(config, done) => {
                    self.apply(&config).await;
                    let _ = done.send(());
                }
                Errand::Wanted(wanted) => self.carry(wanted),
                Errand::Keep(keys) => self.keep(keys),
                Errand::Watch(workers, sources) => {
                    (self.watched, self.to_read) = (workers, sources);
                    self.watch();
                    self.sources.read(&self.to_read);
                }
                Errand::Stop(done) => {
                    self.stop().await;
                    let _ = done.send(());
                    return;
                }
            }
        }
    }

    async fn apply(&mut self, config: &Config) {
        let is_same = |r: &RunningStore| {
            r.interval == config.poll_interval
                && r.sweep == config.sweep_interval
                && r.retain == config.retain
                && config.stores.values().any(|s| **s == *r.config)
        };
        let stale: Vec<String> =
            self.stores.iter().filter(|(_, r)| !is_same(r)).map(|(n, _)| n.clone()).collect();
        for name in stale {
            let Some(running) = self.stores.remove(&name) else { continue };
            self.sources.let_go(running.id).await;
            running.handle.stop().await;
            if !config.stores.contains_key(&name) {
                let _ = self.out.send(Observation::StoreStopped { store: running.id }).await;
            }
        }
        for (name, store) in &config.stores {
            match self.stores.get(name) {
                // A reload is what people do after they granted a right.
                Some(running) => running.handle.retry_refused(),
                None => self.start_store(name, store, config),
            }
        }
        let handles = self.stores.iter().map(|(n, r)| (n.clone(), r.handle.clone())).collect();
        self.parts.set(handles);
        self.apply_workers(config).await;
        self.apply_clocks(config).await;
        self.sockets.apply(config, &self.paths.procfs, &self.out);
        let stores = &self.stores;
        let store = |name: &str| stores.get(name).map(|r| (r.id, r.handle.clone()));
        self.sources.apply(config, &self.parts, store).await;
        self.sources.read(&self.to_read);
    }

    fn start_store(&mut self, name: &str, store: &Arc<Store>, config: &Config) {
        self.next_id += 1;
        let id = StoreId(self.next_id);
        let settings = redis::Settings {
            poll_interval: config.poll_interval,
            sweep_interval: config.sweep_interval,
            retain: config.retain,
            shard: config.shard,
        };
        let handle = redis::spawn(store.clone(), id, settings, self.out.clone());
        let running = RunningStore {
            config: store.clone(),
            interval: config.poll_interval,
            sweep: config.sweep_interval,
            retain: config.retain,
            id,
            handle,
        };
        self.stores.insert(name.to_owned(), running);
    }

    async fn apply_workers(&mut self, config: &Config) {
        if let Some(running) = &self.workers
            && running.interval == config.poll_interval
            && running.stall_poll == config.stall_poll
            && running.groups == config.workers
        {
            return;
        }
        if let Some(running) = self.workers.take() {
            running.handle.stop().await;
        }
        if config.workers.is_empty() {
            return;
        }
        let settings = workers::Settings {
            poll_interval: config.poll_interval,
            stall_poll: config.stall_poll,
            procfs: self.paths.procfs.clone(),
            cgroupfs: self.paths.cgroupfs.clone(),
        };
        let parts = Arc::new(self.parts.clone());
        let handle = workers::spawn(config.workers.clone(), settings, parts, self.out.clone());
        self.workers = Some(RunningWorkers {
            groups: config.workers.clone(),
            interval: config.poll_interval,
            stall_poll: config.stall_poll,
            handle,
        });
        self.watch();
    }

    async fn apply_clocks(&mut self, config: &Config) {
        let is_same =
            |r: &RunningClocks| r.interval == config.poll_interval && r.clocks == config.clocks;
        if self.clocks.as_ref().is_some_and(is_same) {
            return;
        }
        if let Some(running) = self.clocks.take() {
            running.handle.stop().await;
        }
        if config.clocks.is_empty() {
            return;
        }
        let handle = chrony::spawn(config.clocks.clone(), config.poll_interval, self.out.clone());
        self.clocks = Some(RunningClocks {
            clocks: config.clocks.clone(),
            interval: config.poll_interval,
            handle,
        });
    }

    fn watch(&self) {
        let Some(running) = &self.workers else { return };
        let list = self.watched.iter().map(|w| WatchedWorker {
            name: w.name.clone(),
            group: w.group,
            token: w.token.clone().map(|(pid, host)| TokenPid { pid, host }),
        });
        running.handle.watch(list.collect());
    }

    fn carry(&self, wanted: Vec<Wanted>) {
        let mut keys: BTreeMap<(StoreId, Mono), Vec<KeyId>> = BTreeMap::new();
        let mut facts: BTreeSet<StoreId> = BTreeSet::new();
        for w in wanted {
            match w {
                Wanted::Key { store, key, at } => keys.entry((store, at)).or_default().push(key),
                Wanted::Facts { store } => {
                    facts.insert(store);
                }
                Wanted::Look { worker, what, at } => {
                    let what = match what {
                        LivenessSource::Process => Look::Process,
                        LivenessSource::Heartbeat => Look::Heartbeat,
                        // A list is read at its own pace.
                        LivenessSource::List => continue,
                    };
                    if let Some(running) = &self.workers {
                        running.handle.look(worker, what, at);
                    }
                }
            }
        }
        for running in self.stores.values().filter(|r| facts.contains(&r.id)) {
            running.handle.refresh_facts();
        }
        for ((store, at), keys) in keys {
            if let Some(running) = self.stores.values().find(|r| r.id == store) {
                running.handle.read_keys(keys, at);
            }
        }
    }

    fn keep(&self, keys: Vec<(StoreId, KeyId)>) {
        for running in self.stores.values() {
            let own = keys.iter().filter(|(store, _)| *store == running.id);
            let own: Vec<KeyId> = own.map(|(_, key)| *key).collect();
            if !own.is_empty() {
                running.handle.keep(own);
            }
        }
    }

    async fn stop(&mut self) {
        if let Some(running) = self.workers.take() {
            running.handle.stop().await;
        }
        if let Some(running) = self.clocks.take() {
            running.handle.stop().await;
        }
        self.sockets = Walker::default();
        self.sources.stop().await;
        for (_, running) in std::mem::take(&mut self.stores) {
            running.handle.stop().await;
        }
    }
}
