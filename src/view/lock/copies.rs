//! What of a lock its replicas have, and what would be left of it there.

use std::sync::Arc;

use crate::derive::State;
use crate::derive::fresh::is_fresh;
use crate::derive::interval::Interval;
use crate::derive::lock::{Lock, Phase, Unreplicated};
use crate::derive::node::Node;
use crate::derive::servers::Ballot;
use crate::observe::{Line, Mono, Role, ServerTime};

/// Whether a replica has what a held lock shows, if its line was seen to have any. The keys of a lock that is spread over
/// several are not followed one by one.
pub(super) fn unreplicated(state: &State, lock: &Lock) -> Option<Unreplicated> {
    let is_held = matches!(lock.phase, Phase::Held(_) | Phase::Shared(_));
    let line = || state.stores.get(&lock.store)?.lines.get(&lock.line);
    let is_replicated = || line().is_some_and(|l| l.is_replicated);
    lock.unreplicated.filter(|_| is_held && lock.spread.is_none() && is_replicated())
}

/// What each replica's own clock would leave of the lease if it took over now, and by how much earlier it would end there
/// than on the primary; 0 where that is within the error of the two clocks.
pub(super) fn remaining_by_replica(
    state: &State,
    lock: &Lock,
    expiry: ServerTime,
    now: Mono,
) -> Vec<(Arc<str>, f64, f64)> {
    // The end of a lock over several servers is by no node's clock.
    if lock.servers.is_some() {
        return Vec::new();
    }
    let Some(store) = state.stores.get(&lock.store) else { return Vec::new() };
    let offset = |node: &Node| {
        let is_known = node.failure.is_none()
            && is_fresh(node.clock.last_asked(), now, state.rules.poll_interval);
        node.clock.interval_at(now).filter(|_| is_known).map(Interval::from_micros)
    };
    let primary = store.primary(lock.line).and_then(offset);
    let Some(primary) = primary else { return Vec::new() };
    let line = store.nodes.values().filter(|n| n.line == lock.line);
    let replicas = line.filter(|n| matches!(n.role, Role::Replica { .. }));
    replicas
        .filter_map(|node| {
            let own = offset(node)?;
            let remaining = expiry.as_secs_f64() - (own.middle() + now.secs_since(Mono(0)));
            let ahead = own.minus(primary);
            let is_within_error = ahead.lo <= 0.0 && ahead.hi >= 0.0;
            let earlier = if is_within_error { 0.0 } else { ahead.middle() };
            Some((node.addr.clone(), remaining.max(0.0), earlier))
        })
        .collect()
}

/// What each of its servers says. One of which no node was seen yet goes by its number in the config.
pub(super) fn ballots(state: &State, lock: &Lock) -> Vec<(Arc<str>, Ballot)> {
    let all = lock.ballots().into_iter();
    let addr = |line: Line| {
        let store = state.stores.get(&lock.store)?;
        let known = store.lines.get(&line)?;
        known
            .primary
            .clone()
            .or_else(|| store.nodes.values().find(|n| n.line == line).map(|n| n.addr.clone()))
    };
    let named = |line: Line| format!("server {}", line.0.saturating_add(1)).into();
    all.map(|(line, ballot)| (addr(line).unwrap_or_else(|| named(line)), ballot)).collect()
}
