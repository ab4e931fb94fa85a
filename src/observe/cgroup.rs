//! What the cgroup of a worker's process showed: pressure, memory, throttling. Every number says for itself whether it
//! could be read; one that could not is never a zero.

use std::sync::Arc;
use std::time::Duration;

use super::stall::{HostUnknown, ProcessId};
use super::time::Span;

/// A number of a cgroup, or why there is none.
pub type Reading<T> = Result<T, HostUnknown>;

/// One look at the cgroup of one process.
#[derive(Clone, Debug, PartialEq)]
pub struct CgroupRead {
    /// Whose process it is.
    pub worker: Arc<str>,
    /// Which.
    pub process: ProcessId,
    /// When.
    pub span: Span,
    /// What was there; as a whole unknown only if not even the process's cgroup is known.
    pub seen: Reading<Cgroup>,
    /// What exactly could not be read and why, for log and API; empty if nothing.
    pub detail: String,
}

/// A process's cgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct Cgroup {
    /// Its path in the hierarchies that were read, as `/proc/<pid>/cgroup` writes it; two processes with the same one
    /// share every number.
    pub path: Arc<str>,
    /// Pressure on memory. Unsupported in the root cgroup too: that is the whole host's.
    pub memory: Reading<Pressure>,
    /// Pressure on CPUs.
    pub cpu: Reading<Pressure>,
    /// Pressure on I/O.
    pub io: Reading<Pressure>,
    /// Processes of it or of a cgroup below that the kernel killed for want of memory.
    pub oom_kills: Reading<u64>,
    /// Its CPU quota at work, its own and that of every cgroup above it.
    pub throttling: Reading<Throttling>,
    /// Whether it is frozen (an ancestor's freeze counts).
    pub frozen: Reading<bool>,
    /// How long it has been frozen in all (`cgroup.stat.local`), where the kernel says so.
    pub frozen_total: Option<Duration>,
    /// Memory in use.
    pub memory_bytes: Reading<u64>,
    /// The least limit of it and those above it; `None` if there is none.
    pub memory_limit: Reading<Option<u64>>,
}

impl Cgroup {
    /// Whether it, or a part of it, was removed while it was read.
    pub fn is_removed(&self) -> bool {
        let gone = Some(HostUnknown::Gone);
        let read =
            [self.memory.err(), self.oom_kills.err(), self.memory_bytes.err(), self.frozen.err()];
        read.contains(&gone)
    }
}

/// Pressure stall information of one resource. Totals grow, also within a stall that goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pressure {
    /// At least one task waited.
    pub some: Waiting,
    /// All tasks waited; `None` where the kernel does not tell (CPU before 5.13).
    pub full: Option<Waiting>,
}

/// How much was waited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// Share of the last 10 s, 0 to 1.
    pub share: f64,
    /// In all.
    pub total: Duration,
}

/// CPU quotas at work, summed over the cgroup and those above it that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which it used up its quota.
    pub periods: u64,
    /// Time throttled, summed over CPUs: may grow faster than the clock.
    pub throttled: Duration,
    /// Longest period of a quota in force: one throttling lasts about that long. `None` without a quota.
    pub period: Option<Duration>,
}
