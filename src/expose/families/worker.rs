//! Series of one worker.

use crate::config::SeriesTier;
use crate::expose::catalogue::worker as cat;
use crate::expose::sheet::{Sheet, Tiered, flag};
use crate::expose::standing;
use crate::view::WorkerView;

const STATES: [&str; 7] =
    ["running", "sleeping", "disk_sleep", "stopped", "traced", "zombie", "gone"];

/// Adds the worker's series.
pub fn add(sheet: &mut Sheet, worker: &WorkerView) {
    let name = &*worker.name;
    let mut sheet = Tiered::new(sheet, worker.tier == SeriesTier::Full);
    for (source, alive, lost) in &worker.sources {
        sheet.add(&cat::ALIVE, [name, source.as_str()], flag(*alive));
        if !alive {
            sheet.add_some(&cat::LOST, [name, source.as_str()], *lost);
        }
    }
    sheet.add_some(&cat::HEARTBEATS, [name], worker.heartbeats.map(|n| n as f64));
    sheet.add_some(&cat::HEARTBEAT_AGE, [name], worker.heartbeat_age_seconds);
    sheet.add_some(&cat::FROZEN_AFTER, [name], worker.frozen_after_seconds);
    for (store, lock) in &worker.claims {
        sheet.add(&cat::CLAIM_INFO, [name, store, lock], 1.0);
    }
    for (aspect, reason) in &worker.coverage_lost {
        sheet.add(&cat::COVERAGE_LOST, [name, aspect, reason], 1.0);
    }
    for (store, count, reconnects) in &worker.connections {
        sheet.add_some(&cat::STORE_CONNECTIONS, [name, store], count.map(|n| n as f64));
        sheet.add(&cat::STORE_RECONNECTS, [name, store], *reconnects as f64);
    }
    if let Some(state) = standing::process(worker) {
        for each in STATES {
            sheet.add(&cat::PROCESS_STATE, [name, each], flag(each == state));
        }
    }
    sheet.add_some(&cat::RESTARTS, [name], worker.restarts.map(|n| n as f64));
    let Some(process) = &worker.process else { return };
    sheet.add(&cat::UPTIME, [name], process.uptime_seconds);
    sheet.add(&cat::THREADS, [name], process.threads as f64);
    sheet.add(&cat::RESIDENT, [name], process.resident_bytes as f64);
    sheet.add(&cat::CPU, [name], process.cpu_seconds);
    sheet.add_some(&cat::CGROUP_FROZEN, [name], process.frozen.map(flag));
}
