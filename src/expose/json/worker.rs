//! Workers as the API shows them: in short beside the locks, in full in a document of their own, as a host without lock
//! stores has no other place for them.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::Coverage;
use super::host::{Cgroup, Jvm, Scheduling, Stalls};
use crate::expose::standing;
use crate::view::{View, WorkerView};

#[derive(Debug, Serialize)]
pub(super) struct Worker<'a> {
    name: &'a str,
    sources: BTreeMap<&'static str, WorkerSource>,
    heartbeat_age_seconds: Option<f64>,
    heartbeat_frozen_after_seconds: Option<f64>,
    process_state: Option<&'static str>,
    coverage_lost: Vec<Coverage>,
}

#[derive(Debug, Serialize)]
struct WorkerSource {
    alive: bool,
    lost_seconds: Option<f64>,
}

/// A worker of `/api/v1/workers`.
#[derive(Debug, Serialize)]
pub(super) struct WholeWorker<'a> {
    #[serde(flatten)]
    short: Worker<'a>,
    heartbeats: Option<u64>,
    restarts: Option<u64>,
    process: Option<Process>,
    stalls: Option<Stalls>,
    scheduling: Option<Scheduling>,
    cgroup: Option<Cgroup<'a>>,
    jvm: Option<Jvm<'a>>,
    skew_bound_seconds: BTreeMap<&'a str, f64>,
    claims: Vec<Claim<'a>>,
}

#[derive(Debug, Serialize)]
struct Claim<'a> {
    store: &'a str,
    lock: &'a str,
}

#[derive(Debug, Serialize)]
struct Process {
    uptime_seconds: f64,
    threads: u64,
    resident_memory_bytes: u64,
    cpu_seconds: f64,
    cgroup_frozen: Option<bool>,
}

/// Finds workers by name.
pub(super) struct Roster<'a>(HashMap<&'a str, &'a WorkerView>);

impl<'a> Roster<'a> {
    pub(super) fn of(view: &'a View) -> Self {
        Self(view.workers.iter().map(|w| (&*w.name, w)).collect())
    }

    /// The stalls of a worker; `None` where nothing of its processes is seen here.
    pub(super) fn stalls(&self, worker: &str) -> Option<Stalls> {
        self.0.get(worker)?.host.as_ref().map(Stalls::of)
    }
}

pub(super) fn describe_worker(view: &WorkerView) -> Worker<'_> {
    Worker {
        name: &view.name,
        sources: view
            .sources
            .iter()
            .map(|(source, alive, lost)| {
                (source.as_str(), WorkerSource { alive: *alive, lost_seconds: *lost })
            })
            .collect(),
        heartbeat_age_seconds: view.heartbeat_age_seconds,
        heartbeat_frozen_after_seconds: view.frozen_after_seconds,
        process_state: standing::process(view),
        coverage_lost: view
            .coverage_lost
            .iter()
            .map(|(aspect, reason)| Coverage { aspect, reason, detail: None })
            .collect(),
    }
}

pub(super) fn describe_whole_worker(view: &WorkerView) -> WholeWorker<'_> {
    let host = view.host.as_ref();
    WholeWorker {
        short: describe_worker(view),
        heartbeats: view.heartbeats,
        restarts: view.restarts,
        process: view.process.as_ref().map(|p| Process {
            uptime_seconds: p.uptime_seconds,
            threads: p.threads,
            resident_memory_bytes: p.resident_bytes,
            cpu_seconds: p.cpu_seconds,
            cgroup_frozen: p.frozen,
        }),
        stalls: host.map(Stalls::of),
        scheduling: host.map(Scheduling::of),
        cgroup: host.and_then(|h| h.cgroup.as_ref()).map(Cgroup::of),
        jvm: host.and_then(|h| h.jvm.as_ref()).map(Jvm::of),
        skew_bound_seconds: view.skew_bounds.iter().map(|(s, bound)| (&**s, *bound)).collect(),
        claims: view.claims.iter().map(|(store, lock)| Claim { store, lock }).collect(),
    }
}
