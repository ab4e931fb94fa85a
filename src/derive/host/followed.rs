//! One process with all that bounds its stalls: its samples, the waiting in its cgroup, the stops of its JVM's world.

use std::time::Duration;

use super::other::Rolling;
use super::track::Track;
use super::window::Bound;
use crate::derive::words::StallSource;
use crate::observe::Mono;
use crate::observe::stall::HostUnknown;

/// One process.
#[derive(Clone, Debug, Default)]
pub(super) struct Followed {
    pub(super) track: Option<Track>,
    /// Why the last sample failed, if it did.
    pub(super) failure: Option<HostUnknown>,
    /// End of the last sample, good or bad.
    pub(super) looked: Mono,
    pub(super) memory: Rolling,
    pub(super) io: Rolling,
    /// End of the last look at its cgroup, and why that failed or whether it is frozen could not be read, or which of its
    /// pressures.
    pub(super) cgroup_read: Mono,
    pub(super) cgroup_failure: Option<HostUnknown>,
    pub(super) pressure_failure: Option<HostUnknown>,
    /// Stops of its JVM's world that ended, and the one that goes on, at most so long.
    pub(super) world: Rolling,
    pub(super) stopping: Duration,
    pub(super) jvm_read: Mono,
    pub(super) jvm_failure: Option<HostUnknown>,
    /// What was last said of why its cgroup and its JVM cannot be read.
    pub(super) cgroup_detail: String,
    pub(super) jvm_detail: String,
}

impl Followed {
    /// When it was last looked at in any way.
    pub(super) fn last(&self) -> Mono {
        self.looked.max(self.cgroup_read).max(self.jvm_read)
    }

    /// The longest stall with all the waiting that samples do not show, which may all be in one.
    pub(super) fn with_other(&self) -> Option<Bound> {
        let world = self.world.waited().saturating_add(self.stopping);
        let parts = [
            (&self.memory, self.memory.waited(), StallSource::MemoryPressure),
            (&self.io, self.io.waited(), StallSource::IoPressure),
            (&self.world, world, StallSource::Safepoint),
        ];
        // A stop of the world is booked when it ends and may have begun long before.
        let from =
            parts.iter().filter(|(r, ..)| r.read().is_some()).map(|(r, ..)| r.from()).min()?;
        let from = from.minus(world);
        let none = Bound { length: Duration::ZERO, source: StallSource::BetweenSamples };
        let (mut length, mut largest) = (Duration::ZERO, none);
        for (_, part, source) in parts {
            length = length.saturating_add(part);
            largest = largest.longer(Bound { length: part, source });
        }
        self.track.as_ref()?.with_other(from, Bound { length, source: largest.source })
    }
}
