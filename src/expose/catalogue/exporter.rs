//! Families about the exporter itself: its build, configuration, polls and process.

use super::families;

families! { EXPORTER after super::clock::CLOCKS;
    BUILD_INFO = Gauge Core "dlock_exporter_build_info" ["version", "revision"]
        "Always 1; version and source revision of this exporter.";
    SNAPSHOT_TIMESTAMP = Gauge Core "dlock_exporter_snapshot_timestamp_seconds" []
        "When the values of this answer were put together, in seconds since the epoch on this host's clock.";
    RELOAD_SUCCESSFUL = Gauge Core "dlock_exporter_config_last_reload_successful" []
        "Whether the last attempt to load the configuration succeeded: 1 or 0. After a failure the earlier one stays.";
    RELOAD_TIMESTAMP = Gauge Core "dlock_exporter_config_last_reload_success_timestamp_seconds" []
        "When the configuration in use was loaded, in seconds since the epoch on this host's clock.";
    POLL_INTERVAL = Gauge Core "dlock_exporter_poll_interval_seconds" ["poller", "target"]
        "Configured time between two polls of the target, in seconds.";
    SHARD_INFO = Gauge Core "dlock_exporter_shard_info" ["shard", "total"]
        "Always 1; which share of the locks this exporter watches, counted from 0, and of how many. Without --shard it is 0 of 1.";
    POLL_DURATION = Gauge Core "dlock_exporter_poll_duration_seconds" ["poller", "target"]
        "Work and waiting for replies of the target's last poll, in seconds; pauses for pacing are left out.";
    POLL_LAST_SUCCESS = Gauge Core "dlock_exporter_poll_last_success_timestamp_seconds" ["poller", "target"]
        "When a poll of the target last succeeded, in seconds since the epoch on this host's clock.";
    POLLS = Counter Core "dlock_exporter_polls_total" ["poller", "target"]
        "Polls of the target, failed ones included.";
    POLL_FAILURES = Counter Core "dlock_exporter_poll_failures_total" ["poller", "target", "reason"]
        "Polls of the target that failed, by reason.";
    EVIDENCE_WRITES = Counter Core "dlock_exporter_evidence_writes_total" []
        "Documents of evidence written when a signal rose. Absent without `evidence` in the config.";
    EVIDENCE_FAILURES = Counter Core "dlock_exporter_evidence_failures_total" ["reason"]
        "Documents of evidence that could not be written, or old ones that could not be deleted: queue, full, denied, missing, too_large, io. Absent without `evidence` in the config.";
    HOST_CLOCK_STEPS = Counter Core "dlock_exporter_host_clock_steps_total" ["direction"]
        "How often this host's wall clock moved against its monotonic clock: forward, backward.";
    PROCESS_CPU = Counter Core "process_cpu_seconds_total" []
        "CPU time, user and system, of this exporter in seconds (/proc/self/stat).";
    PROCESS_RESIDENT = Gauge Core "process_resident_memory_bytes" []
        "Resident memory of this exporter in bytes (/proc/self/stat).";
    PROCESS_VIRTUAL = Gauge Core "process_virtual_memory_bytes" []
        "Virtual memory of this exporter in bytes (/proc/self/stat).";
    PROCESS_OPEN_FDS = Gauge Core "process_open_fds" []
        "Open file descriptors of this exporter (/proc/self/fd).";
    PROCESS_MAX_FDS = Gauge Core "process_max_fds" []
        "Most file descriptors that this exporter may have open (/proc/self/limits). Absent when unlimited.";
    PROCESS_START = Gauge Core "process_start_time_seconds" []
        "When this exporter started, in seconds since the epoch on this host's clock (/proc/self/stat).";
    PROCESS_THREADS = Gauge Core "process_threads" []
        "Threads of this exporter (/proc/self/stat).";
}
