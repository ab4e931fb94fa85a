//! Reads every configured source that is no heartbeat, each poll interval: what workers claim to hold, fencing tokens, counts
//! of side effects. Which there are is told from outside, because locks are found while the program runs. Sends facts only; a
//! source that fails or hangs costs itself.

mod driver;
mod read;
mod roster;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::Out;
use super::part::ReadParts;
use crate::config::{Place, Source};
use crate::observe::source::SourceRef;

/// Sources at most; each is a read in every poll.
const MAX_READINGS: usize = 10_000;

/// One source to read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What it tells.
    pub what: SourceRef,
    /// Where it is.
    pub source: Source,
    /// What its templates leave open, and the name for that.
    pub place: Place,
    /// See `place`.
    pub name: Arc<str>,
    /// The poll that it is counted in: which poller, and which target.
    pub poll: (&'static str, Arc<str>),
}

/// Steers the reading. It ends when this is dropped.
#[derive(Debug)]
pub struct ReadingsHandle {
    wanted: watch::Sender<Vec<Reading>>,
    stop: oneshot::Sender<()>,
    driver: JoinHandle<()>,
}

impl ReadingsHandle {
    /// Replaces what is read.
    pub fn watch(&self, mut readings: Vec<Reading>) {
        if readings.len() > MAX_READINGS {
            let (all, most) = (readings.len(), MAX_READINGS);
            tracing::warn!(all, most, "too many sources; the last of them are not read");
            readings.truncate(MAX_READINGS);
        }
        self.wanted.send_if_modified(|now| {
            let changed = *now != readings;
            *now = readings;
            changed
        });
    }

    /// Ends all reading. A read that hangs in the kernel is left behind on its thread.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.driver.await;
    }
}

/// What every read needs.
struct Shared {
    interval: Duration,
    parts: Arc<dyn ReadParts>,
    out: Out,
}

/// Starts; must be called inside a tokio runtime.
pub fn spawn(interval: Duration, parts: Arc<dyn ReadParts>, out: Out) -> ReadingsHandle {
    let (wanted, changes) = watch::channel(Vec::new());
    let (stop, stopped) = oneshot::channel();
    let shared = Arc::new(Shared { interval, parts, out });
    let driver = tokio::spawn(driver::Driver::new(shared).run(changes, stopped));
    ReadingsHandle { wanted, stop, driver }
}

#[cfg(test)]
mod tests;
