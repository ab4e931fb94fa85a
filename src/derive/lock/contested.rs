//! Whether two owners may believe in the lock at once: two primaries grant it, or the server took it from one and
//! another got it before the first one's lease was over.
//!
//! What an owner does with the lock meanwhile is nothing that a store can show. What cannot be proven is not claimed: an owner
//! that may have let go is not counted.

use std::sync::Arc;
use std::time::Duration;

use super::share::is_shared;
use super::{Lock, Phase, ReadContext, rival::Rival};
use crate::derive::ends::{After, Cut, PendingEnd};
use crate::derive::sight::Sight;
use crate::derive::tenure::{Seen, Tenure};
use crate::derive::wanted::Effects;
use crate::derive::words::{ContentionKind, Evidence, Signal};
use crate::observe::{Expiry, Mono, Owner, Token};

/// An event is shown for this long at least.
const LEAST_SHOWN: Duration = Duration::from_secs(60);
/// An owner whose lease never ends is taken to believe in it for this long.
const ENDLESS: Duration = Duration::from_secs(60);
/// Owners that lost the lock and are remembered.
const MOST_LOST: usize = 4;

/// What an owner that the server took the lock from may go on believing.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// The lease that it was granted is over then, on our clock.
    pub until: Option<Mono>,
    /// The primary's offset in the last read without it: its acquire came later.
    pub acquired_after: Option<u64>,
    /// It was seen in two reads.
    pub is_seen_twice: bool,
    /// It was seen before the last count of emptied databases that shows no more of them: it was there before the flush.
    pub is_seen_before_flush: bool,
    /// Another owner was seen before `until`.
    pub is_succeeded: bool,
    /// The worker that something named as the holder.
    pub worker: Option<Arc<str>>,
}

impl Claim {
    /// Of a tenure that ended; `lease` is its L in microseconds.
    pub(super) fn of(tenure: &Tenure, lease: Option<i64>, is_cut: bool, gone: &Seen) -> Self {
        let left = |e: crate::observe::ServerTime| {
            let left = e.micros_since(tenure.last.time).max(0).unsigned_abs();
            tenure.last.span.sent.plus(Duration::from_micros(left))
        };
        let until = match (tenure.expiry, lease) {
            (Expiry::Never, _) => Some(gone.span.done.plus(ENDLESS)),
            (Expiry::At(_), Some(l)) if is_cut => {
                let made = tenure.write.made_at(Some(l));
                Some(made.plus(Duration::from_micros(l.max(0).unsigned_abs())))
            }
            (Expiry::At(_), None) if is_cut => None,
            (Expiry::At(e), _) => Some(left(e)),
        };
        // Of what the end is measured against, the youngest.
        let is_same = gone.marks.flushes == tenure.last.marks.flushes;
        let counted = if is_same { gone.marks.counted_at } else { tenure.last.marks.counted_at };
        Self {
            until: until.filter(|_| !tenure.shortened),
            acquired_after: tenure.acquired_after,
            is_seen_twice: tenure.first.span.done < tenure.last.span.done,
            is_seen_before_flush: counted.is_some_and(|at| at >= tenure.first.span.done),
            is_succeeded: false,
            worker: tenure.seat.named.clone(),
        }
    }
}

/// Whether the holder is the one that lost it: it knows, whatever its token is now.
fn is_back(lost: (&Token, Option<&Arc<str>>), now: (&Token, Option<&Arc<str>>)) -> bool {
    lost.0 == now.0 || lost.1.is_some_and(|worker| Some(worker) == now.1)
}

/// Whether the server took the lock from its owner, which may not know.
pub fn was_taken(claim: &Claim, evidence: Evidence, cut: Cut) -> bool {
    (claim.is_seen_twice || evidence == Evidence::Overwritten)
        && match evidence {
            // One that took it after the flush may have let go.
            Evidence::Flushed => claim.is_seen_before_flush,
            Evidence::Evicted | Evidence::ClockStep => true,
            // The proof lies between two reads, each of which shows another owner.
            Evidence::Overwritten => true,
            // The new primary has all up to there: an acquire that it knew of was let go of by its owner, or overwritten.
            Evidence::Failover => match cut {
                Cut::At(kept) => claim.acquired_after.is_some_and(|after| after >= kept),
                Cut::All => true,
                Cut::Unknown => false,
            },
            _ => false,
        }
}

/// An owner that lost the lock.
#[derive(Clone, Debug)]
struct Lost {
    token: Token,
    worker: Option<Arc<str>>,
    until: Mono,
}

/// What is known of two owners at once.
#[derive(Clone, Debug, Default)]
pub struct Contested {
    lost: Vec<Lost>,
    /// An event is shown until then.
    shown_until: Option<Mono>,
    /// What the last of them was.
    last: Option<ContentionKind>,
    /// Events, in the order of `ContentionKind::ALL`.
    pub events: [u64; ContentionKind::ALL.len()],
}

impl Contested {
    fn count(&mut self, kind: ContentionKind) {
        if let Some(n) = self.events.get_mut(kind as usize) {
            *n += 1;
        }
    }

    fn proven(&mut self, kind: ContentionKind, at: Mono, until: Mono) {
        self.count(kind);
        self.last = Some(kind);
        let until = until.max(at.plus(LEAST_SHOWN));
        self.shown_until = Some(self.shown_until.map_or(until, |u| u.max(until)));
    }

    /// The owner that holds the lock in a read.
    fn held_by(&mut self, kind: ContentionKind, now: (&Token, Option<&Arc<str>>), at: Mono) {
        self.lost.retain(|l| at < l.until && !is_back((&l.token, l.worker.as_ref()), now));
        let lost = std::mem::take(&mut self.lost);
        if let Some(until) = lost.iter().map(|l| l.until).max() {
            self.proven(kind, at, until);
        }
    }
}

impl Lock {
    /// Whether only one may hold it, and one key tells who.
    pub fn is_exclusive(&self) -> bool {
        self.spread.is_none()
            && !matches!(self.phase, Phase::Shared(_))
            && !self.value.as_ref().is_some_and(|v| is_shared(v))
            && self.rules.limit.is_none()
    }

    /// Whether the owner may have been written over in the read of that instant.
    pub fn may_have_been_overwritten(&self, at: Mono) -> bool {
        let last = self.pending.last().filter(|end| end.gone.span.done == at);
        last.is_some_and(PendingEnd::may_be_overwritten)
    }

    /// What it is called if the lock was taken from an owner.
    fn kind_of_loss(&self) -> ContentionKind {
        match self.servers {
            Some(_) => ContentionKind::Quorum,
            None => ContentionKind::Lost,
        }
    }

    /// Another owner was found; ends that wait for their evidence are told.
    pub(super) fn succeeded_by(&mut self, owner: &Owner, worker: Option<&Arc<str>>, at: Mono) {
        for end in &mut self.pending {
            let is_before = end.claim.until.is_some_and(|until| at < until);
            let lost = end.token.as_ref().map(|token| (token, end.claim.worker.as_ref()));
            if lost.is_some_and(|lost| is_back(lost, (&owner.token, worker))) {
                end.claim.until = end.claim.until.filter(|_| end.claim.is_succeeded);
            } else {
                end.claim.is_succeeded |= is_before;
            }
        }
    }

    /// An end has its evidence.
    pub(super) fn note_lost(&mut self, end: &PendingEnd, evidence: Evidence, after: After<'_>) {
        let Some(token) = end.token.clone().filter(|_| !end.is_shared) else { return };
        if matches!(evidence, Evidence::Flushed | Evidence::Evicted | Evidence::Overwritten) {
            self.let_go.was_taken(&token);
        }
        let Some(until) = end.claim.until else { return };
        if !self.is_exclusive() || !was_taken(&end.claim, evidence, after.cut) {
            return;
        }
        if evidence == Evidence::Overwritten {
            // The same worker's other token contends with nobody.
            if end.claim.is_succeeded {
                self.contested.proven(ContentionKind::Overwrite, end.gone.span.done, until);
            }
        } else if end.claim.is_succeeded {
            self.contested.proven(self.kind_of_loss(), end.gone.span.done, until);
        } else {
            if self.contested.lost.len() >= MOST_LOST {
                self.contested.lost.remove(0);
            }
            let worker = end.claim.worker.clone();
            self.contested.lost.push(Lost { token, worker, until });
        }
    }

    /// Takes the read of another node that says master of the same history.
    pub fn read_rival(&mut self, addr: &Arc<str>, sight: Sight) {
        // One of several servers grants a vote, no lock.
        if !self.is_exclusive() || self.servers.is_some() {
            return;
        }
        if !self.rivals.iter().any(|r| r.addr == *addr) {
            self.rivals.push(Rival::new(addr.clone()));
        }
        if let Some(rival) = self.rivals.iter_mut().find(|r| r.addr == *addr) {
            rival.look(sight, self.sights.iter().flatten());
        }
    }

    pub(super) fn judge_contested(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let now = c.seen.span.done;
        if let Some(sight) = &self.sights[0] {
            for rival in &mut self.rivals {
                if rival.settle(sight, c.poll, &self.let_go) {
                    self.contested.count(ContentionKind::Primaries);
                }
            }
        }
        let kind = self.kind_of_loss();
        if let Phase::Held(tenure) = &self.phase
            && let Some(owner) = &tenure.owner
        {
            self.contested.held_by(kind, (&owner.token, tenure.seat.named.as_ref()), now);
        }
        let rival = self.rivals.iter().find(|r| r.is_shown(now, c.poll)).map(|r| r.addr.clone());
        let is_lost = self.contested.shown_until.is_some_and(|until| now < until);
        let value = self.is_exclusive().then_some(rival.is_some() || is_lost);
        let last = self.contested.last;
        let is_quorum = self.servers.is_some();
        let detail = || {
            match rival {
            Some(addr) => format!("{addr} says master too and grants it to another owner"),
            None if last == Some(ContentionKind::Overwrite) => {
                "another owner wrote over it before the first one's lease was over".into()
            }
            None if is_quorum => {
                "servers lost votes of its owner, and another owner got enough before the first one's lease was over"
                    .into()
            }
            None => {
                "the server lost it, and another owner got it before the first one's lease was over"
                    .into()
            }
        }
        };
        self.signal(Signal::Contested, value, now, detail, fx);
    }
}

#[cfg(test)]
mod tests;
