//! One read of a lock's key: what it means for who holds it, and the order in which that is judged.

use std::sync::Arc;

use super::share::{Share, is_shared};
use super::{Lock, Phase, ReadContext, Waiters};
use crate::derive::wanted::Effects;
use crate::derive::workers::Workers;
use crate::observe::lock::{Decoded, Shape, Unreadable};
use crate::observe::{Expiry, Found};

impl Lock {
    /// Takes one read of the key on its primary.
    pub fn read(
        &mut self,
        found: &Found,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        self.judge_shape(found, c, fx);
        self.look_for_owner(found);
        let unreadable = match found {
            Found::Unreadable(why) => Some(*why),
            Found::Present { value, .. } if is_beyond_us(value) => Some(Unreadable::Unexpected),
            _ => None,
        };
        if unreadable.is_some() {
            self.is_ownerless = matches!(found, Found::Present { .. });
            self.unreadable = unreadable;
            return;
        }
        let is_broken = self.is_broken(c);
        self.beside.cut = None;
        if is_broken || !matches!(found, Found::Present { .. }) {
            self.beside.doubted = None;
        }
        if is_broken {
            self.contested.former.clear();
        }
        self.unreadable = None;
        self.compare_replicas(found, c);
        self.count_waiters(found, c);
        match found {
            Found::Present { value, expiry } if self.is_lock_value(value) => {
                // One without an owner tells its format only if its lease is in it too.
                if !value.holders.is_empty() || value.expiry_inside.is_some() {
                    self.value = Some(value.clone());
                }
                self.read_value(value, *expiry, is_broken, c, workers, fx);
            }
            found => {
                // An owner's key that names no owner any more: somebody wrote something else.
                self.is_ownerless = matches!(found, Found::Present { .. });
                if matches!(self.phase, Phase::Shared(_)) {
                    self.read_crowd(Vec::new(), is_broken, c, workers, fx);
                } else {
                    self.follow(None, is_broken, c, workers, fx);
                }
            }
        }
        self.account_time(is_broken, c);
        self.seen = Some(c.seen);
        if !matches!(self.phase, Phase::Shared(_)) {
            self.judge_tenure(c, workers, fx);
        }
        self.judge_unheld(c, fx);
        self.judge_lapses(c, fx);
        self.judge_replicas(c, fx);
        self.judge_contested(c, workers, fx);
    }

    fn read_value(
        &mut self,
        value: &Arc<Decoded>,
        key: Expiry,
        is_broken: bool,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        if is_shared(value) {
            self.is_ownerless = false;
            self.settle_doubts(value, c, workers, fx);
            let mut shown = self.all_shares(value, key, c);
            self.as_told_before(&mut shown, value, key, c.seen.time);
            self.note_cut(value, &shown, c);
            self.read_crowd(shown, is_broken, c, workers, fx);
            return;
        }
        let share = self.only_share(value, key, c.seen.time);
        self.is_ownerless = value.holders.is_empty() && share.is_some();
        if matches!(self.phase, Phase::Shared(_)) {
            self.leave_crowd(share.as_ref(), is_broken, c, workers, fx);
        }
        self.follow(share, is_broken, c, workers, fx);
    }

    /// Judges what concerns one holder, or that there is none.
    pub(super) fn judge_tenure(
        &mut self,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        self.judge_lease(c, fx);
        self.judge_absurd(c, fx);
        self.judge_creep(c, fx);
        self.judge_expected(c, fx);
        self.judge_holder_at_read(c, workers, fx);
        self.judge_stall(c.clock.rtt(), c.stalls, workers, c.seen.span.done, fx);
    }

    /// Follows a holder from the read before to this one, in which it has `share`.
    pub(super) fn follow(
        &mut self,
        share: Option<Share>,
        is_broken: bool,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let is_same = |s: &Share| match &self.phase {
            Phase::Held(t) => t.is_owner(s.owner().map(|o| &**o)),
            _ => false,
        };
        match share {
            Some(share) if is_same(&share) => {
                self.attribute(&share, c, workers, fx);
                self.continue_tenure(share, is_broken, c, workers, fx);
            }
            share => self.change_owner(share, is_broken, c, workers, fx),
        }
    }

    /// A break lies between the last good read and this one: something failed, changed or came too late.
    pub(super) fn is_broken(&self, c: &ReadContext<'_>) -> bool {
        let Some(seen) = &self.seen else { return true };
        self.unreadable.is_some()
            || seen.marks.breaks != c.seen.marks.breaks
            || c.seen.span.sent.since(seen.span.done) > c.poll * 4
    }

    /// Whether a present value makes the lock held. Found by a pattern, a value that names no owner is a counter, a
    /// queue or a signal, not a lock; configured by its key, it is a lock whose holder is anonymous.
    pub(super) fn is_lock_value(&self, value: &Decoded) -> bool {
        let is_declared = self.rules.format.is_some() && value.expiry_inside.is_some();
        !value.holders.is_empty()
            || value.waiters.is_some()
            || (self.rules.by_key && is_plain(value))
            || is_declared
    }

    pub(super) fn account_time(&mut self, is_broken: bool, c: &ReadContext<'_>) {
        let Some(seen) = self.seen.filter(|_| !is_broken) else { return };
        let passed = c.seen.span.done.secs_since(seen.span.done);
        match &self.phase {
            Phase::Free { since } if *since <= seen.span.done => self.counts.free_seconds += passed,
            _ => {}
        }
        if self.waiters(c.seen.span.done, c.poll).is_some_and(|n| n > 0) {
            self.counts.waiting_seconds += passed;
        }
    }

    /// Remembers how many wait as far as the value itself shows; once it did, its absence shows that nobody does.
    fn count_waiters(&mut self, found: &Found, c: &ReadContext<'_>) {
        let shown = match found {
            Found::Present { value, .. } => value.waiters,
            _ => None,
        };
        let count = shown.or(self.waiters_inside.map(|_| 0));
        self.waiters_inside = count.map(|count| Waiters { count, span: c.seen.span });
    }
}

/// Whether somebody holds a list, another library's hash, a semaphore that only counts what is left, or a value that is
/// none of the declared format's cannot be told; that nobody does, neither.
fn is_beyond_us(value: &Decoded) -> bool {
    value.holders.is_empty()
        && value.waiters.is_none()
        && (value.misfit || !is_plain(value) || is_shared(value))
}

/// Whether a value without an owner can be the mark of a lock at all.
fn is_plain(value: &Decoded) -> bool {
    matches!(value.shape, Shape::Text | Shape::Binary | Shape::Number | Shape::Json | Shape::Empty)
}
