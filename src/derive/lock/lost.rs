//! Owners that the server took the lock from, or another owner wrote over, before their lease was over; and whether somebody
//! else gets it meanwhile. An owner that may have let go is not counted.

use std::sync::Arc;
use std::time::Duration;

use super::proof::{Basis, Party, Proof};
use super::{Lock, Phase};
use crate::derive::ends::{After, Cut, PendingEnd};
use crate::derive::tenure::{Seen, Tenure};
use crate::derive::wanted::Effects;
use crate::derive::words::{ContentionKind, Evidence};
use crate::observe::{Expiry, Mono, Owner, Token};

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
    /// The other owner that was seen before `until`.
    pub successor: Option<Party>,
    /// The worker that something named as the holder.
    pub worker: Option<Arc<str>>,
    /// The pid that its token names.
    pub pid: Option<i32>,
}

impl Claim {
    /// Of a tenure that ended; `lease` is its L in microseconds.
    pub(super) fn of(tenure: &Tenure, lease: Option<i64>, is_cut: bool, gone: &Seen) -> Self {
        let until = match (tenure.expiry, lease) {
            (Expiry::Never, _) => Some(gone.span.done.plus(ENDLESS)),
            (Expiry::At(_), Some(l)) if is_cut => {
                let made = tenure.write.made_at(Some(l));
                Some(made.plus(Duration::from_micros(l.max(0).unsigned_abs())))
            }
            (Expiry::At(_), None) if is_cut => None,
            (Expiry::At(_), _) => Some(over_at(tenure, gone.span.done)),
        };
        // Of what the end is measured against, the youngest.
        let is_same = gone.marks.flushes == tenure.last.marks.flushes;
        let counted = if is_same { gone.marks.counted_at } else { tenure.last.marks.counted_at };
        Self {
            until: until.filter(|_| !tenure.shortened),
            acquired_after: tenure.acquired_after,
            is_seen_twice: tenure.first.span.done < tenure.last.span.done,
            is_seen_before_flush: counted.is_some_and(|at| at >= tenure.first.span.done),
            successor: None,
            worker: tenure.seat.named.clone(),
            pid: tenure.seat.pid,
        }
    }
}

/// When a lease is over as its last read shows it, on our clock.
pub(super) fn over_at(tenure: &Tenure, now: Mono) -> Mono {
    match tenure.expiry {
        Expiry::Never => now.plus(ENDLESS),
        Expiry::At(e) => {
            let left = e.micros_since(tenure.last.time).max(0).unsigned_abs();
            tenure.last.span.sent.plus(Duration::from_micros(left))
        }
    }
}

/// Whether the holder is the one that lost it: it knows, whatever its token is now.
pub(super) fn is_back(lost: (&Token, Option<&Arc<str>>), now: (&Token, Option<&Arc<str>>)) -> bool {
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
pub(super) struct Lost {
    pub(super) token: Token,
    pub(super) worker: Option<Arc<str>>,
    pub(super) until: Mono,
    pub(super) party: Party,
    pub(super) basis: Basis,
}

impl PendingEnd {
    /// Its owner.
    pub(super) fn party(&self) -> Party {
        let (worker, token) = (self.claim.worker.clone(), self.token.clone());
        Party { worker, token, expiry: Some(self.expiry), ..Party::default() }
    }
}

impl Lock {
    /// What it is called if the lock was taken from an owner.
    fn kind_of_loss(&self) -> ContentionKind {
        match self.servers {
            Some(_) => ContentionKind::Quorum,
            None => ContentionKind::Lost,
        }
    }

    /// Another owner was found; ends that wait for their evidence are told.
    pub(super) fn succeeded_by(
        &mut self,
        owner: &Owner,
        worker: Option<&Arc<str>>,
        expiry: Expiry,
        at: Mono,
    ) {
        let (token, named) = (Some(owner.token.clone()), worker.cloned());
        let party = Party { worker: named, token, expiry: Some(expiry), ..Party::default() };
        for end in &mut self.pending {
            let is_before = end.claim.until.is_some_and(|until| at < until);
            let lost = end.token.as_ref().map(|token| (token, end.claim.worker.as_ref()));
            if lost.is_some_and(|lost| is_back(lost, (&owner.token, worker))) {
                end.claim.until = end.claim.until.filter(|_| end.claim.successor.is_some());
            } else if is_before {
                end.claim.successor.get_or_insert_with(|| party.clone());
            }
        }
    }

    /// An end has its evidence.
    pub(super) fn note_lost(
        &mut self,
        end: &PendingEnd,
        evidence: Evidence,
        after: After<'_>,
        fx: &mut Effects,
    ) {
        let Some(token) = end.token.clone().filter(|_| !end.is_shared) else { return };
        if matches!(evidence, Evidence::Flushed | Evidence::Evicted | Evidence::Overwritten) {
            self.let_go.was_taken(&token);
        }
        let Some(until) = end.claim.until else { return };
        if !self.is_exclusive() || !was_taken(&end.claim, evidence, after.cut) {
            return;
        }
        let basis = Basis::End {
            evidence,
            acquired_after: end.claim.acquired_after,
            kept: match after.cut {
                Cut::At(kept) if evidence == Evidence::Failover => Some(kept),
                _ => None,
            },
        };
        let kind = match evidence {
            Evidence::Overwritten => ContentionKind::Overwrite,
            _ => self.kind_of_loss(),
        };
        if let Some(successor) = end.claim.successor.clone() {
            let owners = vec![end.party(), successor];
            let at = end.gone.span.done;
            self.prove(Proof { kind, at, owners, basis }, Some(until), fx);
        } else if evidence != Evidence::Overwritten {
            // Of one that was written over there is a successor, unless it is the same worker's other token.
            if self.contested.lost.len() >= MOST_LOST {
                self.contested.lost.remove(0);
            }
            let worker = end.claim.worker.clone();
            self.contested.lost.push(Lost { token, worker, until, party: end.party(), basis });
        }
    }

    /// Those that lost it before and may still believe in it, once another owner holds it.
    pub(super) fn judge_lost(&mut self, now: Mono, fx: &mut Effects) {
        if self.contested.lost.is_empty() {
            return;
        }
        let Phase::Held(tenure) = &self.phase else { return };
        let Some(owner) = &tenure.owner else { return };
        let party = Party::of(tenure);
        let holder = (&owner.token, tenure.seat.named.as_ref());
        for lost in self.contested.held_by(holder, now) {
            let owners = vec![lost.party, party.clone()];
            let (kind, basis) = (self.kind_of_loss(), lost.basis);
            self.prove(Proof { kind, at: now, owners, basis }, Some(lost.until), fx);
        }
    }
}

#[cfg(test)]
mod tests;
