//! How ends are called when all that is known comes from polling.

use proptest::prelude::*;

use super::sim::{Sim, rules, running};
use crate::config::LockRules;
use crate::derive::{Evidence, Signal};

#[test]
fn a_release_is_a_release() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_000);
    s.acquire("w:1", 10_000);
    s.advance(3_000);
    s.release("w:1");
    s.advance(1_500);
    assert_eq!(s.ends(Evidence::Released), 1);
    let lock = s.lock();
    assert_eq!(lock.held, Some(false));
    assert_eq!(lock.previous, Some(("w".into(), Evidence::Released)));
}

#[test]
fn a_lease_that_runs_out_is_a_lapse_whatever_the_phase() {
    for phase in 0..50 {
        let mut s = Sim::new(2_000, None, rules());
        s.process = Some(running(7, 0));
        s.advance(10 * phase + 3_000);
        s.acquire("w:1", 5_000);
        s.advance(9_000);
        assert_eq!(s.ends(Evidence::Lapsed), 1, "phase {phase}: {:#?}", s.lock().transitions);
        assert_eq!(s.lock().counts.expired_under_holder.unwrap()[0].1, 1);
    }
}

#[test]
fn a_hand_over_between_two_polls_is_unknown_and_never_pages() {
    let mut s = Sim::new(2_000, None, rules());
    s.advance(3_000);
    for k in 0..50 {
        let token = format!("w:{k}");
        s.acquire(&token, 30_000);
        s.advance(2_000);
        s.release(&token);
    }
    assert_eq!(s.ends(Evidence::Overwritten), 0);
    assert_eq!(s.ends(Evidence::Unknown), 49);
    s.assert_quiet();
}

#[test]
fn a_flush_of_one_database_proves_nothing_where_there_are_others() {
    for (has_others, evidence) in [(false, Evidence::Flushed), (true, Evidence::Unknown)] {
        let mut s = Sim::new(500, None, rules());
        s.has_other_databases = has_others;
        s.advance(1_000);
        s.acquire("w:1", 30_000);
        s.advance(1_200);
        s.key = None;
        s.flushes_of_one += 1;
        s.has_other_databases = false;
        s.advance(1_500);
        assert_eq!(s.ends(evidence), 1);
        s.acquire("x:2", 30_000);
        s.advance(1_000);
        assert_eq!(s.rises(Signal::Contested), u64::from(!has_others));
    }
}

#[test]
fn flush_restart_and_eviction_are_told_apart() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_000);
    s.acquire("w:1", 30_000);
    s.advance(1_200);
    s.key = None;
    s.flushes += 1;
    s.advance(1_500);
    assert_eq!(s.ends(Evidence::Flushed), 1);

    s.acquire("w:2", 30_000);
    s.advance(1_200);
    s.key = None;
    s.run_id += 1;
    s.connection += 1;
    s.advance(2_000);
    assert_eq!((s.ends(Evidence::Failover), s.ends(Evidence::Unknown)), (1, 0));

    s.acquire("w:3", 10_000);
    s.advance(1_200);
    s.key = None;
    s.evicted += 5;
    s.advance(3_000);
    assert_eq!(s.ends(Evidence::Evicted), 0, "a counter alone proves nothing");
    s.acquire("w:3", 10_000);
    s.advance(1_500);
    assert_eq!(s.ends(Evidence::Evicted), 1);
    assert_eq!(s.ends(Evidence::Released), 0);
}

#[test]
fn a_forward_step_over_the_expiry_is_a_clock_step() {
    let mut s = Sim::new(500, None, rules());
    s.process = Some(running(7, 0));
    s.advance(1_000);
    s.acquire("w:1", 30_000);
    s.advance(5_000);
    s.offset_ms += 60_000;
    s.advance(1_500);
    assert_eq!(s.ends(Evidence::ClockStep), 1, "{:#?}", s.lock().transitions);
    assert_eq!(s.lock().counts.expired_under_holder.unwrap()[0].1, 1);
}

#[test]
fn a_holder_that_lets_go_by_shortening_released_it() {
    let mut s = Sim::new(500, None, rules());
    s.process = Some(running(7, 0));
    s.advance(1_000);
    s.acquire("w:1", 60_000);
    s.advance(3_000);
    assert!(!s.lock().left_to_expire);
    s.renew("w:1", 2_000);
    s.advance(1_000);
    assert!(s.lock().left_to_expire, "it lets go: {:#?}", s.lock().transitions);
    s.advance(4_000);
    assert!(!s.lock().left_to_expire, "it is free");
    assert_eq!(s.ends(Evidence::Released), 1, "{:#?}", s.lock().transitions);
    assert_eq!(s.lock().counts.expired_under_holder.unwrap()[0].1, 0);
    s.assert_quiet();
}

#[test]
fn a_lock_that_ends_by_expiry_is_always_left_to_expire() {
    let mut s = Sim::new(500, None, LockRules { ends_by_expiry: Some(true), ..rules() });
    s.advance(1_000);
    assert!(s.lock().left_to_expire);
    s.acquire("w:1", 60_000);
    s.advance(1_000);
    assert!(s.lock().left_to_expire);
}

#[test]
fn a_frozen_server_clock_withholds_the_lease() {
    let mut s = Sim::new(500, None, rules());
    s.acquire("w:1", 30_000);
    s.advance(2_000);
    for _ in 0..100 {
        s.offset_ms -= 100;
        s.advance(100);
    }
    assert!(!s.lock().fresh);
    s.assert_quiet();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Any sequence of what can happen: no panic, no counter that falls, nothing called overwritten or evicted
    /// without its proof, and a released lock whose holder died later is never stale.
    #[test]
    fn any_history_keeps_the_invariants(ops in proptest::collection::vec((0u8..12, 1u64..4_000), 1..80), poll in 100u64..3_000) {
        let mut s = Sim::new(poll, None, rules());
        s.process = Some(running(7, 0));
        let mut n = 0;
        let mut overwrites = 0;
        for (op, ms) in ops {
            let token = s.key.as_ref().map(|k| k.token.clone()).unwrap_or_default();
            match op {
                0..3 => { n += 1; s.acquire(&format!("w:{n}"), ms as i64 * 3); }
                3..5 => { s.renew(&token, ms as i64 * 3); }
                5 => s.release(&token),
                6 => s.restart_exporter(),
                7 => { n += 1; overwrites += 1; if let Some(k) = &mut s.key { k.token = format!("x:{n}"); } }
                8 => s.is_down = !s.is_down,
                9 => s.offset_ms += ms as i64 * 7 - 9_000,
                10 => s.is_asleep = !s.is_asleep,
                _ => { s.key = None; s.connection += 1; s.run_id += 1; }
            }
            s.advance(ms);
        }
        prop_assert_eq!(s.ends(Evidence::Overwritten), 0, "{} overwrites, no feed to prove one", overwrites);
        prop_assert_eq!(s.ends(Evidence::Evicted), 0);
        prop_assert_eq!(s.rises(Signal::RenewalAfterLostLiveness), 0, "its process never was lost");
    }
}
