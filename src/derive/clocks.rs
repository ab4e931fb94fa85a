//! The configured clocks as chronyd tells of them: in which state each is, and how wrong it can be at most. Never
//! subtracts two hosts' clocks without an error that it states.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::observe::ClockRead;

/// All configured clocks.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// By name.
    pub by_name: BTreeMap<Arc<str>, ClockRead>,
}

impl Clocks {
    /// Takes one answer.
    pub fn read(&mut self, read: &ClockRead) {
        self.by_name.insert(read.clock.clone(), read.clone());
    }
}
