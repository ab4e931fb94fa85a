//! For how long what the primary shows of a lock has been on no replica: were the primary lost now, the lock would be lost
//! with it, or would end there as its last write but one said. Told by offsets alone; which replicas there are is the
//! store's to know.
//!
//! A write counts from the read that showed it, and needs the offset of that read: the write itself was no later.

use crate::derive::sight::Sight;
use crate::observe::Mono;

/// The largest offset that any replica has, if there is one; the outer `None` where that cannot be told.
pub type Replicated = Option<Option<u64>>;

/// What the lock shows now, and whether a replica has it.
#[derive(Clone, Copy, Debug)]
pub struct Unreplicated {
    /// A replica with this offset has it.
    needed: u64,
    /// No replica has it.
    is_missing: bool,
    /// Since when no replica has it; the last look that showed one with it, while there is one.
    since: Mono,
    /// A write after the one that is missing.
    later: Option<(u64, Mono)>,
}

impl Unreplicated {
    fn new(needed: u64, since: Mono) -> Self {
        Self { needed, is_missing: true, since, later: None }
    }

    fn wrote(&mut self, offset: u64, at: Mono) {
        if self.is_missing {
            self.later = Some((offset, at));
        } else {
            *self = Self::new(offset, at);
        }
    }

    /// Takes the offset of a replica.
    pub fn reached(&mut self, offset: u64, at: Mono) {
        if offset < self.needed {
            return;
        }
        // Writes between the two are no longer told apart: they are younger than what was missing.
        let later = self.later.take().filter(|(needed, _)| offset < *needed);
        *self = match later {
            Some((needed, since)) => Self::new(needed, since),
            None => Self { is_missing: false, since: at, ..*self },
        };
    }

    /// Seconds without it on any replica.
    pub fn seconds(&self, now: Mono) -> f64 {
        if self.is_missing { now.secs_since(self.since).max(0.0) } else { 0.0 }
    }

    /// Follows the primary's reads: `before` and `now`, and what its replicas have.
    /// With `is_anew` the history is another one.
    pub(super) fn follow(
        known: Option<Self>,
        before: Option<&Sight>,
        now: &Sight,
        replicated: Replicated,
        is_anew: bool,
    ) -> Option<Self> {
        now.held.as_ref()?;
        let is_written = !before.is_some_and(|b| b.agrees(now));
        let known = known.filter(|_| !is_anew);
        Self::next(known, is_written, now.offset, now.span.done, replicated)
    }

    /// The same of a read that shows what the one before showed.
    pub(super) fn again(
        known: Option<Self>,
        offset: Option<u64>,
        at: Mono,
        replicated: Replicated,
    ) -> Option<Self> {
        Self::next(known, false, offset, at, replicated)
    }

    fn next(
        known: Option<Self>,
        is_written: bool,
        offset: Option<u64>,
        at: Mono,
        replicated: Replicated,
    ) -> Option<Self> {
        let offset = offset?;
        let known = known.filter(|k| offset >= k.needed);
        let mut next = known.unwrap_or_else(|| Self::new(offset, at));
        if known.is_some() && is_written {
            next.wrote(offset, at);
        }
        if let Some(replicated) = replicated {
            next.is_missing |= replicated.is_none_or(|most| most < next.needed);
            replicated.inspect(|most| next.reached(*most, at));
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{Expiry, ServerTime, Span, Token};

    /// At a second: what the primary shows, with its offset and the most that a replica has.
    type Read<'a> = (f64, Option<(&'a str, i64)>, u64, Replicated);

    /// Its name, reads, and what is shown after each.
    type Case<'a> = (&'a str, &'a [Read<'a>], &'a [Option<f64>]);

    fn sight((s, held, offset, _): Read<'_>) -> Sight {
        let at = Mono::from_secs_f64(s);
        let held =
            held.map(|(t, e)| (Some(Token::new(t.as_bytes())), Expiry::At(ServerTime::from_ms(e))));
        let span = Span { sent: at, done: at };
        Sight { span, time: ServerTime((s * 1e6) as i64), offset: Some(offset), held }
    }

    /// Seconds after each read.
    fn seconds(reads: &[Read<'_>]) -> Vec<Option<f64>> {
        let (mut known, mut before) = (None, None);
        let each = |read: &Read<'_>| {
            let now = sight(*read);
            known = Unreplicated::follow(known, before.as_ref(), &now, read.3, false);
            before = Some(now);
            known.map(|k| k.seconds(Mono::from_secs_f64(read.0)))
        };
        reads.iter().map(each).collect()
    }

    #[test]
    fn a_lock_is_exposed_until_a_replica_has_its_write() {
        let (a, b) = (Some(("a", 90_000)), Some(("b", 90_000)));
        let renewed = Some(("a", 99_000));
        let cases: &[Case<'_>] = &[
            ("at once", &[(1.0, a, 10, Some(Some(10)))], &[Some(0.0)]),
            ("free", &[(1.0, None, 10, Some(Some(10)))], &[None]),
            (
                "by the second read",
                &[
                    (1.0, a, 10, Some(Some(9))),
                    (2.0, a, 12, Some(Some(11))),
                    (3.0, a, 12, Some(Some(11))),
                ],
                &[Some(0.0), Some(0.0), Some(0.0)],
            ),
            (
                "never",
                &[
                    (1.0, a, 10, Some(Some(9))),
                    (2.0, a, 12, Some(Some(9))),
                    (4.0, a, 12, Some(Some(0))),
                ],
                &[Some(0.0), Some(1.0), Some(3.0)],
            ),
            (
                "one that had it is gone",
                &[
                    (1.0, a, 10, Some(Some(10))),
                    (2.0, a, 10, Some(Some(0))),
                    (5.0, a, 10, Some(Some(0))),
                ],
                &[Some(0.0), Some(1.0), Some(4.0)],
            ),
            (
                "renewed while its replica is cut off",
                &[
                    (1.0, a, 10, Some(Some(10))),
                    (2.0, renewed, 20, Some(Some(10))),
                    (4.0, renewed, 20, Some(Some(10))),
                ],
                &[Some(0.0), Some(0.0), Some(2.0)],
            ),
            (
                "renewed again and again, with a lag",
                &[
                    (1.0, Some(("a", 91_000)), 10, Some(Some(5))),
                    (2.0, Some(("a", 92_000)), 20, Some(Some(5))),
                    (3.0, Some(("a", 93_000)), 30, Some(Some(15))),
                    (4.0, Some(("a", 94_000)), 40, Some(Some(25))),
                ],
                &[Some(0.0), Some(1.0), Some(0.0), Some(1.0)],
            ),
            (
                "handed over",
                &[
                    (1.0, a, 10, Some(Some(5))),
                    (3.0, None, 20, Some(Some(5))),
                    (4.0, b, 30, Some(Some(5))),
                    (6.0, b, 30, Some(Some(5))),
                ],
                &[Some(0.0), None, Some(0.0), Some(2.0)],
            ),
            (
                "without replicas, before anything was replicated",
                &[(1.0, a, 0, Some(None)), (3.0, a, 0, Some(None)), (4.0, a, 0, Some(Some(0)))],
                &[Some(0.0), Some(2.0), Some(0.0)],
            ),
            (
                "nobody can tell for a while",
                &[(1.0, a, 10, Some(Some(10))), (2.0, a, 10, None), (3.0, a, 10, Some(Some(10)))],
                &[Some(0.0), Some(0.0), Some(0.0)],
            ),
            (
                "of another history",
                &[
                    (1.0, a, 1_000, Some(Some(1_000))),
                    (2.0, a, 10, Some(Some(0))),
                    (3.0, a, 10, Some(Some(0))),
                ],
                &[Some(0.0), Some(0.0), Some(1.0)],
            ),
        ];
        for (name, reads, expected) in cases {
            assert_eq!(&seconds(reads), expected, "{name}");
        }
    }

    #[test]
    fn a_view_between_two_reads_counts_on() {
        let mut known = Unreplicated::new(10, Mono::from_secs_f64(1.0));
        assert!((known.seconds(Mono::from_secs_f64(1.5)) - 0.5).abs() < 1e-9);
        known.reached(10, Mono::from_secs_f64(1.6));
        assert_eq!(known.seconds(Mono::from_secs_f64(1.9)), 0.0);
    }
}
