//! Stale holders and renewals after lost liveness, and everything that looks like them and is not.

use proptest::prelude::*;

use super::sim::{Sim, in_state, rules, running};
use crate::derive::Signal;
use crate::observe::worker::{ProcessSeen, ProcessState};

const POLL: u64 = 500;
const LEASE: i64 = 6_000;
const RENEW: u64 = 2_000;
const BEAT: u64 = 500;
const FROZEN_AFTER: u64 = 3_000;

fn sim() -> Sim {
    let mut s = Sim::new(POLL, Some(FROZEN_AFTER), rules());
    s.beat();
    s
}

/// A worker that beats and renews for a while, in steps of 100 ms.
fn work(s: &mut Sim, token: &str, ms: u64, renews: bool, beats: bool) {
    for _ in 0..ms / 100 {
        if beats && s.ms.is_multiple_of(BEAT) {
            s.beat();
        }
        if renews && s.ms.is_multiple_of(RENEW) {
            s.renew(token, LEASE);
        }
        s.advance(100);
    }
}

#[test]
fn a_healthy_worker_raises_nothing_over_200_leases() {
    let mut s = sim();
    s.process = Some(running(7, 0));
    s.acquire("w:1", LEASE);
    work(&mut s, "w:1", 200 * LEASE as u64, true, true);
    s.assert_quiet();
    assert!(s.lock().counts.renewals > 590);
    assert_eq!(s.signal(Signal::HolderStale), Some(false));
    assert_eq!(s.signal(Signal::RenewalAfterLostLiveness), Some(false));
}

#[test]
fn a_frozen_worker_whose_lease_is_renewed_is_found_by_its_heartbeat_alone() {
    let mut s = sim();
    s.acquire("w:1", LEASE);
    work(&mut s, "w:1", 20_000, true, true);
    let renew = |s: &mut Sim| {
        if s.ms.is_multiple_of(RENEW) {
            s.renew("w:1", LEASE);
        }
    };
    let stale = s.until_up(Signal::HolderStale, 60_000, 100, renew);
    assert!(stale <= FROZEN_AFTER + 2 * POLL + BEAT, "stale after {stale} ms");
    let after = stale + s.until_up(Signal::RenewalAfterLostLiveness, 60_000, 100, renew);
    let worst = stale.max(RENEW + 2 * POLL + 3 * (BEAT + POLL)) + POLL;
    assert!(after <= worst, "renewal_after after {after} ms, allowed {worst}");
    // The first beat makes it alive, only the second clears the proof.
    s.beat();
    s.advance(POLL + 10);
    assert_eq!(s.signal(Signal::RenewalAfterLostLiveness), Some(true));
    s.beat();
    s.advance(POLL + 10);
    assert_eq!(s.signal(Signal::RenewalAfterLostLiveness), Some(false));
    assert_eq!(s.signal(Signal::HolderStale), Some(false));
}

#[test]
fn a_stopped_process_whose_lease_is_renewed_is_found_at_once() {
    let mut s = Sim::new(POLL, None, rules());
    s.process = Some(running(7, 0));
    s.acquire("w:1", LEASE);
    work(&mut s, "w:1", 20_000, true, false);
    s.process = Some(in_state(7, 0, ProcessState::Stopped));
    let renew = |s: &mut Sim| {
        if s.ms.is_multiple_of(RENEW) {
            s.renew("w:1", LEASE);
        }
    };
    let stale = s.until_up(Signal::HolderStale, 10_000, 10, renew);
    assert!(stale <= POLL + 20, "{stale}");
    let after = s.until_up(Signal::RenewalAfterLostLiveness, 10_000, 10, renew);
    assert!(after <= RENEW + 2 * POLL, "{after}");
    assert!(s.lock().counts.renewals_after_lost_liveness >= 1);
    s.process = Some(running(7, 0));
    s.advance(POLL + 10);
    assert_eq!(s.signal(Signal::HolderStale), Some(false));
    assert_eq!(s.signal(Signal::RenewalAfterLostLiveness), Some(false));
}

#[test]
fn a_killed_worker_is_stale_until_its_lease_ends_and_nothing_renewed() {
    let mut s = sim();
    s.process = Some(running(7, 0));
    s.acquire("w:1", LEASE);
    work(&mut s, "w:1", 20_000, true, true);
    s.process = Some(ProcessSeen::Gone { named_here: false });
    let stale = s.until_up(Signal::HolderStale, 10_000, 10, |_| {});
    assert!(stale <= 2 * POLL, "{stale}");
    s.advance(LEASE as u64 + 2 * POLL);
    assert_eq!(s.signal(Signal::HolderStale), Some(false));
    assert_eq!(s.lock().held, Some(false));
    assert_eq!(s.rises(Signal::RenewalAfterLostLiveness), 0);
    assert!(s.lock().overrun_seconds.is_some_and(|o| o > 3.0), "{:?}", s.lock().overrun_seconds);
}

/// Its last beat is not old yet, but that says nothing against a death that was seen.
#[test]
fn a_dead_holder_whose_process_is_not_looked_at_in_time_does_not_come_to_life() {
    let mut s = Sim::new(POLL, Some(10_000), rules());
    s.beat();
    s.process = Some(running(7, 0));
    s.acquire("w:1", 30_000);
    work(&mut s, "w:1", 8_000, false, true);
    s.process = Some(ProcessSeen::Gone { named_here: false });
    s.until_up(Signal::HolderStale, 10_000, 10, |_| {});
    let process = s.process.take();
    s.advance(6 * POLL);
    assert_eq!(s.signal(Signal::HolderStale), None, "neither stale nor well");
    s.process = process;
    s.advance(2 * POLL);
    assert_eq!(s.signal(Signal::HolderStale), Some(true));
    assert_eq!(s.rises(Signal::HolderStale), 1);
}

#[test]
fn an_outage_of_redis_with_the_heartbeat_in_it_is_no_loss() {
    for phase in 0..20 {
        let mut s = sim();
        s.acquire("w:1", LEASE);
        work(&mut s, "w:1", 20_000 + phase * 100, true, true);
        s.is_down = true;
        s.advance(15_000);
        s.is_down = false;
        // The lease ran out meanwhile; the worker takes it again.
        s.acquire("w:2", LEASE);
        work(&mut s, "w:2", 20_000, true, true);
        s.assert_quiet();
    }
}

#[test]
fn a_pause_of_the_exporter_invents_nothing() {
    for phase in 0..20 {
        let mut s = sim();
        s.process = Some(running(7, 0));
        s.acquire("w:1", LEASE);
        work(&mut s, "w:1", 20_000 + phase * 70, true, true);
        s.is_asleep = true;
        work(&mut s, "w:1", 60_000, true, true);
        s.is_asleep = false;
        work(&mut s, "w:1", 20_000, true, true);
        s.assert_quiet();
        s.restart_exporter();
        work(&mut s, "w:1", 20_000, true, true);
        s.assert_quiet();
        assert_eq!(s.lock().counts.acquisitions, 0, "it was held before we came");
    }
}

#[test]
fn a_reused_pid_is_a_replaced_holder_and_stays_one() {
    let mut s = Sim::new(POLL, None, rules());
    s.process = Some(running(7, 0));
    s.acquire("w:1", LEASE);
    work(&mut s, "w:1", 20_000, true, false);
    s.process = Some(running(7, s.ms));
    s.advance(2 * POLL);
    work(&mut s, "w:1", 10_000, true, false);
    // Its process started after the last write that was seen before it, so later writes do not make it the owner.
    assert_eq!(s.signal(Signal::HolderStale), Some(true), "{:#?}", s.lock().transitions);
}

#[test]
fn a_replaced_holder_that_dies_is_lost_only_once() {
    let mut s = Sim::new(POLL, None, rules());
    s.process = Some(running(7, 0));
    s.acquire("w:1", 10 * LEASE);
    work(&mut s, "w:1", 10_000, false, true);
    s.process = Some(running(7, s.ms));
    work(&mut s, "w:1", 10_000, false, true);
    assert_eq!(s.signal(Signal::HolderStale), Some(true), "{:#?}", s.lock().transitions);
    // The read of the same poll began before this look ended: it proves nothing of the death, nor disproves the loss.
    s.process = Some(ProcessSeen::Gone { named_here: false });
    work(&mut s, "w:1", 2_000, false, true);
    assert_eq!(s.signal(Signal::HolderStale), Some(true), "{:#?}", s.lock().transitions);
    assert_eq!(s.rises(Signal::HolderStale), 1, "{:#?}", s.lock().transitions);
}

#[test]
fn what_cannot_be_seen_is_not_judged() {
    let mut s = Sim::new(POLL, None, rules());
    s.acquire("w:1", LEASE);
    work(&mut s, "w:1", 10_000, true, false);
    assert_eq!(s.signal(Signal::HolderStale), None);
    assert_eq!(s.signal(Signal::RenewalAfterLostLiveness), None);
    s.process = Some(ProcessSeen::Gone { named_here: false });
    work(&mut s, "w:1", 10_000, true, false);
    assert_eq!(s.signal(Signal::HolderStale), None, "never seen alive");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// A worker that lets go and then ends, at any phase of polls and beats, never looks stale.
    #[test]
    fn clean_exits_never_flash(phase in 0u64..2_000, gap in 0u64..50, rounds in 1usize..6) {
        let mut s = sim();
        s.process = Some(running(7, 0));
        s.advance(phase);
        for k in 0..rounds {
            let token = format!("w:{k}");
            s.process = Some(running(7 + k as i32, s.ms - 1));
            s.beat();
            s.acquire(&token, LEASE);
            work(&mut s, &token, 3_000, true, true);
            s.advance(phase % 97);
            s.release(&token);
            s.advance(gap);
            s.process = Some(ProcessSeen::Gone { named_here: false });
            s.advance(1_000 + phase % 333);
        }
        s.assert_quiet();
    }

    /// A worker that stops whole (renewals too) and goes on: it may be stale meanwhile, but what it renews after it
    /// came back is not a renewal after lost liveness.
    #[test]
    fn pauses_that_end_are_not_renewals_after_loss(phase in 0u64..2_000, pause in 500u64..12_000, late_beat in 0u64..400, with_process: bool) {
        let mut s = sim();
        if with_process {
            s.process = Some(running(7, 0));
        }
        s.advance(phase);
        s.acquire("w:1", 20_000);
        work(&mut s, "w:1", 10_000, false, true);
        s.renew("w:1", 20_000);
        if with_process {
            s.process = Some(in_state(7, 0, ProcessState::Stopped));
        }
        s.advance(pause);
        if with_process {
            s.process = Some(running(7, 0));
        }
        // It renews first and beats a moment later, as a worker does whose timers fire in that order.
        s.renew("w:1", 20_000);
        s.advance(late_beat);
        s.beat();
        work(&mut s, "w:1", 10_000, true, true);
        prop_assert_eq!(s.rises(Signal::RenewalAfterLostLiveness), 0, "{:#?}", s.lock().transitions);
    }
}
