//! What is seen of a worker's processes on this host, as the API shows it: with the sources that the metrics leave out.

use std::collections::BTreeMap;

use serde::Serialize;

use super::not_empty;
use crate::view::{CgroupView, JvmView, WorkerHostView};

/// How long it was kept from running.
#[derive(Debug, Serialize)]
pub(super) struct Stalls {
    worst: Option<Worst>,
    ongoing_seconds: Option<f64>,
    in_collection: Option<bool>,
    threads_beyond_cap: u64,
}

#[derive(Debug, Serialize)]
struct Worst {
    lower_seconds: f64,
    lower_source: &'static str,
    lower_age_seconds: f64,
    upper_seconds: Option<f64>,
    upper_source: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub(super) struct Scheduling {
    runnable_threads: Option<u64>,
    run_delay_seconds: Option<f64>,
    involuntary_context_switches: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Cgroup<'a> {
    path: Option<&'a str>,
    pressure: BTreeMap<&'static str, BTreeMap<&'static str, Pressure>>,
    oom_kills: Option<u64>,
    throttled_seconds: Option<f64>,
    throttled_periods: Option<u64>,
    memory_bytes: Option<u64>,
    memory_limit_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Pressure {
    ratio: Option<f64>,
    total_seconds: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Jvm<'a> {
    version: Option<&'a str>,
    collectors: Vec<Collector<'a>>,
    safepoint_seconds: Option<f64>,
    longest_pause_seconds: Option<f64>,
    longest_pause_is_exact: bool,
    last_gc_age_seconds: Option<f64>,
    in_collection: bool,
}

#[derive(Debug, Serialize)]
struct Collector<'a> {
    name: &'a str,
    collections: u64,
    seconds: f64,
}

impl Stalls {
    pub(super) fn of(host: &WorkerHostView) -> Self {
        Self {
            worst: host.worst_stall.map(|w| Worst {
                lower_seconds: w.lower_seconds,
                lower_source: w.lower_source.as_str(),
                lower_age_seconds: w.lower_age_seconds,
                upper_seconds: w.upper.map(|(seconds, _)| seconds),
                upper_source: w.upper.map(|(_, source)| source.as_str()),
            }),
            ongoing_seconds: host.ongoing_stall_seconds,
            in_collection: host.jvm.as_ref().map(|j| j.is_collecting),
            threads_beyond_cap: host.threads_beyond_cap,
        }
    }
}

impl Scheduling {
    pub(super) fn of(host: &WorkerHostView) -> Self {
        Self {
            runnable_threads: host.runnable_threads,
            run_delay_seconds: host.run_delay_seconds,
            involuntary_context_switches: host.involuntary_switches,
        }
    }
}

impl<'a> Cgroup<'a> {
    pub(super) fn of(cgroup: &'a CgroupView) -> Self {
        let mut pressure: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (resource, kind, ratio, total) in &cgroup.pressure {
            let waited = Pressure { ratio: *ratio, total_seconds: *total };
            pressure.entry(*resource).or_default().insert(*kind, waited);
        }
        Self {
            path: not_empty(&cgroup.path),
            pressure,
            oom_kills: cgroup.oom_kills,
            throttled_seconds: cgroup.throttled_seconds,
            throttled_periods: cgroup.throttled_periods,
            memory_bytes: cgroup.memory_bytes,
            memory_limit_bytes: cgroup.memory_limit_bytes,
        }
    }
}

impl<'a> Jvm<'a> {
    pub(super) fn of(jvm: &'a JvmView) -> Self {
        let collectors = jvm.collectors.iter();
        Self {
            version: not_empty(&jvm.version),
            collectors: collectors
                .map(|(name, seconds, n)| Collector { name, collections: *n, seconds: *seconds })
                .collect(),
            safepoint_seconds: jvm.safepoint_seconds,
            longest_pause_seconds: jvm.longest_pause_seconds,
            longest_pause_is_exact: jvm.longest_pause_is_exact,
            last_gc_age_seconds: jvm.last_gc_age_seconds,
            in_collection: jvm.is_collecting,
        }
    }
}
