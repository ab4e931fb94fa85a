//! What became of a process that renewed a lock for the one that works. One that lives may renew again at any time, however
//! long nothing was written.

use std::cmp::Reverse;

use crate::derive::State;
use crate::derive::lock::Lock;
use crate::observe::Mono;

/// Processes other than the worker's one of which was found to renew the lock of its present owner. Two that write in the same
/// rhythm cannot be told apart from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherRenewer {
    /// The processes, in the numbers of the procfs that the exporter reads, the likeliest first.
    pub pids: Vec<i32>,
    /// Whether they have connections; `None` if this host's sockets were not seen lately.
    pub lives: Option<bool>,
}

/// Those that matter most: that live, or may.
pub fn other_renewer(state: &State, lock: &Lock, now: Mono) -> Option<OtherRenewer> {
    let tenure = lock.tenure()?.first.span.done;
    let sockets = state.sockets.at(now);
    let lives = |pid: i32, started: u64| {
        let sockets = sockets?;
        let lives = sockets.processes.get(&pid).is_some_and(|u| u.start_ticks == started);
        (lives || !sockets.is_cut).then_some(lives)
    };
    let all = lock.renewers.others(tenure);
    let all: Vec<_> = all.map(|(pid, started)| (pid, lives(pid, started))).collect();
    let worst = [Some(true), None, Some(false)].into_iter();
    let lives = worst.into_iter().find(|l| all.iter().any(|(_, lives)| lives == l))?;
    let same = all.iter().filter(|(_, l)| *l == lives);
    let mut pids: Vec<i32> = same.map(|(pid, _)| *pid).collect();
    pids.sort_by_key(|pid| Reverse(lock.renewers.matches(*pid)));
    Some(OtherRenewer { pids, lives })
}
