//! A worker and a poller as a view shows them.

use std::sync::Arc;

use super::{LivenessSource, WorkerHostView};
use crate::config::SeriesTier;
use crate::observe::node::FailReason;
use crate::observe::worker::ProcessState;

/// One worker.
#[derive(Clone, Debug)]
pub struct WorkerView {
    /// The `worker` label.
    pub name: Arc<str>,
    /// Which series to print.
    pub tier: SeriesTier,
    /// Alive by each source that ever saw it, and seconds since that source lost it.
    pub sources: Vec<(LivenessSource, bool, Option<f64>)>,
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
