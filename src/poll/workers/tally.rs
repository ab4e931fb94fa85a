//! One [`PollDone`] per worker group for what the reads of one poll gave.

use std::sync::Arc;

use super::Shared;
use crate::observe::Observation;
use crate::observe::node::FailReason;
use crate::observe::poll::PollDone;
use crate::poll::tally;

/// One poll of some groups. An extra look has none and ends without a word.
pub struct Tally {
    poller: &'static str,
    groups: tally::Tally<usize>,
}

impl Tally {
    /// Begins now.
    pub fn begin(poller: &'static str, groups: impl IntoIterator<Item = usize>) -> Self {
        Self { poller, groups: tally::Tally::begin(groups) }
    }

    /// Notes how one read went; a group's first failure is its poll's.
    pub fn note(&mut self, group: usize, failure: Option<FailReason>) {
        self.groups.note(&group, failure);
    }

    /// Tells of the groups' polls.
    pub async fn end(self, shared: &Shared) {
        let (span, groups) = self.groups.end();
        for (group, failure) in groups {
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
