//! Reads that show what the one before showed, of a lock at which nothing goes on: all that such a read changes is when the lock
//! was last seen. Of most locks nearly all reads are so, and judging each costs far more than to know it.
//!
//! What is known holds until something that time brings is due (a renewal that is overdue, the end of a lease, of a hold, of a
//! window), and while nothing else that a judgement rests on is another. Where that is not sure, the read is judged: this may
//! never say of a read that it changes nothing if judging it would change anything. A test holds the two against each other.

use std::sync::Arc;
use std::time::Duration;

use super::absurd::is_far;
use super::creep::window;
use super::probe::is_next;
use super::unreplicated::Unreplicated;
use super::{Beside, Lock, Phase, ReadContext};
use crate::derive::pool::Pool;
use crate::derive::tenure::Tenure;
use crate::derive::words::Signal;
use crate::derive::workers::Workers;
use crate::observe::lock::{Decoded, Sharing};
use crate::observe::{Expiry, Found, Mono, ServerTime};

/// Slack for instants that are compared as seconds elsewhere.
const ROUNDING: Duration = Duration::from_millis(1);

/// What is known of the next reads of a lock.
#[derive(Clone, Debug)]
pub(super) struct Still {
    /// What they show: a value with the key's expiry, or nothing.
    shows: Option<(Arc<Decoded>, Expiry)>,
    /// From then on something may be due.
    until: Mono,
    /// The same on the server's clock.
    until_time: ServerTime,
    /// Time between two polls that this holds for.
    poll: Duration,
    /// The limit of a hold is learned from all locks of the pattern.
    has_pooled_limit: bool,
    /// The usual length of a lease is.
    has_pooled_lease: bool,
    /// The window in which the least hold count is looked for.
    window: Option<Duration>,
}

/// What all locks of a pattern taught, as of a read. Costs more to find out than all else here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Learned {
    /// The longest that a hold may last.
    limit: Option<f64>,
    /// The median of leases in seconds, and of how many.
    lease: Option<(f64, usize)>,
}

impl Learned {
    /// As of now.
    pub fn of(pool: Option<&Pool>, now: Mono) -> Self {
        Self {
            limit: pool.and_then(|p| p.holds.limit(now)),
            lease: pool.and_then(|p| p.leases.median_seconds()),
        }
    }
}

impl Learned {
    /// The longest that a hold may last.
    pub(in crate::derive) fn limit(&self, poll: Duration) -> Option<f64> {
        self.limit.map(|limit| Lock::least_limit(limit, poll))
    }

    /// The median of leases in seconds, and of how many.
    pub(in crate::derive) fn lease(&self) -> Option<(f64, usize)> {
        self.lease
    }
}

impl Still {
    /// See [`super::Kept::due`].
    pub(super) fn due(&self, lock: &Lock) -> Option<(Mono, [bool; 2])> {
        let window = match self.window {
            Some(window) => lock.tenure()?.creep.begun()?.plus(window),
            None => Mono(u64::MAX),
        };
        Some((self.until.min(window), [self.has_pooled_limit, self.has_pooled_lease]))
    }

    /// What a read that was judged says of the next ones; `None` if they have to be judged as well.
    pub(super) fn after(lock: &Lock, found: &Found, c: &ReadContext<'_>) -> Option<Self> {
        let now = c.seen.span.done;
        let is_plain = lock.seen == Some(c.seen)
            && lock.spread.is_none()
            && lock.servers.is_none()
            && lock.replicas.is_empty()
            && lock.rivals.is_empty()
            && lock.pending.is_empty()
            && lock.refreshed.is_empty()
            && lock.waiters_inside.is_none()
            && !lock.finds_no_owner
            && !lock.rules.always_held
            && lock.rules.listed_in.is_none()
            && lock.unreadable.is_none()
            && lock.raised.is_none()
            && lock.overdue_until.is_none_or(|until| until <= now)
            && !lock.holds.tells_limit()
            && lock.shapes.is_settled(found)
            && lock.beside.is_silent()
            && lock.contested.is_silent(now)
            && lock.signals.none_is_up()
            && is_same_twice(lock, c);
        if !is_plain {
            return None;
        }
        let still = Self {
            shows: None,
            until: Mono(u64::MAX),
            until_time: ServerTime(i64::MAX),
            poll: c.poll,
            has_pooled_limit: lock.rules.max_hold.is_none()
                && lock.rules.pooled
                && lock.is_per_acquire(),
            has_pooled_lease: false,
            window: None,
        };
        match (&lock.phase, found) {
            (Phase::Free { since }, Found::Absent) if *since < now => Some(still),
            (Phase::Held(tenure), Found::Present { value, expiry: Expiry::At(e) }) => {
                is_plain_tenure(tenure, value, c).then_some(())?;
                still.held(lock, tenure, (value, *e), c)
            }
            _ => None,
        }
    }

    fn held(
        self,
        lock: &Lock,
        tenure: &Tenure,
        (value, e): (&Arc<Decoded>, ServerTime),
        c: &ReadContext<'_>,
    ) -> Option<Self> {
        let mut until = self.until;
        if let Some(due) = lock.overdue_at(tenure, c) {
            // Before that a read around it is asked for.
            until = until.min(due.minus(c.poll.mul_f64(1.2) + ROUNDING));
        }
        if let Some(longest) = lock.rules.max_hold {
            until = until.min(tenure.first.span.done.plus(longest).minus(ROUNDING));
        }
        let is_aligned = tenure.aligned == Some((e, c.seen.marks.steps));
        let before = if is_aligned { 0 } else { Lock::soon(c.poll) };
        let until_time = e.plus_micros(before.saturating_add(1).saturating_neg());
        let lease = lock.lease().map(|(l, _)| Duration::from_micros(l.max(0).unsigned_abs()));
        let window = lease.map(|lease| window(lease, c.poll));
        Some(Self {
            shows: Some((value.clone(), Expiry::At(e))),
            until,
            until_time,
            has_pooled_lease: lock.rules.lease.is_none()
                && lock.rules.pooled
                && lock.leases.is_empty(),
            window,
            ..self
        })
    }

    /// Whether a read changes nothing but when the lock was last seen.
    pub(super) fn stays(
        &self,
        lock: &Lock,
        found: &Found,
        c: &ReadContext<'_>,
        workers: &Workers,
        learned: Learned,
    ) -> bool {
        let Some(seen) = &lock.seen else { return false };
        let span = c.seen.span;
        let is_same = match (found, &self.shows) {
            (Found::Absent, None) => true,
            (Found::Present { value, expiry }, Some((known, e))) => {
                Arc::ptr_eq(value, known) && expiry == e
            }
            _ => false,
        };
        is_same
            && is_next(seen, &c.seen, c.poll)
            && c.poll == self.poll
            && span.done < self.until
            && c.seen.time < self.until_time
            && c.owners.is_empty()
            && workers.lists.is_empty()
            && self.holds_by_pool(lock, c, learned)
            && self.window.is_none_or(|window| lock.creep_goes_on(span.done, window))
    }

    /// Whether what the pool teaches leaves the verdicts as they are.
    fn holds_by_pool(&self, lock: &Lock, c: &ReadContext<'_>, learned: Learned) -> bool {
        let tenure = lock.tenure();
        let limit = learned.limit(c.poll);
        let is_within = !self.has_pooled_limit
            || (lock.signals.get(Signal::HeldTooLong) == limit.map(|_| false)
                && limit.zip(tenure).is_none_or(|(limit, t)| {
                    c.seen.span.sent.secs_since(t.first.span.done) <= limit
                }));
        let is_usual = !self.has_pooled_lease
            || tenure.is_none_or(|t| match t.expiry {
                Expiry::At(e) => !is_far(e.secs_since(c.seen.time), None, learned.lease),
                Expiry::Never => true,
            });
        is_within && is_usual
    }
}

/// The last two reads showed the same, and the second one was this.
fn is_same_twice(lock: &Lock, c: &ReadContext<'_>) -> bool {
    let [Some(last), Some(before)] = &lock.sights else { return false };
    last.span == c.seen.span && last.held == before.held
}

/// A tenure of a lock that one may hold, of whom no source tells anything.
fn is_plain_tenure(tenure: &Tenure, value: &Arc<Decoded>, c: &ReadContext<'_>) -> bool {
    let is_plain_value = value.sharing == Sharing::Exclusive
        && value.companions.is_empty()
        && value.expiry_inside.is_none()
        && matches!(value.holders.as_slice(), [only] if only.until.is_none() && only.refreshed_ms.is_none());
    is_plain_value
        && Arc::ptr_eq(&tenure.value, value)
        && tenure.last == c.seen
        && tenure.first.span.done < c.seen.span.done
        && tenure.seat.named.is_none()
        && tenure.seat.worker.is_none()
        && tenure.is_own
        && tenure.overdue.is_none()
        && tenure.endless_since.is_none()
        && tenure.replaced.is_none()
        && !tenure.is_stale
        && !tenure.renewed_after_process
        && !tenure.renewed_after_beat
}

impl Beside {
    /// Whether nothing of it changes or is told when the key is read again.
    fn is_silent(&self) -> bool {
        self.waiters.is_none()
            && self.wanted.is_none()
            && self.worker.is_none()
            && self.asked.is_none()
            && self.awaited.is_none()
            && self.told.is_none()
            && self.doubted.is_none()
            && self.before.is_none()
            && self.cut.is_none()
    }
}

impl Lock {
    /// Takes a read that changes nothing else, as judging it would.
    pub(super) fn seen_again(&mut self, c: &ReadContext<'_>) {
        let (seen, now) = (c.seen, c.seen.span.done);
        if let [Some(last), Some(before)] = &mut self.sights {
            self.unreplicated = match last.held {
                Some(_) => Unreplicated::again(self.unreplicated, c.offset, now, c.replicated),
                None => None,
            };
            // Both hold the same, so that only when they did moves on.
            (before.span, before.time, before.offset) = (last.span, last.time, last.offset);
            (last.span, last.time, last.offset) = (seen.span, seen.time, c.offset);
        }
        self.account_time(false, c);
        self.seen = Some(seen);
        if let Phase::Held(tenure) = &mut self.phase {
            self.shapes.last = Some(now);
            tenure.last = seen;
            tenure.creep.goes_on(now);
        }
    }
}
