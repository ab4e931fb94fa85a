//! Whether two owners may believe in the lock at once: two primaries grant it, or the server took it from one and
//! another got it before the first one's lease was over.
//!
//! What an owner does with the lock meanwhile is nothing that a store can show. What cannot be proven is not claimed. Proofs are
//! judged beside this, in `lost`, `rival`, `returned` and `insisted`, hints in `resumed`; here they are kept and shown.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::insisted::Insisting;
use super::lost::{Lost, is_back, over_at};
use super::proof::{Basis, Party, Proof};
use super::resumed::Standing;
use super::returned::Former;
use super::share::is_shared;
use super::{Lock, Phase, ReadContext, rival::Rival};
use crate::derive::ends::PendingEnd;
use crate::derive::fencing::Fall;
use crate::derive::sight::Sight;
use crate::derive::wanted::{Effects, Weight};
use crate::derive::words::{ContentionKind, Signal};
use crate::derive::workers::Workers;
use crate::observe::{Mono, Token};

/// An event is shown for this long at least.
const LEAST_SHOWN: Duration = Duration::from_secs(60);
/// Proofs and hints that are kept.
const MOST_PROOFS: usize = 8;

/// What is known of two owners at once.
#[derive(Clone, Debug, Default)]
pub struct Contested {
    pub(super) lost: Vec<Lost>,
    /// An event is shown until then.
    shown_until: Option<Mono>,
    /// Owners before the present one.
    pub(super) former: Former,
    /// Workers that go on claiming what another holds.
    pub(super) insisting: Vec<Insisting>,
    /// Holders whose lease ran out while they stood still.
    pub(super) standing: Vec<Standing>,
    /// The last proofs and hints, oldest first.
    pub proofs: VecDeque<Proof>,
    /// Events, in the order of `ContentionKind::ALL`.
    pub events: [u64; ContentionKind::ALL.len()],
}

impl Contested {
    /// One more event. By itself it raises nothing.
    pub(super) fn keep(&mut self, proof: Proof) {
        if let Some(n) = self.events.get_mut(proof.kind as usize) {
            *n += 1;
        }
        if self.proofs.len() >= MOST_PROOFS {
            // Hints may be many, and proofs are what counts.
            let oldest = self.proofs.iter().position(|p| !p.kind.is_proof()).unwrap_or(0);
            self.proofs.remove(oldest);
        }
        self.proofs.push_back(proof);
    }

    /// Whether reads of one owner settle nothing from now on.
    pub(super) fn is_silent(&self, now: Mono) -> bool {
        self.lost.is_empty()
            && self.insisting.is_empty()
            && self.standing.is_empty()
            && self.shown_until.is_none_or(|until| until <= now)
    }

    fn show_until(&mut self, at: Mono, until: Option<Mono>) {
        let least = at.plus(LEAST_SHOWN);
        let until = until.map_or(least, |u| u.max(least));
        self.shown_until = Some(self.shown_until.map_or(until, |u| u.max(until)));
    }

    /// Takes the owner that holds the lock in a read; gives those that lost it and may still believe in it.
    pub(super) fn held_by(&mut self, now: (&Token, Option<&Arc<str>>), at: Mono) -> Vec<Lost> {
        self.lost.retain(|l| at < l.until && !is_back((&l.token, l.worker.as_ref()), now));
        std::mem::take(&mut self.lost)
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

    /// An event was proven; it is shown for a while.
    pub(super) fn prove(&mut self, proof: Proof, until: Option<Mono>, fx: &mut Effects) {
        self.contested.show_until(proof.at, until);
        self.prove_standing(proof, fx);
    }

    /// The same of what is shown as long as it lasts, and of hints.
    pub(super) fn prove_standing(&mut self, proof: Proof, fx: &mut Effects) {
        let detail = format!("{}: {}", proof.kind.as_str(), proof.in_words());
        self.note(proof.at, "contention", &detail, Weight::Change, fx);
        self.contested.keep(proof);
    }

    /// A resource accepts an older token than before, and nothing else explains that.
    pub(in crate::derive) fn token_fell(
        &mut self,
        resource: &Arc<str>,
        fall: Fall,
        fx: &mut Effects,
    ) {
        if !self.is_exclusive() {
            return;
        }
        let until = self.tenure().map(|t| over_at(t, fall.at));
        let owners = self.tenure().map(Party::of).into_iter().collect();
        let basis = Basis::Token { resource: resource.clone(), from: fall.from, to: fall.to };
        let kind = ContentionKind::Fencing;
        self.prove(Proof { kind, at: fall.at, owners, basis }, until, fx);
        // The signal rises with it.
        self.want_read(Mono(0), fx);
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

    pub(super) fn judge_contested(
        &mut self,
        c: &ReadContext<'_>,
        workers: &Workers,
        fx: &mut Effects,
    ) {
        let now = c.seen.span.done;
        self.judge_rivals(c, fx);
        self.judge_lost(now, fx);
        let insists = self.judge_insisting(c, fx);
        self.judge_resumed(c, workers, fx);
        let is_rivalled = self.rivals.iter().any(|r| r.is_shown(now, c.poll));
        let is_event = self.contested.shown_until.is_some_and(|until| now < until);
        let value = self.is_exclusive().then_some(is_rivalled || insists || is_event);
        let detail = value.filter(|up| *up).and_then(|_| {
            let last = self.contested.proofs.iter().rev().find(|p| p.kind.is_proof());
            last.map(Proof::in_words)
        });
        let detail = || detail.unwrap_or_default();
        self.signal(Signal::Contested, value, now, detail, fx);
    }

    fn judge_rivals(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let Some(sight) = &self.sights[0] else { return };
        let settled = self.rivals.iter_mut().filter_map(|r| {
            r.settle(sight, c.poll, &self.let_go).then(|| (r.addr.clone(), r.shows.clone()))
        });
        for (addr, shows) in settled.collect::<Vec<_>>() {
            let (token, expiry) = shows.map_or((None, None), |(t, e)| (t, Some(e)));
            let there = Party { token, expiry, node: Some(addr), ..Party::default() };
            let here = self.tenure().map(Party::of).unwrap_or_default();
            let owners = vec![Party { node: Some(c.addr.clone()), ..here }, there];
            let kind = ContentionKind::Primaries;
            let proof = Proof { kind, at: c.seen.span.done, owners, basis: Basis::Reads };
            self.prove_standing(proof, fx);
        }
    }
}
