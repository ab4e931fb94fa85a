//! Writes of E within one tenure: renewal, re-entry, shortening; and what each teaches.

use super::recent::Act;
use super::share::Share;
use super::{Lock, Phase, ReadContext};
use crate::derive::tenure::{Seen, Tenure, Write};
use crate::derive::wanted::{Effects, Wanted, Weight};
use crate::derive::words::LivenessSource;
use crate::derive::workers::Workers;
use crate::observe::Expiry;

/// Smaller changes of E are rounding: below 7.0 it is computed from TIME and PTTL.
const WRITE_MICROS: u64 = 20_000;
/// How far a gap may lie outside what the reads around both writes allow.
const GAP_SLACK_MICROS: i64 = 50_000;

/// What a change of E was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Renewal,
    Reentry,
    Shortening,
    /// A change that proves nothing: across a break, or an expiry that came or went.
    Other,
}

impl Lock {
    /// The same owner again.
    pub(super) fn continue_tenure(
        &mut self,
        share: Share,
        is_broken: bool,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let lease_before = self.lease().map(|(l, _)| l);
        let written = self.servers.as_ref().map(|s| (s.is_written(), s.is_shortened()));
        let Phase::Held(tenure) = &mut self.phase else { return };
        match written {
            // Some servers were written or lost their vote, too few for a write of the lock.
            Some((is_longer, is_shorter))
                if !is_longer
                    && (is_later(share.expiry, tenure.expiry)
                        || !is_shorter && is_later(tenure.expiry, share.expiry)) =>
            {
                (tenure.expiry, tenure.last, tenure.value) = (share.expiry, c.seen, share.value);
                return;
            }
            // With those it counts from the last one.
            Some((true, _)) => tenure.expiry = tenure.write.expiry,
            _ => {}
        }
        let kind = classify(tenure, &share, is_broken, lease_before, c);
        // What came back from before the last write is no end of a gap.
        let before = (tenure.write.expiry == tenure.expiry).then_some(tenure.write);
        let is_older = is_broken && is_later(tenure.expiry, share.expiry);
        let (last, expiry) = (tenure.last, share.expiry);
        tenure.count = share.count();
        tenure.is_own = share.is_own;
        if let Some(holding) = &share.holding {
            (tenure.mode, tenure.taken_at) = (holding.mode, holding.taken_at);
        }
        tenure.value = share.value;
        tenure.last = c.seen;
        if expiry != Expiry::Never {
            tenure.endless_since = None;
        } else if tenure.endless_since.is_none() {
            tenure.endless_since = Some(c.seen.span.done);
        }
        if !share.is_own {
            // Somebody wrote the key's expiry, nobody knows who of them.
            tenure.expiry = expiry;
            return;
        }
        let Some(kind) = kind else { return };
        let act = if kind == Kind::Renewal { Act::Renewed } else { Act::Written };
        let after = (!is_broken).then_some((last.span.done, last.time));
        // A new primary that lacks the last write undoes nothing of when the owner made it.
        if !is_older {
            tenure.write = Write { after, shown: c.seen, marks: last.marks, expiry };
        }
        tenure.expiry = expiry;
        if matches!(kind, Kind::Renewal | Kind::Reentry) && last.marks.steps == c.seen.marks.steps {
            learn_largest(tenure, c.seen);
        }
        if kind == Kind::Renewal {
            tenure.growth.learn(expiry, last, c.seen);
        } else {
            tenure.growth.forget();
        }
        match kind {
            Kind::Renewal => self.renewed(before, last, c, workers, fx),
            Kind::Shortening => {
                tenure.shortened = true;
                tenure.overdue = None;
                self.overdue_until = None;
                self.note(
                    c.seen.span.done,
                    "shortened",
                    "the holder let go early",
                    Weight::Routine,
                    fx,
                );
            }
            Kind::Reentry | Kind::Other => {
                tenure.shortened = false;
                tenure.overdue = None;
            }
        }
        self.mark(act, expiry, c.seen);
    }

    fn renewed(
        &mut self,
        before: Option<Write>,
        last: Seen,
        c: &ReadContext<'_>,
        workers: &Workers,
        fx: &mut Effects,
    ) {
        self.counts.renewals += 1;
        let lease = self.lease().map(|(l, _)| l);
        let Phase::Held(tenure) = &mut self.phase else { return };
        let is_first = tenure.renewals == 0;
        tenure.renewals += 1;
        tenure.shortened = false;
        tenure.remember(last.span.done, c.seen.span.done);
        let was_overdue = tenure.overdue.take().is_some();
        if was_overdue {
            self.counts.late_renewals += 1;
        }
        let has_stepped = |before: &Write| {
            before.marks.steps != c.seen.marks.steps || c.clock.stood_after(before.shown.span.done)
        };
        if let Some(before) = before.filter(|before| !has_stepped(before))
            && let (Some(l), Expiry::At(old), Expiry::At(new)) =
                (lease, before.expiry, tenure.expiry)
        {
            let seconds = l as f64 / 1e6;
            self.habit.at_lease(seconds, 2.0 * c.poll.as_secs_f64());
            let made = new.plus_micros(-l).max(last.time).min(c.seen.time);
            self.margins.learn(c.seen.span.done, (old.secs_since(made) / seconds).max(0.0));
            let gap = new.micros_since(old);
            if is_plausible_gap(gap, &before, last, c.seen) {
                if !is_first {
                    self.habit.learn_gap(gap as f64 / 1e6);
                } else if tenure.is_seen_begin() {
                    self.habit.learn_first_gap(gap as f64 / 1e6);
                }
            }
        }
        let worker = tenure.worker().cloned();
        if was_overdue {
            self.note(
                c.seen.span.done,
                "renewed_late",
                "renewed after it was overdue",
                Weight::Change,
                fx,
            );
        }
        // A renewal by a holder that is lost is proven by a look at it that begins later.
        if let Some(w) = worker
            && let Some((wait, source)) = workers.closing_look(&w)
        {
            let at = c.seen.span.done.plus(wait);
            fx.wanted.push(Wanted::Look {
                worker: w.clone(),
                what: LivenessSource::Process,
                at: c.seen.span.done,
            });
            if source == LivenessSource::Heartbeat {
                fx.wanted.push(Wanted::Look { worker: w, what: LivenessSource::Heartbeat, at });
            }
        }
    }
}

/// What the change from the tenure's E to `expiry` was; `None` if it is none.
fn classify(
    tenure: &Tenure,
    share: &Share,
    is_broken: bool,
    lease: Option<i64>,
    c: &ReadContext<'_>,
) -> Option<Kind> {
    let (expiry, count) = (share.expiry, share.count());
    let delta = match (tenure.expiry, expiry) {
        (Expiry::Never, Expiry::Never) => return None,
        (Expiry::At(old), Expiry::At(new)) => new.micros_since(old),
        _ => return Some(Kind::Other),
    };
    if delta.unsigned_abs() <= WRITE_MICROS {
        return None;
    }
    if is_broken || tenure.is_own != share.is_own {
        return Some(Kind::Other);
    }
    if count > tenure.count {
        return Some(Kind::Reentry);
    }
    if delta > 0 {
        return Some(Kind::Renewal);
    }
    // The server's clock went back since the last write: a renewal sets an earlier E, but leaves a whole lease.
    let stepped = c.seen.marks.stepped_micros.saturating_sub(tenure.write.marks.stepped_micros);
    let is_whole = match (expiry, lease) {
        (Expiry::At(new), Some(l)) => {
            new.micros_since(c.seen.time)
                >= l - i64::try_from(c.poll.as_micros()).unwrap_or(i64::MAX)
        }
        _ => false,
    };
    Some(if stepped < 0 && is_whole { Kind::Renewal } else { Kind::Shortening })
}

fn is_later(new: Expiry, old: Expiry) -> bool {
    matches!((new, old), (Expiry::At(new), Expiry::At(old)) if new > old)
}

/// Remaining time right after a write is a lower bound of L; the largest of a tenure is what it learns.
pub(super) fn learn_largest(tenure: &mut Tenure, seen: Seen) {
    if let Expiry::At(e) = tenure.expiry {
        let remaining = e.micros_since(seen.time);
        if remaining > 0 {
            tenure.largest = Some(tenure.largest.map_or(remaining, |l| l.max(remaining)));
        }
    }
}

/// The change of E is the time between two writes only if both were for the same length; the reads around both tell.
fn is_plausible_gap(gap: i64, before: &Write, last: Seen, now: Seen) -> bool {
    let Some((_, before_after)) = before.after else { return false };
    let least = last.time.micros_since(before.shown.time);
    let most = now.time.micros_since(before_after);
    (least - GAP_SLACK_MICROS..=most + GAP_SLACK_MICROS).contains(&gap)
}
