//! Whether a token comes back that was its owner's for one acquire only, after another owner had the lock: somebody who had
//! lost it wrote it again.
//!
//! Owners count from one break of the record to the next, and each only if two reads showed it: a client of several servers
//! tries again with the token of an attempt that failed, and such an attempt is gone within moments.
//!
//! A client that lost the answer to its acquire waits for the lock that it has, with the same token, and may get it once that
//! ran out and others had it. So a token that was never renewed and ran out proves nothing where it comes into a free lock.

use std::collections::VecDeque;
use std::sync::Arc;

use super::proof::{Basis, Party, Proof};
use super::{Claim, Lock};
use crate::config::TokenKind;
use crate::derive::tenure::Tenure;
use crate::derive::wanted::Effects;
use crate::derive::words::ContentionKind;
use crate::observe::{Expiry, Mono, Owner, ServerTime, Span, Token};

/// Owners that are remembered.
const MOST: usize = 8;
/// Formats whose tokens are new with each acquire of a lock but for one case: a BullMQ worker goes on with one token from
/// job to job, and may get a job again that another one failed.
const KEPT: [&str; 1] = ["bullmq"];

/// An owner that had the lock.
#[derive(Clone, Debug)]
struct Had {
    party: Party,
    /// End of the last read that showed it.
    last: Mono,
    /// Its lease would be over then.
    until: Option<Mono>,
    is_per_acquire: bool,
    /// Its lease ran out as it was granted: its owner may never have known of it.
    is_untouched: bool,
    /// The next read showed nobody.
    is_free_after: bool,
}

/// The owners since the last break, the newest last.
#[derive(Clone, Debug, Default)]
pub(super) struct Former {
    owners: VecDeque<Had>,
}

impl Former {
    /// What comes now does not follow on what was.
    pub(super) fn clear(&mut self) {
        self.owners.clear();
    }

    fn push(&mut self, had: Had) {
        if let Some(i) = self.owners.iter().position(|o| o.party.token == had.party.token) {
            self.owners.remove(i);
        }
        // Of tokens that are used again nothing has to be kept but who came after one that is not.
        if self.owners.is_empty() && !had.is_per_acquire {
            return;
        }
        if self.owners.len() >= MOST {
            self.owners.pop_front();
        }
        self.owners.push_back(had);
    }

    /// The owner with this token, and the last one that had the lock after it and is not the same worker.
    fn returned(&self, token: &Token) -> Option<(&Had, &Had)> {
        let is_it = |o: &Had| o.is_per_acquire && o.party.token.as_ref() == Some(token);
        let i = self.owners.iter().position(is_it)?;
        let first = self.owners.get(i)?;
        if first.is_untouched && self.owners.back().is_some_and(|o| o.is_free_after) {
            return None;
        }
        let worker = first.party.worker.as_ref();
        let is_other = |o: &&Had| worker.is_none() || o.party.worker.as_ref() != worker;
        let between = self.owners.iter().skip(i + 1).rfind(is_other)?;
        Some((first, between))
    }
}

impl Lock {
    /// Whether a token that comes back proves anything here.
    pub fn tells_returns(&self) -> bool {
        // A client of several servers that got too few of them in time tries again with the same token.
        self.is_exclusive()
            && self.servers.is_none()
            && self.is_per_acquire()
            && self.value.as_ref().is_some_and(|v| !KEPT.contains(&v.format))
    }

    /// A tenure ended: a read at `gone` on the server's clock shows another owner, or nobody.
    pub(super) fn remember_owner(
        &mut self,
        tenure: &Tenure,
        claim: &Claim,
        (gone, is_free_after): (ServerTime, bool),
    ) {
        if tenure.owner.is_none() || !claim.is_seen_twice {
            return;
        }
        let is_kept = KEPT.contains(&tenure.value.format);
        self.contested.former.push(Had {
            party: Party::of(tenure),
            last: tenure.last.span.done,
            until: claim.until,
            is_untouched: tenure.renewals == 0
                && matches!(tenure.expiry, Expiry::At(e) if gone >= e),
            is_free_after,
            is_per_acquire: self.kind_of(tenure) == TokenKind::PerAcquire && !is_kept,
        });
    }

    /// An owner was found that was not there in the read before.
    pub(super) fn look_for_return(
        &mut self,
        owner: &Owner,
        worker: Option<&Arc<str>>,
        read: Span,
        fx: &mut Effects,
    ) {
        if !self.tells_returns() || self.raised.is_some() {
            return;
        }
        let Some((first, between)) = self.contested.former.returned(&owner.token) else { return };
        // A read over another connection that was overtaken shows who had it before.
        if read.sent < between.last {
            return;
        }
        let mut owners = vec![first.party.clone(), between.party.clone()];
        if let Some(first) = owners.first_mut() {
            first.worker = worker.cloned().or(first.worker.take());
        }
        let until = between.until;
        let (at, basis) = (read.done, Basis::Reads);
        let proof = Proof { kind: ContentionKind::TokenReturned, at, owners, basis };
        self.prove(proof, until, fx);
    }
}
