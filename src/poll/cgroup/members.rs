//! In which cgroups processes were found. Processes seldom move, and asking each of them in every round costs more than
//! all the numbers that they share; so it is asked again only after a while, or when its cgroup was removed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::locate::Homes;
use crate::observe::{Mono, ProcessId};

/// Asked again after this, and up to as much again later, so that not all are asked in one round.
const AGAIN: Duration = Duration::from_secs(6);
/// In so many parts that is spread.
const PARTS: u32 = 8;

/// What is remembered, by process.
#[derive(Debug, Default)]
pub struct Members(HashMap<ProcessId, (Mono, Arc<Homes>)>);

impl Members {
    /// Where the process was found lately.
    pub fn of(&self, process: ProcessId, now: Mono) -> Option<Arc<Homes>> {
        let (found, homes) = self.0.get(&process)?;
        let part = process.pid.unsigned_abs() % PARTS;
        (now.since(*found) < AGAIN + AGAIN * part / PARTS).then(|| Arc::clone(homes))
    }

    /// Where the process was found last, however long ago.
    pub fn last(&self, process: ProcessId) -> Option<Arc<Homes>> {
        self.0.get(&process).map(|(_, homes)| Arc::clone(homes))
    }

    /// It was found there.
    pub fn found(&mut self, process: ProcessId, at: Mono, homes: &Arc<Homes>) {
        self.0.insert(process, (at, Arc::clone(homes)));
    }

    /// It is asked for in the next round.
    pub fn forget(&mut self, process: ProcessId) {
        self.0.remove(&process);
    }

    /// Lets go of all but these processes.
    pub fn keep(&mut self, processes: &HashSet<ProcessId>) {
        self.0.retain(|process, _| processes.contains(process));
    }
}
