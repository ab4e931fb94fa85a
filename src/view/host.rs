//! What a view shows of a worker's processes on this host: stalls, cgroups, JVMs.

use std::sync::Arc;
use std::time::Duration;

use crate::derive::StallSource;
use crate::derive::fresh::oldest;
use crate::derive::host::{Host, StallRules};
use crate::derive::worker::Worker;
use crate::observe::Mono;
use crate::observe::cgroup::{Cgroup, Pressure, Waiting};

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
    /// No stall was longer, and the largest part of that; `None` while that is not known, as of a worker that ended.
    pub upper: Option<(f64, StallSource)>,
    /// Since the read that gave the lower bound.
    pub lower_age_seconds: f64,
}

/// A cgroup; of several the sums of totals and the largest of everything else. Totals stay when no cgroup is there to be
/// read any more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgroupView {
    /// Path as `/proc/<pid>/cgroup` writes it; of several the first. For the API.
    pub path: Arc<str>,
    /// Resource (`memory`, `cpu`, `io`), kind (`some`, `full`), share of the last 10 s while it is read, total seconds.
    pub pressure: Vec<(&'static str, &'static str, Option<f64>, f64)>,
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

/// What is known of a worker's processes; `None` if nothing is. What is older than three intervals is left out.
pub(super) fn host_view(worker: &Worker, now: Mono, rules: StallRules) -> Option<WorkerHostView> {
    let host = &worker.host;
    let is_sampled = host.samples(now, rules).next().is_some();
    let view = WorkerHostView {
        runnable_threads: runnable(host, now, rules),
        run_delay_seconds: host.run_delay().filter(|_| is_sampled).map(|d| d.as_secs_f64()),
        involuntary_switches: host.involuntary().filter(|_| is_sampled),
        worst_stall: worst_stall(host, now, rules),
        ongoing_stall_seconds: host.ongoing(now, rules).map(|d| d.as_secs_f64()),
        threads_beyond_cap: beyond_cap(host, now, rules),
        cgroup: cgroup_view(host, now, rules),
        jvm: jvm_view(host, now, rules),
    };
    (view != WorkerHostView::default()).then_some(view)
}

/// Threads beyond the cap of all its processes.
pub(super) fn beyond_cap(host: &Host, now: Mono, rules: StallRules) -> u64 {
    host.samples(now, rules).filter_map(|s| s.each.as_ref()).map(|e| e.beyond_cap).sum()
}

/// Known only while the threads of every process that is sampled are read one by one.
fn runnable(host: &Host, now: Mono, rules: StallRules) -> Option<u64> {
    host.samples(now, rules).try_fold(None, |sum: Option<u64>, s| {
        let each = s.each.as_ref()?;
        Some(Some(sum.unwrap_or(0).saturating_add(each.runnable)))
    })?
}

/// A lower bound stays true when nothing is sampled any more; how long a stall can have been at most is not known then.
fn worst_stall(host: &Host, now: Mono, rules: StallRules) -> Option<WorstStallView> {
    let worst = host.worst_stall(now, rules)?;
    Some(WorstStallView {
        lower_seconds: worst.lower.length.as_secs_f64(),
        lower_source: worst.lower.source,
        upper: worst.upper.map(|upper| (upper.length.as_secs_f64(), upper.source)),
        lower_age_seconds: now.secs_since(worst.lower_at).max(0.0),
    })
}

fn cgroup_view(host: &Host, now: Mono, rules: StallRules) -> Option<CgroupView> {
    let cgroups = || host.cgroups().since(oldest(now, rules.poll));
    let first = cgroups().next();
    if first.is_none() && host.failures(now, rules.poll).cgroup.is_some() {
        return None;
    }
    // Whoever was killed for want of memory is gone when that is to be seen, and its cgroup often too.
    let first = first.or_else(|| host.cgroups().last())?;
    let is_told =
        |is_read: fn(&Cgroup) -> bool| cgroups().next().is_none() || cgroups().any(is_read);
    let totals = host.cgroups().totals();
    let mut pressure = Vec::new();
    let resources: [(&'static str, PressureOf, bool, [Option<Duration>; 2]); 3] = [
        ("memory", |c| c.memory.ok(), is_told(|c| c.memory.is_ok()), totals.memory),
        ("cpu", |c| c.cpu.ok(), is_told(|c| c.cpu.is_ok()), totals.cpu),
        ("io", |c| c.io.ok(), is_told(|c| c.io.is_ok()), totals.io),
    ];
    for (resource, of, _, [some, full]) in resources.into_iter().filter(|(_, _, told, _)| *told) {
        let read = || cgroups().filter_map(of);
        let some = (share(read().map(|p| p.some)), some);
        let full = (share(read().filter_map(|p| p.full)), full);
        for (kind, (share, total)) in [("some", some), ("full", full)] {
            pressure.extend(total.map(|t| (resource, kind, share, t.as_secs_f64())));
        }
    }
    let kills = is_told(|c| c.oom_kills.is_ok());
    let throttles = is_told(|c| c.throttling.is_ok());
    Some(CgroupView {
        path: first.path.clone(),
        pressure,
        oom_kills: totals.oom_kills.filter(|_| kills),
        throttled_seconds: totals.throttled.filter(|_| throttles).map(|t| t.as_secs_f64()),
        throttled_periods: totals.throttled_periods.filter(|_| throttles),
        memory_bytes: cgroups().filter_map(|c| c.memory_bytes.ok()).max(),
        memory_limit_bytes: cgroups().filter_map(|c| c.memory_limit.ok().flatten()).max(),
    })
}

/// One resource's pressure in a cgroup.
type PressureOf = fn(&Cgroup) -> Option<Pressure>;

/// The largest share.
fn share(waiting: impl Iterator<Item = Waiting>) -> Option<f64> {
    waiting.map(|w| w.share).max_by(f64::total_cmp)
}

fn jvm_view(host: &Host, now: Mono, rules: StallRules) -> Option<JvmView> {
    let jvms = host.jvms();
    let since = oldest(now, rules.poll);
    jvms.last_read().filter(|read| *read >= since)?;
    let longest = jvms.longest_pause(now, rules.window);
    let history = &jvms.history;
    Some(JvmView {
        collectors: history
            .totals()
            .map(|(name, t)| (name.clone(), t.time.as_secs_f64(), t.collections))
            .collect(),
        safepoint_seconds: history.stopped().map(|t| t.as_secs_f64()),
        longest_pause_seconds: longest.map(|(length, _)| length.as_secs_f64()),
        longest_pause_is_exact: longest.is_some_and(|(_, exact)| exact),
        last_gc_age_seconds: history.last_collection_age(now, since).map(|t| t.as_secs_f64()),
        is_collecting: history.is_collecting(since),
        version: jvms.version.clone(),
    })
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
