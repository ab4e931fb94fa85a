//! What a view shows of clocks: their states, the skew bounds of nodes and workers, what a replica's clock would leave of
//! a lease, and what cannot be judged.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::sim::*;
use crate::config::{ChronyAddr, Clock, LockRules, NodeClock, SeriesTier};
use crate::derive::{Aspect, BlindReason, ClockStatus};
use crate::observe::clock::{ClockFailed, Tracking};
use crate::observe::node::{FailReason, NodeRef};
use crate::observe::*;
use crate::view::{Instant, View};

const EPOCH: f64 = 1_700_000_000.0;

/// A world whose server is 40 ms ahead of this host, both with a chronyd.
fn world() -> Sim {
    let mut s = Sim::new(1_000, None, LockRules { series: SeriesTier::Full, ..rules() });
    let clock = |name: &str| Clock {
        name: name.into(),
        chrony: ChronyAddr::Udp { host: "192.0.2.1".into(), port: 323 },
    };
    s.state.rules.clocks = Arc::new(vec![clock("local"), clock("server")]);
    s.state.rules.local_clock = Some("local".into());
    s.state.rules.node_clocks = BTreeMap::from([(
        "main".into(),
        vec![NodeClock { addr: "redis:6379".into(), clock: "server".into() }],
    )]);
    s.offset_ms = EPOCH as i64 * 1000 + 40;
    s.process = Some(running(7, 0));
    s.acquire("w:1", 600_000);
    s.advance(5_000);
    s
}

fn host(s: &Sim) -> HostClock {
    let span = Span { sent: s.now(), done: s.now() };
    HostClock { span, wall: EPOCH + s.ms as f64 / 1e3 }
}

fn answer(s: &mut Sim, clock: &str, seen: Result<Tracking, ClockFailed>) {
    let span = Span { sent: s.now(), done: s.now() };
    s.step(Observation::HostClock(host(s)));
    s.step(Observation::Clock(Box::new(ClockRead { clock: clock.into(), span, seen })));
}

fn tracking(s: &Sim, ahead: f64) -> Tracking {
    Tracking {
        ref_id: 1,
        source: None,
        stratum: 2,
        leap: 0,
        ref_time: EPOCH + s.ms as f64 / 1e3 - 1.0,
        correction: -ahead,
        last_offset: 0.0,
        rms_offset: 0.0,
        frequency_ppm: 0.0,
        residual_ppm: 0.0,
        skew_ppm: 0.0,
        root_delay: 0.000_2,
        root_dispersion: 0.000_1,
        update_interval: 16.0,
    }
}

fn view(s: &mut Sim) -> View {
    let reading = host(s);
    s.step(Observation::HostClock(reading));
    View::of(&s.state, Instant::of(&reading), 1)
}

fn clock_blind(v: &View) -> Option<BlindReason> {
    let lost = &v.stores[0].locks[0].coverage_lost;
    lost.iter().find(|(a, _)| *a == Aspect::Clock).map(|(_, r)| *r)
}

#[test]
fn clocks_skew_and_workers_are_shown() {
    let mut s = world();
    let (local, server) = (tracking(&s, 0.0), tracking(&s, 0.04));
    let v = view(&mut s);
    assert!(v.clocks.is_empty(), "nobody was asked yet");
    assert_eq!(clock_blind(&v), Some(BlindReason::NoHistory));
    let by_time = v.stores[0].nodes[0].facts.as_ref().unwrap().skew_bound_seconds.unwrap();

    answer(&mut s, "local", Ok(local));
    answer(&mut s, "server", Ok(server));
    let v = view(&mut s);
    let names: Vec<_> = v.clocks.iter().map(|c| (&*c.name, c.is_local, c.up)).collect();
    assert_eq!(names, [("local", true, true), ("server", false, true)]);
    let server = &v.clocks[1];
    assert_eq!(server.status, Some(ClockStatus::Synchronized));
    assert!((server.offset_seconds.unwrap() - 0.04).abs() < 1e-9);
    assert!((server.error_bound_seconds.unwrap() - 0.040_2).abs() < 1e-5);
    let facts = v.stores[0].nodes[0].facts.as_ref().unwrap();
    let skew = facts.skew_bound_seconds.unwrap();
    assert!((0.04..=by_time).contains(&skew) && skew < 0.040_5, "{skew} {by_time}");
    let (offset, error) = facts.clock_offset.unwrap();
    assert!((offset - 0.04).abs() <= error, "{offset} {error}");
    assert_eq!(v.workers[0].skew_bounds, [("main".into(), skew)]);
    assert_eq!(clock_blind(&v), None);

    // A worker that is not on this host has no such bound.
    s.process = None;
    s.state.workers.by_name.values_mut().for_each(|w| w.processes.clear());
    assert!(view(&mut s).workers[0].skew_bounds.is_empty());
}

#[test]
fn what_is_configured_and_cannot_be_judged_is_said() {
    let mut s = world();
    let good = tracking(&s, 0.0);
    answer(&mut s, "local", Ok(good));
    for (reason, expected) in [
        (FailReason::Timeout, BlindReason::Unreachable),
        (FailReason::Permission, BlindReason::Permission),
    ] {
        answer(&mut s, "server", Err(ClockFailed { reason, detail: "no answer".into() }));
        let v = view(&mut s);
        assert_eq!(clock_blind(&v), Some(expected));
        assert_eq!(v.clocks[1].failure, Some((reason, "no answer".into())));
        assert!(!v.clocks[1].up && v.clocks[1].status.is_none());
        let blind = v.stores[0].blind.iter().find(|b| (b.0, b.1) == (Aspect::Clock, expected));
        assert_eq!(blind.unwrap().2, 1);
    }
    answer(&mut s, "server", Ok(Tracking { leap: 3, ..good }));
    let v = view(&mut s);
    assert_eq!(clock_blind(&v), Some(BlindReason::Unsupported));
    assert_eq!(v.clocks[1].offset_seconds, None);
    // No mapping, nothing missing.
    s.state.rules.node_clocks.clear();
    assert_eq!(clock_blind(&view(&mut s)), None);
    // Too old to be shown.
    s.advance(4_000);
    let v = view(&mut s);
    assert_eq!((v.clocks[0].status, v.clocks[0].tracking), (None, None));
    s.state.reconfigure(crate::derive::Rules::default(), s.now());
    assert!(view(&mut s).clocks.is_empty());
}

#[test]
fn a_replicas_own_clock_shortens_or_lengthens_what_is_left() {
    let mut s = world();
    let ahead = [("r1:6379", 60_000i64), ("r2:6379", 0), ("r3:6379", -5_000)];
    for (addr, by) in ahead {
        let sent = s.now();
        s.step(Observation::Batch(BatchRead {
            node: NodeRef { store: StoreId(1), line: Default::default(), addr: addr.into() },
            connection: 1,
            span: Span { sent, done: sent.plus(std::time::Duration::from_millis(1)) },
            time: ServerTime::from_ms(s.server_ms() + by),
            role: Role::Replica { linked: true },
            offset: None,
            reads: vec![],
        }));
    }
    let v = view(&mut s);
    let lock = &v.stores[0].locks[0];
    let left = lock.remaining_seconds.unwrap();
    let shown: Vec<_> = lock.remaining_by_replica.iter().map(|(a, _, _)| &**a).collect();
    assert_eq!(shown, ["r1:6379", "r2:6379", "r3:6379"]);
    for ((_, remaining, earlier), (addr, by)) in lock.remaining_by_replica.iter().zip(ahead) {
        let by = by as f64 / 1e3;
        assert!((remaining - (left - by)).abs() < 0.02, "{addr}: {remaining} of {left}");
        assert!((earlier - by).abs() < 0.01, "{addr}: {earlier}");
        assert!(by != 0.0 || *earlier == 0.0, "within the error: {earlier}");
    }
    // A free lock has nothing left anywhere.
    s.release("w:1");
    s.advance(2_000);
    assert!(view(&mut s).stores[0].locks[0].remaining_by_replica.is_empty());
}
