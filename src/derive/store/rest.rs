//! Locks at rest: what their reads may go on showing is known of each, so that all of them are told by one word, and nothing of
//! them is touched until something is due or they change. They are kept by what a view and the next word ask for: when the
//! first lease ends, the longest hold, what is due next. Decides nothing of a lock; whoever rests here changes nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::derive::groups::Totals;
use crate::derive::lock::{Kept, Learned, Lock, Phase, Rest, is_far};
use crate::derive::tenure::Seen;
use crate::derive::words::Signal;
use crate::observe::{Expiry, KeyId, Line, Mono, ServerTime};

/// What all locks of a class have in common, and all that what cannot be judged of them depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    line: Line,
    /// The config entry.
    entry: usize,
    /// Which signals can be judged, all of them down.
    judged: u64,
    is_per_acquire: bool,
    endless: u8,
    has_owner: bool,
    /// A missed renewal would be known.
    tells_overdue: bool,
    has_pooled_limit: bool,
    has_pooled_lease: bool,
}

/// Locks at rest that differ only in their holders and in when what of them is due.
#[derive(Clone, Debug)]
pub struct Class {
    kind: Kind,
    /// The group that they are told as.
    pub group: Arc<str>,
    by_end: BTreeSet<(ServerTime, KeyId)>,
    by_begin: BTreeSet<(Mono, KeyId)>,
    due: BTreeSet<(Mono, KeyId)>,
    /// What they have counted.
    pub totals: Totals,
}

impl Class {
    /// How many.
    pub fn count(&self) -> u64 {
        self.by_begin.len() as u64
    }

    /// One of them, which stands for all.
    pub(super) fn any(&self) -> Option<KeyId> {
        self.by_begin.first().map(|(_, key)| *key)
    }

    /// The oldest of them, which is a lock's for so long.
    pub(super) fn oldest(&self, most: usize) -> impl Iterator<Item = (Mono, KeyId)> {
        self.by_begin.iter().take(most).copied()
    }

    /// When the first of their leases ends.
    pub fn first_end(&self) -> Option<ServerTime> {
        self.by_end.first().map(|(end, _)| *end)
    }

    /// Since when the one that is held for longest has been.
    pub fn first_begin(&self) -> Option<Mono> {
        self.by_begin.first().map(|(begin, _)| *begin)
    }

    /// The line that all of them are in.
    pub(super) fn line(&self) -> Line {
        self.kind.line
    }

    /// The config entry that all of them are of.
    pub(super) fn entry(&self) -> usize {
        self.kind.entry
    }

    /// Those that have to be judged by a read of then.
    pub(super) fn due(&self, seen: &Seen, poll: Duration, learned: Learned) -> Vec<KeyId> {
        let (now, time) = (seen.span.done, seen.time);
        let limit = learned.limit(poll);
        let kind = &self.kind;
        let tells_limit = kind.judged & bit(Signal::HeldTooLong) != 0;
        if kind.has_pooled_limit && tells_limit != limit.is_some() {
            return self.by_begin.iter().map(|(_, key)| *key).collect();
        }
        let near = Lock::soon(poll).saturating_add(1);
        let mut due: Vec<KeyId> = Vec::new();
        due.extend(self.due.iter().take_while(|(at, _)| *at <= now).map(|(_, key)| key));
        let ends = self.by_end.iter();
        due.extend(ends.take_while(|(e, _)| e.micros_since(time) <= near).map(|(_, key)| key));
        if let Some(limit) = limit.filter(|_| kind.has_pooled_limit) {
            let begins = self.by_begin.iter();
            let is_over = |begin: Mono| seen.span.sent.secs_since(begin) > limit;
            due.extend(begins.take_while(|(at, _)| is_over(*at)).map(|(_, key)| key));
        }
        if kind.has_pooled_lease {
            let is_absurd = |e: ServerTime| is_far(e.secs_since(time), None, learned.lease());
            let ends = self.by_end.iter().rev();
            due.extend(ends.take_while(|(e, _)| is_absurd(*e)).map(|(_, key)| key));
        }
        due
    }
}

fn bit(signal: Signal) -> u64 {
    1 << (signal as u64)
}

/// All of a store.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes(Vec<Class>);

impl Classes {
    /// A lock that may rest comes to rest; gives what it has to keep for when it wakes, if it may.
    pub fn add(&mut self, kept: &Kept, entry: usize, poll: Duration) -> Option<Rest> {
        let lock: &Lock = kept;
        let (due, [has_pooled_limit, has_pooled_lease]) = kept.due()?;
        let group = lock.rules.group.as_ref()?;
        let Phase::Held(tenure) = &lock.phase else { return None };
        let (begin, Expiry::At(end)) = (tenure.first.span.done, tenure.expiry) else { return None };
        let judged = Signal::ALL.iter().filter(|s| lock.signals.get(**s).is_some());
        let kind = Kind {
            line: lock.line,
            entry,
            judged: judged.fold(0, |bits, s| bits | bit(*s)),
            is_per_acquire: lock.is_per_acquire(),
            endless: lock.value.as_ref().map_or(u8::MAX, |v| v.endless as u8),
            has_owner: tenure.owner.is_some(),
            tells_overdue: tenure.shortened || lock.overdue_after(tenure, poll).is_some(),
            has_pooled_limit,
            has_pooled_lease,
        };
        let known = self.0.iter().position(|c| c.kind == kind && c.group == group.name);
        let place = known.unwrap_or_else(|| {
            self.0.push(Class {
                kind,
                group: group.name.clone(),
                by_end: BTreeSet::new(),
                by_begin: BTreeSet::new(),
                due: BTreeSet::new(),
                totals: Totals::default(),
            });
            self.0.len() - 1
        });
        let class = self.0.get_mut(place)?;
        class.by_end.insert((end, lock.key));
        class.by_begin.insert((begin, lock.key));
        if due < Mono(u64::MAX) {
            class.due.insert((due, lock.key));
        }
        class.totals.add(lock);
        Some(Rest { class: place, due, reads: 0 })
    }

    /// It rests no more; it is as it was when it came.
    pub fn remove(&mut self, lock: &Lock, rest: Rest) {
        let Some(class) = self.0.get_mut(rest.class) else { return };
        if let Phase::Held(tenure) = &lock.phase
            && let Expiry::At(end) = tenure.expiry
        {
            class.by_end.remove(&(end, lock.key));
            class.by_begin.remove(&(tenure.first.span.done, lock.key));
        }
        class.due.remove(&(rest.due, lock.key));
        class.totals.take(lock);
    }

    /// Those that have any.
    pub fn all(&self) -> impl Iterator<Item = &Class> {
        self.0.iter().filter(|c| c.count() > 0)
    }

    /// None is left.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
