//! Counts together what the reads of one poll gave, for one [`PollDone`] per worker group.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Shared;
use crate::clock;
use crate::observe::node::FailReason;
use crate::observe::poll::PollDone;
use crate::observe::{Mono, Observation, Span};

/// One poll of some groups. An extra look has none and ends without a word.
pub struct Tally {
    poller: &'static str,
    sent: Mono,
    groups: BTreeMap<usize, Option<FailReason>>,
}

impl Tally {
    /// Begins now.
    pub fn begin(poller: &'static str, groups: impl IntoIterator<Item = usize>) -> Self {
        let groups = groups.into_iter().map(|g| (g, None)).collect();
        Self { poller, sent: clock::mono(), groups }
    }

    /// Notes how one read went; a group's first failure is its poll's.
    pub fn note(&mut self, group: usize, failure: Option<FailReason>) {
        if let Some(first) = self.groups.get_mut(&group) {
            *first = first.or(failure);
        }
    }

    /// Tells of the groups' polls.
    pub async fn end(self, shared: &Shared) {
        let span = Span { sent: self.sent, done: clock::mono() };
        for (group, failure) in self.groups {
            let Some(group) = shared.groups.get(group) else { continue };
            let done = PollDone {
                poller: self.poller,
                target: Arc::from(group.name.as_str()),
                interval: shared.interval,
                span,
                busy: span.width(),
                failure,
            };
            shared.send(Observation::Poll(done)).await;
        }
    }
}
