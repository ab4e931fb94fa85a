//! Samples the scheduling of workers' processes every `stall_poll`, and looks at their cgroups and JVMs: one thread of
//! its own, so that a file that hangs costs nothing but this. Sends facts only.

mod budget;
mod by_procfs;
mod by_taskstats;
mod files;
mod known;
mod numbering;
mod rotation;
mod sampler;
mod surroundings;
pub(super) mod tasks;
pub(super) mod taskstats;
mod threads;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::Out;
use super::cgroup::Cgroups;
use super::jvm::Jvms;
use super::process::Paths;
use super::residents::{Resident, Residents};
use crate::clock;
use crate::observe::node::FailReason;
use crate::observe::poll::PollDone;
use crate::observe::stall::HostUnknown;
use crate::observe::{Mono, Observation, ProcessId, Span, StallRead};
use sampler::Sampler;

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

/// The running sampler; it ends when this is dropped, and nobody waits for that.
#[derive(Debug)]
pub struct StallsHandle {
    _stop: Option<Sender<()>>,
}

/// The one who is told has gone.
struct NobodyListens;

/// Starts it.
pub fn spawn(residents: Residents, settings: Settings, out: Out) -> StallsHandle {
    let (stop, stopped) = mpsc::channel();
    let thread = std::thread::Builder::new().name("stalls".to_owned());
    match thread.spawn(move || run(&residents, &settings, &out, &stopped)) {
        Ok(_) => StallsHandle { _stop: Some(stop) },
        Err(e) => {
            tracing::error!(error = %e, "no thread for sampling stalls: there will be no word of stalls, cgroups and JVMs");
            StallsHandle { _stop: None }
        }
    }
}

fn run(residents: &Residents, settings: &Settings, out: &Out, stopped: &Receiver<()>) {
    let mut looks = Looks {
        sampler: Sampler::new(settings),
        cgroups: Cgroups::new(settings.paths.clone()),
        jvms: Jvms::new(settings.paths.clone()),
        cgroups_due: Mono::default(),
        before: Vec::new(),
        settings,
        out,
    };
    let mut next = clock::mono();
    loop {
        if looks.tick(residents.all()).is_err() {
            return;
        }
        // Ticks that were missed are not made up for.
        next = next.plus(settings.stall_poll).max(clock::mono());
        match stopped.recv_timeout(next.since(clock::mono())) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}

/// All that looks at processes on this host, and where it goes.
struct Looks<'a> {
    sampler: Sampler,
    cgroups: Cgroups,
    jvms: Jvms,
    cgroups_due: Mono,
    /// Those of the last tick.
    before: Vec<Resident>,
    settings: &'a Settings,
    out: &'a Out,
}

impl Looks<'_> {
    fn tick(&mut self, residents: Vec<Resident>) -> Result<(), NobodyListens> {
        let read = self.sampler.sample(&residents);
        let (sent, failure) = (read.span.sent, failure(&read));
        let watched: HashSet<ProcessId> = residents.iter().map(|r| r.process).collect();
        let ended = self.ended(&watched, &read);
        self.send(Observation::Stalls(read))?;
        for read in self.cgroups.read_last(&ended) {
            self.send(Observation::Cgroup(Box::new(read)))?;
        }
        for resident in &residents {
            if let Some(read) = self.jvms.read(resident) {
                self.send(Observation::Jvm(Box::new(read)))?;
            }
        }
        self.jvms.keep(|process| watched.contains(&process));
        // To the nearest tick, so that ticks a little early do not cost a whole one.
        if sent.plus(self.settings.stall_poll / 2) >= self.cgroups_due {
            self.cgroups_due = sent.plus(self.settings.poll_interval);
            for read in self.cgroups.read(&residents) {
                self.send(Observation::Cgroup(Box::new(read)))?;
            }
        }
        self.before = residents;
        let span = Span { sent, done: clock::mono() };
        self.send(Observation::Poll(PollDone {
            poller: "stall",
            target: Arc::from("host"),
            interval: self.settings.stall_poll,
            span,
            busy: span.width(),
            failure,
        }))
    }

    /// Processes that are gone, or that nobody found any more, since the last tick.
    fn ended(&mut self, watched: &HashSet<ProcessId>, read: &StallRead) -> Vec<Resident> {
        let gone = read.samples.iter().filter(|s| s.seen == Err(HostUnknown::Gone));
        let gone: HashSet<ProcessId> = gone.map(|s| s.process).collect();
        let mut before = std::mem::take(&mut self.before);
        before.retain(|r| !watched.contains(&r.process) || gone.contains(&r.process));
        before
    }

    /// Waits if the receiver is behind.
    fn send(&self, fact: Observation) -> Result<(), NobodyListens> {
        self.out.blocking_send(fact).map_err(|_| NobodyListens)
    }
}

/// Why a poll failed: no process could be sampled, and not because they had all ended.
fn failure(read: &StallRead) -> Option<FailReason> {
    if read.samples.iter().any(|s| s.seen.is_ok()) {
        return None;
    }
    let mut why = read.samples.iter().filter_map(|s| s.seen.as_ref().err());
    match why.find(|why| **why != HostUnknown::Gone)? {
        HostUnknown::Permission | HostUnknown::Hidden => Some(FailReason::Permission),
        HostUnknown::Malformed => Some(FailReason::Protocol),
        HostUnknown::Unsupported | HostUnknown::Absent => Some(FailReason::Missing),
        HostUnknown::Gone | HostUnknown::Failed => Some(FailReason::Other),
    }
}

#[cfg(test)]
mod tests;
