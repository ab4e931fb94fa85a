//! The holders of one lock: each as it is, and what the lock shows of all of them together: the worst liveness and its lost
//! age, the oldest tenure, the oldest renewal, the earliest end.

use std::sync::Arc;

use super::{HolderView, Liveness};
use crate::derive::State;
use crate::derive::heartbeat::Heartbeat;
use crate::derive::lock::{Judged, Lock};
use crate::derive::tenure::Tenure;
use crate::observe::{Expiry, Mono, ServerTime};

/// One holder, with what is known of it.
pub(super) struct Holder<'a> {
    pub tenure: &'a Tenure,
    pub judged: Judged,
    /// When it last wrote its expiry, where it has one of its own.
    pub written: Option<Mono>,
    pub heartbeat: Option<&'a Heartbeat>,
}

impl Holder<'_> {
    /// When its lease ends.
    pub fn expiry(&self) -> Option<ServerTime> {
        match self.tenure.expiry {
            Expiry::At(e) => Some(e),
            Expiry::Never => None,
        }
    }

    /// What is left of its lease.
    pub fn remaining(&self, now: Mono) -> Option<f64> {
        let seen = self.tenure.last;
        self.expiry().map(|e| (e.secs_since(seen.time) - now.secs_since(seen.span.done)).max(0.0))
    }

    /// The last write on the server's clock.
    pub fn written_at(&self) -> Option<f64> {
        let shown = self.tenure.write.shown;
        self.written.map(|w| shown.time.as_secs_f64() - shown.span.done.secs_since(w))
    }
}

/// All holders, the longest first.
pub(super) fn holders<'a>(state: &'a State, lock: &'a Lock, now: Mono) -> Vec<Holder<'a>> {
    let mut all: Vec<Holder<'a>> = lock
        .tenures()
        .map(|tenure| {
            let lease = lock.lease_of(Some(tenure)).map(|(l, _)| l);
            let worker = tenure.worker().and_then(|w| state.workers.by_name.get(w));
            Holder {
                tenure,
                judged: lock.judged(tenure, &state.workers, now),
                written: tenure.is_own.then(|| tenure.write.made_at(lease)),
                heartbeat: worker.map(|w| &w.heartbeat).filter(|h| h.was_seen()),
            }
        })
        .collect();
    all.sort_by_key(|h| h.tenure.first.span.done);
    all
}

pub(super) fn holder_view(holder: &Holder<'_>, now: Mono) -> HolderView {
    let (tenure, owner) = (holder.tenure, holder.tenure.owner.as_ref());
    HolderView {
        worker: tenure.worker().cloned().unwrap_or_default(),
        fingerprint: owner.map(|o| o.token.fingerprint()).unwrap_or_default(),
        count: tenure.count,
        mode: tenure.mode,
        liveness: holder.judged.liveness,
        lost_seconds: lost(&holder.judged, now),
        remaining_seconds: holder.remaining(now),
        held_seconds: now.secs_since(tenure.first.span.done).max(0.0),
        renewal_age_seconds: holder.written.map(|w| now.secs_since(w).max(0.0)),
        taken_at: tenure.taken_at,
        host: owner.and_then(|o| o.host.clone()),
        pid: owner.and_then(|o| o.pid),
        thread: owner.and_then(|o| o.thread.clone()),
        beat_age_seconds: holder.heartbeat.and_then(|h| h.age()),
    }
}

/// The worst liveness of all, and how long ago the first of those that have it lost theirs.
pub(super) fn worst(holders: &[Holder<'_>], now: Mono) -> (Option<Liveness>, Option<f64>) {
    let worst = holders.iter().map(|h| h.judged.liveness).min();
    let of_worst = holders.iter().filter(|h| Some(h.judged.liveness) == worst);
    (worst, of_worst.filter_map(|h| lost(&h.judged, now)).reduce(f64::max))
}

fn lost(judged: &Judged, now: Mono) -> Option<f64> {
    let since = judged.lost_since().filter(|_| judged.liveness.is_lost());
    since.map(|at| now.secs_since(at).max(0.0))
}

/// Whether the liveness of a lock's holders can be seen at all, as far as the config goes.
pub(super) fn can_see_holder(state: &State, lock: &Lock) -> bool {
    let is_seen = |w: &Arc<str>| {
        let found = state.workers.with_group(w);
        found.is_some_and(|(_, g, _)| g.heartbeat.is_some() || g.process.is_some())
    };
    let mut tenures = lock.tenures().peekable();
    match tenures.peek() {
        Some(_) => tenures.any(|t| t.worker().is_some_and(is_seen)),
        None => {
            let is_named = lock.rules.holder.is_some() || lock.was_named;
            is_named && !state.rules.groups.is_empty()
        }
    }
}
