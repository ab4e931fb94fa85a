//! How a poll of one target went, for the exporter's metrics about itself.

use std::sync::Arc;
use std::time::Duration;

use super::node::FailReason;
use super::time::Span;

/// One poll of one target ended, well or not.
#[derive(Clone, Debug)]
pub struct PollDone {
    /// `redis`, `process`, `heartbeat`, or `stall` for this host.
    pub poller: &'static str,
    /// `store/addr` for a node, `host`, the worker group's name otherwise.
    pub target: Arc<str>,
    /// Configured time between two polls.
    pub interval: Duration,
    /// From the first request to the last reply.
    pub span: Span,
    /// Work and waiting for replies; pauses for pacing excluded.
    pub busy: Duration,
    /// Why it failed, if it did.
    pub failure: Option<FailReason>,
}
