//! When a lock's expiry was written lately, for a picture of its last minutes. Bounded, and kept only of locks that the config
//! names by their key and of those that need a look: a store can have very many others. Nothing is judged by it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Lock, Phase};
use crate::derive::tenure::Seen;
use crate::observe::{Expiry, Mono};

/// Marks kept.
pub const MARKS: usize = 64;

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// An owner has it.
    Held,
    /// Its lease was renewed.
    Renewed,
    /// Its expiry was written in another way: shortened, taken again by its owner, removed.
    Written,
    /// Its owner has it no more.
    Ended,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// End of the read that showed it.
    pub at: Mono,
    /// What.
    pub act: Act,
    /// Seconds left of the lease then; `None` where it has no end.
    pub left: Option<f32>,
}

/// Marks, the oldest first; shared with the views that show them.
pub type Recent = Arc<VecDeque<Mark>>;

/// Appends to a bounded queue that may be shared.
pub fn push<T: Clone>(queue: &mut Arc<VecDeque<T>>, most: usize, item: T) {
    let queue = Arc::make_mut(queue);
    if queue.len() >= most {
        queue.pop_front();
    }
    queue.push_back(item);
}

/// What a read says is left of a lease.
fn left(expiry: Expiry, seen: Seen) -> Option<f32> {
    match expiry {
        Expiry::At(e) => Some((e.micros_since(seen.time).max(0) as f64 / 1e6) as f32),
        Expiry::Never => None,
    }
}

impl Lock {
    /// Remembers what a read showed, if it is remembered of this lock. One of several holders that stands in is left out: they
    /// have an expiry each.
    pub(super) fn mark(&mut self, act: Act, expiry: Expiry, seen: Seen) {
        if self.raised.is_some() || !(self.rules.by_key || self.recent.is_some()) {
            return;
        }
        let mark = Mark { at: seen.span.done, act, left: left(expiry, seen) };
        push(self.recent.get_or_insert_default(), MARKS, mark);
    }

    /// From now on it is remembered of this lock, beginning with what is known of its present owner.
    pub(super) fn begin_marks(&mut self) {
        if self.recent.is_some() || self.raised.is_some() {
            return;
        }
        let recent = self.recent.get_or_insert_default();
        if let Phase::Held(tenure) = &self.phase {
            let (write, act) = match tenure.renewals {
                0 => (tenure.write, Act::Held),
                _ => (tenure.write, Act::Renewed),
            };
            let mark =
                Mark { at: write.shown.span.done, act, left: left(write.expiry, write.shown) };
            push(recent, MARKS, mark);
        }
    }
}
