//! What a JVM's performance counters (hsperfdata) showed. Ticks are the JVM's own clock, from its start; nothing here
//! turns them into ours or judges how long a pause was.

use std::sync::Arc;
use std::time::Duration;

use super::stall::{HostUnknown, ProcessId};
use super::time::Span;

/// One look at the counters of one JVM.
#[derive(Clone, Debug, PartialEq)]
pub struct JvmRead {
    /// Whose process it is.
    pub worker: Arc<str>,
    /// Which.
    pub process: ProcessId,
    /// When.
    pub span: Span,
    /// What was there, or why not; `Absent` for a process that is no JVM.
    pub seen: Result<Jvm, HostUnknown>,
    /// What exactly could not be read and why, for log and API; empty if nothing.
    pub detail: String,
}

/// A JVM's counters; times since its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Jvm {
    /// The JVM's clock when its watcher thread last moved it, every 50 ms; absent in JVMs without that thread.
    pub ticks: Option<Duration>,
    /// Its collectors, in the order of their numbers.
    pub collectors: Vec<Collector>,
    /// Safepoints begun.
    pub safepoints: Option<u64>,
    /// Time in safepoints that ended.
    pub safepoint_time: Option<Duration>,
    /// Time to reach them; part of stop-the-world time.
    pub sync_time: Option<Duration>,
    /// `java.property.java.vm.version` or the like, for the API; empty if not told.
    pub version: Arc<str>,
    /// Whether `safepoint_time` already holds `sync_time` (JVMs before 13).
    pub sync_is_included: bool,
}

/// One garbage collector of a JVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector {
    /// Its name, such as `G1 young collection pauses`, printable.
    pub name: Arc<str>,
    /// Its number in the counters: 0 young, 1 full, 2 the pauses of a concurrent cycle.
    pub number: u8,
    /// Collections begun.
    pub invocations: u64,
    /// Time in collections that ended.
    pub time: Duration,
    /// When the last began. Later than `last_exit`: a collection is going on.
    pub last_entry: Duration,
    /// When the last ended.
    pub last_exit: Duration,
}
