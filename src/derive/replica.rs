//! Whether replicas agree with the primary on one lock.
//!
//! A replica's view counts only between two reads of the primary that show the same, and only with an offset not
//! below the primary's at the first of them; then no lag can explain a difference. Two such differences running are a
//! divergence.

use std::sync::Arc;

use super::words::DivergenceKind;
use crate::observe::{Expiry, Mono, ServerTime, Span, Token};

/// E of two nodes is the same absolute time; 6.2 rounds it to a millisecond either way.
const SAME_EXPIRY_MICROS: i64 = 2_000;

/// What a node showed of the lock.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    /// When.
    pub span: Span,
    /// The node's clock.
    pub time: ServerTime,
    /// Its replication offset.
    pub offset: Option<u64>,
    /// Owner token and E; `None` if the key is absent.
    pub held: Option<(Option<Token>, Expiry)>,
}

impl Sight {
    fn agrees(&self, other: &Sight) -> bool {
        match (&self.held, &other.held) {
            (None, None) => true,
            (Some((a, ea)), Some((b, eb))) => a == b && same_expiry(*ea, *eb),
            _ => false,
        }
    }
}

fn same_expiry(a: Expiry, b: Expiry) -> bool {
    match (a, b) {
        (Expiry::At(a), Expiry::At(b)) => a.micros_since(b).abs() <= SAME_EXPIRY_MICROS,
        (a, b) => a == b,
    }
}

/// One replica's record with one lock.
#[derive(Clone, Debug)]
pub struct Replica {
    /// Its address.
    pub addr: Arc<str>,
    /// Its view and the primary's read before, until the primary is read again.
    pending: Option<(Sight, Sight)>,
    streak: Option<(DivergenceKind, u32)>,
    /// The last decided difference.
    pub kind: Option<DivergenceKind>,
    /// When something was last decided.
    pub decided: Option<Mono>,
}

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Decided, whatever the answer.
    Decided,
    /// The lock moved, or the replica had not caught up.
    Undecided,
}

impl Replica {
    /// A replica that was not compared yet.
    pub fn new(addr: Arc<str>) -> Self {
        Self { addr, pending: None, streak: None, kind: None, decided: None }
    }

    /// Takes the replica's view; `primary` is the primary's last read. Returns whether a comparison began.
    pub fn look(&mut self, sight: Sight, primary: Option<&Sight>) -> Option<Compared> {
        let primary = primary?;
        if primary.span.done > sight.span.sent || self.pending.is_some() {
            return None;
        }
        match (sight.offset, primary.offset) {
            (Some(r), Some(p)) if r >= p => {
                self.pending = Some((sight, primary.clone()));
                None
            }
            _ => Some(Compared::Undecided),
        }
    }

    /// Takes the primary's next read.
    pub fn settle(&mut self, primary: &Sight) -> Option<Compared> {
        if self.pending.as_ref().is_none_or(|(sight, _)| primary.span.sent < sight.span.done) {
            return None;
        }
        let (sight, before) = self.pending.take()?;
        if !before.agrees(primary) {
            return Some(Compared::Undecided);
        }
        self.decided = Some(primary.span.done);
        match difference(&sight, primary) {
            None => {
                self.streak = None;
                self.kind = None;
            }
            Some(kind) => {
                let n = self.streak.filter(|(k, _)| *k == kind).map_or(1, |(_, n)| n + 1);
                self.streak = Some((kind, n));
                if n >= 2 {
                    self.kind = Some(kind);
                }
            }
        }
        Some(Compared::Decided)
    }

    /// Whether something was decided within the last four polls.
    pub fn is_decided(&self, now: Mono, poll: std::time::Duration) -> bool {
        self.decided.is_some_and(|d| now.since(d) <= poll * 4)
    }

    /// A view taken before a break proves nothing after it.
    pub fn forget_pending(&mut self) {
        self.pending = None;
    }
}

fn difference(replica: &Sight, primary: &Sight) -> Option<DivergenceKind> {
    match (&replica.held, &primary.held) {
        (None, None) => None,
        (None, Some((_, Expiry::At(e)))) if replica.time > *e => {
            Some(DivergenceKind::ExpiredByClock)
        }
        (None, Some(_)) => Some(DivergenceKind::Missing),
        // The primary says expired, the replica waits for its DEL.
        (Some((_, Expiry::At(e))), None) if *e <= primary.time => None,
        (Some(_), None) => Some(DivergenceKind::Extra),
        (Some((a, _)), Some((b, _))) if a != b => Some(DivergenceKind::Owner),
        (Some((_, a)), Some((_, b))) if !same_expiry(*a, *b) => Some(DivergenceKind::Expiry),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(s: f64, offset: u64, held: Option<(&str, i64)>) -> Sight {
        let at = Mono::from_secs_f64(s);
        Sight {
            span: Span { sent: at, done: at },
            time: ServerTime((s * 1e6) as i64),
            offset: Some(offset),
            held: held
                .map(|(t, e)| (Some(Token::new(t.as_bytes())), Expiry::At(ServerTime::from_ms(e)))),
        }
    }

    fn round(
        r: &mut Replica,
        s: f64,
        primary: Option<(&str, i64)>,
        replica: Option<(&str, i64)>,
        lag: u64,
    ) {
        let p = |at| sight(at, 100, primary);
        r.look(sight(s + 0.1, 100 - lag, replica), Some(&p(s)));
        r.settle(&p(s + 1.0));
    }

    #[test]
    fn two_confirmed_differences_are_a_divergence() {
        let mut r = Replica::new("r".into());
        round(&mut r, 1.0, Some(("a", 30_000)), Some(("b", 30_000)), 0);
        assert_eq!(r.kind, None);
        round(&mut r, 2.0, Some(("a", 30_000)), Some(("b", 30_000)), 0);
        assert_eq!(r.kind, Some(DivergenceKind::Owner));
        round(&mut r, 3.0, Some(("a", 30_000)), Some(("a", 30_000)), 0);
        assert_eq!(r.kind, None);
    }

    #[test]
    fn a_replica_that_lags_decides_nothing() {
        let mut r = Replica::new("r".into());
        for k in 0..5 {
            round(&mut r, f64::from(k), Some(("a", 30_000)), None, 1);
        }
        assert_eq!((r.kind, r.decided), (None, None));
    }

    #[test]
    fn a_lock_that_moves_decides_nothing() {
        let mut r = Replica::new("r".into());
        r.look(sight(1.1, 100, Some(("a", 30_000))), Some(&sight(1.0, 90, Some(("a", 30_000)))));
        assert_eq!(r.settle(&sight(2.0, 120, Some(("b", 31_000)))), Some(Compared::Undecided));
    }

    #[test]
    fn the_replicas_own_clock_is_no_divergence() {
        let mut r = Replica::new("r".into());
        for s in [31.0, 32.0] {
            // The primary's clock is behind; the replica's has passed E.
            let p = |at: f64| Sight {
                time: ServerTime::from_ms(20_000),
                ..sight(at, 100, Some(("a", 30_000)))
            };
            r.look(sight(s + 0.1, 100, None), Some(&p(s)));
            r.settle(&p(s + 0.5));
        }
        assert_eq!(r.kind, Some(DivergenceKind::ExpiredByClock));
    }

    #[test]
    fn a_key_that_expired_on_the_primary_may_linger_on_the_replica() {
        let mut r = Replica::new("r".into());
        round(&mut r, 31.0, None, Some(("a", 30_000)), 0);
        round(&mut r, 32.0, None, Some(("a", 30_000)), 0);
        assert_eq!(r.kind, None);
        round(&mut r, 33.0, None, Some(("a", 90_000)), 0);
        round(&mut r, 34.0, None, Some(("a", 90_000)), 0);
        assert_eq!(r.kind, Some(DivergenceKind::Extra));
    }
}
