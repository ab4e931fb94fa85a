//! A lock with many holders: a semaphore, readers. Each holder has a tenure of its own, and goes through the same states as
//! the holder of an exclusive lock: for as long as one is looked at, its tenure and signals stand in the lock's own place.
//! What the lock has learned and counts is of all of them.

use super::beside::is_ahead;
use super::share::Share;
use super::{Lock, Phase, ReadContext};
use crate::derive::signals::Signals;
use crate::derive::tenure::{Seen, Tenure};
use crate::derive::wanted::Effects;
use crate::derive::workers::Workers;
use crate::observe::{Mono, Token};

/// Holders followed at most; more are counted.
pub(super) const MOST: usize = 64;

/// Up to so many holders, each expiry is read around as that of an exclusive lock is; that is two reads for each lease.
const ALIGNED: usize = 16;

/// All holders of a lock that several may hold; never empty.
#[derive(Clone, Debug, Default)]
pub struct Crowd {
    pub(super) members: Vec<Member>,
    /// Holders that are not followed: too many, or not known long enough.
    pub beyond: u64,
}

/// One holder: what of a lock's state is its own.
#[derive(Clone, Debug)]
pub struct Member {
    token: Token,
    phase: Phase,
    pub(super) signals: Signals,
    overdue_until: Option<Mono>,
    seen: Option<Seen>,
}

impl Member {
    /// Its tenure.
    pub(super) fn tenure(&self) -> Option<&Tenure> {
        match &self.phase {
            Phase::Held(tenure) => Some(tenure),
            _ => None,
        }
    }
}

impl Crowd {
    /// The tenures of those that are followed.
    pub(super) fn tenures_mut(&mut self) -> impl Iterator<Item = &mut Tenure> {
        self.members.iter_mut().filter_map(|m| match &mut m.phase {
            Phase::Held(tenure) => Some(&mut **tenure),
            _ => None,
        })
    }
}

/// What a read shows of one holder: its share, or `None` if that is still to be read beside the key.
pub(super) type Shown = (Token, Option<Share>);

impl Lock {
    /// Takes what a read shows of all holders. Who is not among them holds nothing any more.
    pub(super) fn read_crowd(
        &mut self,
        mut shown: Vec<Shown>,
        is_broken: bool,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        self.join_crowd(&shown, c, workers, fx);
        let was_free = match &self.phase {
            Phase::Free { since } => Some(*since),
            _ => None,
        };
        let first_wanted = fx.wanted.len();
        let mut crowd = self.take_crowd();
        for member in &mut crowd.members {
            let share = match shown.iter().position(|(token, _)| *token == member.token) {
                Some(i) => match shown.swap_remove(i).1 {
                    None => continue,
                    share => share,
                },
                None => None,
            };
            // It may be among those that were not read, until its expiry is past; then nobody knows how it went.
            let is_hidden = share.is_none()
                && self
                    .beside
                    .cut
                    .as_ref()
                    .is_some_and(|cut| member.tenure().is_some_and(|t| cut.hides(t)));
            if is_hidden && member.tenure().is_some_and(|t| is_ahead(t.expiry, c.seen.time)) {
                continue;
            }
            self.visit(member, share, is_broken || is_hidden, c, workers, fx);
        }
        self.dismiss(&mut crowd);
        // Some of those that were not followed may be among the new ones.
        self.beside.before = self.seen.filter(|_| crowd.beyond == 0 && !is_broken);
        crowd.beyond = 0;
        for (token, share) in shown {
            match share {
                Some(share) => self.admit(&mut crowd, token, share, c, workers, fx),
                // It stays nobody's until something else is told: it would be held for a moment in every cycle.
                None if self.beside.over.contains(&token) => {}
                None => crowd.beyond += 1,
            }
        }
        if let Some(cut) = &self.beside.cut {
            crowd.beyond = cut.beyond(crowd.members.len());
        }
        forget_repeated(fx, first_wanted);
        self.put_crowd(crowd, was_free, c, workers, fx);
    }

    /// Takes what was read beside the key of some holders, after the key itself: their shares, or that they have none. Who
    /// is not among them is as before. A lock is free while all that it names `were_over`, until one of these holds again.
    pub(super) fn read_members(
        &mut self,
        shown: Vec<Shown>,
        were_over: &[Token],
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let was_free = match &self.phase {
            Phase::Shared(_) => None,
            Phase::Free { since } => Some(*since),
            _ => return,
        };
        let is_back = |(t, share): &Shown| share.is_some() && were_over.contains(t);
        if was_free.is_some() && !shown.iter().any(is_back) {
            return;
        }
        let first_wanted = fx.wanted.len();
        let mut crowd = self.take_crowd();
        for (token, share) in shown {
            let known = crowd.members.iter_mut().find(|m| m.token == token);
            if let Some(member) = known {
                self.visit(member, share, false, c, workers, fx);
                continue;
            }
            crowd.beyond = crowd.beyond.saturating_sub(1);
            if let Some(share) = share {
                self.admit(&mut crowd, token, share, c, workers, fx);
            }
        }
        self.dismiss(&mut crowd);
        forget_repeated(fx, first_wanted);
        self.put_crowd(crowd, was_free, c, workers, fx);
    }

    /// Some formats tell only by a second holder that there may be several: the first one goes on among them. Else the key
    /// has become another kind of lock, and how its tenure ended cannot be told.
    fn join_crowd(
        &mut self,
        shown: &[Shown],
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let Phase::Held(tenure) = &self.phase else { return };
        let owner = tenure.owner.as_ref().map(|o| o.token.clone());
        let Some(token) = owner.filter(|t| shown.iter().any(|(token, _)| token == t)) else {
            self.change_owner(None, true, c, workers, fx);
            return;
        };
        let (signals, seen) = (self.signals.clone(), self.seen);
        let phase = std::mem::replace(&mut self.phase, Phase::Unseen);
        let first = Member { token, phase, signals, overdue_until: self.overdue_until, seen };
        self.phase = Phase::Shared(Box::new(Crowd { members: vec![first], beyond: 0 }));
    }

    /// The key shows an exclusive lock now: its holder may be one of those before.
    pub(super) fn leave_crowd(
        &mut self,
        share: Option<&Share>,
        is_broken: bool,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let Phase::Shared(crowd) = &mut self.phase else { return };
        let token = share.and_then(|s| s.owner()).map(|o| &o.token);
        let i = crowd.members.iter().position(|m| Some(&m.token) == token);
        let stays = i.map(|i| crowd.members.swap_remove(i));
        self.read_crowd(Vec::new(), is_broken || stays.is_none(), c, workers, fx);
        if let Some(member) = stays {
            self.phase = member.phase;
        }
    }

    fn admit(
        &mut self,
        crowd: &mut Crowd,
        token: Token,
        share: Share,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        if crowd.members.iter().any(|m| m.token == token) {
            return;
        }
        if crowd.members.len() >= MOST {
            crowd.beyond += 1;
            return;
        }
        self.is_aligned = crowd.members.len() < ALIGNED;
        let mut member = Member {
            token,
            phase: Phase::Unseen,
            signals: Signals::default(),
            overdue_until: None,
            seen: self.beside.before,
        };
        self.visit(&mut member, Some(share), false, c, workers, fx);
        crowd.members.push(member);
    }

    pub(super) fn take_crowd(&mut self) -> Crowd {
        self.raised = Some(Vec::new());
        let crowd = match std::mem::replace(&mut self.phase, Phase::Unseen) {
            Phase::Shared(crowd) => *crowd,
            _ => Crowd::default(),
        };
        self.is_aligned = crowd.members.len() <= ALIGNED;
        crowd
    }

    fn put_crowd(
        &mut self,
        crowd: Crowd,
        was_free: Option<Mono>,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        self.is_aligned = true;
        if crowd.members.is_empty() && crowd.beyond == 0 {
            self.raised = None;
            self.phase = Phase::Free { since: was_free.unwrap_or(c.seen.span.done) };
            self.judge_tenure(c, workers, fx);
        } else {
            self.phase = Phase::Shared(Box::new(crowd));
            self.merge(c.seen.span.done, fx);
        }
    }

    fn visit(
        &mut self,
        member: &mut Member,
        share: Option<Share>,
        is_broken: bool,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        self.stand_in(member);
        let is_broken = is_broken || (self.seen.is_some() && self.is_broken(c));
        self.follow(share, is_broken, c, workers, fx);
        self.seen = Some(c.seen);
        self.judge_tenure(c, workers, fx);
        self.stand_in(member);
    }

    /// The member's state takes the place of the lock's own, or gives it back.
    pub(super) fn stand_in(&mut self, member: &mut Member) {
        std::mem::swap(&mut self.phase, &mut member.phase);
        std::mem::swap(&mut self.signals, &mut member.signals);
        std::mem::swap(&mut self.overdue_until, &mut member.overdue_until);
        std::mem::swap(&mut self.seen, &mut member.seen);
    }

    /// Lets go those that hold nothing any more. That a renewal was missed is shown for its time all the same.
    fn dismiss(&mut self, crowd: &mut Crowd) {
        let overdue = &mut self.overdue_until;
        crowd.members.retain(|m| {
            let stays = m.tenure().is_some();
            if !stays {
                *overdue = (*overdue).max(m.overdue_until);
            }
            stays
        });
    }
}

/// Holders that share an expiry want the same reads.
fn forget_repeated(fx: &mut Effects, first: usize) {
    let mut own = fx.wanted.split_off(first.min(fx.wanted.len()));
    for wanted in own.drain(..) {
        if !fx.wanted.iter().skip(first).any(|w| *w == wanted) {
            fx.wanted.push(wanted);
        }
    }
}
