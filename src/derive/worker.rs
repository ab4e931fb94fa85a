//! One worker: its heartbeat and processes, and which locks it holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::claims::Claims;
use super::cpu::CpuTime;
use super::heartbeat::{BeatRules, Heartbeat};
use super::host::Host;
use super::links::Links;
use super::listed::Listed;
use super::process::Processes;
use super::words::Liveness;
use crate::config::{ProcessSource, WorkerGroup};
use crate::observe::{KeyId, Mono, StoreId};

/// Token pids remembered for one worker name.
const MOST_TOKENS: usize = 64;

/// A worker, known from the config or as a lock's holder.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its name.
    pub name: Arc<str>,
    /// Index of the group that serves it.
    pub group: Option<usize>,
    /// Named in the config: never forgotten.
    pub is_configured: bool,
    /// Its heartbeat.
    pub heartbeat: Heartbeat,
    /// Its processes: by the pid in a token where the group finds them so, else under `None`.
    pub processes: BTreeMap<Option<i32>, Processes>,
    /// CPU time of all of them.
    pub cpu: CpuTime,
    /// Pids that tokens of it name, with their host and when last seen.
    pub tokens: BTreeMap<i32, (Option<Arc<str>>, Mono)>,
    /// Locks it holds, with the pid that each token of it names: it may hold a semaphore several times.
    pub holds: BTreeMap<(StoreId, KeyId), Vec<Option<i32>>>,
    /// When it last held anything.
    pub last_held: Mono,
    /// Whether it was ever seen to hold something.
    pub has_held: bool,
    /// Its processes' stalls, cgroups and JVMs.
    pub host: Host,
    /// What it says it holds.
    pub claims: Claims,
    /// The lists of live workers that name it, or did.
    pub listed: Listed,
    /// Its connections to stores, by their names.
    pub links: BTreeMap<Arc<str>, Links>,
}

impl Worker {
    /// A worker that nothing is known of.
    pub fn new(name: Arc<str>, group: Option<usize>, is_configured: bool, at: Mono) -> Self {
        Self {
            name,
            group,
            is_configured,
            heartbeat: Heartbeat::default(),
            processes: BTreeMap::new(),
            cpu: CpuTime::default(),
            tokens: BTreeMap::new(),
            holds: BTreeMap::new(),
            last_held: at,
            has_held: false,
            host: Host::default(),
            claims: Claims::default(),
            listed: Listed::default(),
            links: BTreeMap::new(),
        }
    }

    /// Remembers the pid that a token names; returns whether it is new here. The same number on another host is
    /// another process.
    pub fn learn_token(&mut self, pid: i32, host: Option<Arc<str>>, at: Mono) -> bool {
        let before = self.tokens.insert(pid, (host.clone(), at));
        let is_new = before.is_none_or(|(before, _)| before != host);
        if is_new {
            self.processes.remove(&Some(pid));
        }
        while self.tokens.len() > MOST_TOKENS {
            let age =
                |(p, (_, at)): &(&i32, &(Option<Arc<str>>, Mono))| (self.is_held_by(**p), *at);
            let Some(oldest) = self.tokens.iter().min_by_key(age).map(|(p, _)| *p) else { break };
            self.tokens.remove(&oldest);
            self.processes.remove(&Some(oldest));
        }
        is_new
    }

    /// Whether its heart should beat now: not once its process is gone, nor once it has let go all that it held, as
    /// one does that was shut down. One that was never seen to hold anything is always expected to.
    pub fn is_expected_to_beat(&self) -> bool {
        let is_gone = !self.processes.is_empty()
            && self.processes.values().all(|p| p.liveness() == Liveness::Dead);
        !is_gone && (!self.holds.is_empty() || !self.has_held)
    }

    /// Whether a token with this pid holds a lock.
    pub fn is_held_by(&self, pid: i32) -> bool {
        self.holds.values().flatten().any(|p| *p == Some(pid))
    }

    /// The processes that stand for the holder whose token names this pid.
    pub fn processes_of(&self, pid: Option<i32>, group: &WorkerGroup) -> Option<&Processes> {
        let key = if matches!(group.process, Some(ProcessSource::FromHolder)) { pid } else { None };
        self.processes.get(&key)
    }

    /// Whether some live process other than the one of this pid carries the worker's name.
    pub fn has_other_live(&self, pid: Option<i32>) -> bool {
        self.processes.values().flat_map(Processes::live).any(|p| Some(p.pid) != pid)
    }
}

/// The beat rules of a group.
pub fn beat_rules(group: &WorkerGroup, poll: std::time::Duration) -> BeatRules {
    BeatRules { frozen_after: group.heartbeat.as_ref().and_then(|h| h.frozen_after), poll }
}
