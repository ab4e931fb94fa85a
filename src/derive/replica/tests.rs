//! Comparisons of one lock on a replica and its primary, read by read.

use super::*;
use crate::observe::{ServerTime, Span, Token};

const TICK: std::time::Duration = std::time::Duration::from_millis(1);

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
    r.look(sight(s + 0.1, 100 - lag, replica), [&p(s)]);
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
fn sweeps_in_step_decide_at_every_poll_whichever_is_read_first() {
    let (ours, theirs) = (Some(("a", 30_000)), Some(("b", 30_000)));
    for primary_first in [true, false] {
        let mut r = Replica::new("r".into());
        let mut reads: Vec<Sight> = vec![sight(0.0, 100, ours)];
        for tick in 1..=3 {
            // Both reads of a tick overlap: neither is surely older than the other.
            let (p, v) = (sight(f64::from(tick), 100, ours), sight(f64::from(tick), 100, theirs));
            let p = Sight { span: Span { done: p.span.done.plus(TICK), ..p.span }, ..p };
            let v = Sight { span: Span { done: v.span.done.plus(TICK), ..v.span }, ..v };
            if primary_first {
                r.settle(&p);
                reads.insert(0, p);
                r.look(v, &reads[..2]);
            } else {
                r.look(v, &reads);
                r.settle(&p);
                reads.insert(0, p);
            }
            let expected = (tick == 3).then_some(DivergenceKind::Owner);
            assert_eq!(r.kind, expected, "at {tick}, {primary_first}");
        }
    }
}

#[test]
fn a_free_lock_that_is_taken_for_an_instant_again_and_again_is_no_divergence() {
    let mut r = Replica::new("r".into());
    for (k, owner) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        round(&mut r, k as f64, None, Some((owner, 90_000)), 0);
    }
    assert_eq!(r.kind, None);
    round(&mut r, 5.0, None, Some(("e", 90_000)), 0);
    assert_eq!(r.kind, Some(DivergenceKind::Extra));
}

#[test]
fn a_lock_that_lived_between_two_reads_is_no_divergence_however_often_the_replica_was_read_then() {
    let mut r = Replica::new("r".into());
    let free = |s, offset| sight(s, offset, None);
    // Taken and let go between the reads of the primary; the replica has not come to the second.
    for s in [1.1, 1.2] {
        r.look(sight(s, 110, Some(("a", 90_000))), [&free(1.0, 100)]);
    }
    r.settle(&free(2.0, 120));
    assert_eq!(r.kind, None, "{r:?}");
    // One that has come to it shows that it is not gone there.
    r.look(sight(2.1, 120, Some(("a", 90_000))), [&free(2.0, 120)]);
    r.settle(&free(3.0, 120));
    assert_eq!(r.kind, Some(DivergenceKind::Extra));
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
    r.look(sight(1.1, 100, Some(("a", 30_000))), [&sight(1.0, 90, Some(("a", 30_000)))]);
    r.settle(&sight(2.0, 120, Some(("b", 31_000))));
    assert_eq!((r.kind, r.decided), (None, None));
}

#[test]
fn a_remaining_time_that_came_late_is_no_divergence() {
    for (is_relative, late) in [(false, Some(DivergenceKind::Expiry)), (true, None)] {
        let mut r = Replica { is_relative, ..Replica::new("r".into()) };
        for s in [1.0, 2.0] {
            round(&mut r, s, Some(("a", 30_000)), Some(("a", 31_500)), 0);
        }
        assert_eq!(r.kind, late);
        for s in [3.0, 4.0] {
            round(&mut r, s, Some(("a", 30_000)), Some(("b", 31_500)), 0);
        }
        assert_eq!(r.kind, Some(DivergenceKind::Owner), "all else is judged");
    }
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
        r.look(sight(s + 0.1, 100, None), [&p(s)]);
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
