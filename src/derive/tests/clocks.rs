//! Steps of servers' clocks as the whole state sees them: no false renewal, expiry or contention by them; and pauses of
//! this host that look like steps.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::sim::*;
use crate::derive::{Effects, Evidence, Rules, Signal, State};
use crate::observe::*;

/// A holder that renews every 10 s under a lease of 30 s, polled every half second, and a clock that jumps.
fn renewing_over_steps(steps: &[(u64, i64)], is_renewed: bool) -> (Sim, u64) {
    let mut s = Sim::new(500, None, rules());
    s.process = Some(running(7, 0));
    s.acquire("w:1", 30_000);
    let mut renewals = 0;
    for ms in (0..180_000u64).step_by(250) {
        if is_renewed && ms % 10_000 == 9_000 && s.renew("w:1", 30_000) {
            renewals += 1;
        }
        for (_, by) in steps.iter().filter(|(at, _)| *at == ms) {
            s.offset_ms += by;
        }
        s.advance(250);
    }
    (s, renewals)
}

#[test]
fn steps_that_leave_the_lease_standing_change_nothing_but_the_clock() {
    for (by, n) in [(12_000i64, 2), (-12_000, 2), (-3_600_000, 1), (300, 3), (-300, 3)] {
        let steps: Vec<(u64, i64)> = (0..n).map(|k| (40_250 + k * 45_000, by)).collect();
        let (s, renewals) = renewing_over_steps(&steps, true);
        let lock = s.lock();
        assert_eq!(lock.held, Some(true), "{by}");
        assert_eq!((lock.counts.acquisitions, lock.counts.renewals), (0, renewals), "{by}");
        assert_eq!(Evidence::ALL.iter().map(|e| s.ends(*e)).sum::<u64>(), 0, "{by}");
        let clock = &s.state.stores[&StoreId(1)].nodes["redis:6379"].clock;
        let counted = if by > 0 { (n, 0) } else { (0, n) };
        assert_eq!((clock.forward, clock.backward), counted, "{by}");
        let sized = clock.last_step.unwrap() - by * 1000;
        assert!(sized.abs() < 10_000, "{by}: off by {sized} us");
        s.assert_quiet_but(&[Signal::LeaseAbsurd]);
    }
}

#[test]
fn a_step_back_without_a_renewal_is_no_renewal() {
    for by in [-5_000, -20_000, -3_600_000] {
        let (s, _) = renewing_over_steps(&[(5_250, by)], false);
        assert_eq!(s.lock().counts.renewals, 0, "{by}");
        assert_eq!(s.rises(Signal::RenewalAfterLostLiveness), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Steps back of any size, and forward ones that together leave the lease standing, at any time: the tenure goes on,
    /// every renewal counted was one, nothing pages. That more than a lease is left may be told.
    #[test]
    fn steps_are_never_renewals_or_ends(
        steps in proptest::collection::vec((1u64..720, -40_000i64..4_500), 1..5),
    ) {
        let steps: Vec<(u64, i64)> = steps.into_iter().map(|(q, by)| (q * 250, by)).collect();
        let (s, renewals) = renewing_over_steps(&steps, true);
        let counts = s.lock().counts;
        prop_assert!(counts.renewals <= renewals, "{} of {renewals}", counts.renewals);
        prop_assert_eq!(counts.acquisitions, 0);
        prop_assert_eq!(Evidence::ALL.iter().map(|e| s.ends(*e)).sum::<u64>(), 0);
        s.assert_quiet_but(&[Signal::LeaseAbsurd]);
    }

    /// Steps of any size: a lease that they end is called what it is, and nobody is called stale or overwritten.
    #[test]
    fn steps_over_the_expiry_are_no_contention(
        steps in proptest::collection::vec((1u64..720, -60_000i64..60_000), 1..5),
    ) {
        let steps: Vec<(u64, i64)> = steps.into_iter().map(|(q, by)| (q * 250, by)).collect();
        // A step and a renewal between the same two reads may together look like a lease cut short, and cannot be told
        // from one; that evidence pages nobody.
        let is_apart = steps.iter().all(|(ms, _)| !(8_250..=9_750).contains(&(ms % 10_000)));
        let (s, renewals) = renewing_over_steps(&steps, true);
        let counts = s.lock().counts;
        prop_assert!(counts.renewals <= renewals, "{} of {renewals}", counts.renewals);
        prop_assert_eq!(counts.acquisitions, 0);
        let ends = |e: Evidence| s.ends(e);
        prop_assert_eq!(ends(Evidence::Overwritten) + ends(Evidence::Evicted) + ends(Evidence::Failover), 0);
        prop_assert!(ends(Evidence::Released) <= u64::from(!is_apart), "it never let go");
        prop_assert_eq!(s.rises(Signal::HolderStale) + s.rises(Signal::RenewalAfterLostLiveness), 0);
    }
}

/// Servers of one store each, asked for `TIME` one after the other.
struct Servers {
    state: State,
    /// Address and its clock minus ours in milliseconds.
    nodes: Vec<(&'static str, i64)>,
    told: Vec<&'static str>,
    ms: u64,
}

impl Servers {
    fn new(addrs: &[&'static str]) -> Self {
        let mut s = Self {
            state: State::new(Rules::default(), Mono(0)),
            nodes: addrs.iter().map(|a| (*a, 1_700_000_000_000)).collect(),
            told: vec![],
            ms: 1_000_000,
        };
        for k in 0..addrs.len() as u32 {
            let name: Arc<str> = format!("store{k}").into();
            s.step(&Observation::StoreStarted { store: StoreId(k), name, at: Mono(0) });
        }
        s
    }

    fn step(&mut self, o: &Observation) {
        let mut fx = Effects::default();
        self.state.step(o, &mut fx);
        self.told.extend(fx.notices.iter().map(|n| n.what));
    }

    fn poll(&mut self) {
        for k in 0..self.nodes.len() {
            let (addr, offset) = self.nodes[k];
            let node = node::NodeRef {
                store: StoreId(k as u32),
                line: Default::default(),
                addr: addr.into(),
            };
            let sent = Mono(self.ms * 1_000_000);
            let span = Span { sent, done: sent.plus(Duration::from_millis(1)) };
            self.step(&Observation::Batch(BatchRead {
                node: node.clone(),
                connection: 1,
                span,
                time: ServerTime::from_ms(self.ms as i64 + offset),
                role: Role::Master,
                offset: None,
                reads: vec![],
            }));
            let busy = Duration::ZERO;
            self.step(&Observation::SweepDone(node::SweepDone { node, span, busy }));
            self.ms += 5;
        }
        self.ms += 2_000;
    }

    /// This host's wall clock, so many milliseconds ahead of where the test began.
    fn read_host(&mut self, ahead: i64) {
        let sent = Mono(self.ms * 1_000_000);
        let wall = (1_700_000_000_000 + self.ms as i64 + ahead) as f64 / 1e3;
        self.step(&Observation::HostClock(HostClock { span: Span { sent, done: sent }, wall }));
    }

    fn polls(&mut self, n: usize) {
        (0..n).for_each(|_| self.poll());
    }

    fn steps(&self) -> Vec<(u64, u64)> {
        let nodes = self.state.stores.values().flat_map(|s| s.nodes.values());
        nodes.map(|n| (n.clock.forward, n.clock.backward)).collect()
    }
}

#[test]
fn servers_that_all_jump_forward_together_show_that_we_stood_still() {
    let mut s = Servers::new(&["a:6379", "b:6379", "b:6380"]);
    s.polls(4);
    s.nodes.iter_mut().for_each(|(_, offset)| *offset += 45_000);
    let breaks = |s: &Servers| {
        s.state.stores.values().flat_map(|s| s.lines.values().map(|l| l.breaks)).collect::<Vec<_>>()
    };
    let before = breaks(&s);
    s.polls(4);
    assert_eq!(s.steps(), [(0, 0); 3]);
    assert!(breaks(&s).iter().zip(before).all(|(now, before)| *now == before + 1));
    assert_eq!(s.told.iter().filter(|t| **t == "exporter_paused").count(), 1);
}

#[test]
fn a_step_that_others_do_not_show_is_the_servers_own() {
    let mut s = Servers::new(&["a:6379", "b:6379", "c:6379"]);
    s.polls(4);
    s.nodes[1].1 += 45_000;
    // The third server is asked right after the second one.
    s.polls(1);
    assert_eq!(s.steps(), [(0, 0), (1, 0), (0, 0)]);
    // Two of three, and all three by different amounts, or backward.
    s.nodes[0].1 += 9_000;
    s.nodes[1].1 += 9_000;
    s.polls(3);
    assert_eq!(s.steps(), [(1, 0), (2, 0), (0, 0)]);
    (0..3).for_each(|k| s.nodes[k].1 += 1_000 * (1 + k as i64));
    s.polls(3);
    assert_eq!(s.steps(), [(2, 0), (3, 0), (1, 0)]);
    s.nodes.iter_mut().for_each(|(_, offset)| *offset -= 45_000);
    s.polls(3);
    assert_eq!(s.steps(), [(2, 1), (3, 1), (1, 1)]);
    assert!(!s.told.contains(&"exporter_paused"));
}

#[test]
fn servers_of_one_host_cannot_tell_a_pause_from_a_step() {
    for addrs in [&["a:6379", "a:6380"][..], &["a:6379"], &["/run/a.sock", "/run/b.sock"]] {
        let mut s = Servers::new(addrs);
        s.polls(4);
        s.nodes.iter_mut().for_each(|(_, offset)| *offset += 45_000);
        s.polls(2);
        assert_eq!(s.steps(), vec![(1, 0); addrs.len()], "{addrs:?}");
    }
}

#[test]
fn servers_of_this_host_are_one_host_whatever_they_are_called() {
    let names = ["localhost:6379", "127.0.0.1:6380", "[::1]:6381", "/run/r.sock", "127.0.0.2:1"];
    let mut s = Servers::new(&names);
    s.polls(4);
    s.nodes.iter_mut().for_each(|(_, offset)| *offset += 45_000);
    s.polls(2);
    assert_eq!(s.steps(), [(1, 0); 5]);
    assert!(!s.told.contains(&"exporter_paused"));
    // Nor do they bear witness that a lone server elsewhere was not stepped.
    let mut s = Servers::new(&["a:6379", "localhost:6379", "[::ffff:127.0.0.1]:6379"]);
    s.polls(4);
    s.nodes.iter_mut().for_each(|(_, offset)| *offset += 45_000);
    s.polls(4);
    assert_eq!(s.steps(), [(1, 0); 3]);
    // One name in two spellings.
    let mut s = Servers::new(&["Redis.example:6379", "redis.example.:6380"]);
    s.polls(4);
    s.nodes.iter_mut().for_each(|(_, offset)| *offset += 45_000);
    s.polls(4);
    assert_eq!(s.steps(), [(1, 0); 2]);
}

#[test]
fn a_server_of_this_host_stands_still_with_us_and_denies_no_pause() {
    let mut s = Servers::new(&["localhost:6379", "a:6379", "b:6379"]);
    s.polls(4);
    s.nodes[1].1 += 45_000;
    s.nodes[2].1 += 45_000;
    s.polls(4);
    assert_eq!(s.steps(), [(0, 0); 3]);
    assert_eq!(s.told.iter().filter(|t| **t == "exporter_paused").count(), 1);
}

#[test]
fn what_this_hosts_wall_clock_shows_too_is_no_pause() {
    // By 45 s, by another amount, not at all.
    for (own, steps) in [(45_000, 1), (9_000, 0), (0, 0)] {
        let mut s = Servers::new(&["a:6379", "b:6379"]);
        for _ in 0..4 {
            s.read_host(0);
            s.poll();
        }
        s.nodes.iter_mut().for_each(|(_, offset)| *offset += 45_000);
        s.poll();
        s.read_host(own);
        s.polls(2);
        assert_eq!(s.steps(), [(steps, 0); 2], "{own}");
        let told = s.told.iter().filter(|t| **t == "exporter_paused").count();
        assert_eq!(told, usize::from(steps == 0), "{own}");
    }
}
