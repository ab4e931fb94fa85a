//! How a lock or a worker's process stands, in the few words that metrics, API and page share. It only reads verdicts that
//! the view has; it makes none.

use std::sync::Arc;

use crate::observe::worker::ProcessState;
use crate::view::{GroupView, LockView, Signal, StoreView, View, WorkerView};

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

/// `limit` of the locks of a group from `offset` on, those that need a look first, the others by name; and how many there are. A
/// view that only counts some has those that it was asked for.
pub fn members<'a>(
    view: &View,
    store: &'a StoreView,
    group: &GroupView,
    offset: usize,
    limit: usize,
) -> (Vec<&'a LockView>, usize) {
    let page = view.page.as_ref().filter(|page| {
        page.store == store.name && page.group == group.name && page.offset == offset
    });
    if let Some(page) = page {
        let find = |name: &Arc<str>| {
            let place = store.locks.binary_search_by(|l| l.name.cmp(name)).ok()?;
            store.locks.get(place)
        };
        let all = group.held + group.free + group.unknown;
        let members = page.names.iter().take(limit).filter_map(find).collect();
        return (members, usize::try_from(all).unwrap_or(usize::MAX));
    }
    let is_member = |l: &&LockView| l.group.as_ref() == Some(&group.name);
    let mut members: Vec<&LockView> = store.locks.iter().filter(is_member).collect();
    // The view has them by name, and the sort is stable.
    members.sort_by_key(|l| l.look.unwrap_or(usize::MAX));
    let all = members.len();
    (members.into_iter().skip(offset).take(limit).collect(), all)
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
