//! What a second reader doubted: reloads, restarts, sources that fall silent, names and pids that repeat.

use std::sync::Arc;
use std::time::Duration;

use super::sim::{Sim, in_state, rules, running};
use crate::config::{LockRules, Pattern, ProcessSource, SeriesTier, TokenKind, WorkerGroup};
use crate::derive::workers::{Seat, Workers};
use crate::derive::{Effects, Signal};
use crate::observe::node::{NodeRef, SweepDone};
use crate::observe::poll::PollDone;
use crate::observe::worker::{ProcessRead, ProcessSeen, ProcessState};
use crate::observe::*;

const POLL: u64 = 500;
const LEASE: i64 = 6_000;

fn gone() -> ProcessSeen {
    ProcessSeen::Gone { named_here: false }
}

fn beat_for(s: &mut Sim, ms: u64) {
    for _ in 0..ms / 500 {
        s.beat();
        s.advance(500);
    }
}

#[test]
fn a_holder_that_let_go_early_is_not_stale() {
    let mut s = Sim::new(POLL, None, rules());
    s.process = Some(running(7, 0));
    s.advance(1_000);
    s.acquire("w:1", 60_000);
    s.advance(5_000);
    // ShedLock's lockAtLeastFor: the holder sets an earlier end and exits.
    s.renew("w:1", 20_000);
    s.advance(2_000);
    s.process = Some(gone());
    s.advance(30_000);
    assert_eq!(s.rises(Signal::HolderStale), 0, "{:#?}", s.lock().transitions);
}

#[test]
fn overdue_ends_when_the_holder_lets_go_early() {
    let mut s = Sim::new(POLL, None, rules());
    s.advance(1_000);
    s.acquire("w:1", 6_000);
    for _ in 0..12 {
        s.advance(2_000);
        s.renew("w:1", LEASE);
    }
    s.until_up(Signal::RenewalOverdue, 6_000, 50, |_| {});
    s.renew("w:1", 1_000);
    s.advance(600);
    assert_eq!(s.signal(Signal::RenewalOverdue), Some(false));
}

#[test]
fn a_worker_that_restarts_and_acquires_at_once_is_not_stale() {
    let mut s = Sim::new(POLL, None, rules());
    s.process = Some(running(7, 0));
    s.advance(1_000);
    s.acquire("w:1", LEASE);
    s.advance(5_000);
    s.release("w:1");
    s.process = Some(gone());
    s.advance(5_300);
    let begun = s.ms;
    s.acquire("w:2", LEASE);
    // The look at the process comes before it runs, the read of the key after.
    s.read_key();
    s.process = Some(running(8, begun - 100));
    s.advance(2_000);
    assert_eq!(s.rises(Signal::HolderStale), 0, "{:#?}", s.lock().transitions);
}

#[test]
fn a_worker_whose_heart_stood_still_and_who_acquires_anew_is_not_stale() {
    let mut s = Sim::new(POLL, Some(3_000), rules());
    s.beat();
    s.advance(100);
    s.acquire("w:1", LEASE);
    beat_for(&mut s, 5_000);
    s.release("w:1");
    s.advance(20_000);
    s.acquire("w:2", LEASE);
    s.read_key();
    s.beat();
    beat_for(&mut s, 5_000);
    assert_eq!(s.rises(Signal::HolderStale), 0, "{:#?}", s.lock().transitions);
}

#[test]
fn a_worker_that_acquires_and_does_not_beat_is_stale_all_the_same() {
    let mut s = Sim::new(POLL, Some(3_000), rules());
    s.beat();
    s.advance(100);
    s.acquire("w:1", LEASE);
    beat_for(&mut s, 5_000);
    s.release("w:1");
    s.advance(20_000);
    s.acquire("w:2", 60_000);
    let took = s.until_up(Signal::HolderStale, 10_000, 100, |_| {});
    assert!(took <= 3_000 + 2 * POLL + 100, "{took}");
}

#[test]
fn a_heartbeat_that_cannot_be_read_any_more_is_not_judged() {
    let mut s = Sim::new(POLL, Some(3_000), rules());
    s.beat();
    s.advance(100);
    s.acquire("w:1", 600_000);
    beat_for(&mut s, 5_000);
    assert_eq!(s.signal(Signal::HolderStale), Some(false));
    s.beat_fails = true;
    s.advance(POLL * 3 - 100);
    assert_eq!(s.signal(Signal::HolderStale), Some(false));
    s.advance(POLL * 3);
    assert_eq!(s.signal(Signal::HolderStale), None);
    s.beat_fails = false;
    s.beat();
    s.advance(POLL * 2);
    assert_eq!(s.signal(Signal::HolderStale), Some(false));
}

#[test]
fn a_loss_that_could_not_be_read_for_a_while_does_not_rise_twice() {
    let mut s = Sim::new(POLL, Some(3_000), rules());
    s.beat();
    s.advance(100);
    s.acquire("w:1", 600_000);
    beat_for(&mut s, 5_000);
    s.until_up(Signal::HolderStale, 10_000, 100, |_| {});
    s.beat_fails = true;
    s.advance(POLL * 6);
    assert_eq!(s.signal(Signal::HolderStale), None);
    s.beat_fails = false;
    s.advance(POLL * 2);
    assert_eq!(s.signal(Signal::HolderStale), Some(true));
    assert_eq!(s.rises(Signal::HolderStale), 1, "{:#?}", s.lock().transitions);
}

#[test]
fn a_reload_without_the_heartbeat_ends_what_it_proved() {
    let mut s = Sim::new(POLL, Some(3_000), rules());
    s.beat();
    s.acquire("w:1", LEASE);
    let renew = |s: &mut Sim| {
        if s.ms.is_multiple_of(2_000) {
            s.renew("w:1", LEASE);
        }
    };
    for _ in 0..100 {
        if s.ms.is_multiple_of(500) {
            s.beat();
        }
        renew(&mut s);
        s.advance(100);
    }
    s.until_up(Signal::RenewalAfterLostLiveness, 60_000, 100, renew);
    let mut now = s.state.rules.clone();
    let mut groups = now.groups.to_vec();
    groups[0].heartbeat = None;
    now.groups = Arc::new(groups);
    let at = s.now();
    s.state.reconfigure(now, at);
    for _ in 0..30 {
        renew(&mut s);
        s.advance(100);
    }
    assert_eq!(s.signal(Signal::RenewalAfterLostLiveness), None);
    assert_eq!(s.signal(Signal::HolderStale), None);
}

#[test]
fn a_heart_that_beats_more_slowly_than_its_threshold_is_not_judged() {
    let mut s = Sim::new(POLL, Some(3_000), rules());
    s.beat();
    s.advance(100);
    s.acquire("w:1", 6_000_000);
    for _ in 0..50 {
        s.advance(4_000);
        s.beat();
    }
    // Two such beats teach it.
    assert!(s.rises(Signal::HolderStale) <= 2, "{} rises", s.rises(Signal::HolderStale));
}

#[test]
fn with_a_reusable_token_a_later_write_ends_a_replacement() {
    let mut s = Sim::new(POLL, None, LockRules { token: Some(TokenKind::Reusable), ..rules() });
    s.token_pid = Some(7);
    s.process = Some(running(7, 0));
    s.advance(1_000);
    s.acquire("w:7", LEASE);
    s.advance(3_000);
    // Killed, restarted with the same pid, and it waits for its own old lease.
    s.process = Some(running(7, s.ms));
    s.until_up(Signal::HolderStale, 2_000, 100, |_| {});
    s.advance(1_000);
    s.renew("w:7", LEASE);
    s.advance(1_200);
    for _ in 0..10 {
        s.renew("w:7", LEASE);
        s.advance(2_000);
    }
    assert_eq!(s.signal(Signal::HolderStale), Some(false), "{:#?}", s.lock().transitions);
    assert_eq!(s.rises(Signal::RenewalAfterLostLiveness), 0);
}

#[test]
fn a_stopped_worker_still_counts_with_new_rules() {
    let mut s = Sim::new(POLL, None, rules());
    s.process = Some(running(7, 0));
    s.advance(1_000);
    s.acquire("w:1", 60_000);
    s.advance(2_000);
    s.process = Some(in_state(7, 0, ProcessState::Stopped));
    let took = s.until_up(Signal::HolderStale, 5_000, 50, |_| {});
    assert!(took <= POLL + 100, "{took}");
}

fn key(n: u32) -> (StoreId, KeyId) {
    (StoreId(1), KeyId(n.into()))
}

fn owner(worker: &str, host: Option<&str>, pid: i32) -> Owner {
    Owner {
        token: Token::new(format!("{worker}:{pid}").as_bytes()),
        worker: Some(worker.into()),
        host: host.map(Arc::from),
        pid: Some(pid),
        thread: None,
    }
}

fn workers(most: usize, retain: u64) -> (Workers, Effects) {
    let group = WorkerGroup {
        name: "all".into(),
        names: vec![],
        matches: Some(Pattern(regex::bytes::Regex::new(".*").unwrap())),
        series: SeriesTier::Full,
        process: Some(ProcessSource::FromHolder),
        heartbeat: None,
        claim: None,
        jvm: crate::config::JvmMode::Auto,
    };
    let (poll, retain) = (Duration::from_secs(1), Duration::from_secs(retain));
    (Workers::new(Arc::new(vec![group]), most, poll, retain, Mono(0)), Effects::default())
}

fn attach(
    w: &mut Workers,
    owner: Owner,
    lock: (StoreId, KeyId),
    at: Mono,
    fx: &mut Effects,
) -> Seat {
    w.attach(&owner, owner.worker.clone(), lock, at, fx)
}

fn at(seconds: u32) -> Mono {
    Mono::from_secs_f64(f64::from(seconds))
}

#[test]
fn the_pid_of_a_lock_that_is_held_for_long_stays_watched() {
    let (mut w, mut fx) = workers(10, 60);
    let first = attach(&mut w, owner("service", None, 7), key(1), at(1), &mut fx);
    attach(&mut w, owner("service", None, 8), key(2), at(300), &mut fx);
    w.retire(at(301), &mut fx);
    assert_eq!(w.by_name["service"].tokens.len(), 2);
    for pid in 100..300 {
        let at = at(400 + pid as u32);
        let seat = attach(&mut w, owner("service", None, pid), key(3), at, &mut fx);
        w.release(&seat, key(3), at);
    }
    assert!(w.by_name["service"].tokens.contains_key(&7));
    w.release(&first, key(1), at(800));
    w.retire(at(900), &mut fx);
    assert!(!w.by_name["service"].tokens.contains_key(&7));
}

#[test]
fn the_same_pid_on_another_host_is_another_process() {
    let (mut w, mut fx) = workers(10, 60);
    attach(&mut w, owner("service", Some("here"), 7), key(1), at(1), &mut fx);
    let worker = w.by_name.get_mut("service").unwrap();
    worker.processes.entry(Some(7)).or_default().read(&ProcessRead {
        worker: "service".into(),
        token_pid: Some(7),
        span: Span { sent: at(2), done: at(2) },
        seen: ProcessSeen::Gone { named_here: true },
        detail: String::new(),
    });
    fx.watch_changed = false;
    attach(&mut w, owner("service", Some("there"), 7), key(1), at(3), &mut fx);
    assert!(fx.watch_changed, "the poller has to hear of the other host");
    assert!(w.by_name["service"].processes.is_empty());
}

#[test]
fn workers_that_hold_nothing_make_room_and_nothing_is_kept_for_ever() {
    let (mut w, mut fx) = workers(3, 3600);
    for n in 0..1000u32 {
        let name = format!("job-{n}");
        let seat = attach(&mut w, owner(&name, None, 7), key(n), at(n), &mut fx);
        assert!(!seat.is_missing(), "{n}");
        w.release(&seat, key(n), at(n));
    }
    let seats: Vec<Seat> = (0..1000u32)
        .map(|n| attach(&mut w, owner(&format!("held-{n}"), None, 7), key(n), at(n), &mut fx))
        .collect();
    assert_eq!((w.by_name.len(), w.dropped.len()), (3, 997));
    for (n, seat) in (0u32..).zip(&seats) {
        w.release(seat, key(n), at(n));
    }
    assert_eq!(w.dropped.len(), 0);
}

fn reload(s: &mut Sim) {
    let at = s.now();
    s.step(Observation::StoreStarted { store: StoreId(1), name: "main".into(), at });
}

#[test]
fn a_patterns_lock_keeps_its_counters_until_the_scan_finds_it_again() {
    let mut s = Sim::new(POLL, None, LockRules { by_key: false, ..rules() });
    s.advance(1_000);
    for n in 0..5 {
        s.acquire(&format!("w:{n}"), 1_000);
        s.advance(2_000);
    }
    let before = s.lock().counts.acquisitions;
    assert!(before >= 4);
    reload(&mut s);
    reload(&mut s);
    s.advance(10_000);
    s.announce();
    s.acquire("w:9", 1_000);
    s.advance(500);
    assert!(s.lock().counts.acquisitions >= before);
    // But not for ever: whatever it counted is gone, as after any retention.
    reload(&mut s);
    s.advance(3_700_000);
    s.counters.clear();
    s.announce();
    assert_eq!(s.state.stores[&StoreId(1)].locks[&KeyId(0)].counts.acquisitions, 0);
}

#[test]
fn another_address_is_followed_after_a_reload_and_the_old_one_is_forgotten() {
    let mut s = Sim::new(POLL, None, rules());
    s.advance(2_000);
    reload(&mut s);
    let node = NodeRef { store: StoreId(1), line: Default::default(), addr: "other:6379".into() };
    let span = Span { sent: s.now(), done: s.now() };
    s.step(Observation::Batch(BatchRead {
        node: node.clone(),
        connection: 1,
        span,
        time: ServerTime::from_ms(s.server_ms()),
        role: Role::Master,
        offset: None,
        reads: vec![],
    }));
    let target: Arc<str> = "main/redis:6379".into();
    s.step(Observation::Poll(PollDone {
        poller: "redis",
        target: target.clone(),
        interval: Duration::from_secs(1),
        span,
        busy: Duration::ZERO,
        failure: None,
    }));
    s.step(Observation::SweepDone(SweepDone { node, span, busy: Duration::ZERO }));
    let store = &s.state.stores[&StoreId(1)];
    assert_eq!(store.lines[&Line(0)].primary.as_deref(), Some("other:6379"));
    assert_eq!((store.nodes.len(), store.lines[&Line(0)].failovers), (1, 0));
    assert!(!s.state.polls.records.contains_key(&("redis", target)));
}
