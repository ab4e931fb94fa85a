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
fn a_step_back_by_just_the_time_between_two_readings_is_counted_by_the_next() {
    let mut c = NodeClock::default();
    c.observe(ServerTime(1_000_000), span(1000, 1));
    c.observe(ServerTime(2_000_500), span(2000, 1));
    c.observe(ServerTime(2_000_700), span(3000, 1));
    assert!(c.is_standing(), "it may as well stand");
    assert_eq!(c.steps, 0);
    c.observe(ServerTime(2_037_700), span(3037, 1));
    assert!(!c.is_standing());
    assert_eq!((c.forward, c.backward), (0, 1));
    assert!((c.last_step.unwrap() + 1_000_000).abs() < 3000);
    assert!(c.stood_after(Mono(0)));
}

#[test]
fn what_time_advances_within_a_turn_of_the_servers_loop_is_no_running_clock() {
    let mut c = NodeClock::default();
    c.observe(ServerTime(1_000_000), span(1000, 1));
    for k in 2..=61 {
        // Two readings, one right after the other.
        c.observe(ServerTime(1_000_500), span(k * 1000, 0));
        c.observe(ServerTime(1_000_500 + 300), span(k * 1000, 1));
        assert!(c.is_standing());
        assert_eq!(c.steps, 0);
    }
    c.observe(ServerTime(2_000_500), span(62_000, 1));
    assert!((c.last_step.unwrap() + 60_000_000).abs() < 3000);
}

#[test]
fn what_a_clock_stood_still_it_is_behind_by_unless_it_jumps() {
    for (jump, steps) in [(0, (0, 1)), (60_000_000, (0, 0))] {
        let mut c = NodeClock::default();
        c.observe(ServerTime(1_000_000), span(1000, 1));
        for k in 2..=61 {
            c.observe(ServerTime(1_000_500), span(k * 1000, 1));
            assert!(c.is_standing());
        }
        c.observe(ServerTime(2_000_500 + jump), span(62_000, 1));
        assert!(!c.is_standing());
        assert_eq!((c.forward, c.backward), steps);
        let (mid, half) = c.offset_micros().unwrap();
        assert!((mid - (jump - 60_000_000)).abs() <= half + 1000, "{mid} +- {half}");
    }
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

#[test]
fn a_slew_faster_than_usual_is_no_step_and_widens_what_is_claimed() {
    let mut c = NodeClock::default();
    // 5000 ppm for a minute: a chronyd that works off a correction.
    let server = |ms: u64| (ms as f64 * 1005.0) as i64 + 5_000_000;
    let mut outside = 0;
    for k in 0..30u64 {
        let at = 10_000 + k * 2000;
        c.observe(ServerTime(server(at)), span(at, 1));
        let (lo, hi) = c.interval_at(Mono((at + 2000) * 1_000_000)).unwrap();
        let truth = server(at + 2000) - (at as i64 + 2000) * 1000;
        outside += u64::from(!(lo..=hi).contains(&truth));
    }
    assert_eq!(c.steps, 0);
    assert!(outside <= 1, "only until it was caught: {outside}");
}

#[test]
fn a_long_silence_widens_the_interval() {
    let mut c = NodeClock::default();
    c.observe(ServerTime(1_000_000), span(1000, 2));
    let width = |s: u64| {
        let (lo, hi) = c.interval_at(Mono(s * 1_000_000_000)).unwrap();
        hi - lo
    };
    assert!(width(101) - width(1) > 39_000, "200 ppm of 100 s each way");
}

#[test]
fn numbers_at_the_edge_are_no_panic() {
    let mut c = NodeClock::default();
    for time in [i64::MIN, i64::MAX, 0, i64::MIN, 5, i64::MAX] {
        c.observe(ServerTime(time), span(1000, 5));
        c.sweep_ended();
        c.step_is_theirs();
        c.interval_at(Mono(u64::MAX));
        c.send_at(ServerTime(time));
    }
}
