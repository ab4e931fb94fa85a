//! Watches workers: each poll interval it looks at every worker's heartbeat and process, and in between whenever an extra
//! look is asked for. Sends facts only; who lives is decided elsewhere. A target that hangs holds up nobody else.

mod beats;
mod driver;
mod looks;
mod processes;
mod roster;
mod tally;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::part::ReadParts;
use super::process::Paths;
use super::residents::Residents;
use super::stalls::{self, StallsHandle};
use super::{Look, Out, WatchedWorker};
use crate::config::WorkerGroup;
use crate::observe::{Mono, Observation};
use looks::LookAt;

/// Extra looks that may wait to be noticed; more of them are dropped, the next poll comes anyway.
const MAX_ASKED: usize = 1024;

/// What the pollers of workers need to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Time between two polls.
    pub poll_interval: Duration,
    /// Time between two samples of stalls.
    pub stall_poll: Duration,
    /// `--path.procfs`.
    pub procfs: PathBuf,
    /// `--path.cgroupfs`; found by the mounts if absent.
    pub cgroupfs: Option<PathBuf>,
}

/// Steers the pollers of workers. They end when it is dropped.
#[derive(Debug)]
pub struct WorkerHandle {
    watched: watch::Sender<Vec<WatchedWorker>>,
    asked: mpsc::Sender<LookAt>,
    stop: oneshot::Sender<()>,
    driver: JoinHandle<()>,
    /// Ends when it is dropped; it may hang in the kernel, so nobody waits for it.
    _stalls: Option<StallsHandle>,
}

impl WorkerHandle {
    /// Replaces the workers that were found as holders. Those that the config names stay watched.
    pub fn watch(&self, workers: Vec<WatchedWorker>) {
        self.watched.send_if_modified(|now| {
            let changed = *now != workers;
            *now = workers;
            changed
        });
    }

    /// Asks for one look that begins at `at` or as soon as possible after it. Never waits; instants of one worker that lie
    /// close together become one look.
    pub fn look(&self, worker: Arc<str>, what: Look, at: Mono) {
        if self.asked.try_send(LookAt { worker, what, at }).is_err() {
            tracing::debug!("an extra look at a worker was dropped: too many are waiting");
        }
    }

    /// Ends all polling. A read that hangs in the kernel is left behind on its thread.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.driver.await;
    }
}

/// What every read needs.
struct Shared {
    groups: Arc<Vec<WorkerGroup>>,
    interval: Duration,
    paths: Arc<Paths>,
    parts: Arc<dyn ReadParts>,
    residents: Residents,
    out: Out,
}

impl Shared {
    /// Waits if the receiver is behind; once it has gone, there is nobody to tell.
    async fn send(&self, fact: Observation) {
        let _ = self.out.send(fact).await;
    }
}

/// Starts watching; must be called inside a tokio runtime.
pub fn spawn(
    groups: Arc<Vec<WorkerGroup>>,
    settings: Settings,
    parts: Arc<dyn ReadParts>,
    out: Out,
) -> WorkerHandle {
    let (watched, changes) = watch::channel(Vec::new());
    let (asked, asks) = mpsc::channel(MAX_ASKED);
    let (stop, stopped) = oneshot::channel();
    let paths = Paths { procfs: settings.procfs, cgroupfs: settings.cgroupfs };
    let residents = Residents::default();
    let sampling = stalls::Settings {
        stall_poll: settings.stall_poll,
        poll_interval: settings.poll_interval,
        paths: paths.clone(),
    };
    let has_processes = groups.iter().any(|g| g.process.is_some());
    let stalls = has_processes.then(|| stalls::spawn(residents.clone(), sampling, out.clone()));
    let shared = Arc::new(Shared {
        groups,
        interval: settings.poll_interval,
        paths: Arc::new(paths),
        parts,
        residents,
        out,
    });
    let driver = driver::Driver::new(shared).run(changes, asks, stopped);
    WorkerHandle { watched, asked, stop, driver: tokio::spawn(driver), _stalls: stalls }
}

#[cfg(test)]
mod tests;
