//! Families of what is seen of a worker's processes on the exporter's own host: scheduling, cgroup, JVM, the worst stall
//! and the skew to the lock server. Of several processes of one worker these are sums of totals and the largest of
//! everything else. Nothing here says how a bound was found; the API names the source.

use super::families;

families! { HOST after super::worker::WORKERS;
    RUNNABLE_THREADS = Gauge Full "dlock_worker_runnable_threads" ["worker"]
        "Threads of the worker that run or wait for a CPU (state R in /proc/PID/task), as of the last sample.";
    RUN_DELAY = Counter Core "dlock_worker_process_run_delay_seconds_total" ["worker"]
        "Time that threads of the worker were runnable and waited for a CPU, in seconds, summed over threads: may grow \
         faster than the clock. The kernel books a wait when it ends (taskstats, or schedstat in /proc/PID/task). Since \
         the exporter first saw the worker.";
    INVOLUNTARY = Counter Full "dlock_worker_process_involuntary_context_switches_total" ["worker"]
        "How often a thread of the worker was taken off its CPU against its will (taskstats, or /proc/PID/task/*/status), \
         since the exporter first saw the worker. Says that it was preempted, not for how long.";
    PRESSURE = Gauge Full "dlock_worker_cgroup_pressure_ratio" ["worker", "resource", "kind"]
        "Share of the last 10 s, 0 to 1, in which tasks of the worker's cgroup waited for memory, cpu or io (PSI avg10): \
         some of them, or full, all at once. The average lags behind by about 2 s.";
    MEMORY_WAITING = Counter Core "dlock_worker_cgroup_memory_waiting_seconds_total" ["worker"]
        "Time in seconds in which at least one task of the worker's cgroup waited for memory (PSI memory some).";
    MEMORY_STALLED = Counter Core "dlock_worker_cgroup_memory_stalled_seconds_total" ["worker"]
        "Time in seconds in which all tasks of the worker's cgroup waited for memory at once (PSI memory full).";
    CPU_WAITING = Counter Core "dlock_worker_cgroup_cpu_waiting_seconds_total" ["worker"]
        "Time in seconds in which at least one task of the worker's cgroup waited for a CPU (PSI cpu some), throttling \
         by a quota included.";
    CPU_STALLED = Counter Full "dlock_worker_cgroup_cpu_stalled_seconds_total" ["worker"]
        "Time in seconds in which all tasks of the worker's cgroup waited for a CPU at once (PSI cpu full). Absent \
         before Linux 5.13.";
    IO_WAITING = Counter Full "dlock_worker_cgroup_io_waiting_seconds_total" ["worker"]
        "Time in seconds in which at least one task of the worker's cgroup waited for I/O (PSI io some).";
    IO_STALLED = Counter Full "dlock_worker_cgroup_io_stalled_seconds_total" ["worker"]
        "Time in seconds in which all tasks of the worker's cgroup waited for I/O at once (PSI io full).";
    OOM_KILLS = Counter Core "dlock_worker_cgroup_oom_kills_total" ["worker"]
        "Processes of the worker's cgroup, or of one below it, that the kernel killed for want of memory (oom_kill in \
         memory.events or memory.oom_control). Stays when the worker ended, as its other totals do.";
    THROTTLED = Counter Core "dlock_worker_cgroup_throttled_seconds_total" ["worker"]
        "Time in seconds that CPU quotas of the worker's cgroup and of those above it kept it from running (cpu.stat), \
         summed over CPUs: may grow faster than the clock.";
    THROTTLED_PERIODS = Counter Full "dlock_worker_cgroup_throttled_periods_total" ["worker"]
        "Periods in which the worker's cgroup, or one above it, used up its CPU quota (cpu.stat nr_throttled).";
    MEMORY = Gauge Full "dlock_worker_cgroup_memory_bytes" ["worker"]
        "Memory that the worker's cgroup uses, in bytes (memory.current, or memory.usage_in_bytes).";
    MEMORY_LIMIT = Gauge Full "dlock_worker_cgroup_memory_limit_bytes" ["worker"]
        "Least memory limit of the worker's cgroup and of those above it, in bytes (memory.max, or \
         memory.limit_in_bytes). Absent without a limit.";
    GC_PAUSE = Counter Full "dlock_worker_jvm_gc_pause_seconds_total" ["worker", "collector"]
        "Time in collections of the worker's JVM that ended, in seconds on the JVM's clock (hsperfdata, as jstat -gc \
         shows it). With Shenandoah the second collector counts concurrent work too; what stopped the world is in \
         dlock_worker_jvm_safepoint_seconds_total.";
    GC_COLLECTIONS = Counter Full "dlock_worker_jvm_gc_collections_total" ["worker", "collector"]
        "Collections of the worker's JVM that began (hsperfdata, as jstat -gc shows them).";
    SAFEPOINT = Counter Core "dlock_worker_jvm_safepoint_seconds_total" ["worker"]
        "Stop-the-world time of the worker's JVM in seconds on the JVM's clock, time to reach safepoints included \
         (hsperfdata). A pause is booked when it ends.";
    LONGEST_PAUSE = Gauge Core "dlock_worker_jvm_gc_longest_pause_seconds" ["worker"]
        "Longest stop-the-world pause of the worker's JVM within stall_window, in seconds: there was one of at least this \
         length (hsperfdata). The API says whether it is exact.";
    LAST_GC_AGE = Gauge Full "dlock_worker_jvm_last_gc_age_seconds" ["worker"]
        "Since the last collection of the worker's JVM ended, in seconds as of the snapshot (hsperfdata).";
    WORST_STALL = Gauge Core "dlock_worker_worst_stall_seconds" ["worker", "bound"]
        "Worst stall of the worker within stall_window, in seconds on the exporter's monotonic clock, between two bounds: \
         lower, the machine kept it from running for at least so long at once; upper, never for longer, absent while \
         nothing is sampled, as of a worker that ended. From heartbeat gaps, run delay, stops, freezes, sleep in state \
         D, pressure and safepoints; a thread that sleeps by itself is no stall. Where freezes cannot be read (coverage cgroup), the upper one grows while the worker sleeps; where \
         pressure cannot be read (coverage pressure), it leaves out waits of single threads for memory and I/O that no \
         look at threads found in state D.";
    SKEW_BOUND = Gauge Core "dlock_worker_skew_bound_seconds" ["worker", "store"]
        "Worst case, in seconds and without sign, between the clock of the worker's host, which is the exporter's, and the \
         lock server's clock. Only for workers seen on this host.";
}
