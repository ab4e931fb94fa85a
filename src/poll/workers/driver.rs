//! The one task that decides when which workers are read. It starts reads and never waits for one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::looks::{LookAt, Looks};
use super::roster::{Roster, Worker, needs_scan};
use super::{Shared, beats, processes};
use crate::clock;
use crate::config::Source;
use crate::poll::lane::{Entry, Lane};
use crate::poll::part::STORE_DEADLINE;
use crate::poll::source::Filled;
use crate::poll::{Look, WatchedWorker};

/// A look whose way is taken is tried again after this.
const RETRY: Duration = Duration::from_millis(20);
/// Reads under way; reached only when nobody takes the facts.
const MAX_TASKS: usize = 256;
/// With no look waiting, the driver wakes for polls only.
const IDLE: Duration = Duration::from_secs(3600);

/// Workers and groups of one way to read them.
#[derive(Default)]
struct Work {
    workers: Vec<Arc<Worker>>,
    /// Groups whose poll this is; none for extra looks.
    polls: Vec<usize>,
}

/// How a reading is done; each way is one read wide, and `Own` one per worker and group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// Processes whose pid is known.
    Direct,
    /// Processes that are searched for.
    Scan,
    /// Heartbeats in a store.
    Store(Arc<str>),
    /// Heartbeats of a group's files or endpoints.
    Own(usize),
}

/// See the module.
pub struct Driver {
    shared: Arc<Shared>,
    roster: Roster,
    looks: Looks,
    lanes: BTreeMap<Way, Lane>,
    tasks: JoinSet<()>,
}

impl Driver {
    /// Nothing runs yet.
    pub fn new(shared: Arc<Shared>) -> Self {
        let roster = Roster::new(Arc::clone(&shared.groups));
        Self {
            shared,
            roster,
            looks: Looks::default(),
            lanes: BTreeMap::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Runs until stopped or its handle is dropped; reads that it started end with it.
    pub async fn run(
        mut self,
        mut watched: watch::Receiver<Vec<WatchedWorker>>,
        mut asked: mpsc::Receiver<LookAt>,
        mut stop: oneshot::Receiver<()>,
    ) {
        let mut polls = interval(self.shared.interval.max(Duration::from_millis(1)));
        polls.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let wait = self.looks.next().map_or(IDLE, |at| at.since(clock::mono()));
            tokio::select! {
                _ = &mut stop => return,
                changed = watched.changed() => match changed {
                    Ok(()) => {
                        let found = watched.borrow_and_update().clone();
                        self.watch(&found);
                    }
                    Err(_) => return,
                },
                Some(look) = asked.recv() => self.ask(look),
                _ = polls.tick() => self.poll(),
                () = sleep(wait) => self.due(),
                Some(done) = self.tasks.join_next() => {
                    if let Err(e) = done {
                        tracing::error!(error = %e, "a look at workers broke off");
                    }
                }
            }
        }
    }

    /// Who is new is looked at without waiting for the next poll.
    fn watch(&mut self, found: &[WatchedWorker]) {
        let now = clock::mono();
        for worker in self.roster.replace(found) {
            for what in [Look::Heartbeat, Look::Process] {
                self.ask(LookAt { worker: Arc::clone(&worker.name), what, at: now });
            }
        }
        self.shared.residents.keep(|worker, token_pid| {
            self.roster
                .get(worker)
                .is_some_and(|w| w.processes.iter().any(|(pid, _)| *pid == token_pid))
        });
    }

    fn ask(&mut self, look: LookAt) {
        if self.roster.get(&look.worker).is_some() && !self.looks.add(look) {
            tracing::debug!("an extra look at a worker was dropped: too many are waiting");
        }
    }

    fn poll(&mut self) {
        let mut ways: BTreeMap<Way, Work> = BTreeMap::new();
        for (index, group) in self.shared.groups.iter().enumerate() {
            let process =
                group.process.as_ref().map(|p| if needs_scan(p) { Way::Scan } else { Way::Direct });
            let heartbeat = group.heartbeat.as_ref().map(|h| match &h.source {
                Source::Redis { store, .. } => Way::Store(Arc::clone(store)),
                Source::File { .. } | Source::Http { .. } => Way::Own(index),
            });
            for way in process.into_iter().chain(heartbeat) {
                ways.entry(way).or_default().polls.push(index);
            }
        }
        for worker in self.roster.iter() {
            for what in [Look::Process, Look::Heartbeat] {
                if let Some(work) = self.way(worker, what).and_then(|way| ways.get_mut(&way)) {
                    work.workers.push(Arc::clone(worker));
                }
            }
        }
        for (way, work) in ways {
            self.start(way, work);
        }
    }

    fn due(&mut self) {
        let mut ways: BTreeMap<Way, Work> = BTreeMap::new();
        for (name, what) in self.looks.due(clock::mono()) {
            let Some(worker) = self.roster.get(&name) else { continue };
            if let Some(way) = self.way(&worker, what) {
                ways.entry(way).or_default().workers.push(worker);
            }
        }
        for (way, work) in ways {
            let what = if matches!(way, Way::Direct | Way::Scan) {
                Look::Process
            } else {
                Look::Heartbeat
            };
            let at = clock::mono().plus(RETRY);
            for worker in self.start(way, work) {
                self.looks.add(LookAt { worker: Arc::clone(&worker.name), what, at });
            }
        }
    }

    fn way(&self, worker: &Worker, what: Look) -> Option<Way> {
        match what {
            Look::Process => {
                let source = self.shared.groups.get(worker.group)?.process.as_ref()?;
                Some(if needs_scan(source) { Way::Scan } else { Way::Direct })
            }
            Look::Heartbeat => Some(match worker.heartbeat.as_ref()? {
                Filled::Redis { store, .. } => Way::Store(Arc::clone(store)),
                _ => Way::Own(worker.group),
            }),
        }
    }

    /// Starts the reads; gives back the workers whose way is taken by an earlier read.
    fn start(&mut self, way: Way, work: Work) -> Vec<Arc<Worker>> {
        let shared = Arc::clone(&self.shared);
        let Work { workers, polls } = work;
        if self.tasks.len() >= MAX_TASKS {
            return workers;
        }
        if let Way::Own(_) = way {
            let (mut free, mut busy) = (Vec::new(), Vec::new());
            for worker in workers {
                match beats::enter(&worker) {
                    Some(entered) => free.push(entered),
                    None => busy.push(worker),
                }
            }
            // A poll in which everyone is still busy with the one before is none.
            if !free.is_empty() || busy.is_empty() {
                self.tasks.spawn(beats::each(shared, free, polls));
            }
            return busy;
        }
        let is_store = matches!(way, Way::Store(_));
        let patience = if is_store { STORE_DEADLINE * 2 } else { processes::PATIENCE };
        let lane = self.lanes.entry(way.clone()).or_default();
        match (lane.enter(clock::mono(), patience), way) {
            (Entry::Free(inside), Way::Store(store)) => {
                self.tasks.spawn(beats::store(shared, store, workers, polls, inside));
                Vec::new()
            }
            (Entry::Free(inside), _) => {
                self.tasks.spawn(processes::look(shared, workers, polls, inside));
                Vec::new()
            }
            (Entry::Stuck(age), Way::Direct | Way::Scan) => {
                self.tasks.spawn(processes::stuck(shared, workers, polls, age));
                Vec::new()
            }
            (Entry::Busy | Entry::Stuck(_), _) => workers,
        }
    }
}
