//! Verdicts that rest on the lock's own reads: overdue renewal, missing expiry, held too long, replicas.

use std::time::Duration;

use super::share::is_shared;
use super::{Lock, Phase, ReadContext, Unreplicated};
use crate::config::TokenKind;
use crate::derive::replica::{Compared, Replica};
use crate::derive::sight::Sight;
use crate::derive::tenure::{Overdue, Tenure};
use crate::derive::wanted::Effects;
use crate::derive::words::{DivergenceKind, LeaseSource, Signal};
use crate::observe::lock::Endless;
use crate::observe::{Expiry, Found, Mono, Token};

/// A missed renewal is shown at least this long.
const OVERDUE_SHOWN: Duration = Duration::from_secs(60);
/// Two reads without an expiry have to be this far apart: SETNX and EXPIRE are two commands.
const ENDLESS: Duration = Duration::from_secs(1);
/// Reads around an expiry, relative to it.
const BEFORE_EXPIRY_MICROS: i64 = -20_000;
const AFTER_EXPIRY_MICROS: i64 = 21_000;
/// The least learned limit for a hold.
const LEAST_HOLD_LIMIT: f64 = 10.0;

impl Lock {
    pub(super) fn judge_lease(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        self.judge_overdue(c, fx);
        self.judge_endless(c, fx);
        self.judge_hold(c, fx);
        self.align_reads(c, fx);
    }

    /// Seconds after the last write of a tenure from which its renewal is overdue; `None` where that cannot be judged.
    pub fn overdue_after(&self, tenure: &Tenure, poll: Duration) -> Option<f64> {
        let lease = self.lease_seconds(Some(tenure))?;
        if tenure.shortened
            || !tenure.is_own
            || tenure.expiry == Expiry::Never
            || self.rules.renewed == Some(false)
            || lease < 2.0 * poll.as_secs_f64()
        {
            return None;
        }
        let by_format = tenure.value.always_renews.map(|share| share * lease);
        let learned = self.period_ahead(Some(tenure));
        let period = learned.or(by_format).filter(|p| *p < lease)?;
        let is_habit = tenure.renewals > 0
            || by_format.is_some()
            || self.rules.renewed == Some(true)
            || (self.kind_of(tenure) == TokenKind::PerAcquire && self.habit.renews());
        is_habit.then_some(period + (lease - period) / 2.0)
    }

    fn judge_overdue(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let now = c.seen.span.done;
        let threshold = self.tenure().and_then(|t| self.overdue_after(t, c.poll));
        let lease = self.lease().filter(|_| threshold.is_some());
        let mut missed = None;
        if let (Some(threshold), Phase::Held(tenure)) = (threshold, &mut self.phase) {
            let written = written_at(tenure, lease, c);
            let due = written.plus(Duration::from_secs_f64(threshold));
            // The read must have begun after the instant: a reply may be older than its arrival.
            if tenure.overdue.is_none() && c.seen.span.sent > due {
                tenure.overdue = Some(Overdue { since: now });
                missed = Some(c.seen.span.sent.secs_since(written));
            } else if tenure.overdue.is_none()
                && due < now.plus(c.poll.mul_f64(1.2))
                && tenure.due_asked.is_none_or(|asked| !is_close(asked, due))
            {
                tenure.due_asked = Some(due);
                self.want_read(due.plus(Duration::from_millis(2)), fx);
            }
        }
        if missed.is_some() {
            self.overdue_until = Some(now.plus(OVERDUE_SHOWN));
        }
        let is_up = self.tenure().is_some_and(|t| t.overdue.is_some())
            || self.overdue_until.is_some_and(|until| now < until);
        let value = match &self.phase {
            _ if is_up => Some(true),
            Phase::Held(t) if t.shortened => Some(false),
            Phase::Held(_) => threshold.map(|_| false),
            _ => Some(false),
        };
        let detail = || format!("no renewal for {:.1} s", missed.unwrap_or_default());
        self.signal(Signal::RenewalOverdue, value, now, detail, fx);
    }

    /// When the renewal of a tenure is overdue, where that can be judged.
    pub(super) fn overdue_at(&self, tenure: &Tenure, c: &ReadContext<'_>) -> Option<Mono> {
        let threshold = self.overdue_after(tenure, c.poll)?;
        Some(written_at(tenure, self.lease(), c).plus(Duration::from_secs_f64(threshold)))
    }

    /// Where the library itself takes locks without expiry, only one that is held for too long tells.
    fn judge_endless(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let now = c.seen.span;
        let value = self.tenure().and_then(|t| Some((t, t.endless_since?))).map(|(t, since)| {
            let is_seen = now.sent.since(since) >= ENDLESS;
            match t.value.endless {
                Endless::Abnormal => Some(is_seen),
                Endless::Usual => self
                    .hold_limit(c)
                    .map(|limit| is_seen && now.sent.secs_since(t.first.span.done) > limit),
                Endless::Carried => Some(false),
            }
        });
        let detail = || "the key has no expiry: it stays if its holder dies".to_owned();
        self.signal(Signal::LeaseWithoutTtl, value.unwrap_or(Some(false)), now.done, detail, fx);
    }

    fn judge_hold(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let limit = self.hold_limit(c);
        let held = self.tenure().map(|t| c.seen.span.sent.secs_since(t.first.span.done));
        let value = match (held, limit) {
            (_, None) => None,
            (None, Some(_)) => Some(false),
            (Some(held), Some(limit)) => Some(held > limit),
        };
        let detail = || {
            let (held, limit) = (held.unwrap_or_default(), limit.unwrap_or_default());
            format!("held for {held:.0} s, the limit is {limit:.0} s")
        };
        self.signal(Signal::HeldTooLong, value, c.seen.span.done, detail, fx);
    }

    /// Configured, else learned from the lock's own holds, else from its pattern's.
    fn hold_limit(&self, c: &ReadContext<'_>) -> Option<f64> {
        if let Some(max) = self.rules.max_hold {
            return Some(max.as_secs_f64());
        }
        // A reusable token hides hand-overs, so that its holds look longer than they are.
        if self.rules.always_held || !self.is_per_acquire() {
            return None;
        }
        let now = c.seen.span.done;
        // A catch-all pattern throws locks of all kinds together: only an entry that says what its names are made of
        // (by a capture) is taken to have locks of one kind.
        let pool = c.pool.filter(|_| self.rules.pooled);
        let learned = self.holds.limit(now).or_else(|| pool?.holds.limit(now))?;
        Some(Self::least_limit(learned, c.poll))
    }

    /// A learned limit for a hold, if it is not too short to be one.
    pub(super) fn least_limit(learned: f64, poll: Duration) -> f64 {
        learned.max(LEAST_HOLD_LIMIT).max(5.0 * poll.as_secs_f64())
    }

    /// Microseconds before the end of a lease in which reads around it are asked for.
    pub(in crate::derive) fn soon(poll: Duration) -> i64 {
        let soon = i64::try_from(poll.as_micros()).unwrap_or(i64::MAX).saturating_mul(3) / 2;
        soon.max(100_000)
    }

    /// Asks for a read just before E and one just after, so that a lapse can be told from a release.
    fn align_reads(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let Phase::Held(tenure) = &mut self.phase else { return };
        let Expiry::At(e) = tenure.expiry else { return };
        let remaining = e.micros_since(c.seen.time);
        let aligned = Some((e, c.seen.marks.steps));
        if !self.is_aligned || remaining > Self::soon(c.poll) || tenure.aligned == aligned {
            return;
        }
        tenure.aligned = aligned;
        for offset in [BEFORE_EXPIRY_MICROS, AFTER_EXPIRY_MICROS] {
            if remaining + offset > 0
                && let Some(at) = c.clock.send_at(e.plus_micros(offset))
            {
                self.want_read(at, fx);
            }
        }
    }

    /// Holds the primary's read against what replicas showed since the last one.
    pub(super) fn compare_replicas(&mut self, found: &Found, c: &ReadContext<'_>) {
        let is_broken = self.is_broken(c);
        let sight =
            Sight { span: c.seen.span, time: c.seen.time, offset: c.offset, held: held_of(found) };
        let is_anew = self.seen.is_none_or(|s| s.marks.failovers != c.seen.marks.failovers);
        let before = self.sights[0].as_ref();
        self.unreplicated =
            Unreplicated::follow(self.unreplicated, before, &sight, c.replicated, is_anew);
        if is_broken {
            self.sights = [None, None];
            self.replicas.iter_mut().for_each(Replica::forget_pending);
            self.rivals.iter_mut().for_each(super::rival::Rival::forget_pending);
        }
        self.replicas.iter_mut().for_each(|r| r.settle(&sight));
        self.sights.rotate_right(1);
        self.sights[0] = Some(sight);
    }

    /// Takes a replica's read; `is_relative` if its expiries are not the primary's instants. Returns how a comparison ended,
    /// if one did.
    pub fn read_replica(
        &mut self,
        addr: &std::sync::Arc<str>,
        sight: Sight,
        is_relative: bool,
    ) -> Option<Compared> {
        let i = match self.replicas.iter().position(|r| r.addr == *addr) {
            Some(i) => i,
            None => {
                self.replicas.push(Replica::new(addr.clone()));
                self.replicas.len() - 1
            }
        };
        let replica = self.replicas.get_mut(i)?;
        replica.is_relative = is_relative;
        replica.look(sight, self.sights.iter().flatten())
    }

    /// Replicas with a decided difference no older than four polls.
    pub fn divergences(
        &self,
        now: Mono,
        poll: Duration,
    ) -> impl Iterator<Item = (&std::sync::Arc<str>, DivergenceKind)> {
        self.replicas
            .iter()
            .filter(move |r| r.is_decided(now, poll))
            .filter_map(|r| Some((&r.addr, r.kind?)))
    }

    pub(super) fn judge_replicas(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let now = c.seen.span.done;
        let is_judged = self.replicas.iter().any(|r| r.is_decided(now, c.poll));
        let worst = self
            .divergences(now, c.poll)
            .find(|(_, k)| *k != DivergenceKind::ExpiredByClock)
            .map(|(addr, kind)| (addr.clone(), kind));
        let value = is_judged.then_some(worst.is_some());
        let detail =
            || worst.map(|(a, k)| format!("{a} differs: {}", k.as_str())).unwrap_or_default();
        self.signal(Signal::ReplicaDiverged, value, now, detail, fx);
    }
}

/// When a tenure's lease was last written, as far as its renewal can be missed.
fn written_at(tenure: &Tenure, lease: Option<(i64, LeaseSource)>, c: &ReadContext<'_>) -> Mono {
    let made = match lease {
        // A lease that the application made shorter than the format's default looks as if it were long not renewed;
        // where no write was seen, only the time in which none was seen counts.
        Some((_, LeaseSource::Format)) if tenure.write.after.is_none() => {
            tenure.write.shown.span.done
        }
        lease => tenure.write.made_at(lease.map(|(l, _)| l)),
    };
    c.clock.blind_until(made)
}

/// Whether two instants are the same but for what a look more taught of the lease.
fn is_close(a: Mono, b: Mono) -> bool {
    a.secs_since(b).abs() < 0.005
}

/// Owner token and E as replicas are compared by; of many holders all tokens together.
pub fn held_of(found: &Found) -> Option<(Option<Token>, Expiry)> {
    let Found::Present { value, expiry } = found else { return None };
    if !is_shared(value) {
        return Some((value.holders.first().map(|h| h.owner.token.clone()), *expiry));
    }
    let mut all = Vec::new();
    for holding in &value.holders {
        let token = holding.owner.token.bytes();
        all.extend((token.len() as u64).to_be_bytes());
        all.extend(token);
        all.extend(holding.until.map_or(0, |u| u.0).to_be_bytes());
    }
    Some((Some(Token::new(&all)), *expiry))
}
