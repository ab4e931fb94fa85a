//! This host's wall clock held against its monotonic one: how often it was stepped, and how far.

use crate::observe::HostClock;

/// What is known of this host's wall clock.
#[derive(Clone, Debug, Default)]
pub struct HostSteps {
    /// Steps forward.
    pub forward: u64,
    /// Steps backward.
    pub backward: u64,
    last: Option<HostClock>,
}

impl HostSteps {
    /// Takes one reading.
    pub fn read(&mut self, read: &HostClock) {
        self.last = Some(*read);
    }

    /// The last reading.
    pub fn last(&self) -> Option<&HostClock> {
        self.last.as_ref()
    }
}
