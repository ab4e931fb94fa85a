//! Hosts and clocks of any content.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{name, number, word};
use crate::observe::clock::Tracking;
use crate::observe::node::FailReason;
use crate::view::*;

fn count() -> impl Strategy<Value = Option<u64>> {
    option::of(any::<u64>())
}

fn worst() -> impl Strategy<Value = WorstStallView> {
    let upper = option::of((any::<f64>(), word(StallSource::ALL)));
    (vec(any::<f64>(), 2), word(StallSource::ALL), upper).prop_map(|(n, lower_source, upper)| {
        WorstStallView { lower_seconds: n[0], lower_source, upper, lower_age_seconds: n[1] }
    })
}

fn cgroup() -> impl Strategy<Value = CgroupView> {
    let resource = select(vec!["memory", "cpu", "io", "irq"]);
    let kind = select(vec!["some", "full"]);
    let pressure = vec((resource, kind, number(), any::<f64>()), 0..7);
    (name(), pressure, vec(count(), 4), number()).prop_map(|(path, pressure, n, throttled)| {
        CgroupView {
            path,
            pressure,
            oom_kills: n[0],
            throttled_seconds: throttled,
            throttled_periods: n[1],
            memory_bytes: n[2],
            memory_limit_bytes: n[3],
        }
    })
}

fn jvm() -> impl Strategy<Value = JvmView> {
    let collectors = vec((name(), any::<f64>(), any::<u64>()), 0..4);
    (collectors, vec(number(), 3), any::<bool>(), any::<bool>(), name()).prop_map(
        |(collectors, n, longest_pause_is_exact, is_collecting, version)| JvmView {
            collectors,
            safepoint_seconds: n[0],
            longest_pause_seconds: n[1],
            longest_pause_is_exact,
            last_gc_age_seconds: n[2],
            is_collecting,
            version,
        },
    )
}

/// What may be seen of a worker's processes.
pub fn any_host() -> impl Strategy<Value = WorkerHostView> {
    let parts = (option::of(worst()), option::of(cgroup()), option::of(jvm()));
    (count(), number(), count(), number(), any::<u64>(), parts).prop_map(
        |(runnable, delay, involuntary, ongoing, beyond, (worst_stall, cgroup, jvm))| {
            WorkerHostView {
                runnable_threads: runnable,
                run_delay_seconds: delay,
                involuntary_switches: involuntary,
                worst_stall,
                ongoing_stall_seconds: ongoing,
                threads_beyond_cap: beyond,
                cgroup,
                jvm,
            }
        },
    )
}

fn tracking() -> impl Strategy<Value = Tracking> {
    (vec(any::<f64>(), 10), any::<u32>(), any::<u16>(), any::<u16>(), any::<[u8; 16]>()).prop_map(
        |(n, ref_id, stratum, leap, source)| Tracking {
            ref_id,
            source: Some(source.into()),
            stratum,
            leap,
            ref_time: n[0],
            correction: n[1],
            last_offset: n[2],
            rms_offset: n[3],
            frequency_ppm: n[4],
            residual_ppm: n[5],
            skew_ppm: n[6],
            root_delay: n[7],
            root_dispersion: n[8],
            update_interval: n[9],
        },
    )
}

/// Any clock.
pub fn any_clock() -> impl Strategy<Value = ClockView> {
    let failure = option::of((select(FailReason::ALL.to_vec()), any::<String>()));
    let state = (option::of(word(ClockStatus::ALL)), option::of(tracking()));
    (name(), any::<bool>(), any::<bool>(), failure, state, number(), number()).prop_map(
        |(name, up, is_local, failure, (status, tracking), offset, bound)| ClockView {
            name,
            up,
            failure,
            is_local,
            status,
            tracking,
            offset_seconds: offset,
            error_bound_seconds: bound,
        },
    )
}
