//! The example's host: everything that is seen of a worker's processes, and clocks in three states.

use super::HOSTILE;
use crate::observe::clock::Tracking;
use crate::observe::node::FailReason;
use crate::view::*;

/// All that a host can show of a worker.
pub fn full() -> WorkerHostView {
    WorkerHostView {
        runnable_threads: Some(3),
        run_delay_seconds: Some(12.75),
        involuntary_switches: Some(5100),
        worst_stall: Some(WorstStallView {
            lower_seconds: 20.25,
            lower_source: StallSource::Stopped,
            upper: Some((21.5, StallSource::BetweenSamples)),
            lower_age_seconds: 61.0,
        }),
        ongoing_stall_seconds: Some(0.75),
        threads_beyond_cap: 2,
        cgroup: Some(CgroupView {
            path: "/system.slice/orders-1.service".into(),
            pressure: vec![
                ("memory", "some", Some(0.125), 9.5),
                ("memory", "full", Some(0.0625), 4.25),
                ("cpu", "some", Some(0.5), 30.0),
                ("cpu", "full", Some(0.25), 12.0),
                ("io", "some", Some(0.0), 1.5),
                ("io", "full", Some(0.0), 0.5),
            ],
            oom_kills: Some(1),
            throttled_seconds: Some(7.5),
            throttled_periods: Some(90),
            memory_bytes: Some(60_000_000),
            memory_limit_bytes: Some(100_000_000),
        }),
        jvm: Some(JvmView {
            collectors: vec![
                ("G1 young collection pauses".into(), 0.875, 41),
                ("G1 full collections".into(), 1.5, 2),
            ],
            safepoint_seconds: Some(2.625),
            longest_pause_seconds: Some(1.125),
            longest_pause_is_exact: true,
            last_gc_age_seconds: Some(4.5),
            is_collecting: false,
            version: "17.0.15+6".into(),
        }),
    }
}

/// This host's clock, one that chronyd lost its source for, one that serves its own time, one that does not answer.
pub fn clocks() -> Vec<ClockView> {
    let said = tracking();
    let local = ClockView {
        name: "here".into(),
        up: true,
        failure: None,
        is_local: true,
        status: Some(ClockStatus::Synchronized),
        tracking: Some(said),
        offset_seconds: Some(-0.000_25),
        error_bound_seconds: Some(0.016_5),
    };
    let remote = ClockView { is_local: false, ..local.clone() };
    vec![
        local.clone(),
        ClockView {
            name: "adrift".into(),
            status: Some(ClockStatus::FreeRunning),
            error_bound_seconds: Some(0.25),
            ..remote.clone()
        },
        ClockView {
            name: "alone".into(),
            status: Some(ClockStatus::Local),
            tracking: Some(Tracking {
                ref_id: 0x7F7F_0101,
                source: None,
                stratum: 10,
                root_delay: 0.0,
                root_dispersion: 0.0,
                ..said
            }),
            offset_seconds: None,
            error_bound_seconds: None,
            ..remote.clone()
        },
        ClockView {
            name: HOSTILE.into(),
            up: false,
            failure: Some((
                FailReason::Timeout,
                "no answer from 10.0.0.7:323 <b>within</b> 1 s: is cmdallow set?".into(),
            )),
            status: None,
            tracking: None,
            offset_seconds: None,
            error_bound_seconds: None,
            ..remote
        },
    ]
}

fn tracking() -> Tracking {
    Tracking {
        ref_id: 0x0A00_0001,
        source: Some([10, 0, 0, 1].into()),
        stratum: 3,
        leap: 0,
        ref_time: 1_789_999_980.5,
        correction: 0.000_25,
        last_offset: -0.000_125,
        rms_offset: 0.000_5,
        frequency_ppm: 4.0,
        residual_ppm: -0.25,
        skew_ppm: 0.5,
        root_delay: 0.031_25,
        root_dispersion: 0.000_625,
        update_interval: 64.5,
    }
}
