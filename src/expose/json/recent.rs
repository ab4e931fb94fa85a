//! The last writes of a lock's lease, the last beats of its holders and its last tenures: what the picture on its page is drawn
//! from, and what a proof is judged by.

use serde::Serialize;

use super::not_empty;
use crate::expose::standing;
use crate::observe::Expiry;
use crate::view::{Act, LockView, PastTenure, StoreView, View};

#[derive(Debug, Serialize)]
pub(super) struct RecentLease<'a> {
    /// The oldest first; `None` of a lock of which they are not kept.
    writes: Option<Vec<Write>>,
    beats: Vec<Beats<'a>>,
    /// The oldest first, the present one last; `None` as of `writes`.
    tenures: Option<Vec<Tenure<'a>>>,
    read_timestamp: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Write {
    age_seconds: f64,
    what: &'static str,
    left_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Beats<'a> {
    worker: &'a str,
    ages_seconds: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct Tenure<'a> {
    worker: Option<&'a str>,
    fingerprint: Option<&'a str>,
    after_timestamp: Option<f64>,
    first_timestamp: Option<f64>,
    last_timestamp: Option<f64>,
    gone_timestamp: Option<f64>,
    expiry_timestamp: Option<f64>,
    evidence: Option<&'static str>,
    overrun_seconds: Option<f64>,
}

pub(super) fn describe_recent<'a>(
    view: &'a View,
    store: &StoreView,
    lock: &'a LockView,
) -> RecentLease<'a> {
    let age = |at| view.taken.secs_since(at).max(0.0);
    let writes = lock.recent.as_ref().map(|recent| {
        let write = |mark: &crate::view::Mark| Write {
            age_seconds: age(mark.at),
            what: match mark.act {
                Act::Held => "held",
                Act::Renewed => "renewed",
                Act::Written => "written",
                Act::Ended => "ended",
            },
            left_seconds: mark.left.map(f64::from).filter(|_| mark.act != Act::Ended),
        };
        recent.iter().map(write).collect()
    });
    let held_by = |name: &str| lock.holders.iter().any(|h| *h.worker == *name);
    let workers = view.workers.iter().filter(|w| !w.beats.is_empty() && held_by(&w.name));
    let beats = workers.map(|w| Beats {
        worker: &w.name,
        ages_seconds: w.beats.iter().map(|at| age(*at)).collect(),
    });
    RecentLease {
        writes,
        beats: beats.collect(),
        tenures: tenures(store, lock),
        read_timestamp: lock.read_timestamp,
    }
}

fn tenures<'a>(store: &StoreView, lock: &'a LockView) -> Option<Vec<Tenure<'a>>> {
    lock.recent.as_ref()?;
    let past = lock.past.iter().flat_map(|past| past.iter().map(over));
    let present = match lock.holders.as_slice() {
        [only] if standing::is_fresh(store, lock) && lock.ballots.is_empty() => Some(Tenure {
            worker: not_empty(&only.worker),
            fingerprint: not_empty(&only.fingerprint),
            after_timestamp: lock.held_after_timestamp,
            first_timestamp: lock.held_since_timestamp,
            last_timestamp: lock.read_timestamp,
            gone_timestamp: None,
            expiry_timestamp: lock.expiry_timestamp,
            evidence: None,
            overrun_seconds: None,
        }),
        _ => None,
    };
    Some(past.chain(present).collect())
}

fn over(past: &PastTenure) -> Tenure<'_> {
    Tenure {
        worker: past.worker.as_deref(),
        fingerprint: past.fingerprint.as_deref(),
        after_timestamp: past.after.map(|t| t.as_secs_f64()),
        first_timestamp: Some(past.first.as_secs_f64()),
        last_timestamp: Some(past.last.as_secs_f64()),
        gone_timestamp: Some(past.gone.as_secs_f64()),
        expiry_timestamp: match past.expiry {
            Expiry::At(e) => Some(e.as_secs_f64()),
            Expiry::Never => None,
        },
        evidence: past.evidence.map(|e| e.as_str()),
        overrun_seconds: past.overrun,
    }
}
