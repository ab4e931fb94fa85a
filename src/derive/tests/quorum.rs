//! A lock over several servers of their own, on invented time: who holds it, how it erodes, and when two owners were valid.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::sim::{held_by, rules};
use crate::config::LockRules;
use crate::derive::{ContentionKind, Effects, Rules, Signal, State};
use crate::observe::lock::KeyWatched;
use crate::observe::node::Flushes;
use crate::observe::node::{FailReason, NodeFailed, SweepDone};
use crate::observe::*;
use crate::view::{Aspect, Instant, LockView, View, Votes};

const STORE: StoreId = StoreId(1);
const KEY: KeyId = KeyId(0);
const POLL: u64 = 1000;
/// Server clock minus ours; each server is a minute ahead of the one before.
const AHEAD: i64 = 1_700_000_000_000;
const APART: i64 = 60_000;

/// One server.
#[derive(Clone, Debug)]
struct Server {
    is_up: bool,
    run: u64,
    flushes: u64,
    flushes_of_one: u64,
    has_others: bool,
    evicted: u64,
    connection: u64,
    ahead: i64,
    /// An owner, and when its vote ends on our clock.
    key: Option<(&'static str, u64)>,
}

struct World {
    state: State,
    ms: u64,
    servers: Vec<Server>,
    /// What is the same of all servers.
    facts: NodeFacts,
}

impl World {
    fn new(servers: usize) -> Self {
        let poll_interval = Duration::from_millis(POLL);
        let state = State::new(Rules { poll_interval, ..Rules::default() }, Mono(0));
        let server = |i| Server {
            is_up: true,
            run: 1,
            flushes: 0,
            flushes_of_one: 0,
            has_others: false,
            evicted: 0,
            connection: 1,
            ahead: AHEAD + i as i64 * APART,
            key: None,
        };
        let facts = super::sim::Sim::new(POLL, None, rules()).node_facts();
        let servers_of = (0..servers).map(server).collect();
        let mut world = Self { state, ms: 1_000_000, servers: servers_of, facts };
        let at = world.now();
        world.step(Observation::StoreStarted { store: STORE, name: "main".into(), at });
        let servers = u16::try_from(servers).ok();
        world.step(Observation::KeyWatched(KeyWatched {
            store: STORE,
            key: KEY,
            key_text: "k".into(),
            lock: "lock".into(),
            rules: Arc::new(LockRules { servers, ..rules() }),
            with: None,
            has_appeared: false,
        }));
        world
    }

    fn now(&self) -> Mono {
        Mono(self.ms * 1_000_000)
    }

    fn step(&mut self, o: Observation) {
        self.state.step(&o, &mut Effects::default());
    }

    fn node(i: usize) -> NodeRef {
        let line = Line(i as u16);
        NodeRef { store: STORE, line, addr: format!("s{i}:1").into() }
    }

    fn read(&mut self, i: usize) {
        let span = Span { sent: self.now(), done: self.now().plus(Duration::from_millis(1)) };
        let server = self.servers[i].clone();
        let time = self.ms as i64 + server.ahead;
        let found = match server.key {
            Some((owner, end)) => Found::Present {
                value: Arc::new(held_by(owner)),
                expiry: Expiry::At(ServerTime::from_ms(end as i64 + server.ahead)),
            },
            None => Found::Absent,
        };
        self.step(Observation::Batch(BatchRead {
            node: Self::node(i),
            connection: server.connection,
            span,
            time: ServerTime::from_ms(time),
            role: Role::Master,
            offset: None,
            reads: vec![KeyRead { key: KEY, found }],
        }));
    }

    fn facts(&mut self, i: usize) {
        let server = self.servers[i].clone();
        let sent = self.now().plus(Duration::from_millis(2));
        let span = Span { sent, done: sent.plus(Duration::from_millis(1)) };
        let node = Self::node(i);
        self.step(Observation::Node(Box::new(NodeFacts {
            node: node.clone(),
            connection: server.connection,
            span,
            time: Some(ServerTime::from_ms(self.ms as i64 + 3 + server.ahead)),
            run_id: Some(format!("run{i}.{}", server.run)),
            replid: Some(format!("repl{i}.{}", server.run)),
            evicted_keys: Some(server.evicted),
            flushes: Some(Flushes { all: server.flushes, one: server.flushes_of_one, swaps: 0 }),
            has_other_databases: Some(server.has_others),
            ..self.facts.clone()
        })));
        self.step(Observation::SweepDone(SweepDone { node, span, busy: Duration::ZERO }));
    }

    /// A poll of all servers.
    fn poll(&mut self) -> LockView {
        self.ms += POLL;
        for i in 0..self.servers.len() {
            if self.servers[i].key.is_some_and(|(_, end)| end <= self.ms) {
                self.servers[i].key = None;
            }
            if self.servers[i].is_up {
                self.read(i);
            } else {
                let failed = NodeFailed {
                    node: Self::node(i),
                    at: self.now(),
                    reason: FailReason::Refused,
                    detail: String::new(),
                };
                self.step(Observation::NodeFailed(failed));
            }
        }
        for i in 0..self.servers.len() {
            if self.servers[i].is_up {
                self.facts(i);
            }
        }
        self.ms += 10;
        let view = self.lock();
        self.ms -= 10;
        view
    }

    fn polls(&mut self, n: usize) -> LockView {
        for _ in 1..n {
            self.poll();
        }
        self.poll()
    }

    fn lock(&self) -> LockView {
        let view = View::of(&self.state, Instant { mono: self.now(), wall: 0.0 }, 1);
        assert_eq!(view.stores[0].locks.len(), 1, "it is one lock");
        view.stores[0].locks[0].clone()
    }

    fn set(&mut self, which: &[usize], owner: &'static str, lasts: u64) {
        for i in which {
            self.servers[*i].key = Some((owner, self.ms + lasts));
        }
    }

    fn clear(&mut self, which: &[usize]) {
        which.iter().for_each(|i| self.servers[*i].key = None);
    }

    /// The server comes back empty.
    fn restart(&mut self, i: usize) {
        self.servers[i].run += 1;
        self.servers[i].connection += 1;
        self.servers[i].key = None;
    }
}

fn holder(lock: &LockView) -> Option<String> {
    assert_eq!(lock.held, Some(!lock.holders.is_empty()));
    lock.holders.first().map(|h| h.worker.to_string())
}

fn most(lock: &LockView) -> usize {
    lock.votes.unwrap().most
}

fn is_up(lock: &LockView, signal: Signal) -> Option<bool> {
    lock.signals.iter().find(|(s, _)| *s == signal).and_then(|(_, up)| *up)
}

fn proofs(lock: &LockView) -> u64 {
    let mut kinds = lock.counts.contentions.iter();
    let count = kinds.find(|(kind, _)| *kind == ContentionKind::Quorum).unwrap().1;
    assert_eq!(is_up(lock, Signal::Contested), Some(count > 0));
    count
}

const ALL: [usize; 5] = [0, 1, 2, 3, 4];

#[test]
fn who_has_more_than_half_of_the_servers_holds_each_by_its_own_clock() {
    let mut world = World::new(5);
    assert_eq!(holder(&world.polls(2)), None);
    world.set(&ALL, "a:1", 30_000);
    world.servers[2].key = Some(("a:1", world.ms + 20_000));
    world.servers[3].key = Some(("a:1", world.ms + 10_000));
    world.servers[4].key = Some(("a:1", world.ms + 15_000));
    let lock = world.polls(2);
    assert_eq!(holder(&lock).as_deref(), Some("a"));
    assert_eq!(lock.votes, Some(Votes { most: 5, needed: 3, of: 5 }));
    // Three remain until the third longest ends.
    let left = lock.remaining_seconds.unwrap();
    assert!((left - 18.0).abs() < 0.05, "{left}");
    assert_eq!(lock.counts.renewals, 0);
    // A renewal of all is one; of two it is none.
    world.set(&[3, 4], "a:1", 30_000);
    assert_eq!(world.poll().counts.renewals, 0);
    world.set(&ALL, "a:1", 30_000);
    assert_eq!(world.poll().counts.renewals, 1);
    world.clear(&ALL);
    let lock = world.polls(3);
    assert_eq!((holder(&lock), most(&lock), proofs(&lock)), (None, 0, 0));
    let ends: u64 = lock.counts.ends.iter().map(|(_, n)| n).sum();
    assert_eq!(lock.counts.ends[0].1, 1, "released");
    assert_eq!((ends, lock.counts.acquisitions), (1, 1));
}

#[test]
fn what_a_failed_acquire_leaves_is_no_lock() {
    let mut world = World::new(5);
    world.polls(2);
    world.set(&[0, 1], "a:1", 5_000);
    let lock = world.polls(2);
    assert_eq!((holder(&lock), most(&lock)), (None, 2));
    // The same on one server beside a holder that has the others.
    world.set(&[1, 2, 3, 4], "b:1", 30_000);
    let lock = world.polls(2);
    assert_eq!((holder(&lock).as_deref(), most(&lock), proofs(&lock)), (Some("b"), 4, 0));
    assert_eq!(is_up(&lock, Signal::QuorumDegraded), Some(false));
}

#[test]
fn a_lock_that_erodes_is_degraded_then_lost_and_contested_once_another_has_it() {
    let mut world = World::new(5);
    world.polls(2);
    world.set(&ALL, "a:1", 120_000);
    assert_eq!(is_up(&world.polls(3), Signal::QuorumDegraded), Some(false));
    world.restart(0);
    let lock = world.polls(2);
    assert_eq!((holder(&lock).as_deref(), most(&lock)), (Some("a"), 4));
    assert_eq!(is_up(&lock, Signal::QuorumDegraded), Some(true));
    world.servers[1].flushes += 1;
    world.clear(&[1]);
    assert_eq!(most(&world.polls(2)), 3);
    world.servers[2].evicted += 7;
    world.clear(&[2]);
    let lock = world.polls(3);
    assert_eq!((holder(&lock), most(&lock), proofs(&lock)), (None, 2, 0));
    assert_eq!(is_up(&lock, Signal::QuorumDegraded), Some(false));
    // Two of five are no lock, three are.
    world.set(&[0, 1], "b:1", 30_000);
    assert_eq!(proofs(&world.polls(2)), 0);
    world.set(&[2], "b:1", 30_000);
    let lock = world.poll();
    assert_eq!((holder(&lock).as_deref(), proofs(&lock)), (Some("b"), 1));
    let lost = lock.transitions.iter().filter(|t| t.what == "votes_lost").count();
    assert_eq!(lost, 2, "while it was held");
}

/// An acquire that takes its time gives each server an end of its own, and without the last one the lock ends earlier.
#[test]
fn a_vote_that_is_lost_ends_the_lock_earlier_and_is_not_let_go_of() {
    let mut world = World::new(5);
    world.polls(2);
    for (i, lasts) in ALL.into_iter().zip([120_000, 120_300, 120_600, 120_900, 121_200]) {
        world.set(&[i], "a:1", lasts);
    }
    world.polls(3);
    for i in [4, 2, 3] {
        world.restart(i);
        world.polls(2);
    }
    world.set(&[2, 3, 4], "b:1", 30_000);
    let lock = world.polls(2);
    assert_eq!((holder(&lock).as_deref(), proofs(&lock)), (Some("b"), 1));
    assert!(lock.transitions.iter().all(|t| t.what != "shortened"));
    assert_eq!(lock.counts.renewals, 0);
}

/// One that sets an earlier end on enough servers has let go, whoever gets the lock then.
#[test]
fn an_owner_that_shortens_its_lease_on_most_servers_has_let_go() {
    for (shortened, is_let_go) in [(&ALL[..2], false), (&ALL[..3], true)] {
        let mut world = World::new(5);
        world.polls(2);
        world.set(&ALL, "a:1", 120_000);
        world.polls(3);
        world.set(shortened, "a:1", 60_000);
        let lock = world.polls(2);
        let told = lock.transitions.iter().any(|t| t.what == "shortened");
        assert_eq!(told, is_let_go, "{shortened:?}");
    }
}

#[test]
fn a_flush_of_one_database_takes_votes_only_where_there_is_no_other() {
    for (has_others, lost) in [(false, 1), (true, 0)] {
        let mut world = World::new(5);
        world.servers.iter_mut().for_each(|s| s.has_others = has_others);
        world.polls(2);
        world.set(&ALL, "a:1", 120_000);
        world.polls(3);
        world.servers.iter_mut().for_each(|s| s.flushes_of_one += 1);
        world.clear(&ALL);
        world.polls(2);
        world.set(&ALL, "b:1", 30_000);
        let lock = world.polls(2);
        assert_eq!((holder(&lock).as_deref(), proofs(&lock)), (Some("b"), lost));
    }
}

#[test]
fn an_owner_that_let_go_is_no_second_one_whatever_its_servers_lost() {
    for case in 0..5 {
        let mut world = World::new(5);
        world.polls(2);
        world.set(&ALL, "a:1", 120_000);
        world.polls(2);
        world.restart(0);
        world.polls(2);
        match case {
            // Let go of, and taken at once, also while a server restarts.
            0 => world.clear(&ALL),
            1 => {
                world.clear(&ALL);
                world.restart(1);
            }
            // All servers evict all the time, and it is let go of.
            2 => {
                world.servers.iter_mut().for_each(|s| s.evicted += 3);
                world.clear(&ALL);
            }
            // One vote was not reached when it was let go of.
            3 => world.clear(&[0, 1, 2, 3]),
            // Its lease ran out.
            _ => {
                world.polls(125);
            }
        }
        if case == 2 {
            assert_eq!(proofs(&world.polls(2)), 0);
        }
        world.set(&[0, 1, 2], "b:1", 30_000);
        let lock = world.polls(4);
        assert_eq!((holder(&lock).as_deref(), proofs(&lock)), (Some("b"), 0), "case {case}");
    }
}

#[test]
fn the_same_owner_again_contends_with_nobody() {
    let mut world = World::new(3);
    world.polls(2);
    world.set(&[0, 1], "a:1", 120_000);
    world.polls(2);
    world.restart(1);
    world.polls(2);
    world.set(&[0, 1, 2], "a:1", 120_000);
    let lock = world.polls(3);
    assert_eq!((holder(&lock).as_deref(), most(&lock), proofs(&lock)), (Some("a"), 3, 0));
}

#[test]
fn a_server_that_does_not_answer_ends_nothing() {
    let mut world = World::new(5);
    world.polls(2);
    world.set(&[0, 1, 2], "a:1", 120_000);
    assert_eq!(holder(&world.polls(2)).as_deref(), Some("a"));
    // Three votes, and another server answers without one.
    assert_eq!(is_up(&world.poll(), Signal::QuorumDegraded), Some(true));
    world.servers[2].is_up = false;
    let lock = world.polls(3);
    assert_eq!((holder(&lock).as_deref(), most(&lock), lock.fresh), (Some("a"), 2, true));
    assert_eq!(lock.counts.ends.iter().map(|(_, n)| n).sum::<u64>(), 0);
    // It has its key when it is back.
    world.servers[2].is_up = true;
    world.servers[2].connection += 1;
    assert_eq!(most(&world.polls(2)), 3);
    // Fewer than are needed answer: nothing is judged.
    world.servers.iter_mut().take(3).for_each(|s| s.is_up = false);
    let lock = world.polls(5);
    assert!(!lock.fresh);
    assert!(lock.votes.is_none());
    assert!(lock.blind.iter().any(|(aspect, _)| *aspect == Aspect::Quorum), "{:?}", lock.blind);
    world.servers.iter_mut().for_each(|s| {
        s.is_up = true;
        s.connection += 1;
    });
    let lock = world.polls(3);
    assert_eq!((holder(&lock).as_deref(), lock.fresh, proofs(&lock)), (Some("a"), true, 0));
}

#[test]
fn a_server_that_is_away_may_have_the_vote_that_decides() {
    let mut world = World::new(3);
    world.servers[2].is_up = false;
    world.set(&[0], "a:1", 120_000);
    let lock = world.polls(2);
    assert_eq!(
        (lock.held, lock.votes),
        (None, None),
        "one of two, and who knows what the third has"
    );
    world.set(&[1], "a:1", 120_000);
    assert_eq!(holder(&world.polls(2)).as_deref(), Some("a"));
}

#[test]
fn a_step_of_one_servers_clock_takes_its_vote() {
    let mut world = World::new(3);
    world.polls(3);
    world.set(&[0, 1], "a:1", 30_000);
    world.polls(3);
    // An hour ahead: what the server had has ended.
    world.servers[1].ahead += 3_600_000;
    world.clear(&[1]);
    let lock = world.polls(4);
    assert_eq!((holder(&lock), most(&lock)), (None, 1));
    world.set(&[1, 2], "b:1", 30_000);
    let lock = world.polls(3);
    assert_eq!((holder(&lock).as_deref(), proofs(&lock)), (Some("b"), 1));
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    Take(u8),
    LetGo,
    Restart(usize),
    Down(usize),
    Up(usize),
    Wait,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        (0u8..3).prop_map(Deed::Take),
        Just(Deed::LetGo),
        (0usize..5).prop_map(Deed::Down),
        (0usize..5).prop_map(Deed::Up),
        (0usize..5).prop_map(Deed::Restart),
        Just(Deed::Wait),
    ]
}

const NAMES: [&str; 3] = ["a:1", "b:1", "c:1"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Clients that follow the rules on servers that come and go, and keep what they have: never two owners.
    #[test]
    fn servers_that_keep_their_keys_raise_nothing(deeds in prop::collection::vec(deed(), 1..40)) {
        let mut world = World::new(5);
        world.polls(2);
        for deed in deeds {
            match deed {
                Deed::Take(who) => {
                    let name = NAMES[usize::from(who)];
                    let now = world.ms;
                    let free: Vec<usize> = ALL.into_iter().filter(|i| {
                        let s = &world.servers[*i];
                        s.is_up && s.key.is_none_or(|(n, end)| n == name || end <= now)
                    }).collect();
                    if free.len() >= 3 {
                        world.set(&free, name, 9_000);
                    }
                }
                // Only what can be reached is let go of, by whoever has it.
                Deed::LetGo => {
                    for s in world.servers.iter_mut().filter(|s| s.is_up) {
                        s.key = None;
                    }
                }
                // With what it had.
                Deed::Restart(i) => {
                    world.servers[i].run += 1;
                    world.servers[i].connection += 1;
                }
                Deed::Down(i) => world.servers[i].is_up = false,
                Deed::Up(i) => {
                    world.servers[i].is_up = true;
                    world.servers[i].connection += 1;
                }
                Deed::Wait => {}
            }
            // A server that fails is known to once the others were read again.
            let lock = world.polls(2);
            prop_assert_eq!(is_up(&lock, Signal::Contested).unwrap_or(false), false, "{:?}", lock.transitions);
            if let Some(votes) = lock.votes {
                let now = world.ms;
                let live = |name: &str| world.servers.iter().filter(|s| s.is_up && s.key.is_some_and(|(n, end)| n == name && end > now)).count();
                let most = NAMES.iter().map(|n| live(n)).max().unwrap_or(0);
                prop_assert!(votes.most <= most);
                if most >= 3 {
                    prop_assert_eq!(votes.most, most);
                    prop_assert_eq!(lock.held, Some(true));
                }
            }
        }
    }
}
