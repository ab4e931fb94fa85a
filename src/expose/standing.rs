//! How a lock or a worker's process stands, in the few words that metrics, API and page share. It only reads verdicts that
//! the view has; it makes none.

use crate::observe::worker::ProcessState;
use crate::view::{LockView, Signal, StoreView, WorkerView};

/// `held`, `free`, or `unknown` when it was not read lately.
pub fn state(store: &StoreView, lock: &LockView) -> &'static str {
    match lock.held {
        Some(held) if is_fresh(store, lock) => {
            if held {
                "held"
            } else {
                "free"
            }
        }
        _ => "unknown",
    }
}

/// Whether what the view says of the lock is about now.
pub fn is_fresh(store: &StoreView, lock: &LockView) -> bool {
    store.fresh && lock.fresh
}

/// Whether it is listed by itself: not so the locks of a group, but for the first that need a look.
pub fn is_listed(lock: &LockView) -> bool {
    lock.group.is_none() || lock.tier.is_some()
}

/// The locks of a group, those that need a look first, the others by name.
pub fn members<'a>(store: &'a StoreView, group: &str) -> Vec<&'a LockView> {
    let is_member = |l: &&LockView| l.group.as_deref() == Some(group);
    let mut members: Vec<&LockView> = store.locks.iter().filter(is_member).collect();
    // The view has them by name, and the sort is stable.
    members.sort_by_key(|l| l.look.unwrap_or(usize::MAX));
    members
}

/// Whether a signal is up; `None` when it is not judged now.
pub fn judged(store: &StoreView, lock: &LockView, signal: Signal) -> Option<bool> {
    if !is_fresh(store, lock) {
        return None;
    }
    lock.signals.iter().find(|(s, _)| *s == signal).and_then(|(_, up)| *up)
}

/// The signals that are up, the most dangerous first.
pub fn raised<'a>(store: &'a StoreView, lock: &'a LockView) -> impl Iterator<Item = Signal> + 'a {
    Signal::ALL.iter().copied().filter(|s| judged(store, lock, *s) == Some(true))
}

/// What its process is now; `None` where there never was one to see.
pub fn process(worker: &WorkerView) -> Option<&'static str> {
    match &worker.process {
        Some(process) => Some(process_state(process.state)),
        None if worker.process_gone => Some("gone"),
        None => None,
    }
}

fn process_state(state: ProcessState) -> &'static str {
    match state {
        ProcessState::Running => "running",
        ProcessState::Sleeping => "sleeping",
        ProcessState::DiskSleep => "disk_sleep",
        ProcessState::Stopped => "stopped",
        ProcessState::Traced => "traced",
        ProcessState::Zombie => "zombie",
    }
}
