//! The example's workers.

use super::{HOSTILE, host};
use crate::config::SeriesTier;
use crate::observe::Mono;
use crate::observe::worker::ProcessState;
use crate::view::*;

/// One whose heartbeat stands still.
pub fn frozen() -> WorkerView {
    WorkerView {
        host: Some(host::full()),
        skew_bounds: vec![("main".into(), 0.0031)],
        name: "orders-1".into(),
        tier: SeriesTier::Full,
        sources: vec![
            (LivenessSource::Process, true, None),
            (LivenessSource::Heartbeat, false, Some(33.0)),
            (LivenessSource::List, true, None),
        ],
        beats: std::sync::Arc::new(
            (0..40).map(|n| Mono::from_secs_f64(917.0 + f64::from(n))).collect(),
        ),
        heartbeats: Some(41),
        heartbeat_age_seconds: Some(43.0),
        frozen_after_seconds: Some(10.0),
        process: Some(WorkerProcessView {
            state: ProcessState::DiskSleep,
            uptime_seconds: 3600.0,
            threads: 12,
            resident_bytes: 50_000_000,
            cpu_seconds: 17.25,
            frozen: Some(false),
        }),
        process_gone: false,
        restarts: Some(0),
        claims: vec![("main".into(), "orders".into())],
        coverage_lost: Vec::new(),
    }
}

/// One of which nothing is left, with a name that tries to break out.
pub fn gone() -> WorkerView {
    WorkerView {
        name: HOSTILE.into(),
        process: None,
        process_gone: true,
        host: None,
        skew_bounds: Vec::new(),
        claims: vec![(HOSTILE.into(), HOSTILE.into())],
        coverage_lost: vec![("heartbeat", "unreachable")],
        ..frozen()
    }
}
