//! What a view shows of a worker's processes on this host: stalls, cgroups, JVMs.

use std::sync::Arc;

use crate::derive::StallSource;
use crate::derive::host::StallRules;
use crate::derive::worker::Worker;
use crate::observe::Mono;

/// Stalls, cgroup and JVM of a worker. `None` is not known, or older than three intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkerHostView {
    /// Threads in state R.
    pub runnable_threads: Option<u64>,
    /// Time that threads waited for a CPU, summed since the exporter first saw the worker.
    pub run_delay_seconds: Option<f64>,
    /// Involuntary context switches since then.
    pub involuntary_switches: Option<u64>,
    /// The worst stall of the window.
    pub worst_stall: Option<WorstStallView>,
    /// For how long a runnable thread has not moved now; `None` if none is seen so.
    pub ongoing_stall_seconds: Option<f64>,
    /// Threads of which nothing is known, because there are too many.
    pub threads_beyond_cap: u64,
    /// Its cgroup or cgroups.
    pub cgroup: Option<CgroupView>,
    /// Its JVM or JVMs.
    pub jvm: Option<JvmView>,
}

/// The worst stall of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstStallView {
    /// It was at least so long.
    pub lower_seconds: f64,
    /// What showed that.
    pub lower_source: StallSource,
    /// No stall was longer.
    pub upper_seconds: f64,
    /// The largest part of that.
    pub upper_source: StallSource,
    /// Since the read that gave the lower bound.
    pub lower_age_seconds: f64,
}

/// A cgroup; of several the sums of totals and the largest of everything else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgroupView {
    /// Path as `/proc/<pid>/cgroup` writes it; of several the first. For the API.
    pub path: Arc<str>,
    /// Resource (`memory`, `cpu`, `io`), kind (`some`, `full`), share of the last 10 s, total seconds.
    pub pressure: Vec<(&'static str, &'static str, f64, f64)>,
    /// Kills for want of memory.
    pub oom_kills: Option<u64>,
    /// Seconds throttled, summed over CPUs.
    pub throttled_seconds: Option<f64>,
    /// Periods throttled.
    pub throttled_periods: Option<u64>,
    /// Memory in use.
    pub memory_bytes: Option<u64>,
    /// Its limit, if there is one.
    pub memory_limit_bytes: Option<u64>,
}

/// A JVM.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JvmView {
    /// Collector, seconds of collections, collections.
    pub collectors: Vec<(Arc<str>, f64, u64)>,
    /// Stop-the-world seconds.
    pub safepoint_seconds: Option<f64>,
    /// Longest pause of the window, at least so long.
    pub longest_pause_seconds: Option<f64>,
    /// Whether that is exact.
    pub longest_pause_is_exact: bool,
    /// Since the last collection ended.
    pub last_gc_age_seconds: Option<f64>,
    /// A collection goes on now.
    pub is_collecting: bool,
    /// Version, for the API.
    pub version: Arc<str>,
}

/// What is known of a worker's processes; `None` if nothing is.
pub(super) fn host_view(
    _worker: &Worker,
    _now: Mono,
    _rules: StallRules,
) -> Option<WorkerHostView> {
    None
}
