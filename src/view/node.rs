//! One node of a store's view: what it says of itself while that is fresh, and what was counted of it.

use std::sync::Arc;

use super::clients::{ByLibrary, by_library};
use super::slowlog::SlowlogView;
use super::{Instant, slowlog};
use crate::derive::State;
use crate::derive::clocks::skew::skew;
use crate::derive::fresh::is_fresh;
use crate::derive::host_clock::wall_ahead;
use crate::derive::interval::Interval;
use crate::derive::node::Node;
use crate::derive::store::Store;
use crate::observe::Role;
use crate::observe::feed::Standing;
use crate::observe::node::FailReason;

/// One Redis or Valkey node.
#[derive(Clone, Debug)]
pub struct NodeView {
    /// The `addr` label.
    pub addr: Arc<str>,
    /// The last poll succeeded.
    pub up: bool,
    /// Why not: the reason, what exactly, and for how many seconds.
    pub failure: Option<(FailReason, String, f64)>,
    /// Its facts; `None` until the first and after three intervals without.
    pub facts: Option<NodeFactsView>,
    /// Commands in use and whether each was refused.
    pub permissions: Vec<(&'static str, bool)>,
    /// Run id changes seen.
    pub restarts: u64,
    /// Comparisons of a lock with a replica that were tried and those not decided in time; on replicas only.
    pub confirmations: Option<(u64, u64)>,
    /// Seconds in which an event feed there heard nothing; `None` where there never was one.
    pub event_gap_seconds: Option<f64>,
    /// How the event feed that listens to it stands; `None` where there is none.
    pub feed: Option<Standing>,
    /// Its slow log; `None` where that was not looked at.
    pub slowlog: Option<SlowlogView>,
    /// Server clock steps seen: forward, backward.
    pub clock_steps: (u64, u64),
    /// The last step in seconds.
    pub clock_step_seconds: Option<f64>,
}

/// What is known of a node while its facts are fresh.
#[derive(Clone, Debug)]
pub struct NodeFactsView {
    /// Changes when the server process restarts.
    pub run_id: Option<Arc<str>>,
    /// Server version.
    pub version: Arc<str>,
    /// `redis` or `valkey`.
    pub flavor: Arc<str>,
    /// `standalone`, `sentinel`, `cluster`.
    pub mode: Arc<str>,
    /// Eviction policy, empty if not shown.
    pub maxmemory_policy: Arc<str>,
    /// `master`, `replica`, `sentinel` or `unknown`.
    pub role: &'static str,
    /// Primary offset minus replica offset, on replicas.
    pub lag_bytes: Option<u64>,
    /// On replicas.
    pub link_up: Option<bool>,
    /// On primaries.
    pub connected_replicas: Option<u64>,
    /// On primaries.
    pub min_replicas_to_write: Option<u64>,
    /// Append-only file on.
    pub durable: Option<bool>,
    /// Policy and memory limit let lock keys be evicted.
    pub evicts_locks: Option<bool>,
    /// Tightest recent round trip.
    pub rtt_seconds: Option<f64>,
    /// Server clock minus this host's, and the half-width of the interval that must contain it.
    pub clock_offset: Option<(f64, f64)>,
    /// Worst case between this host's clock and the server's: the tighter of `TIME` and chrony on both ends.
    pub skew_bound_seconds: Option<f64>,
    /// `TIME` does not advance.
    pub clock_frozen: Option<bool>,
    /// Restarted without durable data less than the longest lease ago.
    pub restart_unsafe: Option<bool>,
    /// `evicted_keys`.
    pub evicted_keys: Option<u64>,
    /// `expired_keys`.
    pub expired_keys: Option<u64>,
    /// Its connections by client library and version, where it says who is connected.
    pub clients: Option<ByLibrary>,
    /// `total_connections_received`.
    pub connections_received: Option<u64>,
    /// `rejected_connections`.
    pub rejected_connections: Option<u64>,
}

/// The view of a node of this store.
pub(super) fn node_view(state: &State, store: &Store, node: &Node, instant: Instant) -> NodeView {
    let now = instant.mono;
    let poll = state.rules.poll_interval;
    let facts = node.facts.as_ref().filter(|f| is_fresh(Some(f.span.done), now, poll));
    let is_replica = matches!(node.role, Role::Replica { .. });
    let primary = store.primary(node.line);
    NodeView {
        addr: node.addr.clone(),
        up: node.is_up && node.failure.is_none(),
        failure: node
            .failure
            .as_ref()
            .map(|f| (f.reason, f.detail.clone(), now.secs_since(f.since).max(0.0))),
        permissions: node.facts.as_ref().map(|f| f.permissions.clone()).unwrap_or_default(),
        restarts: node.restarts,
        confirmations: is_replica.then_some(node.confirmations),
        event_gap_seconds: node.event_gap,
        feed: store
            .lines
            .get(&node.line)
            .filter(|line| line.is_led_by(&node.addr))
            .and_then(|line| Some(line.feed?.standing)),
        slowlog: slowlog::of_node(node),
        clock_steps: (node.clock.forward, node.clock.backward),
        clock_step_seconds: node.clock.last_step.map(|s| s as f64 / 1e6),
        facts: facts.map(|f| {
            let is_master = f.role == Role::Master;
            let primary_offset = primary.and_then(|p| p.facts.as_ref()?.offset);
            NodeFactsView {
                run_id: f.run_id.as_deref().map(Arc::from),
                version: f.version.as_str().into(),
                flavor: f.flavor.as_str().into(),
                mode: f.mode.as_str().into(),
                maxmemory_policy: f.maxmemory_policy.as_deref().unwrap_or("").into(),
                role: f.role.as_str(),
                lag_bytes: match (is_replica, primary_offset, f.offset) {
                    // The two offsets are read at different instants: a replica read later is not ahead.
                    (true, Some(p), Some(r)) => Some(p.saturating_sub(r)),
                    _ => None,
                },
                link_up: match f.role {
                    Role::Replica { linked } => Some(linked),
                    _ => None,
                },
                connected_replicas: f.connected_replicas.filter(|_| is_master),
                min_replicas_to_write: f.min_replicas_to_write.filter(|_| is_master),
                durable: f.aof,
                evicts_locks: f.evicts_locks(),
                rtt_seconds: node.clock.rtt().map(|r| r.as_secs_f64()),
                clock_offset: node.clock.interval_at(now).map(|offset| {
                    // Kept against the observer's monotonic clock; wall minus monotonic makes it this host's.
                    let host = state.host_clock.last().map_or_else(|| instant.ahead(), wall_ahead);
                    let offset = Interval::from_micros(offset).minus(host);
                    (offset.middle(), offset.half())
                }),
                skew_bound_seconds: skew(&state.clocks, &state.walls(now), &store.name, node)
                    .map(|s| s.interval.worst()),
                clock_frozen: node.clock.frozen,
                restart_unsafe: (f.role != Role::Sentinel)
                    .then(|| node.unsafe_until.is_some_and(|until| now < until)),
                evicted_keys: f.evicted_keys,
                expired_keys: f.expired_keys,
                clients: by_library(node, now),
                connections_received: f.connections_received,
                rejected_connections: f.rejected_connections,
            }
        }),
    }
}
