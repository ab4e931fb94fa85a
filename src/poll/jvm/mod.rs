//! Reads the performance counters of workers' JVMs (hsperfdata), without any tool of the JDK. Blocking; says what is
//! there or why it cannot be read, and never how long a pause was.
//!
//! The file belongs to a process if the process has it mapped ([`maps`]): neither the file of a killed JVM nor that of
//! another JVM under a reused pid is. No time stamp is compared, so no step of the wall clock matters.

pub mod counters;
pub mod hsperfdata;
mod known;
pub mod locate;
pub mod maps;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use super::process::Paths;
use super::residents::Resident;
use crate::clock;
use crate::config::JvmMode;
use crate::observe::jvm::Jvm;
use crate::observe::stall::HostUnknown;
use crate::observe::{JvmRead, ProcessId, Span};
use known::{Answer, Known};

/// Descriptors that a JVM which is read takes: its directory and its counters file.
const DESCRIPTORS: u64 = 2;

/// The JVMs that are known, each with its open file.
#[derive(Debug)]
pub struct Jvms {
    paths: Paths,
    known: HashMap<ProcessId, Known>,
    /// Known ones that are held open, and how many may be.
    open: u64,
    may_be_open: u64,
}

impl Jvms {
    /// None is known yet.
    pub fn new(paths: Paths) -> Self {
        // Half of all descriptors are left to everything else.
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let may_be_open = limit.unwrap_or(u64::MAX) / 2 / DESCRIPTORS;
        Self { paths, known: HashMap::new(), open: 0, may_be_open }
    }

    /// Looks at one process. `None` if it is not to be looked at as a JVM, or is none and need not be one.
    pub fn read(&mut self, resident: &Resident) -> Option<JvmRead> {
        let always = match resident.jvm {
            JvmMode::Never => return None,
            JvmMode::Auto => false,
            JvmMode::Always => true,
        };
        let sent = clock::mono();
        let said = |span: Option<Span>, seen: Result<Jvm, HostUnknown>, detail: String| JvmRead {
            worker: Arc::clone(&resident.worker),
            process: resident.process,
            span: span.unwrap_or_else(|| Span { sent, done: clock::mono() }),
            seen,
            detail,
        };
        match self.look(resident.process) {
            Answer::Jvm(jvm, span, detail) => Some(said(Some(span), Ok(jvm), detail)),
            Answer::NoJvm if always => {
                let what = format!("{}: no libjvm.so is mapped", self.path(resident.process));
                Some(said(None, Err(HostUnknown::Absent), what))
            }
            Answer::Starting if always => {
                let what = format!("{}: no counters yet", self.path(resident.process));
                Some(said(None, Err(HostUnknown::Absent), what))
            }
            Answer::NoJvm | Answer::Starting => None,
            Answer::Trouble((why, what)) => {
                let known = self.known.get(&resident.process);
                let is_worth_a_word = always || known.is_some_and(Known::is_a_jvm);
                is_worth_a_word.then(|| said(None, Err(why), what))
            }
        }
    }

    /// Lets go of the processes that are not watched any more.
    pub fn keep(&mut self, is_watched: impl Fn(ProcessId) -> bool) {
        self.known.retain(|process, _| is_watched(*process));
        let open = self.known.values().filter(|k| k.is_open()).count();
        self.open = u64::try_from(open).unwrap_or(u64::MAX);
    }

    fn path(&self, process: ProcessId) -> String {
        format!("{}/{}", self.paths.procfs.display(), process.pid)
    }

    fn look(&mut self, process: ProcessId) -> Answer {
        let known =
            self.known.entry(process).or_insert_with(|| Known::new(&self.paths.procfs, process));
        let was_open = known.is_open();
        let answer = known.look(self.open < self.may_be_open);
        match (was_open, known.is_open()) {
            (false, true) => self.open = self.open.saturating_add(1),
            (true, false) => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        answer
    }
}
