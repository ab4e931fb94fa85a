//! A worker and a poller as a view shows them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::host::host_view;
use super::{LivenessSource, WorkerHostView, coverage};
use crate::config::SeriesTier;
use crate::derive::State;
use crate::derive::fresh::is_fresh;
use crate::derive::process::Processes;
use crate::derive::worker::Worker;
use crate::observe::node::FailReason;
use crate::observe::worker::ProcessState;
use crate::observe::{Mono, Span};

/// One worker.
#[derive(Clone, Debug)]
pub struct WorkerView {
    /// The `worker` label.
    pub name: Arc<str>,
    /// Which series to print.
    pub tier: SeriesTier,
    /// Alive by each source that ever saw it, and seconds since that source lost it.
    pub sources: Vec<(LivenessSource, bool, Option<f64>)>,
    /// When its last beats were seen, the oldest first; bounded.
    pub beats: Arc<VecDeque<Mono>>,
    /// Advances seen; `None` without a heartbeat.
    pub heartbeats: Option<u64>,
    /// Age of the last advance.
    pub heartbeat_age_seconds: Option<f64>,
    /// From which age it counts as frozen.
    pub frozen_after_seconds: Option<f64>,
    /// Process facts while fresh.
    pub process: Option<WorkerProcessView>,
    /// The process was seen and is gone now.
    pub process_gone: bool,
    /// (pid, start time) changes; `None` if no process was ever seen.
    pub restarts: Option<u64>,
    /// Stalls, cgroup and JVM of its processes on this host.
    pub host: Option<WorkerHostView>,
    /// By store: worst case between this worker's host and the lock server; only for workers on this host.
    pub skew_bounds: Vec<(Arc<str>, f64)>,
    /// Locks that it says it holds: store and lock.
    pub claims: Vec<(Arc<str>, Arc<str>)>,
    /// `process`, `heartbeat` and the like, and why it cannot be judged.
    pub coverage_lost: Vec<(&'static str, &'static str)>,
}

/// A worker's process.
#[derive(Clone, Debug)]
pub struct WorkerProcessView {
    /// Its state.
    pub state: ProcessState,
    /// Since its start.
    pub uptime_seconds: f64,
    /// Threads.
    pub threads: u64,
    /// Resident memory.
    pub resident_bytes: u64,
    /// CPU time of all that the exporter saw, those that ended too; never falls.
    pub cpu_seconds: f64,
    /// Cgroup frozen.
    pub frozen: Option<bool>,
}

/// One poller and its target.
#[derive(Clone, Debug, Default)]
pub struct PollerView {
    /// `redis`, `process`, `heartbeat`.
    pub poller: &'static str,
    /// The node's address, or the worker group's name.
    pub target: Arc<str>,
    /// Configured interval.
    pub interval_seconds: f64,
    /// Work and waiting of the last poll.
    pub duration_seconds: Option<f64>,
    /// Wall clock of the last success.
    pub last_success_timestamp: Option<f64>,
    /// Polls.
    pub polls: u64,
    /// Failures by reason, every reason.
    pub failures: Vec<(FailReason, u64)>,
}

/// A worker that some group serves.
pub(super) fn worker_view(
    state: &State,
    worker: &Worker,
    now: Mono,
    skews: &[(Arc<str>, f64)],
) -> Option<WorkerView> {
    let (_, group, rules) = state.workers.with_group(&worker.name)?;
    let poll = rules.poll;
    let mut sources = Vec::new();
    let processes: Vec<&Processes> = worker.processes.values().collect();
    let fresh = |s: Option<Span>| is_fresh(s.map(|s| s.done), now, poll);
    let seen: Vec<&&Processes> =
        processes.iter().filter(|p| p.was_seen() || p.loss().is_some()).collect();
    if group.process.is_some() && !seen.is_empty() && seen.iter().any(|p| fresh(p.last_span())) {
        // Several tokens of one name: alive if any of its processes lives; a hidden one says nothing.
        let is_known = seen.iter().any(|p| p.liveness() != crate::derive::Liveness::Unknown);
        let is_alive = seen.iter().any(|p| !p.liveness().is_lost());
        if is_known {
            let lost = seen.iter().filter_map(|p| p.loss()).map(|l| l.since).max();
            let lost = lost.filter(|_| !is_alive).map(|at| now.secs_since(at).max(0.0));
            sources.push((LivenessSource::Process, is_alive, lost));
        }
    }
    let beat = &worker.heartbeat;
    let has_beat =
        group.heartbeat.is_some() && beat.was_seen() && is_fresh(beat.last_read(), now, poll);
    if has_beat && beat.is_threshold_sane(rules) {
        let lost = beat.loss().map(|l| now.secs_since(l.since).max(0.0));
        sources.push((LivenessSource::Heartbeat, lost.is_none(), lost));
    }
    let is_list_fresh =
        |name: &str| state.workers.lists.get(name).is_some_and(|list| list.is_fresh(now));
    if let Some((is_alive, lost)) = worker.listed.alive(is_list_fresh) {
        let lost = lost.map(|at| now.secs_since(at).max(0.0));
        sources.push((LivenessSource::List, is_alive, lost));
    }
    // This exporter's host is that of a worker whose process it sees.
    let is_here = processes.iter().any(|p| fresh(p.last_span()) && p.live().next().is_some());
    let restarts = processes.iter().map(|p| p.restarts).sum();
    Some(WorkerView {
        name: worker.name.clone(),
        tier: group.series.max(SeriesTier::Core),
        sources,
        beats: beat.recent.clone(),
        heartbeats: (group.heartbeat.is_some() && beat.was_seen()).then_some(beat.advances),
        heartbeat_age_seconds: beat.age().filter(|_| has_beat),
        frozen_after_seconds: (group.heartbeat.is_some() && beat.was_seen())
            .then(|| beat.frozen_after(rules)),
        process: processes
            .iter()
            .filter(|p| fresh(p.last_span()))
            .find_map(|p| process_view(worker, p, now)),
        process_gone: !seen.is_empty()
            && seen.iter().all(|p| fresh(p.last_span()) && p.live().next().is_none())
            && seen.iter().any(|p| p.liveness() == crate::derive::Liveness::Dead),
        restarts: (!seen.is_empty()).then_some(restarts),
        host: host_view(worker, now, state.rules.stalls()),
        skew_bounds: if is_here { skews.to_vec() } else { Vec::new() },
        claims: worker
            .claims
            .now(now, poll)
            .iter()
            .map(|c| (c.store.clone(), c.lock.clone()))
            .collect(),
        coverage_lost: coverage::worker(state, worker, now),
    })
}

fn process_view(worker: &Worker, processes: &Processes, now: Mono) -> Option<WorkerProcessView> {
    // The oldest of several: the one that stays while others come and go.
    let all = || processes.live().chain(processes.zombies());
    let p = all().min_by_key(|p| p.start_ticks)?;
    Some(WorkerProcessView {
        state: p.state,
        uptime_seconds: now.secs_since(p.started).max(0.0),
        threads: all().map(|p| p.threads).sum(),
        resident_bytes: all().map(|p| p.resident_bytes).sum(),
        cpu_seconds: worker.cpu.total().as_secs_f64(),
        frozen: p.frozen,
    })
}
