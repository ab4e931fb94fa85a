//! Where tenures begin and end, and how an end is settled.

use std::collections::VecDeque;

use super::crowd::MOST;
use super::named::UNATTRIBUTED;
use super::recent::Act;
use super::share::Share;
use super::write::learn_largest;
use super::{Claim, Creep, Growth, Lock, Phase, ReadContext, Told, expired_under_index};
use crate::derive::ends::{After, PendingEnd};
use crate::derive::tenure::{Seen, Tenure, Write};
use crate::derive::wanted::{Effects, Weight};
use crate::derive::words::{Evidence, Liveness, Signal};
use crate::derive::workers::{Seat, Workers};
use crate::observe::lock::Mode;
use crate::observe::{Expiry, Mono, ServerTime};

/// Ends that may wait at once; more than one or two means that the node gives no facts.
const MOST_PENDING: usize = 8;

impl Lock {
    /// The owner seen before is not there (any more), and `next`, if any, is.
    pub(super) fn change_owner(
        &mut self,
        next: Option<Share>,
        is_broken: bool,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        match std::mem::replace(&mut self.phase, Phase::Unseen) {
            Phase::Held(tenure) => {
                let judged = self.judged(&tenure, workers, c.seen.span.done);
                let liveness = (judged.liveness, judged.lost_since());
                self.end_tenure(*tenure, next.as_ref(), is_broken, liveness, c, workers, fx);
            }
            Phase::Free { since } if next.is_none() => {
                self.phase = Phase::Free { since };
                return;
            }
            _ => {}
        }
        match next {
            None => self.phase = Phase::Free { since: c.seen.span.done },
            Some(next) => self.begin_tenure(next, is_broken, c, workers, fx),
        }
    }

    fn begin_tenure(
        &mut self,
        next: Share,
        is_broken: bool,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let (count, expiry, owner) = (next.count(), next.expiry, next.owner().cloned());
        let after = self.seen.filter(|_| !is_broken);
        // Held at our first look: it was acquired before we came.
        let is_seen_begin =
            self.seen.is_some() || (self.has_appeared && self.rules.group.is_some());
        if is_seen_begin {
            self.counts.acquisitions += 1;
        }
        if let Some(o) = &owner {
            for p in &mut self.pending {
                let is_early = match p.expiry {
                    Expiry::At(e) => c.seen.time < e,
                    Expiry::Never => true,
                };
                p.has_returned |=
                    is_early && p.is_absent && p.token.as_ref() == Some(&o.token) && !is_broken;
            }
        }
        // A permit that somebody takes need not be the one that ran out.
        let since = c.seen.span.done.minus(c.poll * 2 + c.poll / 4);
        if let Some(last) = self.pending.last_mut().filter(|p| !p.is_shared) {
            last.is_retaken |= last.gone.span.done >= since;
        } else if self.raised.is_none() {
            self.lapses.taken(since);
        }
        let seat = owner.as_ref().map_or_else(Seat::default, |o| {
            let name = self.name_of(o, c);
            workers.attach(o, name, (self.store, self.key), c.seen.span.done, fx)
        });
        self.was_named |= seat.worker.is_some();
        if let Some(o) = &owner {
            self.succeeded_by(o, seat.named.as_ref(), expiry, c.seen.span.done);
            if !is_broken {
                self.look_for_return(o, seat.named.as_ref(), c.seen.span, fx);
            }
        }
        let mut tenure = Tenure {
            owner,
            seat,
            mode: next.holding.as_ref().map_or(Mode::Exclusive, |h| h.mode),
            taken_at: next.holding.as_ref().and_then(|h| h.taken_at),
            value: next.value,
            count,
            is_own: next.is_own,
            first: c.seen,
            begun_after: after.map(|s| s.time),
            is_revived: after.is_some_and(|s| s.marks.steps != c.seen.marks.steps),
            // The newest of these is this read.
            acquired_after: self.sights[1]
                .as_ref()
                .filter(|_| after.is_some())
                .and_then(|s| s.offset),
            last: c.seen,
            expiry,
            write: Write {
                after: after.map(|s| (s.span.done, s.time)),
                shown: c.seen,
                marks: after.unwrap_or(c.seen).marks,
                expiry,
            },
            renewals: 0,
            largest: None,
            shortened: false,
            endless_since: (expiry == Expiry::Never).then_some(c.seen.span.done),
            overdue: None,
            recent: VecDeque::new(),
            replaced: None,
            is_stale: false,
            renewed_after_process: false,
            renewed_after_beat: false,
            process_looked: None,
            beat_looked: None,
            aligned: None,
            due_asked: None,
            growth: Growth::default(),
            creep: Creep::default(),
        };
        if next.is_own && after.is_some_and(|s| s.marks.steps == c.seen.marks.steps) {
            learn_largest(&mut tenure, c.seen);
        }
        let who = tenure.seat.worker.clone().unwrap_or_else(|| UNATTRIBUTED.into());
        self.phase = Phase::Held(Box::new(tenure));
        self.mark(Act::Held, expiry, c.seen);
        let what = if is_seen_begin { "acquired" } else { "found_held" };
        self.note(c.seen.span.done, what, &format!("by {who}"), Weight::Routine, fx);
    }

    #[allow(clippy::too_many_arguments)]
    fn end_tenure(
        &mut self,
        tenure: Tenure,
        next: Option<&Share>,
        is_broken: bool,
        liveness: (Liveness, Option<Mono>),
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let lease = self.leases.length(&self.rules, Some(&tenure)).map(|(l, _)| l);
        let held = midpoint(tenure.last, c.seen).secs_since(tenure.first.span.done).max(0.0);
        let kind = self.kind_of(&tenure);
        if let Some(p) = self.habit.first_period()
            && tenure.is_own
            && held > p
            && !is_broken
        {
            self.habit.learn_tenure(tenure.renewals > 0);
        }
        self.leases.learn(tenure.largest);
        self.overrun = match liveness {
            (Liveness::Dead, Some(lost)) => {
                Some(midpoint(tenure.last, c.seen).secs_since(lost).max(0.0))
            }
            _ => None,
        };
        workers.release(&tenure.seat, (self.store, self.key), c.seen.span.done);
        let successor_at = next.and_then(|s| match (s.expiry, lease) {
            (Expiry::At(e), Some(l)) => Some(e.plus_micros(-l)),
            _ => None,
        });
        // Of many holders each may end at once.
        let most = MOST_PENDING + self.raised.as_ref().map_or(0, |_| MOST);
        if self.pending.len() >= most {
            self.pending.remove(0);
            self.counts.ends[Evidence::Unknown as usize] += 1;
        }
        self.mark(Act::Ended, tenure.expiry, c.seen);
        self.pass(&tenure, c.seen);
        let is_cut = tenure.write.marks.stepped_micros < c.seen.marks.stepped_micros;
        let claim = Claim::of(&tenure, lease, is_cut, &c.seen);
        if !is_broken && self.raised.is_none() {
            self.remember_owner(&tenure, &claim, (c.seen.time, next.is_none()));
        }
        self.pending.push(PendingEnd {
            losses: self.servers.as_mut().map(|s| s.take_ended()),
            claim,
            token: tenure.owner.as_ref().map(|o| o.token.clone()),
            kind,
            worker: tenure.seat.worker.clone().unwrap_or_else(|| "".into()),
            last: tenure.last,
            gone: c.seen,
            is_absent: next.is_none() && !self.is_ownerless,
            is_broken,
            expiry: tenure.expiry,
            successor_at,
            shortened: tenure.shortened,
            ends_by_expiry: self.rules.ends_by_expiry.unwrap_or(tenure.value.ends_by_expiry),
            liveness: liveness.0,
            held,
            is_cut,
            is_revived: tenure.is_revived,
            largest: tenure.largest,
            is_shared: self.raised.is_some(),
            has_returned: false,
            is_retaken: false,
            is_succeeded: next.is_some_and(|s| s.owner().is_some()),
            told: Told::Nothing,
        });
        self.clear_tenure_signals(c.seen.span.done, fx);
    }

    fn clear_tenure_signals(&mut self, at: Mono, fx: &mut Effects) {
        for s in [
            Signal::RenewalAfterLostLiveness,
            Signal::HolderStale,
            Signal::LeaseWithoutTtl,
            Signal::HeldTooLong,
        ] {
            self.signal(s, Some(false), at, String::new, fx);
        }
    }

    /// Settles the ends that facts read at `facts_sent` or later can settle; returns each with its evidence.
    pub fn settle_ends(
        &mut self,
        facts_sent: Mono,
        after: After<'_>,
        now: Option<ServerTime>,
        told: impl Fn(&Self, &PendingEnd) -> Told,
        fx: &mut Effects,
    ) -> Vec<(Evidence, PendingEnd)> {
        let mut settled = Vec::new();
        for mut p in std::mem::take(&mut self.pending) {
            p.told = told(self, &p);
            let evidence = if facts_sent < p.gone.span.done { None } else { p.settle(after, now) };
            match evidence {
                None => self.pending.push(p),
                Some(e) => {
                    self.note_lost(&p, e, after, fx);
                    self.note_standing(&p, e);
                    self.settled(&p, e, fx);
                    settled.push((e, p));
                }
            }
        }
        settled
    }

    fn settled(&mut self, end: &PendingEnd, evidence: Evidence, fx: &mut Effects) {
        self.counts.ends[evidence as usize] += 1;
        self.previous = Some((end.worker.clone(), evidence));
        self.passed(end, evidence);
        let own_end = matches!(evidence, Evidence::Released | Evidence::Unknown);
        if end.tells_hold(evidence) {
            self.holds.learn(end.held, own_end && !end.is_broken, end.gone.span.done);
        }
        let ran_out = matches!(evidence, Evidence::Lapsed | Evidence::ClockStep);
        let slot = expired_under_index(end.liveness)
            .and_then(|i| self.counts.expired_under.get_mut(i))
            .filter(|_| ran_out && !end.shortened && !end.ends_by_expiry);
        let is_lapse = evidence == Evidence::Lapsed;
        self.lapses.ended(end.gone.span.done, is_lapse, end.is_retaken || slot.is_some());
        if let Some(slot) = slot {
            *slot += 1;
            let detail =
                format!("the lease ran out under a holder that is {}", end.liveness.as_str());
            self.note(end.gone.span.done, "expired_under_holder", &detail, Weight::Alarm, fx);
            if self.rules.group.is_some() {
                // No signal says so, and the key is gone: this is all that is left of it.
                self.look(0, end.gone.span.done, fx);
            }
        } else {
            let weight =
                if matches!(evidence, Evidence::Released | Evidence::Lapsed | Evidence::Unknown) {
                    Weight::Routine
                } else {
                    Weight::Change
                };
            let of = if end.worker.is_empty() { "its holder" } else { &end.worker };
            let detail = format!("tenure of {of} ended: {}", evidence.as_str());
            self.note(end.gone.span.done, "ended", &detail, weight, fx);
        }
    }
}

/// The instant between two reads on our clock.
fn midpoint(a: Seen, b: Seen) -> Mono {
    Mono(a.span.done.0 / 2 + b.span.done.0 / 2)
}
