//! Series of one lock. A lock that is to have no series gets none, and one that was not read lately only what it is that
//! cannot be judged.

use std::sync::LazyLock;

use super::resources;
use crate::config::SeriesTier;
use crate::expose::catalogue::{Family, lock as cat, store};
use crate::expose::sheet::{Sheet, Tiered, flag};
use crate::view::{ContentionKind, Evidence, Liveness, LockView, Signal};

/// Ends that are counted for each lock; the others belong to the store alone.
const LOCK_ENDS: [Evidence; 4] =
    [Evidence::Lapsed, Evidence::Overwritten, Evidence::Released, Evidence::Unknown];

/// Holder states that an expired lease is counted by; a dead holder's lease is meant to expire.
const EXPIRED_STATES: [Liveness; 3] = [Liveness::Alive, Liveness::Frozen, Liveness::Stopped];

/// Label values in the order in which they are printed: samples that come in order need not be put in order.
static LIVENESS: LazyLock<Vec<Liveness>> =
    LazyLock::new(|| by_word(Liveness::ALL, |each| each.as_str()));
static CONTENTIONS: LazyLock<Vec<ContentionKind>> =
    LazyLock::new(|| by_word(ContentionKind::ALL, |each| each.as_str()));
static SIGNALS: LazyLock<Vec<Signal>> =
    LazyLock::new(|| by_word(Signal::ALL, |each| each.as_str()));

fn by_word<T: Copy>(all: &[T], word: impl Fn(T) -> &'static str) -> Vec<T> {
    let mut all = all.to_vec();
    all.sort_unstable_by_key(|each| word(*each));
    all
}

/// Adds the lock's series.
pub fn add(sheet: &mut Sheet, store: &str, lock: &LockView) {
    let Some(tier) = lock.tier else { return };
    // Also of a lock that cannot be read: this is where it says why.
    for (aspect, reason) in &lock.coverage_lost {
        let labels = [store, &lock.name, aspect.as_str(), reason.as_str()];
        sheet.add(&store::COVERAGE_LOST, labels, 1.0);
    }
    if !lock.fresh {
        return;
    }
    let mut sheet = Tiered::new(sheet, tier == SeriesTier::Full);
    add_info(&mut sheet, store, lock);
    if let Some(votes) = lock.votes {
        sheet.add(&cat::QUORUM_VOTES, [store, &lock.name], votes.most as f64);
        sheet.add(&cat::QUORUM_NEEDED, [store, &lock.name], votes.needed as f64);
    }
    add_holders(&mut sheet, store, lock);
    let separate = lock.renewer_separate.map(flag);
    sheet.add_some(&cat::RENEWER_SEPARATE, [store, &lock.name], separate);
    add_lease(&mut sheet, store, lock);
    add_counters(&mut sheet, store, lock);
    add_signals(&mut sheet, store, lock);
    resources::add(&mut sheet, store, lock);
    for (addr, kind) in &lock.divergences {
        let labels = [store, &lock.name, addr, kind.as_str()];
        sheet.add(&cat::REPLICA_LOCK_DIVERGED, labels, 1.0);
    }
}

fn add_info(sheet: &mut Tiered<'_>, store: &str, lock: &LockView) {
    let source = lock.lease_source.map_or("", |s| s.as_str());
    sheet.add(&cat::INFO, [store, &lock.name, &lock.key, lock.format, source], 1.0);
    sheet.add_some(&cat::HELD, [store, &lock.name], lock.held.map(flag));
    sheet.add_some(&cat::LIMIT, [store, &lock.name], lock.limit.map(|n| n as f64));
    if lock.left_to_expire {
        sheet.add(&cat::LEFT_TO_EXPIRE, [store, &lock.name], 1.0);
    }
    if let Some((worker, evidence)) = &lock.previous {
        let labels = [store, &lock.name, worker, evidence.as_str()];
        sheet.add(&cat::PREVIOUS_HOLDER_INFO, labels, 1.0);
    }
}

fn add_holders(sheet: &mut Tiered<'_>, store: &str, lock: &LockView) {
    let at = [store, &*lock.name];
    match lock.held {
        None => return,
        Some(false) => {
            sheet.add(&cat::HOLDERS, at, 0.0);
            return;
        }
        Some(true) => {}
    }
    // A value that names no owner is still somebody's lock.
    sheet.add(&cat::HOLDERS, at, lock.holder_count().max(1) as f64);
    let count = lock.holders.iter().map(|h| h.count).max().unwrap_or(1);
    sheet.add(&cat::REENTRANCY, at, count as f64);
    if lock.holders.is_empty() {
        sheet.add(&cat::HOLDER_INFO, [store, &lock.name, ""], 1.0);
    }
    for holder in &lock.holders {
        sheet.add(&cat::HOLDER_INFO, [store, &lock.name, &holder.worker], 1.0);
    }
    if let Some(liveness) = lock.liveness {
        for each in LIVENESS.iter() {
            let labels = [store, &lock.name, each.as_str()];
            sheet.add(&cat::LIVENESS, labels, flag(*each == liveness));
        }
    }
    sheet.add_some(&cat::LOST, at, lock.lost_seconds);
}

fn add_lease(sheet: &mut Tiered<'_>, store: &str, lock: &LockView) {
    let values: [(&Family<2>, Option<f64>); 15] = [
        (&cat::HELD_SECONDS, lock.held_seconds),
        (&cat::HELD_SINCE, lock.held_since_timestamp),
        (&cat::REMAINING, lock.remaining_seconds),
        (&cat::LENGTH, lock.length_seconds),
        (&cat::EXPIRY, lock.expiry_timestamp),
        (&cat::RENEWAL_AGE, lock.renewal_age_seconds),
        (&cat::LAST_RENEWAL, lock.last_renewal_timestamp),
        (&cat::RENEWAL_PERIOD, lock.renewal_period_seconds),
        (&cat::LEAST_MARGIN, lock.least_margin_ratio),
        (&cat::STALL_BUDGET, lock.stall_budget_seconds),
        (&cat::RENEWAL_MINUS_HEARTBEAT, lock.renewal_minus_heartbeat_seconds),
        (&cat::OVERRUN, lock.overrun_seconds),
        (&cat::TYPICAL_HOLD, lock.typical_hold_seconds),
        (&cat::UNREPLICATED, lock.unreplicated_seconds),
        (&cat::WAITERS, lock.waiters.map(|n| n as f64)),
    ];
    for (family, value) in values {
        sheet.add_some(family, [store, &lock.name], value);
    }
}

fn add_counters(sheet: &mut Tiered<'_>, store: &str, lock: &LockView) {
    let at = [store, &*lock.name];
    let counts = &lock.counts;
    sheet.add(&cat::ACQUISITIONS, at, counts.acquisitions as f64);
    sheet.add(&cat::RENEWALS, at, counts.renewals as f64);
    sheet.add(&cat::LATE_RENEWALS, at, counts.late_renewals as f64);
    sheet.add(&cat::RENEWALS_AFTER_LOST, at, counts.renewals_after_lost_liveness as f64);
    sheet.add(&cat::FREE_SECONDS, at, counts.free_seconds);
    sheet.add_some(&cat::WAITING_SECONDS, at, counts.waiting_seconds);
    for evidence in LOCK_ENDS {
        let ends = counted(&counts.ends, evidence);
        sheet.add(&cat::ENDS, [store, &lock.name, evidence.as_str()], ends as f64);
    }
    for kind in CONTENTIONS.iter() {
        let n = counts.contentions.iter().find(|(k, _)| k == kind).map(|(_, n)| *n as f64);
        sheet.add_some(&cat::CONTENTIONS, [store, &lock.name, kind.as_str()], n);
    }
    if let Some(expired) = &counts.expired_under_holder {
        for state in EXPIRED_STATES {
            let labels = [store, &lock.name, state.as_str()];
            sheet.add(&cat::EXPIRED_UNDER_HOLDER, labels, counted(expired, state) as f64);
        }
    }
}

fn add_signals(sheet: &mut Tiered<'_>, store: &str, lock: &LockView) {
    for (signal, judged) in &lock.signals {
        let family = signal_family(*signal);
        sheet.add_some(family, [store, &lock.name], judged.map(flag));
    }
    // Rises of every signal that this lock exports, from 0, also while it cannot be judged: a counter has no gaps.
    for signal in SIGNALS.iter() {
        // Only locks over several servers have it.
        let is_meant = *signal != Signal::QuorumDegraded
            || lock.rises.iter().any(|(s, _)| *s == Signal::QuorumDegraded);
        if is_meant && sheet.keeps(signal_family(*signal).tier) {
            let labels = [store, &lock.name, signal.as_str()];
            sheet.add(&cat::SIGNAL_RISES, labels, counted(&lock.rises, *signal) as f64);
        }
    }
}

fn signal_family(signal: Signal) -> &'static Family<2> {
    match signal {
        Signal::Contested => &cat::CONTESTED,
        Signal::RenewalAfterLostLiveness => &cat::RENEWAL_AFTER_LOST_LIVENESS,
        Signal::HolderStale => &cat::HOLDER_STALE,
        Signal::RenewalOverdue => &cat::RENEWAL_OVERDUE,
        Signal::QuorumDegraded => &cat::QUORUM_DEGRADED,
        Signal::LeaseLapsesInUse => &cat::LEASE_LAPSES_IN_USE,
        Signal::LeaseWithoutTtl => &cat::LEASE_WITHOUT_TTL,
        Signal::ReplicaDiverged => &cat::REPLICA_DIVERGED,
        Signal::HolderUnexpected => &cat::HOLDER_UNEXPECTED,
        Signal::HeldTooLong => &cat::HELD_TOO_LONG,
        Signal::LeaseShorterThanStall => &cat::LEASE_SHORTER_THAN_STALL,
        Signal::LeaseAbsurd => &cat::LEASE_ABSURD,
        Signal::HoldCountCreep => &cat::HOLD_COUNT_CREEP,
        Signal::Unheld => &cat::UNHELD,
        Signal::ShapeUnexpected => &cat::SHAPE_UNEXPECTED,
    }
}

/// The count of one word, 0 if it is not there: a counter's known label sets start at 0.
fn counted<W: PartialEq>(counts: &[(W, u64)], word: W) -> u64 {
    counts.iter().find(|(w, _)| *w == word).map_or(0, |(_, n)| *n)
}
