//! An invented lock and the exporter that watches it: reads at its polls and around the ends of leases, tenures with the bounds
//! of these reads, ends called as an exporter without keyspace events calls them.

use std::collections::BTreeMap;

use super::super::Judgement;
use crate::exporter::document::{
    Counts, Effects, Fencing, Holder, Lease, Lock, LockDocument, Previous, Recent, Tenure,
};
use crate::prove::history::{History, Look, Worker};
use crate::prove::judge::Criterion;

/// The server's clock when the watch begins.
const SERVER: f64 = 1_790_000_000.0;

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
}

#[derive(Clone, Debug, PartialEq)]
struct Key {
    worker: &'static str,
    token: &'static str,
    end: f64,
}

/// The exporter's memory of one run.
#[derive(Default)]
struct Exporter {
    tenures: Vec<Tenure>,
    last_read: Option<f64>,
    written: f64,
    renewals: u64,
    after_loss: u64,
    floor: u64,
    fell: u64,
}

impl World {
    pub fn new(poll: f64, lease: f64, until: f64) -> Self {
        Self {
            poll,
            phase: poll * 0.4,
            lease,
            until,
            skew: 0.01,
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

    fn key(&self, at: f64) -> Option<Key> {
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

    fn how(&self, worker: &str, at: f64) -> &'static str {
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

impl Exporter {
    fn read(&mut self, world: &World, at: f64) {
        let now = SERVER + at;
        let key = world.key(at);
        let open = self.tenures.last_mut().filter(|t| t.gone_timestamp.is_none());
        let is_same =
            |t: &Tenure| key.as_ref().is_some_and(|k| t.fingerprint.as_deref() == Some(k.token));
        match open {
            Some(t) if is_same(t) => {
                let end = key.as_ref().map(|k| SERVER + k.end);
                if end.zip(t.expiry_timestamp).is_some_and(|(now, then)| now > then + 0.02) {
                    self.renewals += 1;
                    self.written = at;
                    let worker = t.worker.clone().unwrap_or_default();
                    // Proven only where both looks show the loss.
                    let earlier = self.last_read.unwrap_or(at);
                    self.after_loss += u64::from(world.how(&worker, earlier) != "alive");
                }
                (t.last_timestamp, t.expiry_timestamp) = (Some(now), end);
            }
            other => {
                if let Some(t) = other {
                    let (last, end) = (t.last_timestamp.unwrap(), t.expiry_timestamp.unwrap());
                    let acquired = key.as_ref().map(|k| SERVER + k.end - world.lease);
                    t.gone_timestamp = Some(now);
                    let evidence = match key {
                        _ if end - last <= 0.05
                            && now >= end
                            && acquired.is_none_or(|a| a >= end) =>
                        {
                            "lapsed"
                        }
                        None if now < end => "released",
                        _ => "unknown",
                    };
                    t.evidence = Some(evidence.to_owned());
                }
                if let Some(k) = key {
                    self.written = at;
                    self.tenures.push(Tenure {
                        worker: Some(k.worker.to_owned()),
                        fingerprint: Some(k.token.to_owned()),
                        after_timestamp: self.last_read.map(|r| SERVER + r),
                        first_timestamp: Some(now),
                        last_timestamp: Some(now),
                        expiry_timestamp: Some(SERVER + k.end),
                        ..Tenure::default()
                    });
                }
            }
        }
        self.last_read = Some(at);
    }

    fn document(&mut self, world: &World, at: f64, generation: u64) -> LockDocument {
        let open = self.tenures.last().filter(|t| t.gone_timestamp.is_none()).cloned();
        let how = open.as_ref().and_then(|t| t.worker.as_deref()).map(|w| world.how(w, at));
        let is_stale = how.is_some_and(|h| h != "alive") && {
            let worker = open.as_ref().and_then(|t| t.worker.clone()).unwrap_or_default();
            world.how(&worker, at - world.poll) != "alive"
        };
        let signals = [
            ("holder_stale", Some(is_stale)),
            ("contested", Some(false)),
            ("renewal_overdue", Some(open.is_some() && at - self.written > world.lease * 0.67)),
        ];
        let counted =
            |all: &[(f64, u64)]| all.iter().filter(|(t, _)| *t <= at).map(|(_, n)| *n).next_back();
        let accepted = counted(&world.accepted);
        let last = accepted.unwrap_or(0);
        self.fell += u64::from(last < self.floor);
        self.floor = last;
        let fencing = Fencing {
            issued: counted(&world.issued),
            accepted: BTreeMap::from([("db".to_owned(), accepted)]),
            regressions: BTreeMap::from([("db".to_owned(), self.fell)]),
            rejections: BTreeMap::from([(
                "db".to_owned(),
                world.refused.iter().filter(|t| **t <= at).count() as u64,
            )]),
        };
        let mut requests: Vec<u32> =
            world.effects.iter().filter(|(t, _)| *t <= at).map(|(_, r)| *r).collect();
        let total = requests.len() as u64;
        requests.sort_unstable();
        requests.dedup();
        let effects = Effects {
            resource: "db".to_owned(),
            total,
            duplicates: Some(total - requests.len() as u64),
        };
        let lock = Lock {
            store: "main".into(),
            lock: "orders".into(),
            fresh: true,
            state: if open.is_some() { "held" } else { "free" }.into(),
            signals: signals.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(),
            holders: open.iter().map(|t| holder(t, how)).collect(),
            lease: Lease {
                length_seconds: Some(world.lease),
                expiry_timestamp: open.as_ref().and_then(|t| t.expiry_timestamp),
                renewal_age_seconds: open.is_some().then_some(at - self.written),
                renewal_period_seconds: Some(world.lease / 3.0),
                ..Lease::default()
            },
            previous: Some(Previous::default()),
            fencing: world.has_fencing.then_some(fencing),
            effects: if world.has_effects { vec![effects] } else { Vec::new() },
            counts: Counts {
                renewals: self.renewals,
                renewals_after_lost_liveness: self.after_loss,
                ..Counts::default()
            },
            ..Lock::default()
        };
        let recent = Recent {
            tenures: Some(self.tenures.iter().rev().take(17).rev().cloned().collect()),
            read_timestamp: self.last_read.map(|r| SERVER + r),
            ..Recent::default()
        };
        LockDocument { generation, taken: 1000.0 + at, lock, recent }
    }
}

fn holder(tenure: &Tenure, how: Option<&str>) -> Holder {
    Holder {
        worker: tenure.worker.clone(),
        fingerprint: tenure.fingerprint.clone().unwrap_or_default(),
        liveness: how.unwrap_or("unknown").to_owned(),
        ..Holder::default()
    }
}
