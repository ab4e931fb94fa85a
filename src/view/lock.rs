//! One lock of a view.

use std::sync::Arc;
use std::time::Duration;

use super::{HolderView, LockCounts, LockView, TransitionView, coverage};
use crate::config::SeriesTier;
use crate::derive::fresh::is_fresh;
use crate::derive::interval::Interval;
use crate::derive::lock::{Lock, Phase};
use crate::derive::node::Node;
use crate::derive::store::Store;
use crate::derive::{Evidence, Liveness, Signal, State};
use crate::observe::{Expiry, Mono, Role, ServerTime};

/// Ends that a lock counts; the others are told per store only.
const LOCK_ENDS: [Evidence; 4] =
    [Evidence::Released, Evidence::Lapsed, Evidence::Overwritten, Evidence::Unknown];

pub(super) fn lock_view(state: &State, lock: &Lock, now: Mono) -> LockView {
    let poll = state.rules.poll_interval;
    let fresh = is_fresh(lock.seen.map(|s| s.span.done), now, poll) && lock.unreadable.is_none();
    let tenure = lock.tenure();
    let lease = lock.lease();
    let lease_micros = lease.map(|(l, _)| l);
    let judged = lock.holder(&state.workers, now);
    let last = lock.seen;
    let written = tenure.map(|t| t.write.made_at(lease_micros));
    let expiry = tenure.and_then(|t| match t.expiry {
        Expiry::At(e) => Some(e),
        Expiry::Never => None,
    });
    let heartbeat = tenure
        .and_then(|t| t.worker.as_ref())
        .and_then(|w| state.workers.by_name.get(w))
        .map(|w| &w.heartbeat)
        .filter(|h| h.was_seen());
    let beat = heartbeat.and_then(|h| h.last_advance());
    let owner = tenure.and_then(|t| t.owner.as_ref());
    let blind = coverage::judge(state, lock, judged, now);
    LockView {
        name: lock.name.clone(),
        key: lock.key_text.clone(),
        format: lock.value.as_ref().map_or("", |v| v.format),
        lease_source: lease.map(|(_, s)| s),
        tier: tier(lock, now, state.rules.retain),
        fresh,
        held: match lock.phase {
            Phase::Unseen => None,
            Phase::Free { .. } if lock.unreadable.is_some() => None,
            Phase::Free { .. } => Some(false),
            Phase::Held(_) => Some(true),
        },
        holders: holders(lock, judged.map_or(Liveness::Unknown, |j| j.liveness)),
        previous: lock.previous.clone(),
        held_seconds: tenure.map(|t| now.secs_since(t.first.span.done).max(0.0)),
        held_since_timestamp: tenure.map(|t| t.first.time.as_secs_f64()),
        remaining_seconds: match (expiry, last) {
            (Some(e), Some(seen)) => {
                Some((e.secs_since(seen.time) - now.secs_since(seen.span.done)).max(0.0))
            }
            _ => None,
        },
        remaining_by_replica: match expiry {
            Some(e) if fresh => remaining_by_replica(state, lock, e, now),
            _ => Vec::new(),
        },
        length_seconds: lock.lease_seconds(),
        expiry_timestamp: expiry.map(|e| e.as_secs_f64()),
        renewal_age_seconds: written.map(|w| now.secs_since(w).max(0.0)),
        last_renewal_timestamp: match (tenure, written) {
            (Some(t), Some(w)) => {
                Some(t.write.shown.time.as_secs_f64() - t.write.shown.span.done.secs_since(w))
            }
            _ => None,
        },
        renewal_period_seconds: lock.habit.period(),
        least_margin_ratio: lock.margins.least(now),
        stall_budget_seconds: lock
            .stall_budget(state.stores.get(&lock.store).and_then(Store::rtt), poll),
        left_to_expire: lock.rules.ends_by_expiry || tenure.is_some_and(|t| t.shortened),
        counts: counts(state, lock),
        signals: Signal::ALL.iter().map(|s| (*s, lock.signals.get(*s))).collect(),
        rises: Signal::ALL.iter().map(|s| (*s, lock.signals.rises(*s))).collect(),
        liveness: judged.map(|j| j.liveness),
        lost_seconds: judged
            .filter(|j| j.liveness.is_lost())
            .and_then(|j| j.lost_since())
            .map(|at| now.secs_since(at).max(0.0)),
        renewal_minus_heartbeat_seconds: match (written, beat) {
            (Some(w), Some(b)) => Some(w.secs_since(b)),
            _ => None,
        },
        overrun_seconds: lock.overrun,
        typical_hold_seconds: lock.holds.typical(),
        divergences: {
            let mut list: Vec<_> =
                lock.divergences(now, poll).map(|(a, k)| (a.clone(), k)).collect();
            list.sort();
            list
        },
        coverage_lost: coverage::configured(&blind),
        blind,
        token_host: owner.and_then(|o| o.host.clone()),
        token_pid: owner.and_then(|o| o.pid),
        beat_age_seconds: heartbeat.and_then(|h| h.age()),
        transitions: lock
            .timeline
            .iter()
            .map(|t| TransitionView {
                age_seconds: now.secs_since(t.at).max(0.0),
                what: t.what,
                detail: t.detail.clone(),
            })
            .collect(),
    }
}

/// What each replica's own clock would leave of the lease if it took over now, and by how much earlier it would end there
/// than on the primary; 0 where that is within the error of the two clocks.
fn remaining_by_replica(
    state: &State,
    lock: &Lock,
    expiry: ServerTime,
    now: Mono,
) -> Vec<(Arc<str>, f64, f64)> {
    let Some(store) = state.stores.get(&lock.store) else { return Vec::new() };
    let offset = |node: &Node| {
        let is_known = node.failure.is_none()
            && is_fresh(node.clock.last_asked(), now, state.rules.poll_interval);
        node.clock.interval_at(now).filter(|_| is_known).map(Interval::from_micros)
    };
    let primary = store.primary.as_ref().and_then(|p| store.nodes.get(p)).and_then(offset);
    let Some(primary) = primary else { return Vec::new() };
    let replicas = store.nodes.values().filter(|n| matches!(n.role, Role::Replica { .. }));
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

fn tier(lock: &Lock, now: Mono, retain: Duration) -> Option<SeriesTier> {
    match lock.rules.series {
        SeriesTier::Flagged => {
            let is_flagged = Signal::ALL.iter().any(|s| lock.signals.is_up(*s))
                || lock.flagged_at.is_some_and(|at| now.since(at) < retain);
            is_flagged.then_some(SeriesTier::Core)
        }
        tier => Some(tier),
    }
}

fn holders(lock: &Lock, liveness: Liveness) -> Vec<HolderView> {
    let Some(tenure) = lock.tenure() else { return Vec::new() };
    vec![HolderView {
        worker: tenure.worker.clone().unwrap_or_default(),
        fingerprint: tenure.owner.as_ref().map(|o| o.token.fingerprint()).unwrap_or_default(),
        count: tenure.count,
        liveness,
    }]
}

fn counts(state: &State, lock: &Lock) -> LockCounts {
    let c = &lock.counts;
    let is_visible = coverage::can_see_holder(state, lock);
    LockCounts {
        acquisitions: c.acquisitions,
        renewals: c.renewals,
        late_renewals: c.late_renewals,
        renewals_after_lost_liveness: c.renewals_after_loss,
        ends: LOCK_ENDS
            .iter()
            .map(|e| (*e, c.ends.get(*e as usize).copied().unwrap_or(0)))
            .collect(),
        expired_under_holder: is_visible.then(|| {
            [Liveness::Alive, Liveness::Stopped, Liveness::Frozen]
                .into_iter()
                .zip(c.expired_under)
                .collect()
        }),
        free_seconds: c.free_seconds,
    }
}
