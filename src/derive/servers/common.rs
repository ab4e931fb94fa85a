//! One clock for all servers of a store: the observer's monotonic one, set once to what the first server said. It is never
//! stepped, whatever the servers' clocks do.

use std::time::Duration;

use crate::derive::clock::NodeClock;
use crate::observe::{Mono, ServerTime, Span};

/// The clock.
#[derive(Clone, Debug, Default)]
pub struct Common {
    /// It minus the observer's clock, in microseconds.
    base: Option<i64>,
    /// The same as of a node that has it.
    pub clock: NodeClock,
}

impl Common {
    /// What has to be added to a node's time to have the common one; `None` while the node's clock is not known.
    pub fn shift(&mut self, node: &NodeClock) -> Option<i64> {
        let (offset, _) = node.offset_micros()?;
        Some(self.base.get_or_insert(offset).saturating_sub(offset))
    }

    /// What it says at an instant.
    pub fn at(&self, now: Mono) -> Option<ServerTime> {
        let micros = i64::try_from(now.0 / 1000).unwrap_or(i64::MAX);
        Some(ServerTime(micros.saturating_add(self.base?)))
    }

    /// It is read when a node with this round trip is.
    pub fn tick(&mut self, done: Mono, rtt: Option<Duration>) {
        let rtt = rtt.unwrap_or_default();
        if let Some(time) = self.at(done.minus(rtt / 2)) {
            self.clock.observe(time, Span { sent: done.minus(rtt), done });
        }
    }
}
