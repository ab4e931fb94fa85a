//! The lock's tenures, put together from the looks: the exporter tells the last ones each time, with the reads that bound them on
//! the server's clock. Those of two runs of the exporter are joined only where the same owner still has it.

use std::collections::VecDeque;

use crate::exporter::document;

use super::history::Look;

/// Tenures that are kept.
const MOST: usize = 256;

/// A write of the lease is told from noise by this many seconds.
pub const WRITE: f64 = 0.02;

/// An owner's time with the lock. Timestamps are on the server's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tenure {
    /// Its worker.
    pub worker: Option<String>,
    /// Of its token.
    pub fingerprint: String,
    /// The last read before it.
    pub after: Option<f64>,
    /// The first read that showed it.
    pub first: Option<f64>,
    /// The last read that showed it.
    pub last: Option<f64>,
    /// The first read that did not.
    pub gone: Option<f64>,
    /// The last expiry that it was seen with.
    pub expiry: Option<f64>,
    /// The expiry that the first look had.
    pub first_expiry: Option<f64>,
    /// How it ended.
    pub evidence: Option<String>,
    /// How long it outlived its holder's death, as the exporter has it.
    pub overrun: Option<f64>,
    /// When it was first in a look, in the watch's seconds.
    pub seen: f64,
    /// When a look first showed that it is over, in the watch's seconds.
    pub over: Option<f64>,
    /// Its own.
    pub id: usize,
    run: u32,
    /// How this run of the exporter tells it from others: the first read that showed it.
    key: Option<f64>,
}

impl Tenure {
    /// Whether the same worker has it in both, as far as both are named.
    pub fn is_same_worker(&self, other: &Self) -> bool {
        self.worker.is_some() && self.worker == other.worker
    }

    /// Its worker for people.
    pub fn who(&self) -> &str {
        self.worker.as_deref().unwrap_or("the holder")
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Tenures {
    all: VecDeque<Tenure>,
    next: usize,
    /// The exporter keeps none of this lock.
    pub is_missing: bool,
}

impl Tenures {
    /// Oldest first.
    pub fn all(&self) -> &VecDeque<Tenure> {
        &self.all
    }

    /// The one that is not over.
    pub fn open(&self) -> Option<&Tenure> {
        self.all.back().filter(|t| t.over.is_none())
    }

    /// Those that came after it.
    pub fn after<'a>(&'a self, tenure: &Tenure) -> impl Iterator<Item = &'a Tenure> + use<'a> {
        let id = tenure.id;
        self.all.iter().filter(move |t| t.id > id)
    }

    /// Takes what a look tells; `n` is how many looks there were before.
    pub fn take(&mut self, look: &Look, n: usize) {
        if !look.document.lock.fresh {
            return;
        }
        let Some(told) = &look.document.recent.tenures else {
            // None are kept of a lock that nobody had yet, either.
            self.is_missing = look.document.lock.state == "held";
            return;
        };
        self.is_missing = false;
        for one in told {
            // What was over before the watch began is no part of it.
            if n > 0 || one.gone_timestamp.is_none() {
                self.one(one, look);
            }
        }
        // An exporter that was started anew does not tell of the end of what it did not see.
        let is_held = |t: &Tenure| {
            told.iter().any(|one| {
                one.gone_timestamp.is_none() && one.fingerprint.as_deref() == Some(&t.fingerprint)
            })
        };
        if let Some(open) = self.all.back_mut().filter(|t| t.over.is_none() && !is_held(t)) {
            open.over = Some(look.seconds);
        }
    }

    fn one(&mut self, told: &document::Tenure, look: &Look) {
        let Some(fingerprint) = told.fingerprint.clone() else { return };
        let is_old = told.gone_timestamp.is_some_and(|gone| self.is_before_all(gone));
        let known = self.all.iter_mut().rev().find(|t| {
            let is_same = t.run == look.run && t.key == told.first_timestamp;
            // The exporter was started anew, and the same owner still had it.
            let is_joined = t.run < look.run && t.over.is_none() && told.after_timestamp.is_none();
            t.fingerprint == fingerprint && (is_same || is_joined)
        });
        if known.is_none() && is_old {
            return;
        }
        let is_over = told.gone_timestamp.is_some();
        if let Some(known) = known {
            (known.run, known.key) = (look.run, told.first_timestamp);
            known.last = told.last_timestamp.or(known.last);
            known.gone = told.gone_timestamp;
            known.expiry = told.expiry_timestamp;
            known.evidence.clone_from(&told.evidence);
            known.overrun = told.overrun_seconds;
            if is_over {
                known.over.get_or_insert(look.seconds);
            }
            return;
        }
        // Whoever was there before is over, even if no read says when.
        if let Some(open) = self.all.back_mut().filter(|t| t.over.is_none()) {
            open.over = Some(look.seconds);
        }
        if self.all.len() == MOST {
            self.all.pop_front();
        }
        self.all.push_back(Tenure {
            worker: told.worker.clone(),
            fingerprint,
            after: told.after_timestamp,
            first: told.first_timestamp,
            last: told.last_timestamp,
            gone: told.gone_timestamp,
            expiry: told.expiry_timestamp,
            first_expiry: told.expiry_timestamp,
            evidence: told.evidence.clone(),
            overrun: told.overrun_seconds,
            seen: look.seconds,
            over: is_over.then_some(look.seconds),
            id: self.next,
            run: look.run,
            key: told.first_timestamp,
        });
        self.next += 1;
    }

    /// Whether a tenure that ended then was over before any of these.
    fn is_before_all(&self, gone: f64) -> bool {
        self.all.front().and_then(|t| t.first).is_none_or(|first| gone <= first)
    }
}
