//! A heartbeat on invented time: when it counts as lost, and what must not make it so.

use super::*;

const RULES: BeatRules =
    BeatRules { frozen_after: Some(Duration::from_secs(3)), poll: Duration::from_millis(500) };

fn at(seconds: f64) -> Span {
    Span { sent: Mono::from_secs_f64(seconds), done: Mono::from_secs_f64(seconds + 0.001) }
}

fn value(mark: u64) -> Beat {
    Beat::Value { mark, expires: false }
}

fn failed() -> Beat {
    Beat::Failed { reason: crate::observe::node::FailReason::Timeout, detail: String::new() }
}

fn beating_until(seconds: u32) -> Heartbeat {
    let mut h = Heartbeat::default();
    for k in 0..seconds * 2 {
        h.read(at(f64::from(k) / 2.0), &value(u64::from(k / 2)), RULES);
    }
    h
}

#[test]
fn it_freezes_after_the_threshold_and_not_before() {
    let mut h = beating_until(10);
    for k in 20..=23 {
        assert!(!h.read(at(f64::from(k) / 2.0), &value(9), RULES), "at {k}");
    }
    assert!(!h.read(at(12.0), &value(9), RULES));
    assert!(h.read(at(12.5), &value(9), RULES));
    assert_eq!(h.liveness(RULES), Liveness::Frozen);
    // T_lost: two usual beats after the last advance, which the read at 9 s showed.
    let since = h.loss().unwrap().since.secs_since(Mono(0));
    assert!((since - 11.0).abs() < 0.01, "{since}");
}

#[test]
fn an_outage_of_its_source_restarts_the_age() {
    let mut h = beating_until(10);
    for k in 20..50 {
        h.read(at(f64::from(k) / 2.0), &failed(), RULES);
    }
    h.read(at(25.0), &value(9), RULES);
    assert_eq!(h.liveness(RULES), Liveness::Alive);
    assert!(h.age().unwrap() < 0.01);
}

#[test]
fn a_pause_of_the_observer_restarts_the_age() {
    let mut h = beating_until(10);
    assert!(!h.read(at(70.0), &value(9), RULES));
    assert_eq!(h.liveness(RULES), Liveness::Alive);
}

#[test]
fn a_worker_lost_before_the_outage_stays_lost_unless_its_value_changed() {
    let mut h = beating_until(10);
    for k in 20..30 {
        h.read(at(f64::from(k) / 2.0), &value(9), RULES);
    }
    assert_eq!(h.liveness(RULES), Liveness::Frozen);
    h.read(at(20.0), &failed(), RULES);
    h.read(at(25.0), &value(9), RULES);
    assert_eq!(h.liveness(RULES), Liveness::Frozen);
    h.read(at(25.5), &value(10), RULES);
    assert_eq!(h.liveness(RULES), Liveness::Alive);
    assert!(!h.has_returned());
    h.read(at(26.5), &value(11), RULES);
    assert!(h.has_returned());
}

#[test]
fn a_constant_is_no_heartbeat_but_a_session_key_is() {
    let mut h = Heartbeat::default();
    for k in 0..40 {
        h.read(at(f64::from(k)), &value(7), RULES);
    }
    assert_eq!(h.liveness(RULES), Liveness::Unknown);
    let mut h = Heartbeat::default();
    for k in 0..10 {
        h.read(at(f64::from(k) / 2.0), &Beat::Success, RULES);
    }
    for k in 10..20 {
        h.read(at(f64::from(k) / 2.0), &Beat::None, RULES);
    }
    assert_eq!(h.liveness(RULES), Liveness::Frozen);
}

#[test]
fn a_long_loss_is_not_learned_as_the_usual_beat() {
    let mut h = beating_until(10);
    for k in 20..200 {
        h.read(at(f64::from(k) / 2.0), &value(9), RULES);
    }
    h.read(at(100.0), &value(10), RULES);
    assert!(h.usual_beat(RULES) < 1.1, "{}", h.usual_beat(RULES));
    assert!(h.is_judged(RULES));
}

#[test]
fn a_threshold_under_two_usual_beats_is_not_judged() {
    let mut h = Heartbeat::default();
    for k in 0..10 {
        h.read(at(f64::from(k) * 2.0), &value(k as u64), RULES);
    }
    assert_eq!(h.liveness(RULES), Liveness::Unknown);
    assert!(!h.is_threshold_sane(RULES));
}
