//! Series of what is seen of a worker's processes on this host.

use crate::config::SeriesTier;
use crate::expose::catalogue::{Family, host as cat};
use crate::expose::sheet::{Sheet, Tiered};
use crate::view::{CgroupView, JvmView, WorkerHostView, WorkerView};

/// Adds the host part of the worker's series.
pub fn add(sheet: &mut Sheet, worker: &WorkerView) {
    let name = &*worker.name;
    let mut sheet = Tiered::new(sheet, worker.tier == SeriesTier::Full);
    for (store, bound) in &worker.skew_bounds {
        sheet.add(&cat::SKEW_BOUND, [name, store], *bound);
    }
    let Some(host) = &worker.host else { return };
    add_scheduling(&mut sheet, name, host);
    if let Some(cgroup) = &host.cgroup {
        add_cgroup(&mut sheet, name, cgroup);
    }
    if let Some(jvm) = &host.jvm {
        add_jvm(&mut sheet, name, jvm);
    }
}

fn count(n: Option<u64>) -> Option<f64> {
    n.map(|n| n as f64)
}

fn add_scheduling(sheet: &mut Tiered<'_>, name: &str, host: &WorkerHostView) {
    sheet.add_some(&cat::RUNNABLE_THREADS, [name], count(host.runnable_threads));
    sheet.add_some(&cat::RUN_DELAY, [name], host.run_delay_seconds);
    sheet.add_some(&cat::INVOLUNTARY, [name], count(host.involuntary_switches));
    // A lower bound is true by itself; an upper one alone would hide that one is known.
    if let Some(worst) = host.worst_stall.filter(|w| w.lower_seconds.is_finite()) {
        sheet.add(&cat::WORST_STALL, [name, "lower"], worst.lower_seconds);
        let upper = worst.upper.map(|(seconds, _)| seconds).filter(|s| s.is_finite());
        sheet.add_some(&cat::WORST_STALL, [name, "upper"], upper);
    }
}

fn add_cgroup(sheet: &mut Tiered<'_>, name: &str, cgroup: &CgroupView) {
    for (resource, kind, share, total) in &cgroup.pressure {
        let Some(family) = waited(resource, kind) else { continue };
        sheet.add_some(&cat::PRESSURE, [name, resource, kind], *share);
        sheet.add(family, [name], *total);
    }
    let values: [(&Family<1>, Option<f64>); 5] = [
        (&cat::OOM_KILLS, count(cgroup.oom_kills)),
        (&cat::THROTTLED, cgroup.throttled_seconds),
        (&cat::THROTTLED_PERIODS, count(cgroup.throttled_periods)),
        (&cat::MEMORY, count(cgroup.memory_bytes)),
        (&cat::MEMORY_LIMIT, count(cgroup.memory_limit_bytes)),
    ];
    for (family, value) in values {
        sheet.add_some(family, [name], value);
    }
}

/// Where the total of a pressure goes.
fn waited(resource: &str, kind: &str) -> Option<&'static Family<1>> {
    Some(match (resource, kind) {
        ("memory", "some") => &cat::MEMORY_WAITING,
        ("memory", "full") => &cat::MEMORY_STALLED,
        ("cpu", "some") => &cat::CPU_WAITING,
        ("cpu", "full") => &cat::CPU_STALLED,
        ("io", "some") => &cat::IO_WAITING,
        ("io", "full") => &cat::IO_STALLED,
        _ => return None,
    })
}

fn add_jvm(sheet: &mut Tiered<'_>, name: &str, jvm: &JvmView) {
    for (collector, seconds, collections) in &jvm.collectors {
        sheet.add(&cat::GC_PAUSE, [name, collector], *seconds);
        sheet.add(&cat::GC_COLLECTIONS, [name, collector], *collections as f64);
    }
    sheet.add_some(&cat::SAFEPOINT, [name], jvm.safepoint_seconds);
    sheet.add_some(&cat::LONGEST_PAUSE, [name], jvm.longest_pause_seconds);
    sheet.add_some(&cat::LAST_GC_AGE, [name], jvm.last_gc_age_seconds);
}
