//! Families of locks: the signals, then everything else that has the labels `store` and `lock`. The clock of each
//! timestamp is named; ages are on the exporter's monotonic clock as of the snapshot.

use super::families;

families! { SIGNALS after &[];
    CONTESTED = Gauge Core "dlock_contested" ["store", "lock"]
        "1 when two owners may be valid at once: two primaries grant the lock to two owners, or the server lost it (or \
         enough servers of a quorum) and another owner got it before the first one's lease was over, or another owner wrote over \
         it (keyspace events only), or a token came back after another owner, or a worker goes on claiming it, or a resource \
         accepted an older fencing token. 0 when judged and not so; absent for locks that several may hold or that have several \
         keys.";
    RENEWAL_AFTER_LOST_LIVENESS = Gauge Core "dlock_renewal_after_lost_liveness" ["store", "lock"]
        "1 when something keeps renewing the lease although its holder is dead, replaced, stopped or frozen; implies \
         dlock_holder_stale. 0 when judged and not so; absent when it cannot be judged.";
    HOLDER_STALE = Gauge Core "dlock_holder_stale" ["store", "lock"]
        "1 when the holder is dead, replaced, stopped, frozen or unlisted and still owns the key. 0 when judged and not \
         so; absent when it cannot be judged.";
    RENEWAL_OVERDUE = Gauge Core "dlock_renewal_overdue" ["store", "lock"]
        "1 when a renewal that should have come by this lock's habit did not come. 0 when judged and not so; absent when \
         it cannot be judged.";
    LEASE_LAPSES_IN_USE = Gauge Full "dlock_lease_lapses_in_use" ["store", "lock"]
        "1 when three of the lock's last five leases ran out and it was taken again within two polls, or ran out under a \
         holder. 0 when judged and not so; absent when it cannot be judged.";
    LEASE_WITHOUT_TTL = Gauge Core "dlock_lease_without_ttl" ["store", "lock"]
        "1 when the key has no expiry although locks of its kind have one: nothing frees it if its holder dies. 0 when \
         judged and not so; absent when it cannot be judged.";
    REPLICA_DIVERGED = Gauge Full "dlock_replica_diverged" ["store", "lock"]
        "1 when a replica shows another owner, expiry or presence of the key than its primary, confirmed by a second \
         look. 0 when judged and not so; absent when it cannot be judged.";
    HOLDER_UNEXPECTED = Gauge Full "dlock_holder_unexpected" ["store", "lock"]
        "1 when a holder is not among the lock's configured workers. 0 when judged and not so; absent for locks without \
         such a list and for holders without a name.";
    HELD_TOO_LONG = Gauge Full "dlock_held_too_long" ["store", "lock"]
        "1 when the present tenure is longer than max_hold, or than what was learned for this lock. 0 when judged and \
         not so; absent when it cannot be judged.";
    LEASE_SHORTER_THAN_STALL = Gauge Full "dlock_lease_shorter_than_stall" ["store", "lock"]
        "1 when the holder's worst stall, by its lower bound, was longer than the lock's stall budget: the lease can run \
         out while the holder is paused. 0 when judged and not so; absent when it cannot be judged.";
    LEASE_ABSURD = Gauge Full "dlock_lease_absurd" ["store", "lock"]
        "1 when far more of the lease remains than a lease of this lock has, or what remains grows with each renewal. 0 \
         when judged and not so; absent when it cannot be judged.";
    QUORUM_DEGRADED = Gauge Core "dlock_quorum_degraded" ["store", "lock"]
        "Of a lock over several servers, 1 when in two counts its owner had fewer of them than before, or no more than it \
         needs while another one answers without its key. 0 when judged and not so; absent when it cannot be judged.";
    HOLD_COUNT_CREEP = Gauge Full "dlock_hold_count_creep" ["store", "lock"]
        "1 when the lowest hold count of three successive lease lengths rose each time within one tenure. 0 when judged \
         and not so, also once the count stands still, however high; absent when it cannot be judged.";
    UNHELD = Gauge Full "dlock_unheld" ["store", "lock"]
        "1 when a lock that the config expects to be always held is free for longer than its lease and two polls, or a \
         lock is free although somebody waits for it. 0 when judged and not so; absent for other locks.";
    SHAPE_UNEXPECTED = Gauge Full "dlock_shape_unexpected" ["store", "lock"]
        "1 when the key is of another type or coarse shape than the config says, or in three reads than it was, or has \
         members that its format does not write. 0 when judged and not so; absent when it cannot be judged.";
}

families! { LOCKS after super::store::STORES;
    INFO = Gauge Core "dlock_lock_info" ["store", "lock", "key", "format", "lease_source"]
        "Always 1; the lock's key, the format that decoded its value, and where its lease length comes from: config, \
         format, learned. Format and source are empty until known.";
    HELD = Gauge Core "dlock_lock_held" ["store", "lock"]
        "Whether the lock is held: 1 or 0. Absent when it cannot be read.";
    HOLDERS = Gauge Core "dlock_lock_holders" ["store", "lock"]
        "Owners that hold the lock now; an owner that its value does not name counts as one.";
    LIMIT = Gauge Core "dlock_lock_limit" ["store", "lock"]
        "How many may hold the lock at once, of a semaphore: by the config, or where its value tells. Absent where that is \
         not known, and for other locks.";
    QUORUM_VOTES = Gauge Core "dlock_quorum_votes" ["store", "lock"]
        "Of a lock over several keys or servers, how many show the token of the owner that most of them show, each with its expiry \
         ahead; 0 while none shows any. Absent while a key cannot be \
         read, or while fewer servers answer than are needed.";
    QUORUM_NEEDED = Gauge Core "dlock_quorum_needed" ["store", "lock"]
        "Of a lock over several keys or servers, how many have to show an owner for it to hold the lock: more than half.";
    REENTRANCY = Gauge Full "dlock_lock_reentrancy" ["store", "lock"]
        "Hold count of the lock's owner while held, the largest where there are several; 1 for formats without re-entry.";
    HOLDER_INFO = Gauge Core "dlock_lock_holder_info" ["store", "lock", "worker"]
        "1 while held, once for each holder's worker name; the name is empty when the owner cannot be attributed.";
    PREVIOUS_HOLDER_INFO = Gauge Core "dlock_lock_previous_holder_info" ["store", "lock", "worker", "evidence"]
        "1 for the worker that held the lock before, with what is known of the end of that tenure.";
    HELD_SECONDS = Gauge Core "dlock_lock_held_seconds" ["store", "lock"]
        "Age of the present tenure as observed, in seconds on the exporter's monotonic clock. Absent while free.";
    HELD_SINCE = Gauge Full "dlock_lock_held_since_timestamp_seconds" ["store", "lock"]
        "Begin of the present tenure as observed, in seconds since the epoch on the lock server's clock.";
    REMAINING = Gauge Core "dlock_lease_remaining_seconds" ["store", "lock"]
        "Seconds until the key expires (PTTL) on the lock server's clock; absent when free or without expiry.";
    LENGTH = Gauge Core "dlock_lease_length_seconds" ["store", "lock"]
        "Length of a lease of this lock in seconds: configured, learned, or the format's default.";
    EXPIRY = Gauge Full "dlock_lease_expiry_timestamp_seconds" ["store", "lock"]
        "When the key expires (PEXPIRETIME), in seconds since the epoch on the lock server's clock.";
    RENEWAL_AGE = Gauge Core "dlock_lease_renewal_age_seconds" ["store", "lock"]
        "Since the last renewal or the acquisition, in seconds on the exporter's monotonic clock.";
    LAST_RENEWAL = Gauge Full "dlock_lease_last_renewal_timestamp_seconds" ["store", "lock"]
        "Last renewal or the acquisition, in seconds since the epoch on the lock server's clock.";
    RENEWAL_PERIOD = Gauge Full "dlock_lease_renewal_period_seconds" ["store", "lock"]
        "Usual time between two renewals in seconds: the 90th percentile of the last 32. Absent until learned.";
    LEAST_MARGIN = Gauge Full "dlock_lease_least_margin_ratio" ["store", "lock"]
        "Least share of the lease, 0 to 1, that was left just before a renewal in the last hour.";
    LEFT_TO_EXPIRE = Gauge Core "dlock_lease_left_to_expire" ["store", "lock"]
        "1 while the lease is left to run out on purpose: the lock ends by expiry (config), or its holder shortened the \
         lease to let go. That its holder has ended proves nothing then. Absent otherwise.";
    STALL_BUDGET = Gauge Core "dlock_lease_stall_budget_seconds" ["store", "lock"]
        "Longest pause of its holder, in seconds, that the lease survives by the lock's habit of renewing.";
    ACQUISITIONS = Counter Core "dlock_lock_acquisitions_total" ["store", "lock"]
        "Acquisitions seen by polling; there were at least this many.";
    RENEWALS = Counter Core "dlock_lease_renewals_total" ["store", "lock"]
        "Renewals seen by polling; there were at least this many.";
    LATE_RENEWALS = Counter Core "dlock_lease_late_renewals_total" ["store", "lock"]
        "Renewals that came after the lock was overdue.";
    RENEWALS_AFTER_LOST = Counter Core "dlock_lease_renewals_after_lost_liveness_total" ["store", "lock"]
        "Renewals that came after the holder had lost liveness.";
    ENDS = Counter Core "dlock_lease_ends_total" ["store", "lock", "evidence"]
        "Tenures that ended, by what is known of the end: released, lapsed, overwritten, unknown. Evictions, flushes, \
         failovers and clock steps are counted by store only.";
    CONTENTIONS = Counter Core "dlock_contention_events_total" ["store", "lock", "kind"]
        "How often two owners were proven to be valid at once, by the proof: primaries (two primaries of one history), \
         lost (the server lost the lock before its lease was over), quorum (enough servers of several did), overwrite \
         (another owner wrote over it, with keyspace events only), token_returned (a token that is new per acquire came \
         back after another owner), claim (a worker goes on writing that it holds it), fencing (a resource accepted an \
         older token); and hints, which do not raise dlock_contested: resumed (a holder came back whose lease ran out \
         while it was stopped or frozen), slowlog (two owners' slow acquires within one lease). Only kinds that can be \
         judged.";
    EXPIRED_UNDER_HOLDER = Counter Full "dlock_lease_expired_under_holder_total" ["store", "lock", "state"]
        "Leases that ran out while their holder still had not let go, by its state then: alive, stopped, frozen. Absent \
         where holders cannot be seen.";
    SIGNAL_RISES = Counter Core "dlock_signal_rises_total" ["store", "lock", "signal"]
        "How often each exported signal of the lock rose, so that one shorter than a scrape is still seen.";
    LIVENESS = Gauge Full "dlock_holder_liveness" ["store", "lock", "state"]
        "1 for the state of the holder (the worst of several), 0 for the others: alive, frozen, stopped, dead, \
         replaced, unlisted, unknown. Absent while free.";
    LOST = Gauge Core "dlock_holder_lost_seconds" ["store", "lock"]
        "Since the holder lost liveness, in seconds on the exporter's monotonic clock. Absent unless lost.";
    RENEWAL_MINUS_HEARTBEAT = Gauge Full "dlock_renewal_minus_heartbeat_seconds" ["store", "lock"]
        "Last renewal minus the holder's last heartbeat in seconds, both on the exporter's monotonic clock; healthy up \
         to one heartbeat period.";
    OVERRUN = Gauge Full "dlock_lease_overrun_seconds" ["store", "lock"]
        "How long the last tenure outlived its holder's death, in seconds on the exporter's monotonic clock. Absent \
         where that was not seen.";
    TYPICAL_HOLD = Gauge Full "dlock_lock_typical_hold_seconds" ["store", "lock"]
        "99th percentile of ended tenures in seconds. Absent before 20 of them.";
    FREE_SECONDS = Counter Full "dlock_lock_free_seconds_total" ["store", "lock"]
        "Time that the lock was free, in seconds on the exporter's monotonic clock.";
    WAITERS = Gauge Full "dlock_lock_waiters" ["store", "lock"]
        "Who waits for the lock, as far as its format shows them without writing. Absent where it does not.";
    WAITING_SECONDS = Counter Full "dlock_lock_waiting_seconds_total" ["store", "lock"]
        "Time that somebody waited for the lock, in seconds on the exporter's monotonic clock. Absent where its format \
         does not show it.";
    RENEWER_SEPARATE = Gauge Full "dlock_lock_renewer_separate" ["store", "lock"]
        "1 when, of three renewals in a row, none can have come from the connections of the holder's own process, and another \
         process of this host can have made them: what works may hang while the lease is renewed. 0 when the holder's process \
         makes them. Absent unless both are seen, and where that is not clear.";
    TOKEN_ISSUED = Gauge Full "dlock_fencing_token_issued" ["store", "lock"]
        "Last fencing token issued for the lock: by its configured source, else by the library's own counter. Absent \
         where nothing tells.";
    TOKEN_ACCEPTED = Gauge Full "dlock_fencing_token_accepted" ["store", "lock", "resource"]
        "Largest fencing token that the resource accepted, as it tells.";
    FENCING_REGRESSIONS = Counter Full "dlock_fencing_regressions_total" ["store", "lock", "resource"]
        "How often the token that the resource accepted fell to a smaller one, in two reads in a row; with an empty \
         resource, how often the last token issued went down or vanished.";
    FENCING_REJECTIONS = Counter Full "dlock_fencing_rejections_total" ["store", "lock", "resource"]
        "Writes that the resource refused because their token was old, since the exporter first read its count. A count \
         that is missing says nothing. One that falls counts on beyond its highest, and from zero once three reads in a \
         row showed less than half of that.";
    EFFECTS = Counter Full "dlock_effects_total" ["store", "lock", "resource"]
        "Side effects on the resource, since the exporter first read its count, which is followed as that of \
         `dlock_fencing_rejections_total` is.";
    EFFECT_DUPLICATES = Counter Full "dlock_effect_duplicates_total" ["store", "lock", "resource"]
        "Side effects beyond one for each logical request, in two reads in a row, since the exporter first read the \
         counts. Absent where requests are not counted.";
    UNREPLICATED = Gauge Full "dlock_lock_unreplicated_seconds" ["store", "lock"]
        "How long the present owner and expiry have been on no replica, in seconds on the exporter's monotonic clock; 0 \
         while one has them. Absent while free, and where no replica was seen.";
    REPLICA_LOCK_DIVERGED = Gauge Full "dlock_replica_lock_diverged" ["store", "lock", "addr", "kind"]
        "1 while this replica differs from its primary for this lock, by kind: missing, extra, owner, expiry \
         (from Redis 7.0 on), expired_by_clock. Absent otherwise.";
    CONFIRMATIONS = Counter Core "dlock_replica_confirmations_total" ["store", "addr"]
        "Comparisons of a lock on this replica with its primary that were tried.";
    CONFIRM_UNKNOWN = Counter Core "dlock_replica_confirm_unknown_total" ["store", "addr"]
        "Such comparisons that could not be decided in time.";
}
