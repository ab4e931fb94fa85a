//! Ends of tenures, and what settles them.

use proptest::prelude::*;

use super::*;
use crate::derive::flushed::Stay;
use crate::derive::tenure::Marks;
use crate::observe::node::Flushes;
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
    flushes: Some(Flushes { all: 0, one: 0, swaps: 0 }),
    counted_at: None,
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
        is_revived: false,
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

const fn calls(all: u64, one: u64, stays: &[Stay]) -> Calls<'_> {
    Calls {
        calls: Some(Flushes { all, one, swaps: 0 }),
        sent: Mono(0),
        is_only: false,
        stays,
        heard: None,
        emptied: &[],
    }
}

const AFTER: After<'static> =
    After { flushes: calls(0, 0, &[]), evicted: Some(0), cut: Cut::Unknown };

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
    assert_eq!(
        e.settle(After { flushes: calls(1, 0, &[]), ..AFTER }, None),
        Some(Evidence::Flushed)
    );
    let failover = PendingEnd { gone: seen(5021, Marks { failovers: 1, ..MARKS }), ..e.clone() };
    assert_eq!(settle(&failover), Some(Evidence::Failover));
    let broken = PendingEnd { is_broken: true, ..end(1000, 2000, 5000) };
    assert_eq!(settle(&broken), Some(Evidence::Unknown));
    let marks = Marks { steps: 1, stepped_micros: 20_000_000, ..MARKS };
    let step = PendingEnd { gone: seen(22_000, marks), ..end(1000, 22_000, 5000) };
    assert_eq!(settle(&step), Some(Evidence::ClockStep));
}

#[test]
fn a_flush_of_one_database_is_ours_only_if_nothing_says_otherwise() {
    let e = end(1000, 2000, 5000);
    let at = |ms: u64| Mono(ms * 1_000_000);
    let settle = |e: &PendingEnd, is_only, stays: &[Stay]| {
        let flushes = Calls { is_only, ..calls(0, 1, stays) };
        e.settle(After { flushes, ..AFTER }, None)
    };
    assert_eq!(settle(&e, true, &[]), Some(Evidence::Flushed));
    assert_eq!(settle(&e, false, &[]), Some(Evidence::Unknown));
    let stay = |from, until| Stay { from: at(from), until: at(until) };
    for is_only in [true, false] {
        let outlived = settle(&e, is_only, &[stay(900, 2000)]);
        assert_eq!(outlived, Some(Evidence::Released));
        assert_eq!(settle(&e, is_only, &[stay(900, 1999)]), None, "its next read tells");
    }
    assert_eq!(settle(&e, true, &[stay(1001, 3000)]), Some(Evidence::Flushed), "taken after it");
    let over = PendingEnd { told: Told::Overwrite, is_absent: false, ..e.clone() };
    assert_eq!(settle(&over, false, &[]), Some(Evidence::Unknown));
    assert_eq!(settle(&over, false, &[stay(900, 2000)]), Some(Evidence::Overwritten));
    assert_eq!(settle(&end(4980, 5021, 5000), false, &[]), Some(Evidence::Lapsed));
    let stays = [stay(900, 1999)];
    let flushes = Calls { sent: at(62_001), ..calls(0, 1, &stays) };
    let late = e.settle(After { flushes, ..AFTER }, None);
    assert_eq!(late, Some(Evidence::Unknown), "it is not read any more");
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

#[test]
fn a_flush_that_was_told_of_after_the_key_was_gone_did_not_take_it() {
    let at = |ms: u64| Mono(ms * 1_000_000);
    let e = end(1000, 2000, 60_000);
    for (name, heard, emptied, counted, expected) in [
        ("later", Some(at(500)), &[at(2060)][..], calls(1, 0, &[]), Evidence::Released),
        ("at about that time", Some(at(500)), &[at(2040)], calls(1, 0, &[]), Evidence::Flushed),
        ("before too", Some(at(500)), &[at(1500), at(2060)], calls(2, 0, &[]), Evidence::Flushed),
        ("long before", Some(at(500)), &[at(900), at(2060)], calls(1, 0, &[]), Evidence::Released),
        ("one was not told", Some(at(500)), &[at(2060)], calls(2, 0, &[]), Evidence::Flushed),
        ("none was told", Some(at(500)), &[], calls(1, 0, &[]), Evidence::Flushed),
        ("whole since then", Some(at(1500)), &[at(2060)], calls(1, 0, &[]), Evidence::Flushed),
        ("not whole", None, &[at(2060)], calls(1, 0, &[]), Evidence::Flushed),
        ("swapped too", Some(at(500)), &[at(2060)], calls(1, 1, &[]), Evidence::Flushed),
    ] {
        let after = After { flushes: Calls { heard, emptied, ..counted }, ..AFTER };
        assert_eq!(e.settle(after, None), Some(expected), "{name}");
    }
    // What events tell that somebody removed, no flush took.
    let flushed = After { flushes: calls(1, 0, &[]), ..AFTER };
    for (told, expected) in [
        (Told::Removal, Some(Evidence::Released)),
        (Told::Nothing, Some(Evidence::Flushed)),
        (Told::NotYet, None),
    ] {
        assert_eq!(PendingEnd { told, ..e.clone() }.settle(flushed, None), expected, "{told:?}");
    }
}
