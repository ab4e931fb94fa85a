//! Reads the performance counters of workers' JVMs (hsperfdata), without any tool of the JDK. Blocking; says what is
//! there or why it cannot be read, and never how long a pause was.

use std::collections::HashMap;

use super::process::Paths;
use super::residents::Resident;
use crate::observe::{JvmRead, ProcessId};

/// The JVMs that are known, each with its open file.
#[derive(Debug)]
pub struct Jvms {
    _paths: Paths,
    _known: HashMap<ProcessId, ()>,
}

impl Jvms {
    /// None is known yet.
    pub fn new(paths: Paths) -> Self {
        Self { _paths: paths, _known: HashMap::new() }
    }

    /// Looks at one process. `None` if it is not to be looked at as a JVM, or is none and need not be one.
    pub fn read(&mut self, _resident: &Resident) -> Option<JvmRead> {
        None
    }

    /// Lets go of the processes that are not watched any more.
    pub fn keep(&mut self, _is_watched: impl Fn(ProcessId) -> bool) {}
}
