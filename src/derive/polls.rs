//! How the exporter's own polls went, by poller and target.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::observe::Mono;
use crate::observe::node::FailReason;
use crate::observe::poll::PollDone;

/// Targets remembered at most; more are a sign of something odd and cost only their own numbers.
const MOST_TARGETS: usize = 4096;

/// One poller's record with one target.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Configured time between polls.
    pub interval: Duration,
    /// Work and waiting of the last poll.
    pub busy: Duration,
    /// End of the last poll that succeeded.
    pub succeeded: Option<Mono>,
    /// End of the last poll.
    pub last: Mono,
    /// Polls.
    pub polls: u64,
    /// Failures, in the order of `FailReason::ALL`.
    pub failures: [u64; FailReason::ALL.len()],
}

/// All records.
#[derive(Clone, Debug, Default)]
pub struct Polls {
    /// By poller and target.
    pub records: BTreeMap<(&'static str, Arc<str>), Record>,
}

impl Polls {
    /// Takes a poll's end.
    pub fn learn(&mut self, done: &PollDone) {
        let key = (done.poller, done.target.clone());
        if !self.records.contains_key(&key) && self.records.len() >= MOST_TARGETS {
            return;
        }
        let r = self.records.entry(key).or_default();
        r.interval = done.interval;
        r.busy = done.busy;
        r.last = done.span.done;
        r.polls += 1;
        match done.failure {
            None => r.succeeded = Some(done.span.done),
            Some(f) => {
                if let Some(n) = r.failures.get_mut(f as usize) {
                    *n += 1;
                }
            }
        }
    }

    /// Forgets the nodes of a store that are polled no more: an alert on the age of the last success must not go on.
    pub fn keep_nodes(&mut self, store: &str, is_polled: impl Fn(&str) -> bool) {
        self.records.retain(|(_, target), _| match target.split_once('/') {
            Some((name, addr)) => name != store || is_polled(addr),
            None => true,
        });
    }

    /// Forgets worker groups, clocks and lists that are polled no more.
    pub fn keep_configured(
        &mut self,
        is_group: impl Fn(&str) -> bool,
        is_clock: impl Fn(&str) -> bool,
        is_list: impl Fn(&str) -> bool,
    ) {
        self.records.retain(|(poller, target), _| match *poller {
            "chrony" => is_clock(target),
            "process" | "heartbeat" | "claim" => is_group(target),
            "list" => is_list(target),
            _ => true,
        });
    }
}
