//! Families of workers: heartbeats and processes; what is seen of a process on the exporter's host beyond whether it lives
//! is in [`super::host`]. Every age is on the exporter's monotonic clock as of the snapshot.

use super::families;

families! { WORKERS after super::group::GROUPS;
    ALIVE = Gauge Core "dlock_worker_alive" ["worker", "source"]
        "Whether this source says that the worker is alive: 1 or 0; source process, heartbeat or list. Absent where this \
         exporter never saw the worker by that source.";
    LOST = Gauge Core "dlock_worker_lost_seconds" ["worker", "source"]
        "Since this source lost the worker, in seconds on the exporter's monotonic clock. Absent unless lost.";
    HEARTBEATS = Counter Core "dlock_worker_heartbeats_total" ["worker"]
        "Advances of the worker's heartbeat seen by polling; there were at least this many.";
    HEARTBEAT_AGE = Gauge Core "dlock_worker_heartbeat_age_seconds" ["worker"]
        "Age of the heartbeat's last advance in seconds on the exporter's monotonic clock, from reads only: it does not \
         grow while the source cannot be read.";
    FROZEN_AFTER = Gauge Core "dlock_worker_heartbeat_frozen_after_seconds" ["worker"]
        "Heartbeat age in seconds above which the worker counts as frozen: configured, or derived from its usual beat.";
    CLAIM_INFO = Gauge Core "dlock_worker_claim_info" ["worker", "store", "lock"]
        "1 for each lock that the worker itself says it holds. Absent once that was not read for three intervals.";
    COVERAGE_LOST = Gauge Core "dlock_worker_coverage_lost" ["worker", "aspect", "reason"]
        "1 for each aspect of the worker that is configured and cannot be judged now, with the reason; absent otherwise. \
         Aspects: process, threads, cgroup, pressure, jvm, heartbeat, stall_resolution (sampled less often than \
         stall_poll).";
    STORE_CONNECTIONS = Gauge Full "dlock_worker_store_connections" ["worker", "store"]
        "Connections of the worker's processes on this host to the store's nodes, by the nodes' lists of clients (CLIENT LIST) \
         and this host's sockets. Absent where one of them may not be seen.";
    STORE_RECONNECTS = Counter Full "dlock_worker_store_reconnects_total" ["worker", "store"]
        "How often such a connection was gone and another one of the same process there, as seen with every fifth poll; there were at \
         least this many.";
    PROCESS_STATE = Gauge Full "dlock_worker_process_state" ["worker", "state"]
        "1 for the state of the worker's process (/proc/PID/stat), 0 for the others: running, sleeping, disk_sleep, \
         stopped, traced, zombie, gone. A zombie leader with live threads counts by its threads.";
    UPTIME = Gauge Core "dlock_worker_process_uptime_seconds" ["worker"]
        "Since the worker's process started (/proc/PID/stat), in seconds on the exporter's monotonic clock.";
    RESTARTS = Counter Core "dlock_worker_restarts_total" ["worker"]
        "How often the pid or start time of the worker's process changed, as seen by polling.";
    THREADS = Gauge Full "dlock_worker_process_threads" ["worker"]
        "Threads of the worker's process (/proc/PID/stat).";
    RESIDENT = Gauge Full "dlock_worker_process_resident_memory_bytes" ["worker"]
        "Resident memory of the worker's process in bytes (/proc/PID/stat).";
    CPU = Counter Full "dlock_worker_process_cpu_seconds_total" ["worker"]
        "CPU time, user and system, of the worker's processes in seconds, each from its beginning (/proc/PID/stat). Also \
         of those that ended since the exporter first saw the worker: it does not fall at a restart.";
    CGROUP_FROZEN = Gauge Core "dlock_worker_cgroup_frozen" ["worker"]
        "Whether the cgroup (v2) of the worker's process, or one above it, is frozen: 1 or 0.";
}
