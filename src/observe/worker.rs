//! What a worker's heartbeat or process showed in one look.

use std::sync::Arc;
use std::time::Duration;

use super::node::FailReason;
use super::time::{Mono, Span};

/// One read of one worker's heartbeat source.
#[derive(Clone, Debug)]
pub struct HeartbeatRead {
    /// The worker's name.
    pub worker: Arc<str>,
    /// When it was read.
    pub span: Span,
    /// What came back.
    pub beat: Beat,
}

/// What a heartbeat source showed.
#[derive(Clone, Debug, PartialEq)]
pub enum Beat {
    /// A value, reduced to a number that changes when it changes, and whether the source has an expiry of its own.
    Value {
        /// Changes whenever the value or the key's absolute expiry changes.
        mark: u64,
        /// Whether the key has an expiry: a constant value without one is no heartbeat.
        expires: bool,
    },
    /// A success that is an advance in itself (a session key that exists, a bare 2xx).
    Success,
    /// The source answered that there is no beat: the key, field or file is absent, or HTTP connected but did not
    /// answer, refused or answered other than 2xx. Not an advance.
    None,
    /// Could not be read; says nothing about the worker and is a break in the record.
    Failed {
        /// Why.
        reason: FailReason,
        /// What exactly, for the log.
        detail: String,
    },
}

/// One look at the process or processes of one worker.
#[derive(Clone, Debug)]
pub struct ProcessRead {
    /// The worker's name.
    pub worker: Arc<str>,
    /// The pid that was looked for because an owner token names it.
    pub token_pid: Option<i32>,
    /// When it was looked at.
    pub span: Span,
    /// What was there.
    pub seen: ProcessSeen,
    /// What exactly failed or hid it, for log and API; empty if nothing did.
    pub detail: String,
}

/// What a look at a worker's processes showed.
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessSeen {
    /// These processes, at least one.
    Processes(Vec<Process>),
    /// The pid (from a file or token) was looked for and is not there, or the pattern matches nothing now.
    Gone {
        /// The owner token names this host and its pid is not there, which proves death without an earlier sighting.
        named_here: bool,
    },
    /// Cannot be told: hidden by hidepid or a foreign pid namespace, token of another host, no pid file yet.
    Unknown(ProcessUnknown),
}

/// Why a process cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProcessUnknown {
    /// `/proc` is mounted with hidepid or we lack permission.
    Hidden,
    /// The token names another host.
    ForeignHost,
    /// The pid file is not there or holds no pid.
    NoPidFile,
    /// The owner's token names no pid.
    NoPid,
    /// `/proc` itself failed.
    Failed,
}

/// A process, as `/proc` shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Pid in the numbering of the `/proc` we read.
    pub pid: i32,
    /// Start time in clock ticks since boot; with the pid it identifies the process.
    pub start_ticks: u64,
    /// When it started, on the observer's clock (exact to one tick, 10 ms).
    pub started: Mono,
    /// State of the thread-group leader, corrected: a zombie leader with live threads counts by its threads.
    pub state: ProcessState,
    /// Whether its cgroup is frozen (effective: an ancestor's freeze counts). `None` if that cannot be read.
    pub frozen: Option<bool>,
    /// Threads.
    pub threads: u64,
    /// CPU time of the whole process.
    pub cpu: Duration,
    /// Resident memory.
    pub resident_bytes: u64,
}

/// Process state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProcessState {
    /// R.
    Running,
    /// S or I.
    Sleeping,
    /// D.
    DiskSleep,
    /// T.
    Stopped,
    /// t.
    Traced,
    /// Z or X, without live threads.
    Zombie,
}

impl ProcessState {
    /// Whether no thread of it runs for as long as it is in this state.
    pub fn is_stopped(self) -> bool {
        matches!(self, ProcessState::Stopped | ProcessState::Traced)
    }
}
