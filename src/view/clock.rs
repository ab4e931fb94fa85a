//! What a view shows of a configured clock.

use std::sync::Arc;

use super::coverage::source_reason;
use crate::derive::clocks::Clock;
use crate::derive::lock::Lock;
use crate::derive::{BlindReason, ClockStatus, State};
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

/// All configured clocks at `now`, as far as they were asked.
pub(super) fn clock_views(state: &State, now: Mono) -> Vec<ClockView> {
    let walls = state.walls(now);
    let view = |(name, clock): (&Arc<str>, &Clock)| {
        let report = clock.fresh(&walls);
        let judged = clock.judge(name, &walls);
        let error = judged.and_then(|j| j.error);
        ClockView {
            name: name.clone(),
            up: clock.failure.is_none(),
            failure: clock.failure.as_ref().map(|f| (f.reason, f.detail.clone())),
            is_local: state.rules.local_clock.as_ref() == Some(name),
            status: judged.map(|j| j.status),
            tracking: report.map(|r| r.tracking),
            // chronyd counts what is missing, this what is too much.
            offset_seconds: report.filter(|_| error.is_some()).map(|r| 0.0 - r.tracking.correction),
            error_bound_seconds: error.map(|e| e.worst()),
        }
    };
    state.clocks.by_name.iter().map(view).collect()
}

/// Why the clocks of a lock's store cannot be judged although the config names them; `None` if they can, or if it does
/// not.
pub(super) fn blind_reason(state: &State, lock: &Lock, now: Mono) -> Option<BlindReason> {
    let mapped = state.rules.node_clocks.get(&lock.store_name)?;
    let local = state.rules.local_clock.as_ref()?;
    let store = state.stores.get(&lock.store)?;
    // The skew of the primary is what a lease depends on.
    let primary = &store.primary(lock.line)?.addr;
    let theirs = mapped.iter().find(|m| *m.addr == **primary)?;
    if state.clocks.disputes.holds(&store.name, primary) {
        return Some(BlindReason::Unsupported);
    }
    let walls = state.walls(now);
    [&theirs.clock, local].into_iter().find_map(|name| {
        let Some(clock) = state.clocks.by_name.get(name) else {
            return Some(BlindReason::NoHistory);
        };
        match (clock.judge(name, &walls), &clock.failure) {
            (Some(judged), _) if judged.error.is_some() => None,
            (None, Some(failed)) => Some(source_reason(failed.reason)),
            (None, None) => Some(BlindReason::Unreachable),
            // It answers, and does not know how wrong its clock is.
            (Some(_), _) => Some(BlindReason::Unsupported),
        }
    })
}
