//! What a sample of a process's scheduling showed: how long it ran and waited since it began, and what its threads did
//! since the sample before. Totals are as the kernel counts them; what they mean for the longest stall is not said here.

use std::sync::Arc;
use std::time::Duration;

use super::time::{Mono, Span};
use super::worker::ProcessState;

/// A process that a pid cannot fake: the number is reused, number and start time together are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// Pid in the numbering of the `/proc` we read.
    pub pid: i32,
    /// Start in clock ticks since boot.
    pub start_ticks: u64,
}

/// One sample of some processes; processes that were not reached this time are not in it.
#[derive(Clone, Debug, PartialEq)]
pub struct StallRead {
    /// From before the first process until after the last.
    pub span: Span,
    /// One for each process that was looked at.
    pub samples: Vec<StallSample>,
}

/// One process in one sample.
#[derive(Clone, Debug, PartialEq)]
pub struct StallSample {
    /// Whose process it is.
    pub worker: Arc<str>,
    /// Which.
    pub process: ProcessId,
    /// When its counters were read.
    pub span: Span,
    /// What they showed, or why they could not be read.
    pub seen: Result<Scheduling, HostUnknown>,
}

/// Counters of a process's scheduling. Totals grow while the process is the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduling {
    /// Where they come from.
    pub way: SampleWay,
    /// Time on a CPU, summed over threads.
    pub on_cpu: Duration,
    /// Time runnable and waiting for a CPU, summed over threads; booked when a wait ends.
    pub waited: Duration,
    /// Times that a thread got a CPU, summed over threads.
    pub slices: u64,
    /// Involuntary context switches, summed over threads. `None` where this way of reading does not show them.
    pub involuntary: Option<u64>,
    /// Threads.
    pub threads: u64,
    /// State of the process, corrected as in [`Process`](super::worker::Process). `None` when it was not read because
    /// the counters had moved since the sample before: then it was neither stopped nor frozen all the time.
    pub state: Option<ProcessState>,
    /// Whether its cgroup is frozen, read together with `state`.
    pub frozen: Option<bool>,
    /// What its threads did one by one; `None` in samples that read only sums.
    pub each: Option<Threads>,
}

/// How scheduling counters were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SampleWay {
    /// taskstats over netlink.
    Taskstats,
    /// `/proc/<pid>/task/<tid>/schedstat`.
    Procfs,
}

/// What single threads did between an earlier reading of all of them and this one.
#[derive(Clone, Debug, PartialEq)]
pub struct Threads {
    /// The earlier reading; threads that began since count from their beginning.
    pub since: Span,
    /// Largest rise of one thread's waiting: no wait that ended in between was longer.
    pub most_waited: Duration,
    /// Largest mean wait of one thread (rise of its waiting by rise of its slices): some wait was at least this long.
    pub mean_wait: Duration,
    /// Longest single wait that ended in between, where the kernel keeps it (taskstats version 16 and later) and it was
    /// longer than any before it in that thread's life: exact.
    pub longest_wait: Option<Duration>,
    /// Upper limit of a single wait by the kernel's own maxima: the largest of the threads that waited in between.
    pub wait_limit: Option<Duration>,
    /// Largest time that one thread was running or waiting: so long the process was certainly not stopped or frozen.
    pub busiest: Duration,
    /// Longest time for which a thread has been runnable without its counters moving, as far as is known.
    pub unmoved_runnable: Option<Duration>,
    /// Since when, at the earliest, some thread has been in state D, if one is: since the last reading with other counters
    /// of it.
    pub kept_since: Option<Mono>,
    /// Threads in state R.
    pub runnable: u64,
    /// Threads beyond the cap, of which nothing is known.
    pub beyond_cap: u64,
}

/// Why something about a process on this host cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostUnknown {
    /// The process ended.
    Gone,
    /// The kernel refuses us: a capability or a group is missing.
    Permission,
    /// hidepid, a namespace or a container hides it.
    Hidden,
    /// The kernel, or how it was built or booted, has no such thing.
    Unsupported,
    /// There is none: no JVM, no cgroup of its own.
    Absent,
    /// It is not what its format says.
    Malformed,
    /// Anything else.
    Failed,
}
