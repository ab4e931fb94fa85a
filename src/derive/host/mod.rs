//! What is known of a worker's processes on this host beyond whether they live: how long they were kept from running,
//! what their cgroups and JVMs say. Pure; bounds of stalls follow from counters only, never from hope.

use std::time::Duration;

use crate::observe::stall::StallSample;
use crate::observe::{CgroupRead, JvmRead, Mono};

/// What the config says about stalls.
#[derive(Clone, Copy, Debug)]
pub struct StallRules {
    /// Time between two samples.
    pub stall_poll: Duration,
    /// Time between two looks at cgroups.
    pub poll: Duration,
    /// How far back the worst stall is looked for.
    pub window: Duration,
}

/// One worker's stalls, cgroups and JVMs.
#[derive(Clone, Debug, Default)]
pub struct Host {}

impl Host {
    /// Takes one sample of one of its processes.
    pub fn stall(&mut self, _sample: &StallSample, _rules: StallRules) {}

    /// Takes one look at the cgroup of one of its processes.
    pub fn cgroup(&mut self, _read: &CgroupRead, _rules: StallRules) {}

    /// Takes one look at one of its JVMs.
    pub fn jvm(&mut self, _read: &JvmRead, _rules: StallRules) {}

    /// Takes a gap between two beats that lay between reads: at least and at most so long, and the usual beat.
    pub fn beat_gap(&mut self, _gap: (f64, f64), _usual: f64, _at: Mono, _rules: StallRules) {}

    /// The worst stall of the window: at least and at most so long, in seconds.
    pub fn worst_stall(&self, _now: Mono, _rules: StallRules) -> Option<(f64, f64)> {
        None
    }
}
