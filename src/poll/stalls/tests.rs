//! The sampler against real processes, by both ways.

mod contention;
mod ending;
mod identity;
mod running;
mod stillness;
mod totals;
mod turns;

use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use super::budget::{Budget, Purse};
use super::files::Pool;
use super::sampler::Sampler;
use super::*;
use crate::config::JvmMode;
use crate::observe::stall::{SampleWay, Scheduling, StallSample};

/// A child that is ended with the test.
pub struct Mortal(pub Child);

impl Mortal {
    pub fn sh(script: &str) -> Self {
        Self(Command::new("sh").args(["-c", script]).spawn().unwrap())
    }

    pub fn pid(&self) -> i32 {
        self.0.id().try_into().unwrap()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn settings(procfs: &str) -> Settings {
    Settings {
        stall_poll: Duration::from_millis(100),
        poll_interval: Duration::from_millis(400),
        paths: Paths { procfs: PathBuf::from(procfs), cgroupfs: None },
    }
}

/// Samplers of both ways, or of the one that this machine allows.
pub fn both() -> Vec<(SampleWay, Sampler)> {
    let settings = settings("/proc");
    let taskstats = super::taskstats::tests::kernel();
    let mut all = vec![(SampleWay::Procfs, Sampler::with(&settings, None, Pool::of(64)))];
    if taskstats.is_some() {
        all.push((SampleWay::Taskstats, Sampler::with(&settings, taskstats, Pool::of(64))));
    }
    // What a test build on a busy machine takes is no matter here.
    for (_, sampler) in &mut all {
        sampler.purse = Purse::new(Budget::new(1.0, settings.stall_poll), || Duration::ZERO);
    }
    all
}

pub fn start_ticks(pid: i32) -> u64 {
    let text = std::fs::read(format!("/proc/{pid}/stat")).unwrap();
    crate::poll::process::stat::parse(&text).unwrap().start_ticks
}

pub fn resident(pid: i32) -> Resident {
    let process = ProcessId { pid, start_ticks: start_ticks(pid) };
    Resident { worker: Arc::from("w"), process, jvm: JvmMode::default() }
}

/// Samples until one of a process is as wanted; panics after some time.
pub fn until(
    sampler: &mut Sampler,
    residents: &[Resident],
    what: &str,
    mut is_wanted: impl FnMut(&StallSample) -> bool,
) -> StallSample {
    let deadline = clock::mono().plus(Duration::from_secs(20));
    loop {
        let read = sampler.sample(residents);
        assert!(read.span.sent <= read.span.done);
        let found = read.samples.iter().find(|s| is_wanted(s)).cloned();
        if let Some(found) = found {
            return found;
        }
        assert!(clock::mono() < deadline, "never: {what}; last: {read:?}");
        std::thread::sleep(Duration::from_millis(40));
    }
}

pub fn counters(sample: &StallSample) -> &Scheduling {
    sample.seen.as_ref().unwrap()
}
