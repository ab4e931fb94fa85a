//! A lock as its store keeps it, with what is known of its next reads. Whoever changes the lock in any way takes that knowledge
//! away by doing so, and the next read judges all of it; there is no other way to the lock. Decides nothing itself.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::still::{Learned, Still};
use super::{Lock, ReadContext};
use crate::derive::workers::Workers;
use crate::observe::Found;

/// A lock of a store.
#[derive(Clone)]
pub struct Kept {
    lock: Box<Lock>,
    still: Option<Still>,
    changes: u64,
}

impl Kept {
    /// Of its next reads nothing is known.
    pub fn new(lock: Lock) -> Self {
        Self { lock: Box::new(lock), still: None, changes: 0 }
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
