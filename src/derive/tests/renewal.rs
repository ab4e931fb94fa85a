//! Renewals, the lease length, overdue.

use proptest::prelude::*;

use super::cases::UUID;
use super::sim::{Sim, rules};
use crate::config::LockRules;
use crate::derive::{LeaseSource, Signal};

#[test]
fn the_lease_and_the_period_are_learned() {
    let mut s = Sim::new(1_000, None, rules());
    s.advance(3_300);
    s.acquire("w:1", 30_000);
    for _ in 0..12 {
        s.advance(10_000);
        s.renew("w:1", 30_000);
    }
    s.advance(1_000);
    let lock = s.lock();
    assert_eq!(lock.counts.renewals, 12);
    assert_eq!(lock.counts.acquisitions, 1);
    assert!((29.0..=30.0).contains(&lock.length_seconds.unwrap()), "{:?}", lock.length_seconds);
    assert_eq!(lock.lease_source, Some(LeaseSource::Learned));
    assert!((lock.renewal_period_seconds.unwrap() - 10.0).abs() < 0.01);
    assert!((lock.least_margin_ratio.unwrap() - 2.0 / 3.0).abs() < 0.05);
    assert!((lock.stall_budget_seconds.unwrap() - 20.0).abs() < 1.1);
}

#[test]
fn a_missed_renewal_is_overdue_at_its_instant_and_late_when_it_comes() {
    let mut s = Sim::new(
        2_000,
        None,
        LockRules { lease: Some(std::time::Duration::from_secs(30)), ..rules() },
    );
    s.advance(3_000);
    s.acquire("w:1", 30_000);
    for _ in 0..12 {
        s.advance(10_000);
        s.renew("w:1", 30_000);
    }
    let took = s.until_up(Signal::RenewalOverdue, 30_000, 10, |_| {});
    // P + (L - P) / 2
    assert!((20_000..=20_030).contains(&took), "{took}");
    s.renew("w:1", 30_000);
    s.advance(3_000);
    assert_eq!(s.lock().counts.late_renewals, 1);
    assert_eq!(s.signal(Signal::RenewalOverdue), Some(true), "shown for 60 s at least");
    for _ in 0..6 {
        s.advance(10_000);
        s.renew("w:1", 30_000);
    }
    s.advance(3_000);
    assert_eq!(s.signal(Signal::RenewalOverdue), Some(false));
    assert_eq!(s.rises(Signal::RenewalOverdue), 1);
}

#[test]
fn a_lease_that_is_never_renewed_is_never_overdue() {
    let mut s = Sim::new(500, None, rules());
    for k in 0..40 {
        let token = format!("w:{k}");
        s.acquire(&token, 10_000);
        s.advance(3_000);
        s.release(&token);
        s.advance(777);
    }
    s.assert_quiet();
    assert!(s.lock().typical_hold_seconds.is_some());
}

#[test]
fn a_watchdog_that_does_not_start_is_found_by_habit() {
    let mut s = Sim::new(500, None, rules());
    for k in 0..8 {
        let token = format!("w:{k}");
        s.acquire(&token, 6_000);
        for _ in 0..5 {
            s.advance(2_000);
            s.renew(&token, 6_000);
        }
        s.advance(700);
        s.release(&token);
        s.advance(1_300);
    }
    s.assert_quiet();
    s.acquire("w:last", 6_000);
    let took = s.until_up(Signal::RenewalOverdue, 6_000, 10, |_| {});
    assert!((3_500..4_700).contains(&took), "{took}");
}

#[test]
fn one_read_without_expiry_is_no_verdict_two_are() {
    let mut s = Sim::new(400, None, rules());
    s.advance(1_000);
    s.acquire("w:1", 0);
    s.advance(500);
    assert_eq!(s.signal(Signal::LeaseWithoutTtl), Some(false));
    // EXPIRE came a moment later: SETNX and EXPIRE are two commands.
    s.renew("w:1", 10_000);
    s.advance(5_000);
    s.assert_quiet();
    s.release("w:1");
    s.advance(1_000);
    s.acquire("w:2", 0);
    s.advance(2_000);
    assert_eq!(s.signal(Signal::LeaseWithoutTtl), Some(true));
}

#[test]
fn steps_of_the_servers_clock_are_neither_renewals_nor_shortenings() {
    let mut s = Sim::new(500, None, rules());
    s.acquire("w:1", 30_000);
    for k in 0..20 {
        s.advance(10_000);
        if k == 8 {
            s.offset_ms -= 60_000;
        }
        if k == 14 {
            s.offset_ms += 5_000;
        }
        s.renew("w:1", 30_000);
        s.advance(600);
    }
    let lock = s.lock();
    assert_eq!(lock.counts.renewals, 20);
    assert!(lock.transitions.iter().all(|t| t.what != "shortened"), "{:#?}", lock.transitions);
    assert!((29.0..=30.1).contains(&lock.length_seconds.unwrap()), "{:?}", lock.length_seconds);
    s.assert_quiet();
}

#[test]
fn held_too_long_by_config_and_by_what_was_learned() {
    let max_hold = Some(std::time::Duration::from_secs(60));
    let mut s = Sim::new(1_000, None, LockRules { max_hold, ..rules() });
    s.acquire("w:1", 300_000);
    s.advance(58_000);
    assert_eq!(s.signal(Signal::HeldTooLong), Some(false));
    s.advance(5_000);
    assert_eq!(s.signal(Signal::HeldTooLong), Some(true));

    let mut s = Sim::new(1_000, None, rules());
    for k in 0..25 {
        let token = format!("w:{k}");
        s.acquire(&token, 300_000);
        s.advance(5_000);
        s.release(&token);
        s.advance(3_000);
    }
    s.acquire("w:long", 300_000);
    s.advance(15_000);
    assert_eq!(s.signal(Signal::HeldTooLong), Some(false));
    s.advance(15_000);
    assert_eq!(s.signal(Signal::HeldTooLong), Some(true));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Renewals with jitter, polled at any interval, with failed polls in between: no false alarm.
    #[test]
    fn jitter_is_not_overdue(poll in 200u64..4_000, seed in any::<u64>(), misses in 0u64..3) {
        let mut s = Sim::new(poll, None, rules());
        let mut x = seed | 1;
        let mut random = move |n: u64| { x ^= x << 13; x ^= x >> 7; x ^= x << 17; x % n };
        s.acquire("w:1", 30_000);
        for _ in 0..150 {
            s.advance(9_000 + random(2_000));
            s.renew("w:1", 30_000);
            if random(10) < misses {
                s.is_down = true;
                s.advance(poll);
                s.is_down = false;
            }
        }
        s.assert_quiet();
    }
}

/// BullMQ with a `lockDuration` of 3 s instead of 30 s, found held: that little is left says nothing of a missed renewal.
#[test]
fn a_lease_shorter_than_the_formats_is_not_overdue_when_it_is_found() {
    let mut s = Sim::new(200, None, rules());
    s.string("bull:paint:1:lock", format!("{UUID}:1"), 1_600);
    s.advance(100);
    assert_eq!(s.lock().length_seconds, Some(30.0), "as far as is known");
    for _ in 0..8 {
        s.expire_in(3_000);
        s.advance(1_500);
    }
    assert_eq!(s.lock().counts.renewals, 8);
    s.assert_quiet();
    // Found in the midst of a lease that is not renewed any more, it runs out, and was overdue only if that takes longer than
    // a renewal may.
    s.advance(3_000);
    assert_eq!((s.lock().held, s.rises(Signal::RenewalOverdue)), (Some(false), 1));
}
