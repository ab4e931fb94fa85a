//! In which cgroups processes were found. Processes seldom move, and asking each of them in every round costs more than
//! all the numbers that they share; so it is asked again only after a while, or when its cgroup was removed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::locate::Homes;
use crate::observe::{Mono, ProcessId};

/// Asked again after this, and up to as much again later, so that not all are asked in one round. What was found only
/// lately is asked sooner, as processes are put where they belong right after they start.
const AGAIN: Duration = Duration::from_secs(6);
/// And each time it was found in the same place, so much later.
const SOON: Duration = Duration::from_secs(1);
/// In so many parts that is spread.
const PARTS: u32 = 8;

/// What is remembered, by process.
#[derive(Debug, Default)]
pub struct Members(HashMap<ProcessId, Member>);

#[derive(Debug)]
struct Member {
    found: Mono,
    homes: Arc<Homes>,
    /// How often it was found in the same cgroups.
    times: u32,
}

impl Members {
    /// Where the process was found lately.
    pub fn of(&self, process: ProcessId, now: Mono) -> Option<Arc<Homes>> {
        let member = self.0.get(&process)?;
        let part = process.pid.unsigned_abs() % PARTS;
        let most = AGAIN + AGAIN * part / PARTS;
        let again = most.min(SOON * member.times);
        (now.since(member.found) < again).then(|| Arc::clone(&member.homes))
    }

    /// Where the process was found last, however long ago.
    pub fn last(&self, process: ProcessId) -> Option<Arc<Homes>> {
        self.0.get(&process).map(|member| Arc::clone(&member.homes))
    }

    /// It was found there.
    pub fn found(&mut self, process: ProcessId, at: Mono, homes: &Arc<Homes>) {
        let before = self.0.get(&process).filter(|m| m.homes == *homes);
        let times = before.map_or(0, |m| m.times.saturating_add(1).min(PARTS * PARTS));
        self.0.insert(process, Member { found: at, homes: Arc::clone(homes), times });
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
