//! The workers of the invented world: a process, a heartbeat, and what looks at both show.

use std::sync::Arc;
use std::time::Duration;

use crate::observe::Mono;
use crate::observe::node::FailReason;
use crate::observe::worker::{Beat, Process, ProcessSeen, ProcessState, ProcessUnknown};

/// What befell a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It runs.
    Runs,
    /// It was stopped.
    Stopped,
    /// Its cgroup is frozen.
    Frozen,
    /// It is a zombie.
    Zombie,
    /// It has gone.
    Gone,
}

/// A worker.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its name.
    pub name: Arc<str>,
    /// What befell its process.
    pub fate: Fate,
    /// Counts its processes, from 1 on.
    pub pid: i32,
    /// When the present one started.
    pub started: u64,
    /// Its heartbeat does not come although it runs.
    pub is_mute: bool,
    /// It renews what it holds.
    pub renews: bool,
    /// Looks at it fail.
    pub is_hidden: bool,
    beats: u64,
    /// Until when its beats are counted, and what is left of one.
    until: u64,
}

/// Milliseconds between two beats.
const BEAT: u64 = 1000;

impl Worker {
    /// A worker that runs.
    pub fn new(name: &str, ms: u64) -> Self {
        Self {
            name: name.into(),
            fate: Fate::Runs,
            pid: 1,
            started: ms.saturating_sub(60_000),
            is_mute: false,
            renews: true,
            is_hidden: false,
            beats: 1,
            until: ms,
        }
    }

    /// Whether it can do anything.
    pub fn runs(&self) -> bool {
        self.fate == Fate::Runs
    }

    /// Lets it live until then; called before anything of it changes.
    pub fn live(&mut self, to: u64) {
        let whole = to.saturating_sub(self.until) / BEAT;
        if self.runs() && !self.is_mute {
            self.beats += whole;
            self.until += whole * BEAT;
        } else {
            self.until = to;
        }
    }

    /// Another process of the same name takes its place.
    pub fn restart(&mut self, ms: u64) {
        (self.fate, self.started, self.pid) = (Fate::Runs, ms, self.pid + 1);
    }

    /// What a look at its process shows.
    pub fn process(&self) -> ProcessSeen {
        if self.is_hidden {
            return ProcessSeen::Unknown(ProcessUnknown::Hidden);
        }
        let state = match self.fate {
            Fate::Gone => return ProcessSeen::Gone { named_here: false },
            Fate::Runs | Fate::Frozen => ProcessState::Sleeping,
            Fate::Stopped => ProcessState::Stopped,
            Fate::Zombie => ProcessState::Zombie,
        };
        ProcessSeen::Processes(vec![Process {
            pid: self.pid,
            start_ticks: self.started / 10,
            started: Mono(self.started * 1_000_000),
            state,
            frozen: Some(self.fate == Fate::Frozen),
            threads: 1,
            cpu: Duration::ZERO,
            resident_bytes: 0,
        }])
    }

    /// What a read of its heartbeat shows.
    pub fn beat(&self) -> Beat {
        if self.is_hidden {
            return Beat::Failed { reason: FailReason::Timeout, detail: String::new() };
        }
        Beat::Value { mark: self.beats, expires: false }
    }
}
