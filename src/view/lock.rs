//! One lock of a view.

mod copies;

use std::time::Duration;

use super::clients::other_renewer;
use super::holder::{Holder, can_see_holder, holder_view, holders, worst};
use super::{LockView, contention, coverage, hint, resources, slowlog};
use crate::config::SeriesTier;
use crate::derive::fresh::is_fresh;
use crate::derive::lock::{EXPIRED_UNDER, Lock, Phase};
use crate::derive::{ContentionKind, Evidence, Liveness, Signal, State};
use crate::observe::{Expiry, Mono};

use copies::{ballots, remaining_by_replica, unreplicated};

/// Ends that a lock counts; the others are told per store only.
const LOCK_ENDS: [Evidence; 4] =
    [Evidence::Released, Evidence::Lapsed, Evidence::Overwritten, Evidence::Unknown];

/// Counters of a lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockCounts {
    /// Acquisitions seen.
    pub acquisitions: u64,
    /// Renewals seen.
    pub renewals: u64,
    /// Renewals that came after the lock was overdue.
    pub late_renewals: u64,
    /// Renewals after the holder lost liveness.
    pub renewals_after_lost_liveness: u64,
    /// Ends: released, lapsed, overwritten, unknown.
    pub ends: Vec<(Evidence, u64)>,
    /// Leases that ran out under a holder, by its liveness; `None` where holders cannot be seen.
    pub expired_under_holder: Option<Vec<(Liveness, u64)>>,
    /// Proofs that two owners were valid at once, and hints at it, of the kinds that can be judged.
    pub contentions: Vec<(ContentionKind, u64)>,
    /// Seconds free.
    pub free_seconds: f64,
    /// Seconds with at least one waiter; `None` where the format never showed any.
    pub waiting_seconds: Option<f64>,
}

/// Something that happened to a lock.
#[derive(Clone, Debug, PartialEq)]
pub struct TransitionView {
    /// Seconds before the snapshot.
    pub age_seconds: f64,
    /// What, in one word such as `acquired`, `renewed_late`, `released`, `holder_stale`.
    pub what: &'static str,
    /// More, for a person; no secrets.
    pub detail: String,
}

impl LockView {
    /// Its holders, those that are not followed one by one among them.
    pub fn holder_count(&self) -> u64 {
        self.holders.len() as u64 + self.holders_beyond
    }

    /// How many hold it and how many may, if it is held by more.
    pub fn over_limit(&self) -> Option<(u64, u64)> {
        let (count, limit) = (self.holder_count(), self.limit?);
        (self.held == Some(true) && count > limit).then_some((count, limit))
    }
}

pub(super) fn lock_view(state: &State, lock: &Lock, now: Mono) -> LockView {
    let poll = state.rules.poll_interval;
    let fresh = is_fresh(lock.seen.map(|s| s.span.done), now, poll) && lock.unreadable.is_none();
    let holders = holders(state, lock, now);
    let only = match holders.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    let oldest = holders.first().map(|h| h.tenure);
    let first_to_end = holders
        .iter()
        .filter(|h| h.tenure.expiry != Expiry::Never)
        .min_by(|a, b| f64::total_cmp(&left(a, now), &left(b, now)));
    let lease = lock.lease_of(first_to_end.map(|h| h.tenure).or(oldest));
    let written = holders.iter().filter(|h| h.written.is_some()).min_by_key(|h| h.written);
    let expiry = first_to_end.and_then(|h| h.expiry());
    let (liveness, lost_seconds) = worst(&holders, now);
    let rtt = state.stores.get(&lock.store).and_then(|s| s.rtt(lock.line));
    let blind = coverage::judge(state, lock, &holders, now);
    let view = LockView {
        name: lock.name.clone(),
        key: lock.key_text.clone(),
        format: lock.value.as_ref().map_or("", |v| v.format),
        also_fits: lock.value.as_ref().map_or_else(Vec::new, |v| v.also_fits.clone()),
        lease_source: lease.map(|(_, s)| s),
        group: lock.rules.group.as_ref().map(|g| g.name.clone()),
        look: None,
        tier: tier(lock, now, state.rules.retain),
        fresh,
        held: match lock.phase {
            Phase::Unseen => None,
            Phase::Free { .. } if lock.unreadable.is_some() => None,
            Phase::Free { .. } => Some(false),
            Phase::Held(_) | Phase::Shared(_) => Some(true),
        },
        holders: holders.iter().map(|h| holder_view(h, now)).collect(),
        holders_beyond: match &lock.phase {
            Phase::Shared(crowd) => crowd.beyond,
            _ => 0,
        },
        limit: lock.limit(),
        votes: lock.votes(),
        ballots: ballots(state, lock),
        waiters: lock.waiters(now, poll),
        previous: lock.previous.clone(),
        held_seconds: oldest.map(|t| now.secs_since(t.first.span.done).max(0.0)),
        held_since_timestamp: oldest.map(|t| t.first.time.as_secs_f64()),
        held_after_timestamp: oldest.and_then(|t| Some(t.begun_after?.as_secs_f64())),
        read_timestamp: lock.seen.map(|s| s.time.as_secs_f64()),
        remaining_seconds: first_to_end.and_then(|h| h.remaining(now)),
        remaining_by_replica: match expiry {
            Some(e) if fresh => remaining_by_replica(state, lock, e, now),
            _ => Vec::new(),
        },
        length_seconds: lease.map(|(l, _)| l as f64 / 1e6),
        expiry_timestamp: expiry.map(|e| e.as_secs_f64()),
        renewal_age_seconds: written.and_then(|h| h.written).map(|w| now.secs_since(w).max(0.0)),
        last_renewal_timestamp: written.and_then(Holder::written_at),
        renewal_period_seconds: lock.habit.period(),
        least_margin_ratio: lock.margins.least(now),
        stall_budget_seconds: match holders.as_slice() {
            [] => lock.stall_budget(None, rtt, poll),
            held => held
                .iter()
                .filter_map(|h| lock.stall_budget(Some(h.tenure), rtt, poll))
                .reduce(f64::min),
        },
        left_to_expire: lock.ends_by_expiry()
            || (!holders.is_empty() && holders.iter().all(|h| h.tenure.shortened)),
        counts: counts(state, lock),
        signals: Signal::ALL.iter().map(|s| (*s, lock.signals.get(*s))).collect(),
        rises: Signal::ALL
            .iter()
            .filter(|s| **s != Signal::QuorumDegraded || lock.servers.is_some())
            .map(|s| (*s, lock.signals.rises(*s)))
            .collect(),
        liveness,
        lost_seconds,
        renewal_minus_heartbeat_seconds: holders
            .iter()
            .filter_map(|h| Some(h.written?.secs_since(h.heartbeat?.last_advance()?)))
            .reduce(f64::max),
        overrun_seconds: lock.overrun,
        typical_hold_seconds: lock.holds.typical(),
        unreplicated_seconds: unreplicated(state, lock).map(|u| u.seconds(now)),
        divergences: {
            let mut list: Vec<_> =
                lock.divergences(now, poll).map(|(a, k)| (a.clone(), k)).collect();
            list.sort();
            list
        },
        coverage_lost: coverage::configured(&blind),
        hints: hint::hints(state, lock, &holders, &blind, now),
        blind,
        beat_age_seconds: only.and_then(|h| h.heartbeat?.age()),
        clients: None,
        last_write: only.and_then(|h| {
            let write = &h.tenure.write;
            Some((write.after?.0, write.shown.span.done))
        }),
        renewer_separate: lock.renewers.separate(),
        other_renewer: other_renewer(state, lock, now),
        renewals: Vec::new(),
        told: resources::told(state, lock, now),
        contention: contention::proofs(lock, now),
        missed_pointer: lock.missed_pointer(),
        slow_commands: slowlog::of_lock(lock),
        recent: lock.recent.clone(),
        past: lock.past.clone(),
        transitions: lock
            .timeline
            .iter()
            .map(|t| TransitionView {
                age_seconds: now.secs_since(t.at).max(0.0),
                what: t.what,
                detail: t.detail.clone(),
            })
            .collect(),
    };
    if lock.unreadable.is_some() { misshapen(view, lock, now, poll) } else { view }
}

/// A key of an unexpected shape tells nothing of who holds the lock, and that much has to be seen.
fn misshapen(view: LockView, lock: &Lock, now: Mono, poll: Duration) -> LockView {
    let is_up = lock.signals.is_up(Signal::ShapeUnexpected);
    LockView {
        fresh: is_up && is_fresh(lock.shapes.last, now, poll),
        held: None,
        holders: Vec::new(),
        holders_beyond: 0,
        ballots: Vec::new(),
        waiters: None,
        held_seconds: None,
        held_since_timestamp: None,
        held_after_timestamp: None,
        read_timestamp: None,
        remaining_seconds: None,
        remaining_by_replica: Vec::new(),
        expiry_timestamp: None,
        renewal_age_seconds: None,
        last_renewal_timestamp: None,
        stall_budget_seconds: None,
        signals: Signal::ALL
            .iter()
            .map(|s| (*s, lock.signals.get(*s).filter(|_| *s == Signal::ShapeUnexpected)))
            .collect(),
        liveness: None,
        lost_seconds: None,
        renewal_minus_heartbeat_seconds: None,
        unreplicated_seconds: None,
        divergences: Vec::new(),
        renewer_separate: None,
        beat_age_seconds: None,
        ..view
    }
}

fn tier(lock: &Lock, now: Mono, retain: Duration) -> Option<SeriesTier> {
    match lock.rules.series {
        // Decided for all locks of the group together.
        _ if lock.rules.group.is_some() => None,
        SeriesTier::Flagged => {
            let is_flagged = Signal::ALL.iter().any(|s| lock.signals.is_up(*s))
                || lock.look.is_some_and(|l| now.since(l.last) < retain);
            is_flagged.then_some(SeriesTier::Core)
        }
        tier => Some(tier),
    }
}

/// What is left of a lease, for comparison.
fn left(holder: &Holder<'_>, now: Mono) -> f64 {
    holder.remaining(now).unwrap_or(f64::INFINITY)
}

fn counts(state: &State, lock: &Lock) -> LockCounts {
    let c = &lock.counts;
    let is_visible = can_see_holder(state, lock);
    LockCounts {
        acquisitions: c.acquisitions,
        renewals: c.renewals,
        late_renewals: c.late_renewals,
        renewals_after_lost_liveness: c.renewals_after_loss,
        ends: LOCK_ENDS
            .iter()
            .map(|e| (*e, c.ends.get(*e as usize).copied().unwrap_or(0)))
            .collect(),
        expired_under_holder: is_visible
            .then(|| EXPIRED_UNDER.into_iter().zip(c.expired_under).collect()),
        contentions: contention::counts(state, lock),
        free_seconds: c.free_seconds,
        waiting_seconds: lock.shows_waiters().then_some(c.waiting_seconds),
    }
}
