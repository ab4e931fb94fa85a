//! Which processes stand for which workers right now, kept by whoever looks for processes and read by whoever samples
//! them. Knows pids and start times; reads nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::JvmMode;
use crate::observe::ProcessId;

/// One process of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resident {
    /// The worker's name.
    pub worker: Arc<str>,
    /// Which process.
    pub process: ProcessId,
    /// Whether it is looked at as a JVM.
    pub jvm: JvmMode,
}

/// By worker and by the pid in its token, if it is found so.
type Found = BTreeMap<(Arc<str>, Option<i32>), Vec<Resident>>;

/// The processes of all workers; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Residents(Arc<Mutex<Found>>);

impl Residents {
    fn found(&self) -> MutexGuard<'_, Found> {
        // A map that a panic left behind is still a map.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces what one look at a worker found; nothing is left of one that found no process.
    pub fn set(&self, worker: &Arc<str>, token_pid: Option<i32>, residents: Vec<Resident>) {
        let key = (Arc::clone(worker), token_pid);
        let mut found = self.found();
        if residents.is_empty() {
            found.remove(&key);
        } else {
            found.insert(key, residents);
        }
    }

    /// Forgets the workers, and pids in tokens, that are not watched any more.
    pub fn keep(&self, is_watched: impl Fn(&str, Option<i32>) -> bool) {
        self.found().retain(|(worker, token_pid), _| is_watched(worker, *token_pid));
    }

    /// All of them, each process of a worker once, in a stable order.
    pub fn all(&self) -> Vec<Resident> {
        let found = self.found();
        let mut all: Vec<Resident> = found.values().flatten().cloned().collect();
        all.sort_by(|a, b| (&a.worker, a.process).cmp(&(&b.worker, b.process)));
        all.dedup();
        all
    }
}
