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
use super::process::dir::ProcDir;
use super::residents::Resident;
use crate::clock;
use crate::config::JvmMode;
use crate::observe::jvm::Jvm;
use crate::observe::stall::HostUnknown;
use crate::observe::{JvmRead, ProcessId, Span};
use known::{Answer, Known};

/// The JVMs that are known, each with its open file.
#[derive(Debug)]
pub struct Jvms {
    paths: Paths,
    known: HashMap<ProcessId, Known>,
}

impl Jvms {
    /// None is known yet.
    pub fn new(paths: Paths) -> Self {
        Self { paths, known: HashMap::new() }
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
                let may_be_a_jvm = always || self.may_be_a_jvm(resident.process, why);
                may_be_a_jvm.then(|| said(None, Err(why), what))
            }
        }
    }

    /// Lets go of the processes that are not watched any more.
    pub fn keep(&mut self, is_watched: impl Fn(ProcessId) -> bool) {
        self.known.retain(|process, _| is_watched(*process));
    }

    fn path(&self, process: ProcessId) -> String {
        format!("{}/{}", self.paths.procfs.display(), process.pid)
    }

    fn look(&mut self, process: ProcessId) -> Answer {
        if !self.known.contains_key(&process) {
            let dir = ProcDir::open(&self.paths.procfs, process.pid);
            match Known::open(dir, self.path(process), process.start_ticks) {
                Ok(known) => self.known.insert(process, known),
                Err(trouble) => return Answer::Trouble(trouble),
            };
        }
        self.known.get_mut(&process).map_or(Answer::NoJvm, Known::look)
    }

    /// Whether trouble with a process that need not be a JVM is worth a word.
    fn may_be_a_jvm(&self, process: ProcessId, why: HostUnknown) -> bool {
        let known = self.known.get(&process);
        match why {
            // What cannot be looked into is told by its name alone.
            HostUnknown::Permission => known.is_some_and(Known::is_called_java),
            HostUnknown::Gone => known.is_some_and(Known::has_counters),
            _ => true,
        }
    }
}
