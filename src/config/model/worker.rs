//! A group of workers: who belongs to it, where their processes are and where they beat. Watches nothing.

use std::sync::Arc;
use std::time::Duration;

use super::{Pattern, SeriesTier, Source};

/// A group of workers: where their heartbeats and processes are.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerGroup {
    /// The group's name in the config.
    pub name: String,
    /// Workers known by name from the start.
    pub names: Vec<Arc<str>>,
    /// Serves every worker whose whole name matches, found as a lock's holder.
    pub matches: Option<Pattern>,
    /// Which series its workers have.
    pub series: SeriesTier,
    /// Where its process is, if it is on this host.
    pub process: Option<ProcessSource>,
    /// Where it beats.
    pub heartbeat: Option<Heartbeat>,
    /// Where a worker says which locks it holds.
    pub claim: Option<Source>,
    /// Whether its processes are JVMs whose counters are read.
    pub jvm: JvmMode,
}

/// Whether a worker's processes are looked at as JVMs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JvmMode {
    /// Those that have counters are; a `java` process without them is reported as not readable.
    #[default]
    Auto,
    /// All of them are: one without counters is reported as not readable.
    Always,
    /// None.
    Never,
}

impl WorkerGroup {
    /// Whether this group serves the worker of that name.
    pub fn serves(&self, worker: &str) -> bool {
        self.names.iter().any(|n| &**n == worker)
            || self.matches.as_ref().is_some_and(|p| {
                p.0.find(worker.as_bytes()).is_some_and(|m| m.len() == worker.len())
            })
    }
}

/// How to find a worker's process. `{worker}` in a template stands for its name.
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessSource {
    /// The pid is the first number in this file.
    PidFile(String),
    /// The pid in the owner token.
    FromHolder,
    /// All processes of this systemd unit's cgroup.
    SystemdUnit(String),
    /// All processes whose command line (arguments joined by spaces) matches this regular expression.
    Command(String),
    /// All processes of this cgroup, as `/proc/<pid>/cgroup` writes it.
    Cgroup(String),
}

/// A worker's heartbeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Heartbeat {
    /// Where it is.
    pub source: Source,
    /// Age from which it counts as frozen; derived from the usual beat if absent.
    pub frozen_after: Option<Duration>,
}
