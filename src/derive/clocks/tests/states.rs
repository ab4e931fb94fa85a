//! The states of a clock, and the bound of its error.

use proptest::prelude::*;

use super::*;
use crate::derive::ClockStatus::{FreeRunning, Local, Synchronized, Unsynchronized};
use crate::derive::clocks::bound;

/// The state and the bound at an instant.
fn seen(w: &World, name: &str, at: f64) -> (crate::derive::ClockStatus, Option<f64>) {
    let judged = w.judge(name, at).expect("a fresh report");
    (judged.status, judged.error.map(|e| e.worst()))
}

#[test]
fn what_the_wire_makes_up_becomes_no_bound() {
    let mut w = World::new();
    w.read_host(1000.0, 0.0);
    let none = Tracking {
        ref_id: 0,
        stratum: 0,
        leap: 3,
        root_delay: 1.0,
        root_dispersion: 1.0,
        ref_time: 0.0,
        correction: 0.0,
        ..synchronized()
    };
    w.report("local", 1000.0, none);
    assert_eq!(seen(&w, "local", 1000.0), (Unsynchronized, None));
    w.report("local", 1002.0, Tracking { leap: 3, ..synchronized() });
    assert_eq!(seen(&w, "local", 1002.0), (Unsynchronized, None));
    w.report("local", 1004.0, Tracking { ref_id: 0, ..synchronized() });
    assert_eq!(seen(&w, "local", 1004.0), (Unsynchronized, None));
    let local = Tracking {
        ref_id: 0x7F7F_0101,
        leap: 0,
        root_delay: 0.0,
        root_dispersion: 0.0,
        correction: 0.0,
        ..synchronized()
    };
    w.report("local", 1006.0, local);
    assert_eq!(seen(&w, "local", 1006.0), (Local, None));
    // The first state that is not the usual one, and the change to another.
    assert_eq!(w.was_told("clock_status"), 2);
}

#[test]
fn a_clock_that_follows_a_source_has_the_bound_of_the_formula() {
    let mut w = World::new();
    w.read_host(1000.0, 0.0);
    w.report("local", 1000.0, Tracking { correction: -0.25, ..synchronized() });
    let (status, bound) = seen(&w, "local", 1000.0);
    assert_eq!(status, Synchronized);
    assert!((bound.unwrap() - 0.252).abs() < 1e-9, "{bound:?}");
    // It grows while nobody asks: 50 ppm of the age.
    let (_, later) = seen(&w, "local", 1004.0);
    assert!((later.unwrap() - 0.252_2).abs() < 1e-6, "{later:?}");
    assert_eq!(w.was_told("clock_status"), 0);
}

#[test]
fn a_source_that_died_leaves_a_clock_that_runs_alone() {
    let mut w = World::new();
    let mut at = 1000.0;
    // Updated at 990, every 16 s: dead after 128 s without an update.
    let dead = Tracking { update_interval: 16.0, correction: 0.0, ..synchronized() };
    while at < 1140.0 {
        w.read_host(at, 0.0);
        w.report("local", at, dead);
        let expected = if at - 990.0 > 128.0 { FreeRunning } else { Synchronized };
        let (status, bound) = seen(&w, "local", at);
        assert_eq!(status, expected, "at {at}");
        assert!(bound.is_some());
        at += 2.0;
    }
    assert_eq!(w.was_told("clock_status"), 1);
    // Before the second update the usual interval is assumed.
    let mut w = World::new();
    w.read_host(1400.0, 0.0);
    w.report("local", 1400.0, Tracking { update_interval: 0.0, ..synchronized() });
    assert_eq!(seen(&w, "local", 1400.0).0, Synchronized);
    w.read_host(1503.0, 0.0);
    w.report("local", 1503.0, Tracking { update_interval: 0.0, ..synchronized() });
    assert_eq!(seen(&w, "local", 1503.0).0, FreeRunning);
}

#[test]
fn the_age_of_an_update_is_on_the_clock_it_is_of() {
    // The server's clock is an hour ahead of ours; its update is 10 s old on its own clock.
    let mut w = World::new();
    let theirs =
        Tracking { ref_time: EPOCH + 3600.0 + 990.0, update_interval: 2.0, ..synchronized() };
    w.read_host(1000.0, 0.0);
    w.read_time(1000.0, 0.001, 0.5, 3600.0);
    w.report("server", 1000.0, theirs);
    assert_eq!(seen(&w, "server", 1000.0).0, Synchronized);
    let old = Tracking { ref_time: theirs.ref_time - 10.0, ..theirs };
    w.report("server", 1000.5, old);
    assert_eq!(seen(&w, "server", 1000.5).0, FreeRunning);
}

#[test]
fn an_update_in_the_future_of_its_own_clock_is_no_bound() {
    let mut w = World::new();
    w.read_host(1000.0, 0.0);
    w.report("local", 1000.0, Tracking { ref_time: EPOCH + 1001.5, ..synchronized() });
    assert_eq!(seen(&w, "local", 1000.0), (Unsynchronized, None));
    w.report("local", 1001.0, Tracking { ref_time: EPOCH + 1001.5, ..synchronized() });
    assert!(seen(&w, "local", 1001.0).1.is_some(), "less than a second ahead");
}

#[test]
fn an_update_is_on_the_corrected_clock() {
    // Behind true time by five seconds, then by a minute; ahead of it by a hundred seconds.
    for wrong in [-5.0, -60.0, 100.0] {
        let mut w = World::new();
        w.read_host(1000.0, wrong);
        w.read_time(1000.0, 0.001, 0.5, wrong);
        let t = Tracking {
            ref_time: EPOCH + 999.0,
            correction: -wrong,
            update_interval: 1.0,
            ..synchronized()
        };
        for name in ["local", "server", "other"] {
            w.report(name, 1000.0, t);
            let (status, bound) = seen(&w, name, 1000.0);
            assert_eq!(status, Synchronized, "{name} {wrong}");
            assert!(
                bound.is_some_and(|b| (0.0..0.01).contains(&(b - f64::abs(wrong)))),
                "{bound:?}"
            );
        }
        // Its source is gone.
        w.read_host(1010.0, wrong);
        w.report("local", 1010.0, t);
        assert_eq!(seen(&w, "local", 1010.0).0, FreeRunning, "{wrong}");
    }
}

#[test]
fn slewing_since_the_report_makes_no_update_older() {
    let mut w = World::new();
    // 7.7 s old at the end; its clock gains half a second meanwhile.
    let t = Tracking {
        ref_time: EPOCH + 998.3,
        correction: 5.0,
        update_interval: 1.0,
        ..synchronized()
    };
    w.read_time(1000.0, 0.001, 0.5, -5.0);
    w.report("server", 1000.0, t);
    for k in 1..=12 {
        let later = 0.5 * f64::from(k);
        w.read_time(1000.0 + later, 0.001, 0.5, -5.0 + 0.08 * later);
    }
    assert_eq!(seen(&w, "server", 1006.0).0, Synchronized);
}

#[test]
fn a_clock_that_no_server_tells_of_is_judged_by_its_updates() {
    // Its host is two minutes behind ours: no reason to call its updates old, nor those of one ahead future.
    for apart in [-120.0, 0.0, 120.0] {
        let mut w = World::new();
        let start = EPOCH + 995.0 + apart;
        for k in 0..40 {
            let at = 1000.0 + f64::from(k) * 2.0;
            w.read_host(at, 0.0);
            let updated = start + f64::from(k / 4) * 8.0;
            let t = Tracking { ref_time: updated, update_interval: 8.0, ..synchronized() };
            w.report("other", at, t);
            assert_eq!(seen(&w, "other", at).0, Synchronized, "{apart} at {at}");
        }
        // The last update was first seen at 1072.
        let last = Tracking { ref_time: start + 72.0, update_interval: 8.0, ..synchronized() };
        for k in 40..70 {
            let at = 1000.0 + f64::from(k) * 2.0;
            w.read_host(at, 0.0);
            w.report("other", at, last);
            let expected = if at - 1072.0 > 64.0 { FreeRunning } else { Synchronized };
            assert_eq!(seen(&w, "other", at).0, expected, "{apart} at {at}");
        }
    }
}

#[test]
fn the_first_report_of_a_foreign_clock_is_old_only_beyond_what_clocks_may_differ() {
    for (age, expected) in [(200.0, Synchronized), (350.0, Synchronized), (400.0, FreeRunning)] {
        let mut w = World::new();
        w.read_host(1000.0, 0.0);
        let t = Tracking { ref_time: EPOCH + 1000.0 - age, update_interval: 8.0, ..synchronized() };
        w.report("other", 1000.0, t);
        assert_eq!(seen(&w, "other", 1000.0).0, expected, "{age}");
    }
}

#[test]
fn after_a_step_the_bound_waits_for_the_next_update() {
    let mut w = World::new();
    w.read_host(1000.0, 0.0);
    w.report("local", 1000.0, synchronized());
    assert!(seen(&w, "local", 1000.0).1.is_some());
    // Somebody sets the wall clock; chronyd has not noticed, and says what it said before.
    w.read_host(1002.0, 5.0);
    assert_eq!(seen(&w, "local", 1002.0).1, None, "the report was before the step");
    w.report("local", 1003.0, synchronized());
    assert_eq!(seen(&w, "local", 1003.0), (Synchronized, None), "the update was before the step");
    w.report(
        "local",
        1004.0,
        Tracking { ref_time: EPOCH + 1003.5, correction: -5.0, ..synchronized() },
    );
    assert!(seen(&w, "local", 1004.5).1.unwrap() > 5.0);
    assert_eq!((w.host.forward, w.was_told("host_clock_stepped")), (1, 1));
}

#[test]
fn an_update_that_may_be_from_before_the_step_has_no_bound() {
    let update = |at: f64, correction| Tracking {
        ref_time: EPOCH + at,
        correction,
        update_interval: 1.0,
        ..synchronized()
    };
    let mut w = World::new();
    w.read_host(1000.0, 0.0);
    w.report("local", 1000.0, update(999.5, 0.0));
    // chronyd updates at 1001, then somebody sets the clock; that is seen first, and the update after it.
    w.read_host(1002.0, 0.5);
    w.report("local", 1003.0, update(1001.0, 0.0));
    assert_eq!(seen(&w, "local", 1003.0), (Synchronized, None));
    w.report("local", 1004.0, update(1001.0, 0.0));
    assert_eq!(seen(&w, "local", 1004.0), (Synchronized, None));
    w.report("local", 1006.0, update(1005.0, -0.5));
    assert!(seen(&w, "local", 1006.0).1.is_some_and(|b| b >= 0.5));
    // Of a first report nobody knows how old its update is.
    let mut w = World::new();
    w.read_host(1000.0, 0.0);
    w.read_host(1002.0, 0.5);
    w.report("local", 1003.0, update(1001.0, 0.0));
    assert_eq!(seen(&w, "local", 1003.0).1, None);
}

#[test]
fn silence_is_told_once_and_ends_the_series() {
    let mut w = World::new();
    w.read_host(1000.0, 0.0);
    w.report("local", 1000.0, synchronized());
    for k in 1..6 {
        w.fail("local", 1000.0 + f64::from(k) * 2.0);
    }
    assert!(w.judge("local", 1006.0).is_some());
    assert_eq!(w.judge("local", 1010.0), None, "three intervals and a half");
    assert_eq!(w.clocks.by_name["local"].failure.as_ref().unwrap().detail, "no answer");
    w.report("local", 1012.0, synchronized());
    assert_eq!((w.was_told("clock_unreachable"), w.was_told("clock_returned")), (1, 1));
    // A late answer of a clock that a reload removed.
    w.report("gone", 1014.0, synchronized());
    assert!(!w.clocks.by_name.contains_key("gone"));
    w.clocks.keep(|name| name != "local");
    assert!(w.clocks.by_name.is_empty());
}

#[test]
fn numbers_that_cannot_be_are_no_bound() {
    let mut w = World::new();
    w.read_host(1000.0, 0.0);
    let good = synchronized();
    for bad in [
        Tracking { root_dispersion: -1e-9, ..good },
        Tracking { root_delay: -1.0, ..good },
        Tracking { correction: 9e18, ..good },
        Tracking { correction: -9e18, ..good },
        Tracking { root_delay: 9e18, ..good },
        Tracking { root_dispersion: f64::INFINITY, ..good },
        Tracking { correction: f64::NAN, ..good },
    ] {
        w.report("local", 1000.0, bad);
        assert_eq!(seen(&w, "local", 1000.0).1, None, "{bad:?}");
    }
}

proptest! {
    /// A host's clock that is slewed towards true time at any allowed rate and drifts stays within its bound.
    #[test]
    fn the_true_error_is_in_the_interval(
        truth in -0.5f64..0.5,
        wrong in -1.0f64..1.0,
        half in 0.0f64..0.1,
        delay in 0.0f64..0.2,
        slewed in 0.0f64..0.0833,
        drift in -50e-6f64..50e-6,
        age in 0.0f64..7.0,
    ) {
        let half_all = half + delay / 2.0;
        // What chronyd estimates is within its own error of the truth.
        let t = Tracking {
            correction: -(truth + wrong * half_all),
            root_dispersion: half,
            root_delay: delay,
            ..synchronized()
        };
        let towards = -(-t.correction).signum() * (slewed * age).min(t.correction.abs());
        let now = truth + towards + drift * age;
        let error = bound::error(&t, age).unwrap();
        prop_assert!(error.lo - 1e-9 <= now && now <= error.hi + 1e-9, "{now} {error:?}");
        prop_assert!(now.abs() <= error.worst() + 1e-9);
    }

    /// Whatever a chronyd sends: no panic, and a bound only where it can be one.
    #[test]
    fn any_report_is_judged(
        ref_id: u32, leap: u16, ref_time: f64, correction: f64, root_delay: f64, root_dispersion: f64,
        update_interval: f64, name in prop::sample::select(vec!["local", "server", "other"]),
    ) {
        let mut w = World::new();
        w.read_host(1000.0, 0.0);
        w.read_time(1000.0, 0.001, 0.5, 1.0);
        let t = Tracking {
            ref_id, leap, ref_time, correction, root_delay, root_dispersion, update_interval, ..synchronized()
        };
        w.report(name, 1000.0, t);
        w.report(name, 1002.0, t);
        let judged = w.judge(name, 1002.0).unwrap();
        if let Some(e) = judged.error {
            prop_assert!(matches!(judged.status, Synchronized | FreeRunning));
            prop_assert!(e.worst().is_finite() && e.lo <= e.hi);
        }
        w.skew(1002.0);
    }
}
