//! The last writes of a lock's lease and the last beats of its holders, what the picture on its page is drawn from.

use serde::Serialize;

use crate::view::{Act, LockView, View};

#[derive(Debug, Serialize)]
pub(super) struct RecentLease<'a> {
    /// The oldest first; `None` of a lock of which they are not kept.
    writes: Option<Vec<Write>>,
    beats: Vec<Beats<'a>>,
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

pub(super) fn describe_recent<'a>(view: &'a View, lock: &LockView) -> RecentLease<'a> {
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
    RecentLease { writes, beats: beats.collect() }
}
