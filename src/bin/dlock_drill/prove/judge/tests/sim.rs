//! An invented lock, its workers, tokens and effects, and what is seen of them.

use std::collections::BTreeMap;

use super::super::Judgement;
use super::exporter::Exporter;
use crate::prove::history::{History, Look, Worker};
use crate::prove::judge::Criterion;

/// The server's clock when the watch begins.
pub const SERVER: f64 = 1_790_000_000.0;

/// What happens to the key.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Written: worker, token, until.
    Set(&'static str, &'static str, f64),
    /// Its expiry is written.
    Renew(f64),
    /// Deleted.
    Delete,
}

/// An invented world: everything with the second at which it is so.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub poll: f64,
    pub phase: f64,
    pub lease: f64,
    pub deeds: Vec<(f64, Deed)>,
    /// Liveness of a worker from then on; alive before.
    pub liveness: Vec<(f64, &'static str, &'static str)>,
    /// From, until: its heart does not beat.
    pub still: Vec<(f64, f64, &'static str)>,
    /// Tokens that are given, accepted, refused; effects, requests.
    pub issued: Vec<(f64, u64)>,
    pub accepted: Vec<(f64, u64)>,
    pub refused: Vec<f64>,
    pub effects: Vec<(f64, u32)>,
    pub has_fencing: bool,
    pub has_effects: bool,
    /// The exporter is started anew.
    pub restarts: Vec<f64>,
    /// The user's word.
    pub told: Option<f64>,
    pub until: f64,
    pub skew: f64,
    /// Where the exporter has the length of the lease from, and the period of renewals.
    pub length_source: &'static str,
    pub period: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub worker: &'static str,
    pub token: &'static str,
    pub end: f64,
}

impl World {
    pub fn new(poll: f64, lease: f64, until: f64) -> Self {
        Self {
            poll,
            phase: poll * 0.4,
            lease,
            until,
            skew: 0.01,
            length_source: "config",
            period: Some(lease / 3.0),
            has_fencing: true,
            has_effects: true,
            ..Self::default()
        }
    }

    pub fn set(mut self, at: f64, worker: &'static str, token: &'static str) -> Self {
        self.deeds.push((at, Deed::Set(worker, token, at + self.lease)));
        self
    }

    /// It renews from then until then, so often.
    pub fn renew(mut self, from: f64, until: f64, every: f64) -> Self {
        let mut at = from;
        while at < until {
            self.deeds.push((at, Deed::Renew(at + self.lease)));
            at += every;
        }
        self
    }

    pub fn delete(mut self, at: f64) -> Self {
        self.deeds.push((at, Deed::Delete));
        self
    }

    pub fn is(mut self, at: f64, worker: &'static str, how: &'static str) -> Self {
        self.liveness.push((at, worker, how));
        self
    }

    pub fn key(&self, at: f64) -> Option<Key> {
        let mut key: Option<Key> = None;
        for (when, deed) in self.sorted().into_iter().filter(|(when, _)| *when <= at) {
            let live = key.take().filter(|k| k.end > when);
            key = match deed {
                Deed::Set(worker, token, end) => Some(Key { worker, token, end }),
                Deed::Renew(end) => live.map(|k| Key { end, ..k }),
                Deed::Delete => None,
            };
        }
        key.filter(|k| k.end > at)
    }

    fn sorted(&self) -> Vec<(f64, Deed)> {
        let mut deeds = self.deeds.clone();
        deeds.sort_by(|a, b| a.0.total_cmp(&b.0));
        deeds
    }

    pub fn how(&self, worker: &str, at: f64) -> &'static str {
        let own = self.liveness.iter().filter(|(when, w, _)| *w == worker && *when <= at);
        own.max_by(|a, b| a.0.total_cmp(&b.0)).map_or("alive", |(.., how)| how)
    }

    fn beats(&self, worker: &str, at: f64) -> f64 {
        let step = self.poll / 2.0;
        let mut beats = 0.0;
        let mut now = 0.0;
        while now < at {
            let is_still =
                self.still.iter().any(|(a, b, w)| *w == worker && (*a..*b).contains(&now));
            beats += f64::from(u8::from(!is_still && self.how(worker, now) == "alive"));
            now += step;
        }
        beats
    }

    /// Everything that is seen until its end.
    pub fn history(&self) -> History {
        self.history_until(self.until)
    }

    pub fn history_until(&self, until: f64) -> History {
        let mut history = History::new(self.poll);
        let mut exporter = Exporter::default();
        let mut at = self.phase;
        let mut before = 0.0;
        let mut generation = 0;
        while at < until {
            let is_anew = self.restarts.iter().any(|r| (before..at).contains(r));
            if is_anew {
                exporter = Exporter::default();
                generation = 0;
            }
            // Around the end that it knows of.
            let known = exporter.tenures.last().filter(|t| t.gone_timestamp.is_none());
            if let Some(end) = known.and_then(|t| t.expiry_timestamp).map(|e| e - SERVER) {
                for read in [end - 0.02, end + 0.021] {
                    if read > before && read < at {
                        exporter.read(self, read);
                    }
                }
            }
            exporter.read(self, at);
            generation += 1;
            let document = exporter.document(self, at, generation);
            let mut look = Look { seconds: at, document, ..Look::default() };
            look.skew_seconds = Some(self.skew);
            for worker in ["a", "b"] {
                let is_alive = self.how(worker, at) == "alive";
                let alive = BTreeMap::from([("process".to_owned(), is_alive)]);
                let heartbeats = Some(self.beats(worker, at));
                look.workers.insert(worker.to_owned(), Worker { alive, heartbeats });
            }
            history.take(look, is_anew);
            history.told = self.told.filter(|told| *told <= at);
            before = at;
            at += self.poll;
        }
        history
    }

    /// As the tool does: asked after each look, until the judge is done.
    pub fn judged(&self, criterion: &Criterion) -> Judgement {
        let whole = self.history();
        let mut so_far = History::new(self.poll);
        let mut judgement = Judgement::default();
        for look in whole.looks {
            let is_anew = so_far.last().is_some_and(|last| last.run != look.run);
            let seconds = look.seconds;
            so_far.take(look, is_anew);
            so_far.told = self.told.filter(|told| *told <= seconds);
            judgement = (criterion.judge)(&so_far);
            if judgement.is_over() {
                break;
            }
        }
        judgement
    }
}
