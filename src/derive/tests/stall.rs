//! A lease held against the worst stall of its holder.

use std::time::Duration;

use super::sim::{Sim, rules};
use crate::derive::{Signal, StallSource};
use crate::observe::stall::{HostUnknown, SampleWay, Scheduling, StallSample};
use crate::observe::{Observation, ProcessId, Span, StallRead};

const SIGNAL: Signal = Signal::LeaseShorterThanStall;

/// A single thread that has waited for a CPU so long in all.
fn sample(s: &mut Sim, waited_ms: u64) {
    let slices = 10 + u64::from(waited_ms > 1_000);
    let seen = Scheduling {
        way: SampleWay::Taskstats,
        on_cpu: Duration::from_millis(s.ms / 100),
        waited: Duration::from_millis(waited_ms),
        slices,
        involuntary: None,
        threads: 1,
        state: None,
        frozen: None,
        each: None,
    };
    give(s, Ok(seen));
}

fn give(s: &mut Sim, seen: Result<Scheduling, HostUnknown>) {
    let span = Span { sent: s.now(), done: s.now() };
    let process = ProcessId { pid: 7, start_ticks: 1 };
    let sample = StallSample { worker: "w".into(), process, span, seen };
    s.step(Observation::Stalls(StallRead { span, samples: vec![sample] }));
}

/// Holds a lock of 30 s and renews it every 10 s: it survives about 20 s.
fn holding() -> Sim {
    let mut s = Sim::new(1_000, None, rules());
    s.advance(3_300);
    s.acquire("w:1", 30_000);
    renew(&mut s, 12, |_| {});
    s
}

fn renew(s: &mut Sim, times: u32, mut each_second: impl FnMut(&mut Sim)) {
    for _ in 0..times {
        for _ in 0..10 {
            s.advance(1_000);
            each_second(s);
        }
        s.renew("w:1", 30_000);
    }
}

#[test]
fn a_stall_beyond_the_budget_is_told_once_until_it_leaves_the_window() {
    let mut s = holding();
    assert_eq!(s.signal(SIGNAL), None, "nothing is known of its stalls");
    renew(&mut s, 1, |s| sample(s, 100));
    assert_eq!(s.signal(SIGNAL), Some(false));
    // One wait of 50 s, of which half can be proven: it may have been two.
    s.advance(1_000);
    sample(&mut s, 50_100);
    assert_eq!(s.signal(SIGNAL), Some(true), "at once, not at the next read of the lock");
    let said = s.lock().transitions;
    let said = said.iter().find(|t| t.what == SIGNAL.as_str()).expect("it is told");
    assert!(said.detail.contains("at least 25.000 s (run queue)"), "{}", said.detail);
    assert!(said.detail.contains("the lease survives 1"), "{}", said.detail);
    // It weighs on the next tenure too, and is told no second time.
    s.release("w:1");
    s.advance(3_000);
    assert_eq!(s.signal(SIGNAL), Some(false), "nothing is at risk while it is free");
    s.acquire("w:2", 30_000);
    s.advance(3_000);
    assert_eq!(s.signal(SIGNAL), Some(true));
    s.release("w:2");
    s.acquire("w:1", 30_000);
    renew(&mut s, 370, |s| sample(s, 50_100));
    assert_eq!(s.signal(SIGNAL), Some(false), "an hour later");
    assert_eq!(s.rises(SIGNAL), 1);
}

#[test]
fn what_was_seen_stays_true_and_what_was_not_is_not_denied() {
    let mut s = holding();
    renew(&mut s, 1, |s| sample(s, 100));
    assert_eq!(s.signal(SIGNAL), Some(false));
    renew(&mut s, 1, |s| give(s, Err(HostUnknown::Permission)));
    assert_eq!(s.signal(SIGNAL), None, "there may have been anything");
    renew(&mut s, 1, |s| sample(s, 60_000));
    assert_eq!(s.signal(SIGNAL), Some(true));
    renew(&mut s, 2, |_| {});
    assert_eq!(s.signal(SIGNAL), Some(true), "it has been, whoever looks now");
}

#[test]
fn a_heart_that_was_silent_for_longer_than_usual_counts_without_the_beat_that_was_due() {
    let mut s = holding();
    s.beat();
    renew(&mut s, 2, Sim::beat);
    assert_eq!(s.signal(SIGNAL), Some(false), "a beat every second");
    renew(&mut s, 2, |_| {});
    assert_eq!(s.signal(SIGNAL), Some(false), "silent for less than the lease survives");
    renew(&mut s, 1, |_| {});
    assert_eq!(s.signal(SIGNAL), Some(true), "silent still");
    let worst = s.worst_stall("w");
    assert_eq!(worst.lower.source, StallSource::HeartbeatGap);
    let lower = worst.lower.length.as_secs_f64();
    assert!((25.0..=30.0).contains(&lower), "{lower}");
    let upper = worst.upper.expect("it is read").length.as_secs_f64();
    assert!((30.0..=34.0).contains(&upper), "{upper}");
}

#[test]
fn who_lets_go_and_falls_silent_was_shut_down_and_has_not_stalled() {
    let mut s = holding();
    s.beat();
    renew(&mut s, 2, Sim::beat);
    s.release("w:1");
    s.advance(120_000);
    s.acquire("w:2", 30_000);
    for _ in 0..5 {
        s.beat();
        s.advance(1_000);
    }
    assert_eq!(s.signal(SIGNAL), Some(false));
    let lower = s.worst_stall("w").lower.length;
    assert!(lower < Duration::from_secs(3), "{lower:?}");
}

#[test]
fn a_source_of_beats_that_was_away_is_no_gap() {
    let mut s = holding();
    s.beat();
    renew(&mut s, 2, Sim::beat);
    s.beat_fails = true;
    renew(&mut s, 6, Sim::beat);
    s.beat_fails = false;
    renew(&mut s, 1, Sim::beat);
    let lower = s.worst_stall("w").lower.length;
    assert!(lower < Duration::from_secs(3), "{lower:?}");
    assert_eq!(s.signal(SIGNAL), Some(false));
}

#[test]
fn a_period_seen_through_rare_reads_makes_no_budget() {
    // Renewed every 1.4 s and read every 2 s: each read shows one renewal or two of them.
    let mut s = Sim::new(2_000, None, rules());
    s.advance(3_300);
    s.acquire("w:1", 4_000);
    let mut budgets = Vec::new();
    for _ in 0..12 {
        s.advance(1_400);
        s.renew("w:1", 4_000);
        budgets.push(s.lock().stall_budget_seconds);
    }
    assert!(s.lock().renewal_period_seconds.is_some_and(|p| p > 2.0), "it reads as a multiple");
    let least = budgets.into_iter().flatten().fold(f64::INFINITY, f64::min);
    assert!(least > 2.0, "it survives 2.6 s, never {least}");
}
