//! A lock as its store keeps it, with what is known of its next reads. Whoever changes the lock in any way takes that knowledge
//! away by doing so, and the next read judges all of it; there is no other way to the lock. Decides nothing itself.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::still::{Learned, Still};
use super::{Lock, Probe, ReadContext};
use crate::derive::workers::Workers;
use crate::observe::{Found, Mono};

/// A lock of a store.
#[derive(Clone)]
pub struct Kept {
    lock: Box<Lock>,
    still: Option<Still>,
    changes: u64,
    /// What its key showed last.
    shown: Option<Found>,
    rest: Option<Rest>,
}

/// Where a lock rests.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// Among those that are like it.
    pub(in crate::derive) class: usize,
    /// When it has to be judged again at the latest.
    pub(in crate::derive) due: Mono,
    /// Reads of all that rests there, as of when it was last brought up to date.
    pub(in crate::derive) reads: u64,
}

impl Kept {
    /// Of its next reads nothing is known.
    pub fn new(lock: Lock) -> Self {
        Self { lock: Box::new(lock), still: None, changes: 0, shown: None, rest: None }
    }

    /// What its key showed last; `None` if that is not known.
    pub(in crate::derive) fn shown(&self) -> Option<&Found> {
        self.shown.as_ref()
    }

    /// Takes what its key shows.
    pub(in crate::derive) fn shows(&mut self, found: &Found) {
        self.shown = Some(found.clone());
    }

    /// Where it rests, if it does.
    pub(in crate::derive) fn rest(&self) -> Option<&Rest> {
        self.rest.as_ref()
    }

    /// When it has to be judged again at the latest if its reads go on like that, and whether a learned limit of holds and the
    /// usual lease may make it sooner; `None` if it has to be judged each time.
    pub(in crate::derive) fn due(&self) -> Option<(Mono, [bool; 2])> {
        self.still.as_ref()?.due(&self.lock)
    }

    /// It rests from now on.
    pub(in crate::derive) fn comes_to_rest(&mut self, rest: Rest) {
        self.rest = Some(rest);
    }

    /// It rests no more; gives where it did.
    pub(in crate::derive) fn woken(&mut self) -> Option<Rest> {
        self.rest.take()
    }

    /// Takes the reads since it was last brought up to date: so many by now, and the last two of them.
    pub(in crate::derive) fn catch_up(&mut self, reads: u64, before: Probe, last: Probe) {
        if let Some(rest) = &mut self.rest {
            let times = reads.saturating_sub(rest.reads);
            rest.reads = reads;
            self.lock.seen_so_often(times, before, last);
        }
    }

    /// How often it may have changed in any other way than by being seen again as it was.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether something is known of its next reads.
    pub fn is_still(&self) -> bool {
        self.still.is_some()
    }

    /// Takes a read if it is known to change nothing but when the lock was last seen; says whether it was.
    pub(in crate::derive) fn stays(
        &mut self,
        found: &Found,
        c: &ReadContext<'_>,
        workers: &Workers,
        learned: Learned,
    ) -> bool {
        let Some(still) = &self.still else { return false };
        let stays = still.stays(&self.lock, found, c, workers, learned);
        if stays {
            self.lock.seen_again(c);
        }
        stays
    }

    /// Takes that a read has just been judged, and what that says of the next ones.
    pub(in crate::derive) fn was_read(&mut self, found: &Found, c: &ReadContext<'_>) {
        self.still = Still::after(&self.lock, found, c);
    }
}

impl Deref for Kept {
    type Target = Lock;

    fn deref(&self) -> &Lock {
        &self.lock
    }
}

impl DerefMut for Kept {
    fn deref_mut(&mut self) -> &mut Lock {
        self.still = None;
        self.changes += 1;
        &mut self.lock
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock.fmt(f)
    }
}
