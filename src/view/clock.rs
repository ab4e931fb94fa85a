//! What a view shows of a configured clock.

use std::sync::Arc;

use crate::derive::ClockStatus;
use crate::observe::Mono;
use crate::observe::clock::Tracking;
use crate::observe::node::FailReason;

/// One configured clock.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockView {
    /// The `clock` label.
    pub name: Arc<str>,
    /// Whether its chronyd answered last time.
    pub up: bool,
    /// Why not: the reason, what exactly.
    pub failure: Option<(FailReason, String)>,
    /// Whether it is this host's.
    pub is_local: bool,
    /// Its state, while fresh.
    pub status: Option<ClockStatus>,
    /// What chronyd said, while fresh.
    pub tracking: Option<Tracking>,
    /// Estimated error of that host's clock, positive = ahead of true time.
    pub offset_seconds: Option<f64>,
    /// No more than this far from true time, where that is true.
    pub error_bound_seconds: Option<f64>,
}

/// All configured clocks at `now`.
pub(super) fn clock_views(_state: &crate::derive::State, _now: Mono) -> Vec<ClockView> {
    Vec::new()
}
