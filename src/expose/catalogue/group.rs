//! Families of groups: the locks behind one pattern with `group: true`, told together. Counters are of all locks that were
//! ever watched, so that they are complete and never fall, unlike those of single locks that come and go.

use super::families;

families! { GROUPS after super::lock::LOCKS;
    LOCKS = Gauge Core "dlock_group_locks" ["store", "group", "state"]
        "Watched locks of the group by state: held, free. Free ones are let go after four polls. Absent while the store's \
         locks cannot be read.";
    FLAGGED = Gauge Core "dlock_group_flagged" ["store", "group", "signal"]
        "Locks of the group with this signal up, also those without series of their own. Absent when none can be judged \
         for it.";
    REMAINING_MIN = Gauge Core "dlock_group_lease_remaining_min_seconds" ["store", "group"]
        "Least that is left of a lease of the group (PTTL), in seconds on the lock server's clock; absent when no lock with \
         an expiry is held.";
    HELD_MAX = Gauge Core "dlock_group_held_max_seconds" ["store", "group"]
        "Age of the group's oldest present tenure as observed, in seconds on the exporter's monotonic clock. Absent while \
         all are free.";
    ACQUISITIONS = Counter Core "dlock_group_acquisitions_total" ["store", "group"]
        "Acquisitions of the group's locks seen by polling, those of locks that are gone included; there were at least this \
         many.";
    RENEWALS = Counter Core "dlock_group_lease_renewals_total" ["store", "group"]
        "Renewals of the group's locks seen by polling; there were at least this many.";
    LATE_RENEWALS = Counter Core "dlock_group_lease_late_renewals_total" ["store", "group"]
        "Renewals of the group's locks that came after the lock was overdue.";
    RENEWALS_AFTER_LOST = Counter Core "dlock_group_lease_renewals_after_lost_liveness_total" ["store", "group"]
        "Renewals of the group's locks that came after the holder had lost liveness.";
    ENDS = Counter Core "dlock_group_lease_ends_total" ["store", "group", "evidence"]
        "Tenures of the group's locks that ended, by what is known of the end: released, lapsed, overwritten, evicted, \
         flushed, failover, clock_step, unknown.";
    EXPIRED_UNDER_HOLDER = Counter Core "dlock_group_lease_expired_under_holder_total" ["store", "group", "state"]
        "Leases of the group's locks that ran out while their holder still had not let go, by its state then: alive, \
         stopped, frozen. Absent where no workers are configured.";
    SIGNAL_RISES = Counter Core "dlock_group_signal_rises_total" ["store", "group", "signal"]
        "How often each signal of the group's locks rose, so that one of a lock that came and went between two scrapes is \
         still seen.";
}
