//! Whether a worker goes on writing that it holds the lock while another one does.
//!
//! A claim that was written before the other one came proves nothing, and reads of claims, beats and keys come from several
//! pollers. So the claim has to stand in a read after two beats that followed the other one's first sight, the second of which
//! was surely written after it; and the key, read once more after that, has to show the same tenure of the other one.

use std::sync::Arc;
use std::time::Duration;

use super::proof::{Basis, Party, Proof};
use super::{Lock, Phase, ReadContext};
use crate::derive::claims;
use crate::derive::fresh::is_fresh;
use crate::derive::tenure::Tenure;
use crate::derive::wanted::Effects;
use crate::derive::words::ContentionKind;
use crate::observe::{Mono, Span};

/// Workers that are followed at once.
const MOST: usize = 8;
/// Beats after which what a worker writes is surely newer.
const BEATS: u64 = 2;

/// A worker that claims what another one holds.
#[derive(Clone, Debug)]
pub(super) struct Insisting {
    worker: Arc<str>,
    fingerprint: Option<String>,
    /// When the other one's tenure was first seen.
    begun: Mono,
    /// The worker's beats at the first read of the claim after that.
    beats: u64,
    /// The last read that shows the claim.
    last: Mono,
    /// The claim was surely written since, and shown by a read that ended then.
    written: Option<(Mono, u64)>,
    is_proven: bool,
}

/// How a worker beats, as of a read of its claims.
#[derive(Clone, Copy, Debug)]
pub struct Beats {
    /// Advances so far.
    pub count: u64,
    /// End of the read that showed the last one.
    pub last: Option<Mono>,
}

impl Lock {
    /// Takes it that a worker claims the lock in a read.
    pub(in crate::derive) fn claimed_by(
        &mut self,
        worker: &Arc<str>,
        claim: &claims::Claim,
        beats: Beats,
        (span, poll): (Span, Duration),
        fx: &mut Effects,
    ) {
        let is_known = is_fresh(self.seen.map(|s| s.span.done), span.done, poll);
        let fingerprint = &claim.fingerprint;
        let Some(begun) =
            self.other_tenure(worker, fingerprint.as_deref()).map(|t| t.first.span.done)
        else {
            return self.unclaimed_by(worker);
        };
        if !is_known || self.unreadable.is_some() || span.sent < begun {
            return;
        }
        let list = &mut self.contested.insisting;
        let is_same = |i: &&mut Insisting| {
            i.worker == *worker && i.begun == begun && i.fingerprint == *fingerprint
        };
        let Some(known) = list.iter_mut().find(is_same) else {
            list.retain(|i| i.worker != *worker);
            if list.len() < MOST {
                list.push(Insisting {
                    worker: worker.clone(),
                    fingerprint: fingerprint.clone(),
                    begun,
                    beats: beats.count,
                    last: span.done,
                    written: None,
                    is_proven: false,
                });
            }
            return;
        };
        known.last = span.done;
        // A source that a reload changed counts anew.
        known.beats = known.beats.min(beats.count);
        let is_read_after = beats.last.is_some_and(|at| span.sent >= at);
        if known.written.is_none() && beats.count >= known.beats + BEATS && is_read_after {
            known.written = Some((span.done, beats.count - known.beats));
            self.want_read(Mono(0), fx);
        }
    }

    /// Takes it that a worker does not claim it.
    pub(in crate::derive) fn unclaimed_by(&mut self, worker: &Arc<str>) {
        self.contested.insisting.retain(|i| i.worker != *worker);
    }

    /// The present tenure, if it surely is not this worker's with this token.
    fn other_tenure(&self, worker: &Arc<str>, fingerprint: Option<&str>) -> Option<&Tenure> {
        let Phase::Held(tenure) = &self.phase else { return None };
        let owner = tenure.owner.as_ref().filter(|_| self.is_exclusive())?;
        let is_other = match (&tenure.seat.named, fingerprint) {
            // A worker's other token contends with nobody.
            (Some(named), _) if named == worker => false,
            (_, Some(claimed)) => owner.token.fingerprint() != claimed,
            (named, None) => named.is_some(),
        };
        is_other.then_some(&**tenure)
    }

    /// After a read of the key. Whether some worker insists now.
    pub(super) fn judge_insisting(&mut self, c: &ReadContext<'_>, fx: &mut Effects) -> bool {
        let now = c.seen.span.done;
        let begun = match &self.phase {
            Phase::Held(tenure) => Some(tenure.first.span.done),
            _ => None,
        };
        let list = &mut self.contested.insisting;
        list.retain(|i| Some(i.begun) == begun && is_fresh(Some(i.last), now, c.poll));
        let mut proofs = Vec::new();
        for i in list.iter_mut().filter(|i| !i.is_proven) {
            let Some((at, beats)) = i.written.filter(|(at, _)| c.seen.span.sent >= *at) else {
                continue;
            };
            i.is_proven = true;
            proofs.push((i.worker.clone(), at, beats));
        }
        let is_up = list.iter().any(|i| i.is_proven);
        for (worker, at, beats) in proofs {
            let first = Party { worker: Some(worker), ..Party::default() };
            let owners = [first].into_iter().chain(self.tenure().map(Party::of)).collect();
            let basis = Basis::Beats(beats);
            self.prove_standing(Proof { kind: ContentionKind::Claim, at, owners, basis }, fx);
        }
        is_up
    }
}
