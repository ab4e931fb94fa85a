//! Whether a token comes back that was its owner's for one acquire only, after another owner had the lock: somebody who had
//! lost it wrote it again.
//!
//! Owners count from one break of the record to the next, and each only if two reads showed it: a client of several servers
//! tries again with the token of an attempt that failed, and such an attempt is gone within moments.

use std::collections::VecDeque;
use std::sync::Arc;

use super::proof::{Basis, Party, Proof};
use super::{Claim, Lock};
use crate::config::TokenKind;
use crate::derive::tenure::Tenure;
use crate::derive::wanted::Effects;
use crate::derive::words::ContentionKind;
use crate::observe::{Mono, Owner, Token};

/// Owners that are remembered.
const MOST: usize = 8;
/// Formats whose tokens are new with each acquire of a lock but for one case: a BullMQ worker goes on with one token from
/// job to job, and may get a job again that another one failed.
const KEPT: [&str; 1] = ["bullmq"];

/// An owner that had the lock.
#[derive(Clone, Debug)]
struct Had {
    party: Party,
    token: Token,
    /// Its lease would be over then.
    until: Option<Mono>,
    is_per_acquire: bool,
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
        if let Some(i) = self.owners.iter().position(|o| o.token == had.token) {
            self.owners.remove(i);
        }
        if self.owners.len() >= MOST {
            self.owners.pop_front();
        }
        self.owners.push_back(had);
    }

    /// The owner with this token, and the last one that had the lock after it and is not the same worker.
    fn returned(&self, token: &Token) -> Option<(&Had, &Had)> {
        let i = self.owners.iter().position(|o| o.token == *token && o.is_per_acquire)?;
        let first = self.owners.get(i)?;
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

    /// A tenure ended.
    pub(super) fn remember_owner(&mut self, tenure: &Tenure, claim: &Claim) {
        let Some(owner) = tenure.owner.as_ref().filter(|_| claim.is_seen_twice) else { return };
        let is_kept = KEPT.contains(&tenure.value.format);
        self.contested.former.push(Had {
            party: Party::of(tenure),
            token: owner.token.clone(),
            until: claim.until,
            is_per_acquire: self.kind_of(tenure) == TokenKind::PerAcquire && !is_kept,
        });
    }

    /// An owner was found that was not there in the read before.
    pub(super) fn look_for_return(
        &mut self,
        owner: &Owner,
        worker: Option<&Arc<str>>,
        at: Mono,
        fx: &mut Effects,
    ) {
        if !self.tells_returns() || self.raised.is_some() {
            return;
        }
        let Some((first, between)) = self.contested.former.returned(&owner.token) else { return };
        let mut owners = vec![first.party.clone(), between.party.clone()];
        if let Some(first) = owners.first_mut() {
            first.worker = worker.cloned().or(first.worker.take());
        }
        let until = between.until;
        let basis = Basis::Reads;
        let proof = Proof { kind: ContentionKind::TokenReturned, at, owners, basis };
        self.prove(proof, until, fx);
    }
}
