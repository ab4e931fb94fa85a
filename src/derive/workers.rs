//! All workers, bounded, and which group of the config serves each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::heartbeat::BeatRules;
use super::wanted::Effects;
use super::words::LivenessSource;
use super::worker::{Worker, beat_rules};
use crate::config::WorkerGroup;
use crate::observe::{KeyId, Mono, Owner, StoreId};

/// Workers by name.
#[derive(Clone, Debug)]
pub struct Workers {
    /// By name.
    pub by_name: BTreeMap<Arc<str>, Worker>,
    groups: Arc<Vec<WorkerGroup>>,
    most: usize,
    poll: Duration,
    retain: Duration,
    /// Locks of each store whose holder has no place here.
    pub dropped: BTreeMap<(StoreId, KeyId), ()>,
}

impl Workers {
    /// The configured workers.
    pub fn new(
        groups: Arc<Vec<WorkerGroup>>,
        most: usize,
        poll: Duration,
        retain: Duration,
        at: Mono,
    ) -> Self {
        let mut workers = Self {
            by_name: BTreeMap::new(),
            groups: Arc::new(Vec::new()),
            most,
            poll,
            retain,
            dropped: BTreeMap::new(),
        };
        workers.reconfigure(groups, most, poll, retain, at);
        workers
    }

    /// Takes a new config; what is known of workers that are still served stays.
    pub fn reconfigure(
        &mut self,
        groups: Arc<Vec<WorkerGroup>>,
        most: usize,
        poll: Duration,
        retain: Duration,
        at: Mono,
    ) {
        (self.most, self.poll, self.retain) = (most, poll, retain);
        let old = std::mem::replace(&mut self.groups, groups.clone());
        for w in self.by_name.values_mut() {
            let group = groups.iter().position(|g| g.serves(&w.name));
            let before = w.group.and_then(|g| old.get(g));
            let after = group.and_then(|g| groups.get(g));
            if before.map(|g| (&g.heartbeat, &g.process))
                != after.map(|g| (&g.heartbeat, &g.process))
            {
                w.heartbeat = Default::default();
                w.processes.clear();
            }
            w.group = group;
            w.is_configured = false;
        }
        for (i, group) in groups.iter().enumerate() {
            for name in &group.names {
                let w = self
                    .by_name
                    .entry(name.clone())
                    .or_insert_with(|| Worker::new(name.clone(), Some(i), true, at));
                w.is_configured = true;
            }
        }
        self.by_name.retain(|_, w| w.is_configured || !w.holds.is_empty());
    }

    /// The group that serves a worker.
    pub fn group(&self, worker: &Worker) -> Option<&WorkerGroup> {
        self.groups.get(worker.group?)
    }

    /// A worker with its group and beat rules.
    pub fn with_group(&self, name: &str) -> Option<(&Worker, &WorkerGroup, BeatRules)> {
        let worker = self.by_name.get(name)?;
        let group = self.group(worker)?;
        Some((worker, group, beat_rules(group, self.poll)))
    }

    /// A lock's new holder. Returns the worker's name, or `None` if it has none or there are too many.
    pub fn attach(
        &mut self,
        owner: &Owner,
        lock: (StoreId, KeyId),
        at: Mono,
        fx: &mut Effects,
    ) -> Option<Arc<str>> {
        self.dropped.remove(&lock);
        let name = owner.worker.clone()?;
        if !self.by_name.contains_key(&name) {
            if self.by_name.len() >= self.most {
                self.dropped.insert(lock, ());
                return None;
            }
            let group = self.groups.iter().position(|g| g.serves(&name));
            self.by_name.insert(name.clone(), Worker::new(name.clone(), group, false, at));
            fx.watch_changed = true;
        }
        let worker = self.by_name.get_mut(&name)?;
        worker.holds.insert(lock);
        worker.last_held = at;
        if let Some(pid) = owner.pid
            && worker.learn_token(pid, owner.host.clone(), at)
        {
            fx.watch_changed = true;
        }
        Some(name)
    }

    /// The holder lost or let go the lock.
    pub fn detach(&mut self, name: &str, lock: (StoreId, KeyId), at: Mono) {
        if let Some(w) = self.by_name.get_mut(name) {
            w.holds.remove(&lock);
            w.last_held = at;
        }
    }

    /// A lock has a new id.
    pub fn renumber(&mut self, old: (StoreId, KeyId), new: (StoreId, KeyId)) {
        for w in self.by_name.values_mut() {
            if w.holds.remove(&old) {
                w.holds.insert(new);
            }
        }
        if self.dropped.remove(&old).is_some() {
            self.dropped.insert(new, ());
        }
    }

    /// Forgets workers that the config does not name and that held nothing for the whole retention, and pids of old
    /// tokens.
    pub fn retire(&mut self, now: Mono, fx: &mut Effects) {
        let (retain, before) = (self.retain, self.by_name.len());
        self.by_name.retain(|_, w| {
            w.is_configured || !w.holds.is_empty() || now.since(w.last_held) < retain
        });
        fx.watch_changed |= self.by_name.len() != before;
        for w in self.by_name.values_mut() {
            let holds = !w.holds.is_empty();
            let newest = w.tokens.values().map(|(_, at)| *at).max();
            let before = w.tokens.len();
            w.tokens.retain(|_, (_, at)| Some(*at) == newest || (holds && now.since(*at) < retain));
            if w.tokens.len() != before {
                let tokens = &w.tokens;
                w.processes.retain(|pid, _| pid.is_none_or(|p| tokens.contains_key(&p)));
                fx.watch_changed = true;
            }
        }
    }

    /// How long after a renewal a look at this lost worker must begin to prove that it was lost all along.
    pub fn closing_look(&self, name: &str) -> Option<(Duration, LivenessSource)> {
        let (worker, _, rules) = self.with_group(name)?;
        if worker.heartbeat.loss().is_some() {
            let beat = Duration::from_secs_f64(worker.heartbeat.usual_beat(rules));
            return Some((beat, LivenessSource::Heartbeat));
        }
        let is_lost = worker.processes.values().any(|p| p.loss().is_some());
        is_lost.then_some((Duration::ZERO, LivenessSource::Process))
    }

    /// The usual beat of a worker.
    pub fn usual_beat(&self, name: &str) -> Duration {
        self.with_group(name).map_or_else(Duration::default, |(w, _, rules)| {
            Duration::from_secs_f64(w.heartbeat.usual_beat(rules))
        })
    }

    /// Whether a worker's heartbeat came back for good after a loss, or was never lost.
    pub fn has_returned(&self, name: Option<&Arc<str>>) -> bool {
        name.and_then(|n| self.by_name.get(n)).is_none_or(|w| w.heartbeat.has_returned())
    }

    /// Whether some live process other than this pid carries the worker's name.
    pub fn has_other_live(&self, name: &str, pid: Option<i32>) -> bool {
        pid.is_some() && self.by_name.get(name).is_some_and(|w| w.has_other_live(pid))
    }

    /// Locks of a store whose holder has no place.
    pub fn dropped_in(&self, store: StoreId) -> u64 {
        self.dropped.keys().filter(|(s, _)| *s == store).count() as u64
    }
}
