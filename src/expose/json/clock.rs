//! Clocks as the API shows them: the configured ones, this host's own steps, and what is known of the lock servers' clocks.

use serde::Serialize;

use crate::view::{ClockView, NodeView, StoreView, View};

/// How often a clock was stepped.
#[derive(Debug, Serialize)]
pub(super) struct Steps {
    forward: u64,
    backward: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Clock<'a> {
    name: &'a str,
    local: bool,
    up: bool,
    failure: Option<Failure<'a>>,
    status: Option<&'static str>,
    offset_seconds: Option<f64>,
    error_bound_seconds: Option<f64>,
    tracking: Option<Tracking>,
}

#[derive(Debug, Serialize)]
struct Failure<'a> {
    reason: &'static str,
    detail: &'a str,
}

/// What chronyd said, field by field; the sign of each is that of `chronyc tracking` but for `correction`, which is as on
/// the wire.
#[derive(Debug, Serialize)]
struct Tracking {
    reference_id: String,
    source: Option<String>,
    stratum: u16,
    leap: u16,
    reference_timestamp: f64,
    correction_seconds: f64,
    last_offset_seconds: f64,
    rms_offset_seconds: f64,
    frequency_ppm: f64,
    residual_frequency_ppm: f64,
    skew_ppm: f64,
    root_delay_seconds: f64,
    root_dispersion_seconds: f64,
    update_interval_seconds: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct NodeClock<'a> {
    store: &'a str,
    addr: &'a str,
    offset_seconds: Option<f64>,
    offset_error_seconds: Option<f64>,
    skew_bound_seconds: Option<f64>,
    frozen: Option<bool>,
    steps: Steps,
    last_step_seconds: Option<f64>,
}

impl Steps {
    pub(super) fn of(steps: (u64, u64)) -> Self {
        Self { forward: steps.0, backward: steps.1 }
    }
}

impl<'a> Clock<'a> {
    pub(super) fn of(clock: &'a ClockView) -> Self {
        Self {
            name: &clock.name,
            local: clock.is_local,
            up: clock.up,
            failure: clock
                .failure
                .as_ref()
                .map(|(reason, detail)| Failure { reason: reason.as_str(), detail }),
            status: clock.status.map(|s| s.as_str()),
            offset_seconds: clock.offset_seconds,
            error_bound_seconds: clock.error_bound_seconds,
            tracking: clock.tracking.as_ref().map(|t| Tracking {
                reference_id: format!("{:08X}", t.ref_id),
                source: t.source.map(|s| s.to_string()),
                stratum: t.stratum,
                leap: t.leap,
                reference_timestamp: t.ref_time,
                correction_seconds: t.correction,
                last_offset_seconds: t.last_offset,
                rms_offset_seconds: t.rms_offset,
                frequency_ppm: t.frequency_ppm,
                residual_frequency_ppm: t.residual_ppm,
                skew_ppm: t.skew_ppm,
                root_delay_seconds: t.root_delay,
                root_dispersion_seconds: t.root_dispersion,
                update_interval_seconds: t.update_interval,
            }),
        }
    }
}

/// The clocks of all nodes of one store.
pub(super) fn nodes_of(store: &StoreView) -> Vec<NodeClock<'_>> {
    store.nodes.iter().map(|n| describe(store, n)).collect()
}

/// The clocks of all nodes of all stores.
pub(super) fn nodes(view: &View) -> Vec<NodeClock<'_>> {
    view.stores.iter().flat_map(nodes_of).collect()
}

fn describe<'a>(store: &'a StoreView, node: &'a NodeView) -> NodeClock<'a> {
    let facts = node.facts.as_ref();
    let offset = facts.and_then(|f| f.clock_offset);
    NodeClock {
        store: &store.name,
        addr: &node.addr,
        offset_seconds: offset.map(|(offset, _)| offset),
        offset_error_seconds: offset.map(|(_, error)| error),
        skew_bound_seconds: facts.and_then(|f| f.skew_bound_seconds),
        frozen: facts.and_then(|f| f.clock_frozen),
        steps: Steps::of(node.clock_steps),
        last_step_seconds: node.clock_step_seconds,
    }
}
