//! What cannot be judged, and why: never a zero where nothing was seen.

mod holder;

use super::holder::Holder;
use super::quiet::Sum;
use super::{
    Aspect, BlindReason, LockView, clock, event_coverage, host_coverage, lease_coverage, resources,
    slowlog,
};
use crate::config::SeriesTier;
use crate::derive::State;
use crate::derive::fresh::is_fresh;
use crate::derive::lock::Lock;
use crate::derive::store::Store;
use crate::derive::worker::Worker;
use crate::observe::lock::Unreadable;
use crate::observe::node::FailReason;
use crate::observe::{Mono, Role};

use holder::{heartbeat, process};

/// Every aspect and reason that this version can report; exported with 0 from the start.
pub const BLIND: [(Aspect, BlindReason); 45] = [
    (Aspect::Holder, BlindReason::NotConfigured),
    (Aspect::Holder, BlindReason::OpaqueToken),
    (Aspect::Holder, BlindReason::Unsupported),
    (Aspect::Holder, BlindReason::Permission),
    (Aspect::Holder, BlindReason::Unreachable),
    (Aspect::Holder, BlindReason::NoHistory),
    (Aspect::Heartbeat, BlindReason::NotConfigured),
    (Aspect::Heartbeat, BlindReason::Permission),
    (Aspect::Heartbeat, BlindReason::Unreachable),
    (Aspect::Heartbeat, BlindReason::NoHistory),
    (Aspect::Heartbeat, BlindReason::Unsupported),
    (Aspect::Process, BlindReason::Hidden),
    (Aspect::Process, BlindReason::ForeignHost),
    (Aspect::Process, BlindReason::OpaqueToken),
    (Aspect::Process, BlindReason::Unreachable),
    (Aspect::Process, BlindReason::NoHistory),
    (Aspect::Stall, BlindReason::Permission),
    (Aspect::Stall, BlindReason::Hidden),
    (Aspect::Stall, BlindReason::Unsupported),
    (Aspect::Stall, BlindReason::Unreachable),
    (Aspect::Stall, BlindReason::NoHistory),
    (Aspect::Lease, BlindReason::Permission),
    (Aspect::Lease, BlindReason::Unsupported),
    (Aspect::Lease, BlindReason::Unreachable),
    (Aspect::Fencing, BlindReason::NotConfigured),
    (Aspect::Fencing, BlindReason::Permission),
    (Aspect::Fencing, BlindReason::Unreachable),
    (Aspect::Fencing, BlindReason::NoHistory),
    (Aspect::Events, BlindReason::Permission),
    (Aspect::Events, BlindReason::Unsupported),
    (Aspect::Events, BlindReason::Unreachable),
    (Aspect::Slowlog, BlindReason::Permission),
    (Aspect::Slowlog, BlindReason::Unsupported),
    (Aspect::Renewals, BlindReason::Unsupported),
    (Aspect::Renewals, BlindReason::NoHistory),
    (Aspect::Replicas, BlindReason::Unreachable),
    (Aspect::Quorum, BlindReason::Permission),
    (Aspect::Quorum, BlindReason::Unreachable),
    (Aspect::Clock, BlindReason::Permission),
    (Aspect::Clock, BlindReason::Unsupported),
    (Aspect::Clock, BlindReason::Unreachable),
    (Aspect::Clock, BlindReason::NoHistory),
    (Aspect::Hold, BlindReason::ReusableToken),
    (Aspect::Hold, BlindReason::NoHistory),
    (Aspect::Token, BlindReason::ReusableToken),
];

/// Of what cannot be judged, that which is configured. What would be learned without that is not.
pub(super) fn configured(blind: &[(Aspect, BlindReason)]) -> Vec<(Aspect, BlindReason)> {
    let is_learned = |aspect| matches!(aspect, Aspect::Hold | Aspect::Token);
    blind
        .iter()
        .copied()
        .filter(|(aspect, reason)| *reason != BlindReason::NotConfigured && !is_learned(*aspect))
        .collect()
}

/// Everything that cannot be judged of a lock, configured or not.
pub(super) fn judge(
    state: &State,
    lock: &Lock,
    holders: &[Holder<'_>],
    now: Mono,
) -> Vec<(Aspect, BlindReason)> {
    let mut lost = Vec::new();
    match lock.unreadable {
        Some(Unreadable::Permission) => lost.push((Aspect::Lease, BlindReason::Permission)),
        Some(Unreadable::Unexpected) => lost.push((Aspect::Lease, BlindReason::Unsupported)),
        None if !is_fresh(lock.seen.map(|s| s.span.done), now, state.rules.poll_interval) => {
            let aspect = if lock.servers.is_some() { Aspect::Quorum } else { Aspect::Lease };
            lost.push((aspect, store_reason(state, lock)));
        }
        None => {}
    }
    if has_lost_replica(state, lock) {
        lost.push((Aspect::Replicas, BlindReason::Unreachable));
    }
    if (lock.spread.is_some() || lock.servers.is_some()) && has_replica(state, lock) {
        lost.push((Aspect::Replicas, BlindReason::Unsupported));
    }
    if lock.rules.series == SeriesTier::Full
        && let Some(reason) = clock::blind_reason(state, lock, now)
    {
        lost.push((Aspect::Clock, reason));
    }
    lost.extend(event_coverage::reason(state, lock).map(|reason| (Aspect::Events, reason)));
    lost.extend(slowlog::blind(state, lock).map(|reason| (Aspect::Slowlog, reason)));
    resources::blind(state, lock, now, &mut lost);
    let list = resources::list_reason(state, lock, now);
    lost.extend(list.map(|reason| (Aspect::Holder, reason)));
    lease_coverage::tokens(lock, &mut lost);
    // What is known of its holders is of before.
    if lock.unreadable.is_some() {
        return lost;
    }
    let is_missed = lock.missed_pointer().is_some();
    if is_missed {
        // Nothing is to be configured: there is a pointer, and it finds nobody.
        lost.push((Aspect::Holder, BlindReason::Unsupported));
    }
    for h in holders.iter().filter(|_| !is_missed) {
        holder::holder(state, lock, h, now, &mut lost);
    }
    lease_coverage::ends(lock, holders, &mut lost);
    for h in holders {
        lease_coverage::renewals(lock, h, state.rules.poll_interval, &mut lost);
    }
    // Of several holders the same may be said once for each.
    lost.sort();
    lost.dedup();
    lost
}

/// Whether a replica of its store cannot be compared: it is away, or its own link to the primary is.
fn has_lost_replica(state: &State, lock: &Lock) -> bool {
    let Some(store) = state.stores.get(&lock.store) else { return false };
    // Locks without the signal need no series that explains why it is absent.
    lock.rules.series == SeriesTier::Full
        && store.nodes.values().any(|n| match n.role {
            Role::Replica { linked } => n.failure.is_some() || !linked,
            _ => false,
        })
}

/// Whether a copy of it could be compared, if copies of a lock over several keys were.
fn has_replica(state: &State, lock: &Lock) -> bool {
    let nodes = state.stores.get(&lock.store).into_iter().flat_map(|s| s.nodes.values());
    lock.rules.series == SeriesTier::Full
        && nodes.into_iter().any(|n| matches!(n.role, Role::Replica { .. }))
}

/// Why a lock's store does not tell: it refuses us, or it does not answer.
fn store_reason(state: &State, lock: &Lock) -> BlindReason {
    let Some(store) = state.stores.get(&lock.store) else { return BlindReason::Unreachable };
    // Locks are read on the primary; while there is none, the answer of any node of its line is better than nothing.
    let failure = match store.primary(lock.line) {
        Some(primary) => primary.failure.as_ref(),
        None => {
            let mut of_line = store.nodes.values().filter(|n| n.line == lock.line);
            of_line.find_map(|n| n.failure.as_ref())
        }
    };
    failure.map_or(BlindReason::Unreachable, |f| source_reason(f.reason))
}

/// What a source's failure means for whoever relies on it.
pub(super) fn source_reason(reason: FailReason) -> BlindReason {
    match reason {
        FailReason::Auth | FailReason::Permission => BlindReason::Permission,
        _ => BlindReason::Unreachable,
    }
}

/// Locks of a store that cannot be judged, by aspect and reason.
pub(super) fn blind<'a>(
    store: &Store,
    locks: impl Iterator<Item = &'a LockView>,
    quiet: &Sum,
) -> Vec<(Aspect, BlindReason, u64)> {
    let mut counts = quiet.blind;
    let mut count = |aspect, reason| {
        if let Some(i) = BLIND.iter().position(|b| *b == (aspect, reason))
            && let Some(n) = counts.get_mut(i)
        {
            *n += 1;
        }
    };
    for (aspect, reason) in locks.flat_map(|l| &l.blind) {
        count(*aspect, *reason);
    }
    for (_, lock) in store.locks.awake() {
        if !lock.is_lock() {
            // Found by a pattern, there, and without an owner: a counter, a queue, or a lock of no known format.
            if lock.is_ownerless {
                count(Aspect::Holder, BlindReason::Unsupported);
            }
            if lock.is_refused() {
                count(Aspect::Lease, BlindReason::Permission);
            }
        }
    }
    BLIND.iter().zip(counts).map(|((a, r), n)| (*a, *r, n)).collect()
}

/// What cannot be judged of a worker.
pub(super) fn worker(
    state: &State,
    worker: &Worker,
    now: Mono,
) -> Vec<(&'static str, &'static str)> {
    let Some((_, group, rules)) = state.workers.with_group(&worker.name) else { return Vec::new() };
    let mut lost = Vec::new();
    if let Some(reason) = heartbeat(worker, group, rules) {
        lost.push((Aspect::Heartbeat.as_str(), reason.as_str()));
    }
    let newest = worker.tokens.iter().max_by_key(|(_, (_, at))| *at).map(|(pid, _)| *pid);
    if let Some(reason) = process(worker, group, newest) {
        lost.push((Aspect::Process.as_str(), reason.as_str()));
    }
    host_coverage::worker(worker, group, now, state.rules.stalls(), &mut lost);
    lost
}
