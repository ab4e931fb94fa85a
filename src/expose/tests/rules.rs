//! The rules of what is shown when: tiers, freshness, one-hot families, counters from 0.

use super::parse::Series;
use super::printed;
use crate::config::SeriesTier;
use crate::expose::catalogue::{self, Tier};
use crate::expose::example::{HOSTILE, lock_named};
use crate::view::*;

const ORDERS: [(&str, &str); 2] = [("store", "main"), ("lock", "orders")];

fn with(more: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    ORDERS.iter().chain(more).copied().collect()
}

#[test]
fn a_core_lock_has_core_families_only() {
    let shown = printed(&View::example());
    let tier_of = |name: &str| catalogue::all().find(|e| e.name == name).unwrap().tier;
    for lock in [HOSTILE, "nightly"] {
        let families = shown.families_with("lock", lock);
        assert!(families.len() > 10, "{families:?}");
        assert!(families.iter().all(|n| tier_of(n) == Tier::Core), "{families:?}");
    }
    assert!(shown.families_with("lock", "orders").iter().any(|n| tier_of(n) == Tier::Full));
}

#[test]
fn rises_are_shown_for_the_signals_of_the_tier() {
    let shown = printed(&View::example());
    let signals_of = |lock: &str| {
        let of = shown
            .samples
            .keys()
            .filter(|s| s.name == "dlock_signal_rises_total" && s.labels["lock"] == lock);
        of.map(|s| s.labels["signal"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        signals_of("nightly"),
        [
            "contested",
            "holder_stale",
            "lease_without_ttl",
            "quorum_degraded",
            "renewal_after_lost_liveness",
            "renewal_overdue"
        ]
    );
    assert_eq!(signals_of("orders").len(), Signal::ALL.len());
    assert_eq!(
        shown.get("dlock_signal_rises_total", &with(&[("signal", "held_too_long")])),
        Some(0.0)
    );
    assert_eq!(
        shown.get("dlock_signal_rises_total", &with(&[("signal", "holder_stale")])),
        Some(1.0)
    );
}

#[test]
fn what_is_not_judged_is_absent_and_not_zero() {
    let shown = printed(&View::example());
    assert_eq!(shown.get("dlock_holder_stale", &ORDERS), Some(1.0));
    assert_eq!(shown.get("dlock_lease_without_ttl", &ORDERS), Some(0.0));
    assert_eq!(shown.get("dlock_renewal_overdue", &ORDERS), None);
}

#[test]
fn a_lock_that_was_not_read_has_its_coverage_only_and_one_without_a_tier_nothing() {
    let shown = printed(&View::example());
    // But for what cannot be judged of it.
    assert_eq!(shown.families_with("lock", "unread"), ["dlock_coverage_lost"]);
    assert_eq!(shown.families_with("lock", "without-series"), [""; 0]);
}

#[test]
fn a_store_that_was_not_read_keeps_its_nodes_and_counters_only() {
    let shown = printed(&View::example());
    assert_eq!(
        shown.families_with("store", "spare"),
        [
            "dlock_group_acquisitions_total",
            "dlock_group_lease_ends_total",
            "dlock_group_lease_expired_under_holder_total",
            "dlock_group_lease_late_renewals_total",
            "dlock_group_lease_renewals_after_lost_liveness_total",
            "dlock_group_lease_renewals_total",
            "dlock_group_signal_rises_total",
            "dlock_locks_dropped",
            "dlock_store_failover_lost_bytes_total",
            "dlock_store_failovers_total",
            "dlock_store_lease_ends_total",
            "dlock_store_permission_denied",
            "dlock_store_restarts_total",
            "dlock_store_slowlog_lock_entries_total",
            "dlock_store_up",
            "dlock_workers_dropped",
        ]
    );
    let down = [("store", "spare"), ("addr", "/run/redis.sock")];
    assert_eq!(shown.get("dlock_store_up", &down), Some(0.0));
}

#[test]
fn one_hot_families_have_exactly_one() {
    let shown = printed(&View::example());
    let states = |name: &str, label: &str, value: &str| {
        let of = shown.samples.iter().filter(|(s, _)| s.name == name && s.labels[label] == value);
        of.map(|(_, v)| *v).collect::<Vec<_>>()
    };
    let liveness = states("dlock_holder_liveness", "lock", "orders");
    assert_eq!((liveness.len(), liveness.iter().sum::<f64>()), (Liveness::ALL.len(), 1.0));
    let role = states("dlock_store_role", "addr", "10.0.0.6:6379");
    assert_eq!((role.len(), role.iter().sum::<f64>()), (4, 1.0));
    for (worker, state) in [("orders-1", "disk_sleep"), (HOSTILE, "gone")] {
        let process = states("dlock_worker_process_state", "worker", worker);
        assert_eq!((process.len(), process.iter().sum::<f64>()), (7, 1.0));
        let labels = [("worker", worker), ("state", state)];
        assert_eq!(shown.get("dlock_worker_process_state", &labels), Some(1.0));
    }
}

#[test]
fn holders_of_one_name_are_one_series_and_counted_apart() {
    let shown = printed(&View::example());
    let at = [("store", "main"), ("lock", HOSTILE)];
    assert_eq!(shown.get("dlock_lock_holders", &at), Some(2.0));
    let info = [("store", "main"), ("lock", HOSTILE), ("worker", "")];
    assert_eq!(shown.get("dlock_lock_holder_info", &info), Some(1.0));
}

#[test]
fn a_semaphore_tells_how_many_may_hold_it() {
    let mut view = View::example();
    let shown = printed(&view);
    let at = [("store", "main"), ("lock", HOSTILE)];
    assert_eq!(shown.get("dlock_lock_limit", &at), Some(1.0), "also beside two holders");
    assert_eq!(shown.get("dlock_lock_limit", &ORDERS), None);
    let lock = lock_named(&mut view, HOSTILE);
    assert_eq!(lock.over_limit(), Some((2, 1)));
    lock.holders_beyond = 3;
    lock.limit = Some(5);
    assert_eq!(lock.over_limit(), None);
    lock.limit = Some(4);
    assert_eq!(lock.over_limit(), Some((5, 4)));
    lock.held = Some(false);
    assert_eq!(lock.over_limit(), None);
}

#[test]
fn a_held_lock_whose_value_names_nobody_still_has_a_holder() {
    let mut view = View::example();
    lock_named(&mut view, "orders").holders.clear();
    let shown = printed(&view);
    assert_eq!(shown.get("dlock_lock_holders", &ORDERS), Some(1.0));
    assert_eq!(shown.get("dlock_lock_holder_info", &with(&[("worker", "")])), Some(1.0));
}

#[test]
fn a_free_lock_has_no_holder_and_no_liveness() {
    let mut view = View::example();
    let lock = lock_named(&mut view, "orders");
    lock.held = Some(false);
    lock.tier = Some(SeriesTier::Full);
    let shown = printed(&view);
    assert_eq!(shown.get("dlock_lock_held", &ORDERS), Some(0.0));
    assert_eq!(shown.get("dlock_lock_holders", &ORDERS), Some(0.0));
    let families = shown.families_with("lock", "orders");
    for absent in ["dlock_lock_holder_info", "dlock_holder_liveness", "dlock_lock_reentrancy"] {
        assert!(!families.contains(&absent), "{absent}");
    }
}

#[test]
fn counters_begin_at_zero() {
    let mut view = View::example();
    lock_named(&mut view, "orders").counts =
        LockCounts { expired_under_holder: Some(Vec::new()), ..LockCounts::default() };
    for store in &mut view.stores {
        store.lease_ends.clear();
    }
    for poller in &mut view.pollers {
        poller.failures.clear();
    }
    let shown = printed(&view);
    for evidence in ["released", "lapsed", "overwritten", "unknown"] {
        assert_eq!(
            shown.get("dlock_lease_ends_total", &with(&[("evidence", evidence)])),
            Some(0.0)
        );
    }
    for state in ["alive", "stopped", "frozen"] {
        let labels = with(&[("state", state)]);
        assert_eq!(shown.get("dlock_lease_expired_under_holder_total", &labels), Some(0.0));
    }
    assert_eq!(shown.values_of("dlock_store_lease_ends_total", "evidence").len(), 16);
    assert_eq!(shown.values_of("dlock_exporter_poll_failures_total", "reason").len(), 11);
}

/// One holder, and all that can be judged of a lock at once: on one server, or on several of its own.
#[test]
fn a_lock_of_the_core_tier_has_forty_series_at_most() {
    use ContentionKind::{Lost, Overwrite, Primaries, Quorum, Slowlog};
    for over_several in [false, true] {
        let mut view = View::example();
        let lock = lock_named(&mut view, "orders");
        lock.tier = Some(SeriesTier::Core);
        lock.counts.contentions.retain(|(kind, _)| match kind {
            Primaries | Overwrite | Lost | Slowlog => !over_several,
            Quorum => over_several,
            _ => true,
        });
        if !over_several {
            lock.votes = None;
            lock.signals.retain(|(signal, _)| *signal != Signal::QuorumDegraded);
            lock.rises.retain(|(signal, _)| *signal != Signal::QuorumDegraded);
        }
        let shown = printed(&view);
        let is_of_it = |s: &&super::parse::Series| {
            s.labels.get("lock").is_some_and(|l| l == "orders")
                && !s.name.starts_with("dlock_worker_")
        };
        let series: Vec<_> = shown.samples.keys().filter(is_of_it).collect();
        assert!(series.len() > 30 && series.len() <= 40, "{}: {series:?}", series.len());
    }
}

/// An exclusive lock of the core tier with everything that it can have at a time: its holder lost, the lease left to run out,
/// every signal judged, every kind of contention told, and something of it that cannot be judged. More holders have a series
/// each.
#[test]
fn a_core_lock_has_forty_series_at_most() {
    for on_several_servers in [false, true] {
        let mut view = View::example();
        let lock = lock_named(&mut view, "orders");
        lock.tier = Some(SeriesTier::Core);
        (lock.limit, lock.left_to_expire) = (None, true);
        let is_had = |s: &Signal| on_several_servers || *s != Signal::QuorumDegraded;
        lock.signals = Signal::ALL.iter().filter(|s| is_had(s)).map(|s| (*s, Some(true))).collect();
        lock.rises.retain(|(s, _)| is_had(s));
        lock.votes = lock.votes.filter(|_| on_several_servers);
        use ContentionKind::{Lost, Overwrite, Primaries, Quorum, Slowlog};
        lock.counts.contentions.retain(|(kind, _)| match on_several_servers {
            true => ![Primaries, Lost, Overwrite, Slowlog].contains(kind),
            false => *kind != Quorum,
        });
        let shown = printed(&view);
        let of = |s: &&Series| ORDERS.iter().all(|(n, v)| s.labels.get(*n).is_some_and(|l| l == v));
        // A claim is its worker's.
        let is_own = |s: &&Series| of(s) && !s.name.starts_with("dlock_worker_");
        let all: Vec<&Series> = shown.samples.keys().filter(is_own).collect();
        assert!((30..=40).contains(&all.len()), "{}: {all:#?}", all.len());
    }
}
