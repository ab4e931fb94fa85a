//! The way from a snapshot to a document: a bounded queue to the thread that puts documents together, and another to the one
//! that writes them. Whoever makes snapshots never waits here; what finds no place is counted.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use arc_swap::ArcSwapOption;

use super::compose::compose;
use super::failures::Counts;
use super::incidents::{IN_MEMORY, Incidents};
use super::keep::{Keeper, Page};
use super::rises::{Risen, Rises};
use crate::clock;
use crate::config::Evidence;
use crate::expose::{EvidenceCounts, EvidenceFailure, SelfFacts};
use crate::observe::Token;
use crate::view::View;

/// Snapshots that may wait to be looked at; each is held for as long.
const JOBS: usize = 8;
/// Documents that may wait for the disk, and their bytes.
const PAGES: usize = 1024;
const WAITING: u64 = 16 << 20;
/// Documents of one snapshot at most.
const AT_ONCE: usize = 1000;

/// The tokens of the holders of each lock that has some, by store and lock.
pub type Tokens = HashMap<(Arc<str>, Arc<str>), Vec<Token>>;

enum Job {
    Rose { view: Arc<View>, own: Box<SelfFacts>, risen: Vec<Risen>, tokens: Option<Tokens> },
    Look,
}

/// Takes snapshots, and has what rose in them recorded.
pub struct Recorder {
    config: Arc<ArcSwapOption<Evidence>>,
    counts: Arc<Counts>,
    jobs: SyncSender<Job>,
    rises: Rises,
}

/// Tells when all that was handed over is written, once the [`Recorder`] is gone.
pub struct Finished(Receiver<()>);

impl Finished {
    /// Waits for so long at most; whether it was finished then.
    pub fn wait(&self, at_most: Duration) -> bool {
        matches!(self.0.recv_timeout(at_most), Err(RecvTimeoutError::Disconnected))
    }
}

impl Recorder {
    /// Starts the two threads; nothing is written until there is a config.
    pub fn start() -> std::io::Result<(Self, Incidents, Finished)> {
        let (jobs, taken) = sync_channel(JOBS);
        let (pages, written) = sync_channel(PAGES);
        let (alive, finished) = sync_channel::<()>(1);
        let config = Arc::new(ArcSwapOption::empty());
        let (counts, waiting) = (Arc::new(Counts::default()), Arc::new(AtomicU64::new(0)));
        let incidents = Incidents::default();
        let keeper = Keeper {
            config: config.clone(),
            incidents: incidents.clone(),
            counts: counts.clone(),
            waiting: waiting.clone(),
        };
        let composer = Composer {
            config: config.clone(),
            counts: counts.clone(),
            waiting,
            pages,
            salt: format!("{} {}", std::process::id(), clock::mono().0),
        };
        let spawn = |name: &str| thread::Builder::new().name(name.to_owned());
        spawn("evidence").spawn(move || composer.run(taken))?;
        spawn("evidence-disk").spawn(move || {
            keeper.run(written);
            drop(alive);
        })?;
        let recorder = Self { config, counts, jobs, rises: Rises::default() };
        Ok((recorder, incidents, Finished(finished)))
    }

    /// Puts a config in force, for what rises from now on.
    pub fn configure(&self, config: Option<Evidence>) {
        self.config.store(config.map(Arc::new));
        // With a full queue it is looked at soon anyway.
        let _ = self.jobs.try_send(Job::Look);
    }

    /// What became of documents; `None` without a config.
    pub fn counts(&self) -> Option<EvidenceCounts> {
        self.config.load().is_some().then(|| self.counts.read())
    }

    /// Has recorded what rose since the last snapshot. `tokens` is asked only where the config wants raw tokens.
    pub fn record(
        &mut self,
        view: &Arc<View>,
        own: &SelfFacts,
        tokens: impl FnOnce(&[Risen]) -> Tokens,
    ) {
        let config = self.config.load_full();
        let most = config.as_ref().map_or(IN_MEMORY, |c| c.keep.min(AT_ONCE));
        let (risen, beyond) = self.rises.since_last(view, most);
        let mut lost = beyond;
        if !risen.is_empty() {
            let wants_tokens = config.as_ref().is_some_and(|c| c.raw_tokens);
            let tokens = wants_tokens.then(|| tokens(&risen));
            let count = risen.len() as u64;
            let job = Job::Rose { view: view.clone(), own: Box::new(own.clone()), risen, tokens };
            if self.jobs.try_send(job).is_err() {
                lost += count;
            }
        }
        if let Some(config) = config.filter(|_| lost > 0) {
            overflow(&self.counts, lost, &config.dir);
        }
    }
}

fn overflow(counts: &Counts, lost: u64, dir: &Path) {
    let why = "more signals rose at once than the directory or the disk takes";
    counts.failed(EvidenceFailure::Queue, lost, dir, why);
}

struct Composer {
    config: Arc<ArcSwapOption<Evidence>>,
    counts: Arc<Counts>,
    waiting: Arc<AtomicU64>,
    pages: SyncSender<Page>,
    salt: String,
}

impl Composer {
    fn run(self, jobs: Receiver<Job>) {
        for job in jobs {
            let (view, own, risen, tokens) = match job {
                Job::Rose { view, own, risen, tokens } => (view, own, risen, tokens),
                Job::Look => {
                    let _ = self.pages.try_send(Page::Look);
                    continue;
                }
            };
            let mut lost = 0;
            for one in &risen {
                let none = Vec::new();
                let at = (one.store.clone(), one.lock.clone());
                let tokens = tokens.as_ref().map(|t| t.get(&at).unwrap_or(&none).as_slice());
                let Some(made) = compose(&view, &own, one, tokens, &self.salt) else { continue };
                let size = made.incident.bytes;
                let before = self.waiting.fetch_add(size, Ordering::Relaxed);
                let is_full = before > 0 && before + size > WAITING;
                if is_full || self.pages.try_send(Page::Document(made)).is_err() {
                    self.waiting.fetch_sub(size, Ordering::Relaxed);
                    lost += 1;
                }
            }
            if let Some(config) = self.config.load_full().filter(|_| lost > 0) {
                overflow(&self.counts, lost, &config.dir);
            }
        }
    }
}
