//! Families of lock stores and of their nodes. Values come from `INFO`, `ROLE`, `TIME` and from counting what the
//! exporter itself saw.

use super::families;

families! { STORES after super::lock::SIGNALS;
    UP = Gauge Core "dlock_store_up" ["store", "addr"]
        "Whether the last poll of this Redis or Valkey node succeeded: 1 or 0.";
    INFO = Gauge Core "dlock_store_info" ["store", "addr", "version", "flavor", "mode", "maxmemory_policy"]
        "Always 1; what the node says of itself in INFO. An eviction policy that INFO does not show is empty.";
    ROLE = Gauge Core "dlock_store_role" ["store", "addr", "role"]
        "1 for the role that the node states (ROLE), 0 for the others: master, replica, sentinel, unknown.";
    PRIMARIES = Gauge Core "dlock_store_primaries" ["store"]
        "Largest number of nodes of one replication lineage that say master at once; 1 is healthy in every topology.";
    SENTINELS_DISAGREE = Gauge Core "dlock_store_sentinels_disagree" ["store"]
        "1 when the store's sentinels name different primaries, in two polls running; otherwise 0. Absent without \
         sentinels, and while none of them answers.";
    FAILOVERS = Counter Core "dlock_store_failovers_total" ["store"]
        "How often the primary of a replication lineage changed, as seen by polling.";
    LOST_BYTES = Counter Core "dlock_store_failover_lost_bytes_total" ["store"]
        "Bytes of the replication stream that primaries had written and the primaries after them did not have: an upper \
         bound by what was seen of the old one, which counts what it writes after its return.";
    RESTARTS = Counter Core "dlock_store_restarts_total" ["store", "addr"]
        "How often the node's run id (INFO) changed, as seen by polling.";
    RESTART_UNSAFE = Gauge Core "dlock_store_restart_unsafe" ["store", "addr"]
        "1 from a restart of the node without durable data until the longest lease known before it has passed: locks \
         held before the restart may be granted again. Otherwise 0.";
    LAG = Gauge Core "dlock_store_replication_lag_bytes" ["store", "addr"]
        "Primary's replication offset minus this replica's (INFO), in bytes. Replicas only.";
    LINK_UP = Gauge Core "dlock_store_replica_link_up" ["store", "addr"]
        "Whether the replica's link to its primary is up (INFO master_link_status): 1 or 0. Replicas only.";
    CONNECTED_REPLICAS = Gauge Core "dlock_store_connected_replicas" ["store", "addr"]
        "Replicas connected to this primary (INFO connected_slaves). Primaries only.";
    MIN_REPLICAS = Gauge Core "dlock_store_min_replicas_to_write" ["store", "addr"]
        "Replicas without which this primary refuses writes (CONFIG GET min-replicas-to-write). Absent where CONFIG is \
         refused.";
    DURABLE = Gauge Core "dlock_store_durable" ["store", "addr"]
        "Whether the node's append-only file is on (INFO aof_enabled): 1 or 0. Without it a restart can forget held locks.";
    EVICTS = Gauge Core "dlock_store_evicts_locks" ["store", "addr"]
        "Whether the node's memory limit and eviction policy (INFO) let it evict lock keys: 1 or 0.";
    RTT = Gauge Core "dlock_store_rtt_seconds" ["store", "addr"]
        "Round trip of the tightest recent read of the node's TIME, in seconds on the exporter's monotonic clock.";
    CLOCK_OFFSET = Gauge Core "dlock_store_clock_offset_seconds" ["store", "addr"]
        "Node's clock (TIME) minus this host's clock, in seconds; positive when the node's is ahead.";
    CLOCK_OFFSET_ERROR = Gauge Core "dlock_store_clock_offset_error_seconds" ["store", "addr"]
        "Half-width in seconds of the interval that must contain the true clock offset, from the round trip of TIME.";
    CLOCK_STEPS = Counter Core "dlock_store_clock_steps_total" ["store", "addr", "direction"]
        "How often the node's clock (TIME) moved against the exporter's monotonic clock by more than the error of the \
         measurement: forward, backward. Slewing by more than 50 ms between two polls counts too.";
    CLOCK_STEP = Gauge Core "dlock_store_clock_step_seconds" ["store", "addr"]
        "The last such step of the node's clock in seconds, negative when backward. Absent before the first.";
    CLOCK_FROZEN = Gauge Core "dlock_store_clock_frozen" ["store", "addr"]
        "1 when the node's TIME does not advance, so that no lease of it runs out; otherwise 0.";
    SKEW_BOUND = Gauge Core "dlock_skew_bound_seconds" ["store", "addr"]
        "Worst case, in seconds and without sign, between this host's clock and the node's: the tighter of its TIME and of \
         chrony on both hosts. Never an estimate; absent where neither bounds it.";
    EVICTED_KEYS = Counter Core "dlock_store_evicted_keys_total" ["store", "addr"]
        "Keys of any kind that the node evicted since its start (INFO evicted_keys).";
    EXPIRED_KEYS = Counter Core "dlock_store_expired_keys_total" ["store", "addr"]
        "Keys of any kind that expired on the node since its start (INFO expired_keys).";
    CONNECTIONS_RECEIVED = Counter Core "dlock_store_connections_received_total" ["store", "addr"]
        "Connections that the node accepted since its start (INFO total_connections_received).";
    CLIENTS = Gauge Core "dlock_store_clients" ["store", "addr", "lib_name", "lib_ver"]
        "Connections to the node by client library and its version, as the clients tell it (CLIENT LIST, from Redis 7.2 on; \
         empty where they do not). 20 label sets at most, the others together as other. Absent where the node does not list \
         its clients, or has more than 4096.";
    REJECTED_CONNECTIONS = Counter Core "dlock_store_rejected_connections_total" ["store", "addr"]
        "Connections that the node refused since its start for its limit of clients (INFO rejected_connections).";
    PERMISSION_DENIED = Gauge Core "dlock_store_permission_denied" ["store", "addr", "command"]
        "1 when the node refuses this command to the exporter's user, or lacks it although its version has it, so that what rests on it is off; 0 for a command \
         in use.";
    EVENT_GAP = Counter Core "dlock_store_event_gap_seconds_total" ["store", "addr"]
        "Seconds in which the store's event feed was interrupted, so that changes between polls went unheard; absent where \
         there never was a feed.";
    SLOWLOG_ENTRIES = Counter Core "dlock_store_slowlog_lock_entries_total" ["store", "addr"]
        "Entries of the node's slow log (SLOWLOG GET) with a watched key among their arguments, but for the exporter's own \
         reads and for what was in the log before the first look. Absent where the log cannot be read.";
    LEASE_ENDS = Counter Core "dlock_store_lease_ends_total" ["store", "evidence"]
        "Tenures of all locks of the store that ended, by what is known of the end: released, lapsed, overwritten, \
         evicted, flushed, failover, clock_step, unknown.";
    LOCKS = Gauge Core "dlock_locks" ["store", "state"]
        "Watched locks of the store by state: held, free. Absent while the store's locks cannot be read.";
    LOCKS_DROPPED = Gauge Core "dlock_locks_dropped" ["store", "reason"]
        "Keys that match a configured pattern and are not watched: max_locks (over the limit), duplicate_name (another \
         key captured the same lock name).";
    WORKERS_DROPPED = Gauge Core "dlock_workers_dropped" ["store"]
        "Holders that have no worker name because max_workers is reached.";
    LOCKS_FLAGGED = Gauge Core "dlock_locks_flagged" ["store", "signal"]
        "Locks of the store with this signal up, also those without series of their own. Absent when no lock can be \
         judged for it.";
    LOCKS_BLIND = Gauge Core "dlock_locks_blind" ["store", "aspect", "reason"]
        "Locks of the store for which this aspect is configured or expected and cannot be judged, by reason.";
    COVERAGE_LOST = Gauge Core "dlock_coverage_lost" ["store", "lock", "aspect", "reason"]
        "1 for each aspect of a lock that is configured and cannot be judged now, with the reason; absent otherwise.";
}
