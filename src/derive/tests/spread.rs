//! A lock over several keys of one server, on invented time: who holds it, what is left of one, and how it erodes.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::sim::{held_by, rules};
use crate::derive::{Effects, Evidence, Rules, Signal, State, Wanted};
use crate::observe::lock::{KeyWatched, Unreadable};
use crate::observe::*;
use crate::view::{Instant, LockView, View, Votes};

const STORE: StoreId = StoreId(1);
const POLL: u64 = 1000;
/// Server clock minus ours.
const AHEAD: i64 = 1_700_000_000_000;

/// What a key shows: an owner and when that ends on our clock, nothing, or that it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Key {
    Free,
    By(&'static str, u64),
    Hidden,
}

use Key::{By, Free, Hidden};

/// Several keys and an exporter that polls them.
struct World {
    state: State,
    ms: u64,
    keys: Vec<Key>,
    wanted: Vec<Wanted>,
    connection: u64,
}

impl World {
    fn new(keys: usize) -> Self {
        let rules = Rules { poll_interval: Duration::from_millis(POLL), ..Rules::default() };
        let (state, keys) = (State::new(rules, Mono(0)), vec![Free; keys]);
        let mut world = Self { state, ms: 1_000_000, keys, wanted: Vec::new(), connection: 1 };
        world.announce(0);
        world
    }

    /// The lock's keys, numbered from here.
    fn announce(&mut self, first: u64) {
        let at = self.now();
        self.step(Observation::StoreStarted { store: STORE, name: "main".into(), at });
        let rules = Arc::new(rules());
        for i in 0..self.keys.len() as u64 {
            self.step(Observation::KeyWatched(KeyWatched {
                store: STORE,
                key: KeyId(first + i),
                key_text: if i == 0 { "a, b, c".into() } else { "b".into() },
                lock: "lock".into(),
                rules: rules.clone(),
                with: (i > 0).then_some(KeyId(first)),
                has_appeared: false,
            }));
        }
    }

    fn now(&self) -> Mono {
        Mono(self.ms * 1_000_000)
    }

    fn step(&mut self, o: Observation) {
        let mut fx = Effects::default();
        self.state.step(&o, &mut fx);
        self.wanted.extend(fx.wanted);
    }

    /// One transaction over these keys.
    fn read(&mut self, which: std::ops::Range<usize>) {
        let server_ms = self.ms as i64 + AHEAD;
        let reads = which.map(|i| {
            let found = match self.keys[i] {
                By(owner, end) if end > self.ms => Found::Present {
                    value: Arc::new(held_by(owner)),
                    expiry: Expiry::At(ServerTime::from_ms(end as i64 + AHEAD)),
                },
                Hidden => Found::Unreadable(Unreadable::Permission),
                _ => Found::Absent,
            };
            KeyRead { key: KeyId(i as u64), found }
        });
        let batch = BatchRead {
            node: NodeRef { store: STORE, line: Default::default(), addr: "h:1".into() },
            connection: self.connection,
            span: Span { sent: self.now(), done: self.now().plus(Duration::from_millis(1)) },
            time: ServerTime::from_ms(server_ms),
            role: Role::Master,
            offset: None,
            reads: reads.collect(),
        };
        self.step(Observation::Batch(batch));
    }

    /// A poll, in one transaction.
    fn poll(&mut self, keys: &[Key]) -> LockView {
        self.keys = keys.to_vec();
        self.ms += POLL;
        self.read(0..keys.len());
        self.lock()
    }

    fn lock(&self) -> LockView {
        let view = View::of(&self.state, Instant { mono: self.now(), wall: 0.0 }, 1);
        assert_eq!(view.stores[0].locks.len(), 1, "it is one lock");
        view.stores[0].locks[0].clone()
    }
}

fn holder(lock: &LockView) -> Option<String> {
    assert_eq!(lock.held, Some(!lock.holders.is_empty()));
    lock.holders.first().map(|h| h.worker.to_string())
}

fn most(lock: &LockView) -> usize {
    lock.votes.unwrap().most
}

#[test]
fn who_has_more_than_half_holds_and_what_is_left_of_one_does_not() {
    let mut world = World::new(3);
    let far = 9_000_000;
    assert_eq!(holder(&world.poll(&[Free; 3])), None);
    let lock = world.poll(&[By("a:1", far), By("a:1", far), By("a:1", far)]);
    assert_eq!(holder(&lock).as_deref(), Some("a"));
    assert_eq!(lock.votes, Some(Votes { most: 3, needed: 2, of: 3 }));
    // It erodes: that is to be seen while it is held, and no end of it.
    let lock = world.poll(&[By("a:1", far), Free, By("a:1", far)]);
    assert_eq!((holder(&lock).as_deref(), most(&lock)), (Some("a"), 2));
    let lost: Vec<_> = lock.transitions.iter().filter(|t| t.what == "keys_lost").collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].detail, "its holder has 2 of 3 keys left, and needs 2");
    // Another one takes what is free; that is too little for him.
    let lock = world.poll(&[By("a:1", far), By("b:1", far), By("a:1", far)]);
    assert_eq!(holder(&lock).as_deref(), Some("a"));
    let lock = world.poll(&[Free, By("b:1", far), By("a:1", far)]);
    assert_eq!((holder(&lock), most(&lock)), (None, 1));
    let lock = world.poll(&[By("b:1", far), By("b:1", far), By("a:1", far)]);
    assert_eq!((holder(&lock).as_deref(), most(&lock)), (Some("b"), 2));
    assert_eq!(lock.counts.acquisitions, 2);
    assert_eq!(lock.transitions.iter().filter(|t| t.what == "keys_lost").count(), 1);
    assert!(lock.signals.iter().all(|(_, up)| *up != Some(true)), "{:?}", lock.signals);
}

#[test]
fn it_ends_when_too_few_are_left_and_a_write_is_one_of_enough_keys() {
    let mut world = World::new(3);
    let lease = |end: u64| By("a:1", end);
    let lock = world.poll(&[lease(1_006_000), lease(1_006_000), lease(1_006_000)]);
    assert_eq!(lock.expiry_timestamp, Some((1_006_000 + AHEAD) as f64 / 1e3));
    // A renewal is under way: one key has it.
    let lock = world.poll(&[lease(1_009_000), lease(1_006_000), lease(1_006_000)]);
    assert_eq!(
        (lock.counts.renewals, lock.expiry_timestamp),
        (0, Some((1_006_000 + AHEAD) as f64 / 1e3))
    );
    let lock = world.poll(&[lease(1_009_000), lease(1_009_000), lease(1_006_000)]);
    assert_eq!(
        (lock.counts.renewals, lock.expiry_timestamp),
        (1, Some((1_009_000 + AHEAD) as f64 / 1e3))
    );
    // At its end one of them is left.
    let last = [lease(1_009_000), lease(1_009_000), lease(1_020_000)];
    world.ms = 1_008_970 - POLL;
    assert!(holder(&world.poll(&last)).is_some());
    world.ms = 1_009_020 - POLL;
    let lock = world.poll(&last);
    assert_eq!((holder(&lock), most(&lock)), (None, 1));
    world.poll(&last);
    let ends = world.lock().counts.ends;
    let unsettled = world.lock().transitions.iter().any(|t| t.what == "released");
    assert!(!unsettled, "{ends:?}");
    assert_eq!(ends.iter().find(|(e, _)| *e == Evidence::Released).unwrap().1, 0);
}

#[test]
fn a_key_that_cannot_be_read_matters_only_where_it_decides() {
    let mut world = World::new(3);
    let far = 9_000_000;
    let lock = world.poll(&[By("a:1", far), By("a:1", far), Hidden]);
    assert_eq!((holder(&lock).as_deref(), lock.votes), (Some("a"), None));
    let lock = world.poll(&[By("a:1", far), Hidden, Free]);
    assert!(!lock.fresh, "whether it is held is not known");
    let lock = world.poll(&[Free, Free, Free]);
    assert_eq!((holder(&lock), most(&lock)), (None, 0));
}

/// Keys that are read in several transactions are put together if they are of one sweep and nothing lies between.
#[test]
fn keys_that_are_read_one_after_another_belong_together_within_a_sweep() {
    let mut world = World::new(3);
    let far = 9_000_000;
    world.poll(&[By("a:1", far); 3]);
    world.keys = vec![By("b:1", far); 3];
    world.ms += POLL;
    world.read(0..1);
    world.ms += 100;
    world.read(1..2);
    assert_eq!(holder(&world.lock()).as_deref(), Some("a"), "one is not read yet");
    world.ms += 100;
    world.read(2..3);
    assert_eq!(holder(&world.lock()).as_deref(), Some("b"));
    // The third is of the next sweep, or of another connection: what the first two showed is of before.
    for gap in [(POLL, 0), (0, 1)] {
        world.keys = vec![Free; 3];
        world.ms += POLL;
        world.read(0..2);
        world.keys = vec![By("b:1", far), By("b:1", far), Free];
        world.ms += gap.0;
        world.connection += gap.1;
        world.read(2..3);
        assert_eq!(holder(&world.lock()).as_deref(), Some("b"), "{gap:?}");
        world.read(0..2);
        assert_eq!(holder(&world.lock()).as_deref(), Some("b"), "{gap:?}");
    }
}

#[test]
fn all_its_keys_are_read_when_one_read_is_wanted_and_a_reload_keeps_what_is_known() {
    let mut world = World::new(3);
    world.poll(&[Free; 3]);
    // Its end is nearer than the next poll.
    world.poll(&[By("a:1", 1_002_700); 3]);
    let mut keys: Vec<u64> = world
        .wanted
        .iter()
        .filter_map(|w| match w {
            Wanted::Key { key, .. } => Some(key.0),
            Wanted::Look { .. } | Wanted::Facts { .. } => None,
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys, [0, 1, 2]);
    world.announce(0);
    world.connection += 1;
    let lock = world.poll(&[By("a:1", 1_009_000); 3]);
    assert_eq!((holder(&lock).as_deref(), lock.counts.acquisitions), (Some("a"), 1));
    assert_eq!(most(&lock), 3);
}

fn any_key() -> impl Strategy<Value = Key> {
    prop_oneof![
        2 => Just(Free),
        1 => Just(Hidden),
        6 => (prop::sample::select(vec!["a:1", "b:1", "c:1"]), 1_001_000u64..1_030_000).prop_map(|(o, e)| By(o, e)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the keys show, the lock is held by exactly who has more than half of them, alive, and never contested.
    #[test]
    fn whoever_has_more_than_half_is_the_holder(
        polls in prop::collection::vec(prop::collection::vec(any_key(), 5), 1..12),
    ) {
        let mut world = World::new(5);
        for keys in polls {
            let lock = world.poll(&keys);
            let live = |name: &str| {
                keys.iter().filter(|k| matches!(k, By(o, e) if *o == name && *e > world.ms)).count()
            };
            let owner = ["a:1", "b:1", "c:1"].into_iter().find(|name| live(name) >= 3);
            let hidden = keys.iter().filter(|k| **k == Hidden).count();
            if owner.is_some() || hidden == 0 {
                prop_assert!(lock.fresh);
                let worker = owner.map(|o| o.trim_end_matches(":1").to_owned());
                prop_assert_eq!(holder(&lock), worker);
            } else {
                prop_assert!(!lock.fresh);
            }
            prop_assert_eq!(lock.votes.is_some(), hidden == 0);
            let up = lock.signals.iter().filter(|(s, up)| *up == Some(true) && *s != Signal::LeaseLapsesInUse && *s != Signal::LeaseAbsurd);
            prop_assert_eq!(up.count(), 0);
        }
    }
}
