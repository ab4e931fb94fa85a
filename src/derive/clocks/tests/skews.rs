//! The skew between this host and a lock server.

use proptest::prelude::*;

use super::*;

/// `TIME` twice a sweep, until the clock is known.
fn settle(w: &mut World, from: f64, rtt: f64, share: f64, ahead: impl Fn(f64) -> f64) -> f64 {
    let mut at = from;
    for _ in 0..3 {
        w.read_time(at, rtt, share, ahead(at + rtt * share));
        w.sweep_ended();
        at += 2.0;
    }
    at
}

/// What chronyd says of a clock that is `ahead` of true time, `wrong` (-1 to 1) of its error beside the truth.
fn tracking(at: f64, ahead: f64, half: f64, wrong: f64) -> Tracking {
    Tracking {
        ref_time: EPOCH + at - 3.0,
        correction: -(ahead + wrong * half),
        root_delay: half,
        root_dispersion: half / 2.0,
        ..synchronized()
    }
}

#[test]
fn chrony_on_both_ends_tightens_what_a_slow_path_leaves_open() {
    let mut w = World::new();
    w.read_host(1000.0, 0.010);
    let at = settle(&mut w, 1000.0, 0.200, 0.9, |_| 0.030);
    let by_time = w.skew(at).unwrap().interval;
    assert!(by_time.half() > 0.09, "{by_time:?}");
    w.report("local", at, tracking(at, 0.010, 0.002, 0.5));
    w.report("server", at, tracking(at, 0.030, 0.002, -0.5));
    let both = w.skew(at).unwrap();
    assert!(!both.is_disputed);
    assert!(both.interval.half() < 0.005, "{both:?}");
    assert!(both.interval.lo <= 0.020 && 0.020 <= both.interval.hi, "{both:?}");
    // One end is not enough.
    w.report("server", at, Tracking { leap: 3, ..tracking(at, 0.030, 0.002, 0.0) });
    assert_eq!(w.skew(at).unwrap().interval, by_time);
}

#[test]
fn a_node_without_a_clock_of_its_own_has_what_time_says() {
    let mut w = World::new();
    w.rules.node_clocks.clear();
    w.rules.local_clock = None;
    assert_eq!(w.skew(1000.0), None, "nothing is known yet");
    w.read_host(1000.0, 0.0);
    let at = settle(&mut w, 1000.0, 0.001, 0.5, |_| -2.0);
    let bound = w.skew(at).unwrap().interval.worst();
    assert!((2.0..2.01).contains(&bound), "{bound}");
}

#[test]
fn where_both_exclude_each_other_time_is_believed_and_it_is_told() {
    let mut w = World::new();
    w.read_host(1000.0, 0.0);
    let mut at = settle(&mut w, 1000.0, 0.001, 0.5, |_| 1.0);
    for _ in 0..4 {
        w.read_host(at, 0.0);
        w.read_time(at, 0.001, 0.5, 1.0);
        w.sweep_ended();
        w.report("local", at, tracking(at, 0.0, 0.001, 0.0));
        // Another host's chronyd, mapped by mistake.
        w.report("server", at, tracking(at, 0.0, 0.001, 0.0));
        at += 2.0;
    }
    let skew = w.skew(at).unwrap();
    assert!(skew.is_disputed);
    assert!((1.0..1.01).contains(&skew.interval.worst()), "{skew:?}");
    assert!(w.clocks.disputes.holds(&"main".into(), &ADDR.into()));
    assert_eq!(w.was_told("clocks_disagree"), 1);
    // Its chronyd does not know now, this host's is silent, its clock was stepped: no word that they agree.
    w.report("server", at, Tracking { leap: 3, ..tracking(at, 0.0, 0.001, 0.0) });
    assert!(!w.skew(at).unwrap().is_disputed && w.was_told("clocks_agree") == 0);
    assert!(!w.clocks.disputes.holds(&"main".into(), &ADDR.into()));
    w.report("server", at + 20.0, tracking(at + 20.0, 0.0, 0.001, 0.0));
    w.read_time(at + 20.0, 0.001, 0.5, 5.0);
    w.report("local", at + 20.0, tracking(at + 20.0, 0.0, 0.001, 0.0));
    assert_eq!(w.skew(at + 20.0), None, "just stepped");
    assert_eq!(w.was_told("clocks_agree"), 0);
    at += 22.0;
    for _ in 0..3 {
        w.read_host(at, 0.0);
        w.read_time(at, 0.001, 0.5, 1.0);
        w.sweep_ended();
        w.report("local", at, tracking(at, 0.0, 0.001, 0.0));
        w.report("server", at, tracking(at, 0.0, 0.001, 0.0));
        at += 2.0;
    }
    assert!(w.clocks.disputes.holds(&"main".into(), &ADDR.into()));
    assert_eq!((w.was_told("clocks_disagree"), w.was_told("clocks_agree")), (1, 0));
    w.read_time(at, 0.001, 0.5, 1.0);
    w.report("local", at, tracking(at, 0.0, 0.001, 0.0));
    w.report("server", at, tracking(at, 1.0, 0.001, 0.0));
    assert!(!w.skew(at).unwrap().is_disputed);
    assert_eq!(w.was_told("clocks_agree"), 1);
}

#[test]
fn a_stepped_or_standing_server_clock_has_no_skew_until_it_is_known_again() {
    let mut w = World::new();
    w.read_host(1000.0, 0.0);
    let at = settle(&mut w, 1000.0, 0.001, 0.5, |_| 0.0);
    assert!(w.skew(at).is_some());
    w.report("local", at, tracking(at, 0.0, 0.001, 0.0));
    w.report("server", at, tracking(at, 0.0, 0.001, 0.0));
    w.read_time(at, 0.001, 0.5, 30.0);
    assert_eq!(w.skew(at), None, "just stepped");
    w.sweep_ended();
    assert_eq!(w.skew(at), None);
    w.read_time(at + 2.0, 0.001, 0.5, 30.0);
    w.sweep_ended();
    w.read_host(at + 2.0, 0.0);
    let skew = w.skew(at + 2.0).unwrap();
    assert!((30.0..30.01).contains(&skew.interval.worst()), "{skew:?}");
    assert!(!skew.is_disputed, "what chronyd said was of before the step");
    // From now on its clock stands still.
    let stood = at + 2.0;
    for k in 1..5 {
        let at = stood + 2.0 * f64::from(k);
        w.read_time(at, 0.001, 0.5, 30.0 - (at - stood));
        w.sweep_ended();
        assert_eq!(w.skew(at), None, "frozen at {at}");
    }
}

#[test]
fn a_step_of_this_hosts_clock_moves_the_skew_and_is_no_step_of_the_server() {
    let mut w = World::new();
    w.read_host(1000.0, 0.0);
    let at = settle(&mut w, 1000.0, 0.001, 0.5, |_| 0.0);
    w.report("local", at, tracking(at, 0.0, 0.001, 0.0));
    w.report("server", at, tracking(at, 0.0, 0.001, 0.0));
    assert!(w.skew(at).unwrap().interval.worst() < 0.01);
    w.read_host(at + 1.0, -7.0);
    let skew = w.skew(at + 1.0).unwrap();
    assert!((7.0..7.01).contains(&skew.interval.worst()) && !skew.is_disputed, "{skew:?}");
    let node = &w.stores[&StoreId(1)].nodes[ADDR].clock;
    assert_eq!((node.steps, w.host.backward), (0, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// True offsets of two hosts that drift as far as allowed, any paths, any errors that chronyd states: the interval
    /// contains the truth at every instant, between reads too.
    #[test]
    fn the_skew_contains_the_truth(
        ours in -1.0f64..1.0,
        theirs in -1.0f64..1.0,
        drift in -45e-6f64..45e-6,
        halves in (0.0f64..0.05, 0.0f64..0.05),
        wrongs in (-1.0f64..1.0, -1.0f64..1.0),
        reads in proptest::collection::vec((0.0f64..0.3, 0.0f64..1.0, 0.3f64..2.5, 0.0f64..0.3), 6..40),
        has_chrony: bool,
    ) {
        let mut w = World::new();
        let mut at = 1000.0;
        // The observer's clock and this host's wall clock run alike; the server's drifts against both.
        let server = |at: f64| theirs + drift * (at - 1000.0);
        for (k, (rtt, share, pause, later)) in reads.into_iter().enumerate() {
            w.read_host(at, ours);
            w.read_time(at, rtt, share, server(at + rtt * share));
            w.sweep_ended();
            let done = at + rtt;
            if has_chrony && k % 2 == 0 {
                w.report("local", done, tracking(done, ours, halves.0, wrongs.0));
                w.report("server", done, tracking(done, server(done), halves.1, wrongs.1));
            }
            for now in [done, done + later] {
                let skew = w.skew(now);
                let truth = server(now) - ours;
                if let Some(s) = skew {
                    prop_assert!(s.interval.lo <= truth && truth <= s.interval.hi, "{truth} {s:?}");
                    prop_assert!(truth.abs() <= s.interval.worst());
                    prop_assert!(!s.is_disputed);
                }
                prop_assert!(skew.is_some());
            }
            at = done + later + pause;
        }
        prop_assert_eq!(w.stores[&StoreId(1)].nodes[ADDR].clock.steps, 0);
    }

    /// The same with a server that is slewed or drifts by up to what `TIME` allows for.
    #[test]
    fn time_alone_contains_the_truth_of_a_slewed_server(
        theirs in -1.0f64..1.0,
        drift in -195e-6f64..195e-6,
        reads in proptest::collection::vec((0.0f64..0.3, 0.0f64..1.0, 0.3f64..2.5), 6..40),
    ) {
        let mut w = World::new();
        let mut at = 1000.0;
        let server = |at: f64| theirs + drift * (at - 1000.0);
        for (rtt, share, pause) in reads {
            w.read_host(at, 0.0);
            w.read_time(at, rtt, share, server(at + rtt * share));
            w.sweep_ended();
            let now = at + rtt + pause;
            let s = w.skew(now).unwrap();
            prop_assert!(s.interval.lo <= server(now) && server(now) <= s.interval.hi, "{s:?}");
            at = now;
        }
    }
}
