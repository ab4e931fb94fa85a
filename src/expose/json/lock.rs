//! A lock as the API shows it. What was read too long ago is history here: no state, age or verdict of it is shown.

use std::collections::BTreeMap;

use serde::Serialize;

use super::contention::{Contention, describe_contention};
use super::holder::{Holder, describe_holders};
use super::release::{ReleaseSafe, describe_release};
use super::resources::{Effects, Fencing, describe_effects, describe_fencing};
use super::slow::{SlowCommand, describe_slow};
use super::worker::Roster;
use super::{Coverage, not_empty};
use crate::expose::advice::{self, Found};
use crate::expose::standing;
use crate::view::{Aspect, BlindReason, Evidence, LockView, Signal, StoreView};

#[derive(Debug, Serialize)]
pub(super) struct Lock<'a> {
    store: &'a str,
    lock: &'a str,
    key: &'a str,
    group: Option<&'a str>,
    format: Option<&'static str>,
    also_fits: &'a [&'static str],
    fresh: bool,
    state: &'static str,
    class: Vec<&'static str>,
    diagnosis: Option<Vec<Found<'a>>>,
    signals: BTreeMap<&'static str, Option<bool>>,
    holders: Vec<Holder<'a>>,
    holders_beyond: u64,
    limit: Option<u64>,
    votes: Option<Votes>,
    waiters: Option<u64>,
    liveness: Option<&'static str>,
    lost_seconds: Option<f64>,
    held_seconds: Option<f64>,
    held_since_timestamp: Option<f64>,
    lease: Lease<'a>,
    previous: Option<Previous<'a>>,
    unreplicated_seconds: Option<f64>,
    replicas_diverged: Vec<Divergence<'a>>,
    coverage_lost: Vec<Coverage>,
    cannot_be_judged: Vec<Coverage>,
    fencing: Option<Fencing<'a>>,
    effects: Vec<Effects<'a>>,
    release_safe: ReleaseSafe,
    counts: Counts,
    slow_commands: Vec<SlowCommand<'a>>,
    contention: Vec<Contention<'a>>,
    transitions: Vec<Transition<'a>>,
}

#[derive(Debug, Default, Serialize)]
struct Lease<'a> {
    length_seconds: Option<f64>,
    length_source: Option<&'static str>,
    remaining_seconds: Option<f64>,
    expiry_timestamp: Option<f64>,
    renewal_age_seconds: Option<f64>,
    last_renewal_timestamp: Option<f64>,
    renewal_period_seconds: Option<f64>,
    least_margin_ratio: Option<f64>,
    stall_budget_seconds: Option<f64>,
    left_to_expire: bool,
    remaining_by_replica: Vec<Remaining<'a>>,
}

#[derive(Debug, Serialize)]
struct Remaining<'a> {
    addr: &'a str,
    remaining_seconds: f64,
    earlier_seconds: f64,
}

#[derive(Debug, Serialize)]
struct Votes {
    most: usize,
    needed: usize,
    of: usize,
}

#[derive(Debug, Serialize)]
struct Previous<'a> {
    worker: Option<&'a str>,
    evidence: &'static str,
}

#[derive(Debug, Serialize)]
struct Divergence<'a> {
    addr: &'a str,
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct Counts {
    acquisitions: u64,
    renewals: u64,
    late_renewals: u64,
    renewals_after_lost_liveness: u64,
    ends: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Serialize)]
struct Transition<'a> {
    age_seconds: f64,
    what: &'static str,
    detail: &'a str,
}

pub(super) fn describe<'a>(
    store: &'a StoreView,
    lock: &'a LockView,
    roster: &Roster<'_>,
) -> Lock<'a> {
    // What was read too long ago is history: holders stay for whoever looks, but no state, age or verdict does.
    let fresh = standing::is_fresh(store, lock);
    let now = |value: Option<f64>| if fresh { value } else { None };
    Lock {
        store: &store.name,
        lock: &lock.name,
        key: &lock.key,
        group: lock.group.as_deref(),
        format: not_empty(lock.format),
        also_fits: &lock.also_fits,
        fresh,
        state: standing::state(store, lock),
        class: standing::raised(store, lock).map(Signal::as_str).collect(),
        diagnosis: advice::found(store, lock),
        signals: Signal::ALL
            .iter()
            .map(|s| (s.as_str(), standing::judged(store, lock, *s)))
            .collect(),
        holders: describe_holders(lock, fresh, roster),
        holders_beyond: lock.holders_beyond,
        limit: lock.limit,
        votes: lock.votes.filter(|_| fresh).map(|v| Votes {
            most: v.most,
            needed: v.needed,
            of: v.of,
        }),
        waiters: lock.waiters.filter(|_| fresh),
        liveness: lock.liveness.filter(|_| fresh).map(|l| l.as_str()),
        lost_seconds: now(lock.lost_seconds),
        held_seconds: now(lock.held_seconds),
        held_since_timestamp: lock.held_since_timestamp,
        lease: describe_lease(lock, fresh),
        previous: lock.previous.as_ref().map(|(worker, evidence)| Previous {
            worker: not_empty(worker),
            evidence: evidence.as_str(),
        }),
        unreplicated_seconds: lock.unreplicated_seconds,
        replicas_diverged: lock
            .divergences
            .iter()
            .filter(|_| fresh)
            .map(|(addr, kind)| Divergence { addr, kind: kind.as_str() })
            .collect(),
        coverage_lost: coverage(lock, &lock.coverage_lost),
        cannot_be_judged: coverage(lock, &lock.blind),
        counts: Counts {
            acquisitions: lock.counts.acquisitions,
            renewals: lock.counts.renewals,
            late_renewals: lock.counts.late_renewals,
            renewals_after_lost_liveness: lock.counts.renewals_after_lost_liveness,
            ends: ends(&lock.counts.ends),
        },
        fencing: describe_fencing(&lock.told, fresh),
        effects: describe_effects(&lock.told),
        slow_commands: describe_slow(lock),
        contention: describe_contention(lock),
        release_safe: describe_release(store, lock),
        transitions: lock
            .transitions
            .iter()
            .map(|t| Transition { age_seconds: t.age_seconds, what: t.what, detail: &t.detail })
            .collect(),
    }
}

fn coverage(lock: &LockView, list: &[(Aspect, BlindReason)]) -> Vec<Coverage> {
    let word = |(aspect, reason): &(Aspect, BlindReason)| Coverage {
        aspect: aspect.as_str(),
        reason: reason.as_str(),
        detail: lock
            .missed_pointer
            .as_ref()
            .filter(|_| (*aspect, *reason) == (Aspect::Holder, BlindReason::Unsupported))
            .map(|pointer| format!("`{pointer}` finds nothing in the value")),
    };
    list.iter().map(word).collect()
}

fn describe_lease(lock: &LockView, fresh: bool) -> Lease<'_> {
    let known = Lease {
        length_seconds: lock.length_seconds,
        length_source: lock.lease_source.map(|s| s.as_str()),
        ..Lease::default()
    };
    if !fresh {
        return known;
    }
    Lease {
        remaining_seconds: lock.remaining_seconds,
        expiry_timestamp: lock.expiry_timestamp,
        renewal_age_seconds: lock.renewal_age_seconds,
        last_renewal_timestamp: lock.last_renewal_timestamp,
        renewal_period_seconds: lock.renewal_period_seconds,
        least_margin_ratio: lock.least_margin_ratio,
        stall_budget_seconds: lock.stall_budget_seconds,
        left_to_expire: lock.left_to_expire,
        remaining_by_replica: lock
            .remaining_by_replica
            .iter()
            .map(|(addr, remaining, earlier)| Remaining {
                addr,
                remaining_seconds: *remaining,
                earlier_seconds: *earlier,
            })
            .collect(),
        ..known
    }
}

fn ends(counts: &[(Evidence, u64)]) -> BTreeMap<&'static str, u64> {
    counts.iter().map(|(evidence, n)| (evidence.as_str(), *n)).collect()
}
