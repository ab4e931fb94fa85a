//! Invented clocks: asymmetric paths, drift, slews, steps, standstill.

use super::*;

fn span(at_ms: u64, rtt_ms: u64) -> Span {
    Span { sent: Mono(at_ms * 1_000_000), done: Mono((at_ms + rtt_ms) * 1_000_000) }
}

#[test]
fn an_asymmetric_path_widens_the_bound_but_never_excludes_the_truth() {
    let mut c = NodeClock::default();
    // True offset 5 s; the request takes 40 ms, the reply 5 ms.
    for k in 0..20 {
        let sent = 10_000 + k * 1000;
        c.observe(ServerTime(((sent + 40) * 1000 + 5_000_000) as i64), span(sent, 45));
    }
    let (mid, half) = c.offset_micros().unwrap();
    assert!((mid - half..=mid + half).contains(&5_000_000), "{mid} +- {half}");
    assert_eq!(c.steps, 0);
}

#[test]
fn a_step_is_counted_and_sized() {
    let mut c = NodeClock::default();
    c.observe(ServerTime(1_000_000), span(1000, 1));
    c.observe(ServerTime(3_000_500), span(3000, 1));
    c.observe(ServerTime(25_000_500), span(5000, 1));
    assert_eq!((c.steps, c.forward), (1, 0), "it may have been our own pause");
    c.step_is_theirs();
    assert_eq!((c.forward, c.backward), (1, 0));
    assert!((c.last_step.unwrap() - 20_000_000).abs() < 3000);
    c.observe(ServerTime(-33_000_000), span(7000, 1));
    assert_eq!((c.forward, c.backward), (1, 1));
}

#[test]
fn our_own_pause_inside_a_read_is_no_step() {
    let mut c = NodeClock::default();
    c.observe(ServerTime(1_000_000), span(1000, 1));
    c.observe(ServerTime(2_001_000), span(2000, 60_000));
    c.observe(ServerTime(63_000_500), span(63_000, 1));
    assert_eq!(c.steps, 0);
}

#[test]
fn a_clock_that_stands_still_is_frozen_and_not_stepping() {
    let mut c = NodeClock::default();
    for k in 0..6 {
        c.observe(ServerTime(500), span(1000 + k * 2000, 1));
        c.sweep_ended();
    }
    assert_eq!(c.frozen, Some(true));
    assert_eq!(c.steps, 0);
}
