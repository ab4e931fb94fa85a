//! Whether a lease is far longer than it can be meant to be (a unit confused, a clock set back), or grows with each renewal.

use std::collections::VecDeque;

use super::{Lock, ReadContext};
use crate::derive::tenure::{Seen, Tenure};
use crate::derive::wanted::Effects;
use crate::derive::words::Signal;
use crate::observe::Expiry;

const DAY: f64 = 86_400.0;
/// Nothing is known, and no lock is meant to last for so long.
const LONGEST: f64 = 7.0 * DAY;
/// Times the known length.
const FAR: f64 = 20.0;
/// Times the median of earlier tenures, whatever the length.
const FARTHEST: f64 = 500.0;
/// Earlier tenures that make a median of short leases: of a lease shorter than a poll only a part is ever seen.
const ENOUGH: usize = 5;
/// Renewals between the two lengths that are compared.
const RENEWALS: usize = 3;
/// Share of the length by which it has to grow in these.
const GROWTH: f64 = 0.1;

/// Between which bounds the lease was after each of the last renewals. Microseconds.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    /// The least that the lease was when this tenure was first seen to write it.
    first: Option<i64>,
    bounds: VecDeque<(i64, i64)>,
}

impl Growth {
    /// Takes a write of `expiry` between two reads.
    pub fn learn(&mut self, expiry: Expiry, before: Seen, shown: Seen) {
        let Expiry::At(e) = expiry else { return };
        if before.marks.steps != shown.marks.steps {
            self.forget();
            return;
        }
        let (least, most) = (e.micros_since(shown.time), e.micros_since(before.time));
        self.first.get_or_insert(least);
        // Surely shorter than the one before: what goes up and down does not grow.
        if self.bounds.back().is_some_and(|(before, _)| most < *before) {
            self.forget();
        }
        if self.bounds.len() > RENEWALS {
            self.bounds.pop_front();
        }
        self.bounds.push_back((least, most));
    }

    /// Something lengthened or shortened it that is no renewal.
    pub fn forget(&mut self) {
        self.bounds.clear();
    }

    /// Whether it is surely longer than three renewals ago, by a tenth of what it was at first or is meant to be.
    fn is_rising(&self, configured: Option<f64>) -> bool {
        let (Some((_, before)), Some((now, _))) = (self.bounds.front(), self.bounds.back()) else {
            return false;
        };
        let length = configured.or(self.first.map(|l| l as f64 / 1e6)).unwrap_or_default();
        self.bounds.len() > RENEWALS && now.saturating_sub(*before) as f64 / 1e6 > GROWTH * length
    }
}

impl Lock {
    pub(super) fn judge_absurd(&mut self, c: &ReadContext<'_>, fx: &mut Effects) {
        let why = self.tenure().and_then(|t| self.absurdity(t, c));
        let (value, now) = (Some(why.is_some()), c.seen.span.done);
        self.signal(Signal::LeaseAbsurd, value, now, || why.unwrap_or_default(), fx);
    }

    /// What is absurd about the lease, if anything is.
    fn absurdity(&self, tenure: &Tenure, c: &ReadContext<'_>) -> Option<String> {
        let Expiry::At(e) = tenure.expiry else { return None };
        let left = e.secs_since(c.seen.time);
        let configured = self.rules.lease.map(|l| l.as_secs_f64());
        let own = self.leases.median_seconds();
        let (usual, of) = own
            .or_else(|| c.pool.filter(|_| self.rules.pooled)?.leases.median_seconds())
            .map_or((None, 0), |(median, of)| (Some(median), of));
        if is_far(left, configured, usual.map(|usual| (usual, of))) {
            let known =
                configured.or(usual).map_or_else(String::new, |l| format!(", {l:.0} s is usual"));
            return Some(format!("{left:.0} s are left of the lease{known}"));
        }
        let back = tenure.write.marks.stepped_micros.saturating_sub(c.seen.marks.stepped_micros);
        let lease = self.lease_seconds(Some(tenure));
        let slack = |lease: f64| (GROWTH * lease).max(c.poll.as_secs_f64());
        if back > 0 && lease.is_some_and(|l| left > l + slack(l)) {
            let back = back as f64 / 1e6;
            return Some(format!(
                "the server's clock went back by {back:.1} s, {left:.0} s are left"
            ));
        }
        let is_rising = tenure.is_own && tenure.growth.is_rising(configured);
        is_rising.then(|| format!("each renewal makes it longer, {left:.0} s are left"))
    }
}

/// Whether more is left of a lease than it can be meant to have: by its configured length, or by the median of earlier ones
/// and how many these are.
pub(in crate::derive) fn is_far(
    left: f64,
    configured: Option<f64>,
    usual: Option<(f64, usize)>,
) -> bool {
    match (configured, usual) {
        (Some(lease), _) => left > FAR * lease,
        (None, Some((usual, of))) => {
            (left > DAY && left > FAR * usual) || (of >= ENOUGH && left > FARTHEST * usual)
        }
        (None, None) => left > LONGEST,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::derive::tenure::Marks;
    use crate::observe::{Mono, ServerTime, Span};

    fn seen(ms: i64) -> Seen {
        let at = Mono(ms.unsigned_abs() * 1_000_000);
        let marks = Marks::default();
        Seen { span: Span { sent: at, done: at }, time: ServerTime::from_ms(ms), marks }
    }

    /// Renewals at some times for some lengths, read each `poll`: of those between two reads the last is seen, if it is not
    /// over by then.
    fn growth(poll: i64, renewals: impl Iterator<Item = (i64, i64)>) -> Vec<bool> {
        let mut growth = Growth::default();
        let mut seen_ones: Vec<(i64, i64)> = Vec::new();
        for (at, length) in renewals {
            if seen_ones.last().is_some_and(|(before, _)| before / poll == at / poll) {
                seen_ones.pop();
            }
            if at % poll + length > poll {
                seen_ones.push((at, length));
            }
        }
        seen_ones
            .into_iter()
            .map(|(at, length)| {
                let before = at - at % poll;
                let e = Expiry::At(ServerTime::from_ms(at + length));
                growth.learn(e, seen(before), seen(before + poll));
                growth.is_rising(None)
            })
            .collect()
    }

    #[test]
    fn an_extension_that_adds_up_is_rising_for_as_long_as_it_does() {
        let up = growth(2_000, (0..40).map(|k| (4_000 * k + 1_000, 10_000 + 1_500 * k)));
        assert_eq!(up.iter().position(|u| *u), Some(RENEWALS));
        assert!(up.iter().skip(RENEWALS).all(|u| *u));
    }

    proptest! {
        #[test]
        fn a_lease_of_one_length_never_rises(poll in 100i64..5_000, length in 500i64..60_000, gaps in proptest::collection::vec(1i64..30_000, 1..60)) {
            let mut at = 0;
            let renewals = gaps.into_iter().map(|gap| { at += gap; (at, length) });
            prop_assert!(growth(poll, renewals).iter().all(|up| !up));
        }
    }
}
