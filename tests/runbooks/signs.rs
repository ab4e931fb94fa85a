//! By what the exporter shows that all is well, and that every fault has come. It must not wait.

use crate::support::Metrics;

/// Every worker is alive and known well enough.
pub fn healthy(m: &Metrics) -> bool {
    let renewed =
        |lock: &str| m.value("dlock_lease_renewals_total", &[("lock", lock)]).unwrap_or(0.0);
    let alive = |lock: &str| {
        let labels = [("lock", lock), ("state", "alive")];
        m.is("dlock_holder_liveness", &labels, 1.0)
    };
    // Four renewals show three gaps, and with them the period.
    ["orders", "invoices", "reports", "batch"].iter().all(|l| renewed(l) >= 4.0 && alive(l))
        && ["payments", "nightly", "jvm", "cold"].iter().all(|l| alive(l))
        && m.sum("dlock_lock_held", &[("lock", "lost")]) == 3.0
        && m.is("dlock_lock_held", &[("lock", "mixed")], 1.0)
        && m.is("dlock_quorum_votes", &[("lock", "several")], 3.0)
}

/// Every fault shows.
pub fn broken(m: &Metrics, frozen: bool) -> bool {
    let up = |name: &str, labels: &[(&str, &str)]| m.sum(name, labels) > 0.0;
    up("dlock_renewal_after_lost_liveness", &[("lock", "orders")])
        && up("dlock_holder_stale", &[("lock", "payments")])
        && up("dlock_holder_stale", &[("lock", "nightly")])
        && up("dlock_lease_expired_under_holder_total", &[("lock", "invoices")])
        && up("dlock_lease_shorter_than_stall", &[("lock", "batch")])
        && up("dlock_lease_without_ttl", &[("lock", "forever")])
        && up("dlock_held_too_long", &[("lock", "reports")])
        && up("dlock_unheld", &[("lock", "leader")])
        && up("dlock_lease_absurd", &[("lock", "ages")])
        && up("dlock_lease_lapses_in_use", &[("lock", "again")])
        && up("dlock_hold_count_creep", &[("lock", "nested")])
        && up("dlock_shape_unexpected", &[("lock", "mixed")])
        && up("dlock_holder_unexpected", &[("lock", "stranger")])
        && up("dlock_replica_diverged", &[("lock", "mirror")])
        && (!frozen || up("dlock_worker_cgroup_frozen", &[("worker", "cold-1")]))
        && m.is("dlock_store_primaries", &[("store", "split")], 2.0)
        && up("dlock_quorum_degraded", &[("lock", "several")])
        && up("dlock_store_clock_frozen", &[("store", "halted")])
        && up("dlock_store_restart_unsafe", &[("store", "jumped")])
        && up("dlock_locks_dropped", &[("store", "main")])
        && m.is("dlock_exporter_config_last_reload_successful", &[], 0.0)
}
