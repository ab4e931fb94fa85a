//! Series about the exporter itself.

use crate::expose::catalogue::exporter as cat;
use crate::expose::self_facts::{EvidenceFailure, OwnProcess, SelfFacts};
use crate::expose::sheet::{Sheet, flag};
use crate::observe::node::FailReason;
use crate::view::{PollerView, View};

/// Adds the exporter's series.
pub fn add(sheet: &mut Sheet, view: &View, own: &SelfFacts) {
    sheet.add(&cat::BUILD_INFO, [own.version, own.revision], 1.0);
    sheet.add(&cat::SNAPSHOT_TIMESTAMP, [], view.taken_wall);
    sheet.add(&cat::RELOAD_SUCCESSFUL, [], flag(own.reload_error.is_none()));
    sheet.add(&cat::RELOAD_TIMESTAMP, [], own.reload_success_timestamp);
    let (shard, total) = (own.shard.index().to_string(), own.shard.total().to_string());
    sheet.add(&cat::SHARD_INFO, [&shard, &total], 1.0);
    if let Some(counts) = &own.evidence {
        sheet.add(&cat::EVIDENCE_WRITES, [], counts.writes as f64);
        for (reason, n) in EvidenceFailure::ALL.into_iter().zip(counts.failures) {
            sheet.add(&cat::EVIDENCE_FAILURES, [reason.as_str()], n as f64);
        }
    }
    let (forward, backward) = view.host_clock_steps;
    sheet.add(&cat::HOST_CLOCK_STEPS, ["forward"], forward as f64);
    sheet.add(&cat::HOST_CLOCK_STEPS, ["backward"], backward as f64);
    for poller in &view.pollers {
        add_poller(sheet, poller);
    }
    if let Some(process) = &own.process {
        add_process(sheet, process);
    }
}

fn add_poller(sheet: &mut Sheet, poller: &PollerView) {
    let at = [poller.poller, &*poller.target];
    sheet.add(&cat::POLL_INTERVAL, at, poller.interval_seconds);
    sheet.add_some(&cat::POLL_DURATION, at, poller.duration_seconds);
    sheet.add_some(&cat::POLL_LAST_SUCCESS, at, poller.last_success_timestamp);
    sheet.add(&cat::POLLS, at, poller.polls as f64);
    for reason in FailReason::ALL {
        let failures = poller.failures.iter().find(|(r, _)| *r == reason).map_or(0, |(_, n)| *n);
        let labels = [poller.poller, &*poller.target, reason.as_str()];
        sheet.add(&cat::POLL_FAILURES, labels, failures as f64);
    }
}

fn add_process(sheet: &mut Sheet, process: &OwnProcess) {
    sheet.add(&cat::PROCESS_CPU, [], process.cpu_seconds);
    sheet.add(&cat::PROCESS_START, [], process.start_timestamp);
    sheet.add(&cat::PROCESS_RESIDENT, [], process.resident_bytes as f64);
    sheet.add(&cat::PROCESS_VIRTUAL, [], process.virtual_bytes as f64);
    sheet.add(&cat::PROCESS_THREADS, [], process.threads as f64);
    sheet.add_some(&cat::PROCESS_OPEN_FDS, [], process.open_fds.map(|n| n as f64));
    sheet.add_some(&cat::PROCESS_MAX_FDS, [], process.max_fds.map(|n| n as f64));
}
