//! Counts together what the reads of one poll gave: a target's first failure is its poll's.

use std::collections::BTreeMap;

use crate::clock;
use crate::observe::node::FailReason;
use crate::observe::{Mono, Span};

/// One poll of some targets. An extra look has none and ends without a word.
pub struct Tally<K> {
    sent: Mono,
    targets: BTreeMap<K, Option<FailReason>>,
}

impl<K: Ord> Tally<K> {
    /// Begins now.
    pub fn begin(targets: impl IntoIterator<Item = K>) -> Self {
        let targets = targets.into_iter().map(|t| (t, None)).collect();
        Self { sent: clock::mono(), targets }
    }

    /// Notes how one read went.
    pub fn note(&mut self, target: &K, failure: Option<FailReason>) {
        if let Some(first) = self.targets.get_mut(target) {
            *first = first.or(failure);
        }
    }

    /// When it was, and how each target fared.
    pub fn end(self) -> (Span, BTreeMap<K, Option<FailReason>>) {
        (Span { sent: self.sent, done: clock::mono() }, self.targets)
    }
}
