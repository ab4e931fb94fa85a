//! What was seen of one lock, look by look, as the judges read it: plain data without a clock of its own. A history is bounded;
//! where something was not seen it says so, and never fills it in.

use std::collections::{BTreeMap, VecDeque};

use crate::exporter::{LockDocument, Metrics};

use super::tenures::{Tenure, Tenures};

/// Looks that are kept.
const MOST: usize = 4096;
/// Workers that are followed: those that held the lock.
const WORKERS: usize = 64;

/// One look at the exporter.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Seconds since the watch began, on the drill's own clock.
    pub seconds: f64,
    /// Counts the runs of the exporter: counters of two runs are not compared.
    pub run: u32,
    /// The exporter was started anew since the look before: what it had counted and remembered is gone.
    pub is_after_restart: bool,
    /// That, or the lock was not read for longer than the patience: something may have come and gone unseen.
    pub is_after_gap: bool,
    /// The lock.
    pub document: LockDocument,
    /// Workers that hold it or held it: whether each source says that it lives.
    pub workers: BTreeMap<String, Worker>,
    /// At most so far apart are the clocks of the exporter's host and of the lock's server.
    pub skew_seconds: Option<f64>,
}

/// What is seen of a worker beside the lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Worker {
    /// By source.
    pub alive: BTreeMap<String, bool>,
    /// Advances of its heartbeat.
    pub heartbeats: Option<f64>,
}

impl Worker {
    /// Whether any source says that it is lost; `None` if none says anything.
    pub fn is_lost(&self) -> Option<bool> {
        (!self.alive.is_empty()).then(|| self.alive.values().any(|alive| !alive))
    }
}

impl Look {
    /// The last read of the lock, on the server's clock.
    pub fn read(&self) -> Option<f64> {
        self.document.recent.read_timestamp.filter(|_| self.document.lock.fresh)
    }

    /// How the one with this fingerprint is, if it holds the lock.
    pub fn liveness(&self, fingerprint: &str) -> Option<&str> {
        let lock = &self.document.lock;
        let holder = lock.holders.iter().find(|h| lock.fresh && h.fingerprint == fingerprint)?;
        Some(&holder.liveness)
    }

    /// Whether a signal is up; `None` if it is not judged.
    pub fn signal(&self, name: &str) -> Option<bool> {
        self.document.lock.signals.get(name).copied().flatten()
    }
}

/// Liveness that is lost.
pub fn is_lost(liveness: &str) -> bool {
    ["dead", "replaced", "stopped", "frozen", "unlisted"].contains(&liveness)
}

/// Everything that was seen.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The exporter's poll interval in seconds.
    pub poll: f64,
    /// The looks, oldest first.
    pub looks: VecDeque<Look>,
    /// When the user said that the fault is made, in the looks' seconds.
    pub told: Option<f64>,
    /// The lock's tenures.
    pub tenures: Tenures,
    /// Looks were forgotten: a judge that needs the beginning cannot have it.
    pub is_cut: bool,
    /// No fresh look for longer than this is a gap; in seconds.
    pub patience: f64,
    fresh: Option<f64>,
    started: Option<f64>,
}

impl History {
    /// An empty one.
    pub fn new(poll: f64) -> Self {
        Self { poll, patience: (poll * 6.0).max(5.0), ..Self::default() }
    }

    /// Takes a look.
    pub fn add(&mut self, seconds: f64, document: LockDocument, metrics: &Metrics) {
        let started = metrics.started();
        let mut look = Look { seconds, document, ..Look::default() };
        look.skew_seconds = skew(metrics, &look.document.lock.store);
        for name in self.worker_names(&look.document) {
            let worker = worker(metrics, &name);
            look.workers.insert(name, worker);
        }
        let is_other_run = self.started.is_some() && self.started != started;
        self.started = started;
        self.take(look, is_other_run);
    }

    /// Takes a look whose parts are known, with whether the exporter was started anew before it.
    pub fn take(&mut self, mut look: Look, is_other_run: bool) {
        if let Some(last) = self.looks.back() {
            let is_back = look.document.generation < last.document.generation;
            let is_other = is_other_run || is_back;
            look.run = last.run + u32::from(is_other);
            look.is_after_restart = is_other;
            let silence = look.seconds - self.fresh.unwrap_or(0.0);
            look.is_after_gap = is_other || silence > self.patience;
        }
        if look.document.lock.fresh {
            self.fresh = Some(look.seconds);
        }
        self.tenures.take(&look, self.looks.len());
        if self.looks.len() == MOST {
            // The first look is the baseline of every counter; what is forgotten is what came after it.
            self.looks.remove(1);
            self.is_cut = true;
        }
        self.looks.push_back(look);
    }

    /// The last look.
    pub fn last(&self) -> Option<&Look> {
        self.looks.back()
    }

    /// Looks from that many seconds on.
    pub fn since(&self, seconds: f64) -> impl Iterator<Item = &Look> {
        self.looks.iter().filter(move |l| l.seconds >= seconds)
    }

    /// Whether the exporter was started anew after that instant, and by the other.
    pub fn has_restart(&self, after: f64, by: f64) -> bool {
        let mut within = self.looks.iter().filter(|l| l.seconds > after && l.seconds <= by);
        self.is_cut || within.any(|l| l.is_after_restart)
    }

    /// Whether something may have come and gone unseen after that instant.
    pub fn has_gap_since(&self, seconds: f64) -> bool {
        self.is_cut || self.looks.iter().any(|l| l.seconds > seconds && l.is_after_gap)
    }

    /// How far a counter rose after that instant. What a new run of the exporter counted is counted from 0. `None` where it is
    /// not there.
    pub fn risen(&self, seconds: f64, count: impl Fn(&Look) -> Option<u64>) -> Option<u64> {
        let mut before: Option<(u32, u64)> = None;
        let mut sum = None;
        for look in &self.looks {
            let Some(now) = count(look) else { continue };
            let rise = match before {
                Some((run, last)) if run == look.run => now.saturating_sub(last),
                Some(_) => now,
                None => 0,
            };
            before = Some((look.run, now));
            if look.seconds >= seconds {
                sum = Some(sum.unwrap_or(0) + rise);
            }
        }
        sum
    }

    /// The present tenure and its look, if the lock is held by one.
    pub fn present(&self) -> Option<&Tenure> {
        let look = self.last()?;
        let [only] = look.document.lock.holders.as_slice() else { return None };
        self.tenures
            .open()
            .filter(|t| t.fingerprint == only.fingerprint && look.document.lock.fresh)
    }

    /// In poll intervals.
    pub fn polls(&self, seconds: f64) -> f64 {
        seconds / self.poll.max(0.001)
    }

    fn worker_names(&self, document: &LockDocument) -> Vec<String> {
        let now = document.lock.holders.iter().filter_map(|h| h.worker.clone());
        let before = self.tenures.all().iter().rev().filter_map(|t| t.worker.clone());
        let mut names: Vec<String> = now.chain(before).take(WORKERS).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn worker(metrics: &Metrics, name: &str) -> Worker {
    let of = [("worker", name)];
    let sources = metrics.all("dlock_worker_alive", &of);
    Worker {
        alive: sources
            .filter_map(|s| Some((s.label("source")?.to_owned(), s.value > 0.0)))
            .collect(),
        heartbeats: metrics.value("dlock_worker_heartbeats_total", &of),
    }
}

/// Of several nodes the worst.
fn skew(metrics: &Metrics, store: &str) -> Option<f64> {
    metrics.all("dlock_skew_bound_seconds", &[("store", store)]).map(|s| s.value).reduce(f64::max)
}
