//! How a tenure ended: the first evidence that applies, and `unknown` rather than a guess.
//!
//! The counters that could tell of a flush or an eviction are read after a sweep, so an end waits for them.

use super::lock::{Claim, Told};
use super::servers::{Losses, Settled};
use super::tenure::Seen;
use super::words::{Evidence, Liveness};
use crate::config::TokenKind;
use crate::observe::{Expiry, ServerTime, Token};

/// How close before E the owner must have been seen for its absence after E to be a lapse.
const LAPSE_WINDOW_MICROS: i64 = 50_000;

/// An end whose evidence is not settled.
#[derive(Clone, Debug)]
pub struct PendingEnd {
    /// The owner's token.
    pub token: Option<Token>,
    /// Whether its tokens are new per acquire.
    pub kind: TokenKind,
    /// Its worker's name, empty if unknown.
    pub worker: std::sync::Arc<str>,
    /// The last read that showed it.
    pub last: Seen,
    /// The read that did not.
    pub gone: Seen,
    /// The key was absent in that read (another owner otherwise).
    pub is_absent: bool,
    /// Too late, or something failed in between.
    pub is_broken: bool,
    /// The last E.
    pub expiry: Expiry,
    /// When the successor seen in that read acquired, as far as its E and the lease length tell.
    pub successor_at: Option<ServerTime>,
    /// The holder had let go early.
    pub shortened: bool,
    /// Nobody releases this lock.
    pub ends_by_expiry: bool,
    /// The holder's liveness when it was last judged.
    pub liveness: Liveness,
    /// Seconds it was held.
    pub held: f64,
    /// The server's clock was set forward since its last write: the lease ended earlier than it was meant to.
    pub is_cut: bool,
    /// The lease length that it showed, in microseconds.
    pub largest: Option<i64>,
    /// Others may have held it at the same time.
    pub is_shared: bool,
    /// The lock was taken again soon after.
    pub is_retaken: bool,
    /// The key was absent, and the same token came back before E.
    pub has_returned: bool,
    /// Of a lock over several servers: what its owner had lost by then.
    pub losses: Option<Losses>,
    /// What its owner may go on believing.
    pub claim: Claim,
    /// The read that did not show it showed another owner.
    pub is_succeeded: bool,
    /// What the feed tells of it.
    pub told: Told,
}

/// What the node's facts, read after the end, say. `None` where the server does not show it.
#[derive(Clone, Copy, Debug, Default)]
pub struct After {
    /// Calls that empty a database.
    pub flushes: Option<u64>,
    /// Evictions.
    pub evicted: Option<u64>,
    /// What the primary has of the one before.
    pub cut: Cut,
}

/// What a new primary, or a restarted one, has of what was written before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// Cannot be told.
    #[default]
    Unknown,
    /// All up to this offset.
    At(u64),
    /// Nothing.
    All,
}

impl PendingEnd {
    /// Whether how long it was held tells how long such locks are held; not if something cut it short.
    pub fn tells_hold(&self, evidence: Evidence) -> bool {
        !evidence.is_cut_short() && (evidence == Evidence::Released || !self.is_cut)
    }

    /// Ends that a break settles need no facts.
    pub fn is_failover(&self) -> bool {
        self.gone.marks.failovers != self.last.marks.failovers
    }

    /// The evidence, or `None` if it has to wait until the server's clock has passed E: after an eviction of some
    /// key only the return of the same token can tell whether it was this one.
    pub fn settle(&self, after: After, now: Option<ServerTime>) -> Option<Evidence> {
        match self.losses.as_ref().map(Losses::settled) {
            Some(Settled::Taken(evidence)) => return Some(evidence),
            Some(Settled::Waits) => return None,
            Some(Settled::Not) | None => {}
        }
        if self.is_failover() {
            return Some(Evidence::Failover);
        }
        let (Some(f0), Some(f1)) = (self.last.marks.flushes, after.flushes) else {
            return Some(Evidence::Unknown);
        };
        if f1 > f0 {
            return Some(Evidence::Flushed);
        }
        if self.is_broken {
            return Some(Evidence::Unknown);
        }
        if self.is_clock_step() {
            return Some(Evidence::ClockStep);
        }
        match self.told {
            Told::Overwrite => return Some(Evidence::Overwritten),
            Told::NotYet => return None,
            Told::Nothing => {}
        }
        let evictions = match (self.last.marks.evicted, after.evicted) {
            (Some(e0), Some(e1)) => e1 > e0,
            _ => return Some(Evidence::Unknown),
        };
        // One that is back without anything evicted was overwritten or deleted, and then written back.
        if evictions && self.has_returned && self.kind == TokenKind::PerAcquire {
            return Some(Evidence::Evicted);
        }
        if self.is_lapse() {
            return Some(if self.shortened { Evidence::Released } else { Evidence::Lapsed });
        }
        let is_before_expiry = match self.expiry {
            Expiry::Never => true,
            Expiry::At(e) => self.gone.time < e,
        };
        if evictions && is_before_expiry {
            let is_over = match (self.expiry, now) {
                (Expiry::At(e), Some(now)) => now > e,
                _ => true,
            };
            return is_over.then_some(Evidence::Unknown);
        }
        if self.shortened || (self.is_absent && is_before_expiry) {
            return Some(Evidence::Released);
        }
        Some(Evidence::Unknown)
    }

    /// The server's clock jumped over E between the two reads.
    fn is_clock_step(&self) -> bool {
        let stepped = self.gone.marks.stepped_micros.saturating_sub(self.last.marks.stepped_micros);
        match self.expiry {
            Expiry::At(e) => {
                stepped > 0 && self.gone.time >= e && e > self.gone.time.plus_micros(-stepped)
            }
            Expiry::Never => false,
        }
    }

    fn is_lapse(&self) -> bool {
        let Expiry::At(e) = self.expiry else { return false };
        let is_aligned = self.last.time <= e
            && e.micros_since(self.last.time) <= LAPSE_WINDOW_MICROS
            && self.gone.time >= e
            && self.gone.marks.steps == self.last.marks.steps;
        // A successor's acquire is known to the millisecond at best.
        is_aligned
            && (self.is_absent || self.successor_at.is_some_and(|s| s.plus_micros(2_000) >= e))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::derive::tenure::Marks;
    use crate::observe::{Mono, Span};

    fn seen(ms: i64, marks: Marks) -> Seen {
        let at = Mono(ms as u64 * 1_000_000);
        Seen { span: Span { sent: at, done: at }, time: ServerTime::from_ms(ms), marks }
    }

    const MARKS: Marks = Marks {
        breaks: 0,
        failovers: 0,
        steps: 0,
        stepped_micros: 0,
        flushes: Some(0),
        evicted: Some(0),
    };

    fn end(last_ms: i64, gone_ms: i64, e_ms: i64) -> PendingEnd {
        PendingEnd {
            token: None,
            kind: TokenKind::PerAcquire,
            worker: "".into(),
            last: seen(last_ms, MARKS),
            gone: seen(gone_ms, MARKS),
            is_absent: true,
            is_broken: false,
            expiry: Expiry::At(ServerTime::from_ms(e_ms)),
            successor_at: None,
            shortened: false,
            ends_by_expiry: false,
            liveness: Liveness::Unknown,
            held: 1.0,
            is_cut: false,
            largest: None,
            is_shared: false,
            is_retaken: false,
            has_returned: false,
            losses: None,
            claim: Claim::default(),
            is_succeeded: false,
            told: Told::Nothing,
        }
    }

    const AFTER: After = After { flushes: Some(0), evicted: Some(0), cut: Cut::Unknown };

    fn settle(end: &PendingEnd) -> Option<Evidence> {
        end.settle(AFTER, None)
    }

    #[test]
    fn a_hold_that_a_step_of_the_clock_cut_short_tells_nothing() {
        let whole = end(0, 10, 20);
        let cut = PendingEnd { is_cut: true, ..whole.clone() };
        for (evidence, told) in [
            (Evidence::Released, [true, true]),
            (Evidence::Lapsed, [true, false]),
            (Evidence::Unknown, [true, false]),
            (Evidence::Flushed, [false, false]),
        ] {
            assert_eq!([whole.tells_hold(evidence), cut.tells_hold(evidence)], told);
        }
    }

    #[test]
    fn absence_before_the_expiry_is_a_release() {
        assert_eq!(settle(&end(1000, 2000, 5000)), Some(Evidence::Released));
        let other = PendingEnd { is_absent: false, ..end(1000, 2000, 5000) };
        assert_eq!(settle(&other), Some(Evidence::Unknown), "another owner proves no release");
    }

    #[test]
    fn only_a_pair_of_reads_around_the_expiry_is_a_lapse() {
        assert_eq!(settle(&end(4980, 5021, 5000)), Some(Evidence::Lapsed));
        assert_eq!(settle(&end(4900, 5021, 5000)), Some(Evidence::Unknown));
        let successor = |ms| PendingEnd {
            is_absent: false,
            successor_at: Some(ServerTime::from_ms(ms)),
            ..end(4980, 5021, 5000)
        };
        assert_eq!(settle(&successor(5005)), Some(Evidence::Lapsed));
        assert_eq!(settle(&successor(4990)), Some(Evidence::Unknown));
    }

    #[test]
    fn flush_failover_step_and_break_come_first() {
        let e = end(4980, 5021, 5000);
        assert_eq!(e.settle(After { flushes: Some(1), ..AFTER }, None), Some(Evidence::Flushed));
        let failover =
            PendingEnd { gone: seen(5021, Marks { failovers: 1, ..MARKS }), ..e.clone() };
        assert_eq!(settle(&failover), Some(Evidence::Failover));
        let broken = PendingEnd { is_broken: true, ..end(1000, 2000, 5000) };
        assert_eq!(settle(&broken), Some(Evidence::Unknown));
        let marks = Marks { steps: 1, stepped_micros: 20_000_000, ..MARKS };
        let step = PendingEnd { gone: seen(22_000, marks), ..end(1000, 22_000, 5000) };
        assert_eq!(settle(&step), Some(Evidence::ClockStep));
    }

    #[test]
    fn an_eviction_somewhere_waits_for_the_token_and_is_unknown_otherwise() {
        let e = end(1000, 2000, 5000);
        let after = After { evicted: Some(3), ..AFTER };
        assert_eq!(e.settle(after, Some(ServerTime::from_ms(3000))), None);
        assert_eq!(e.settle(after, Some(ServerTime::from_ms(5001))), Some(Evidence::Unknown));
        let back = PendingEnd { has_returned: true, ..e };
        assert_eq!(back.settle(after, None), Some(Evidence::Evicted));
    }

    #[test]
    fn a_lease_that_was_shortened_ends_by_release() {
        let e = PendingEnd { shortened: true, ..end(4980, 5021, 5000) };
        assert_eq!(settle(&e), Some(Evidence::Released));
    }

    proptest! {
        #[test]
        fn without_facts_nothing_is_claimed(last in 0i64..10_000, d in 1i64..10_000, e in 0i64..20_000, absent: bool, shortened: bool) {
            let p = PendingEnd { is_absent: absent, shortened, ..end(last, last + d, e) };
            prop_assert_eq!(p.settle(After::default(), None), Some(Evidence::Unknown));
        }

        #[test]
        fn a_lapse_always_has_its_pair(last in 0i64..10_000, d in 1i64..10_000, e in 0i64..20_000, absent: bool) {
            let p = PendingEnd { is_absent: absent, ..end(last, last + d, e) };
            if settle(&p) == Some(Evidence::Lapsed) {
                prop_assert!(last <= e && e - last <= 50 && last + d >= e);
            }
        }
    }
}
