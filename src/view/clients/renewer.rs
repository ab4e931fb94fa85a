//! What became of a process that renewed a lock for the one that works. One that lives may renew again at any time, however
//! long nothing was written.

use crate::derive::State;
use crate::derive::lock::Lock;
use crate::observe::Mono;

/// A process other than the worker's that was found to renew the lock of its present owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherRenewer {
    /// The process, in the numbers of the procfs that the exporter reads.
    pub pid: i32,
    /// Whether it has connections; `None` if this host's sockets were not seen lately.
    pub lives: Option<bool>,
}

/// The one that matters most: that lives, or may, where there are several.
pub fn other_renewer(state: &State, lock: &Lock, now: Mono) -> Option<OtherRenewer> {
    let tenure = lock.tenure()?.first.span.done;
    let sockets = state.sockets.at(now);
    let lives = |pid: i32, started: u64| {
        let sockets = sockets?;
        let lives = sockets.processes.get(&pid).is_some_and(|u| u.start_ticks == started);
        (lives || !sockets.is_cut).then_some(lives)
    };
    let all = lock.renewers.others(tenure);
    let all = all.map(|(pid, started)| OtherRenewer { pid, lives: lives(pid, started) });
    all.min_by_key(|other| match other.lives {
        Some(true) => 0,
        None => 1,
        Some(false) => 2,
    })
}
