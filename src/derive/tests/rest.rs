//! One word for all locks of a group that did not change is held against telling each of them: two states take the same reads,
//! one of them the words, and come to the same locks, the same wishes and the same that is counted.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::config::{Group, LockRules, SeriesTier, TokenKind};
use crate::derive::{Effects, Rules, State};
use crate::observe::lock::{Decoded, Holding, KeyWatched, Mode, Shape, Unchanged};
use crate::observe::node::{Flushes, SweepDone};
use crate::observe::*;
use crate::view::{GroupView, Instant, Show, View};

const STORE: StoreId = StoreId(1);
const AHEAD_MICROS: i64 = 1_700_000_000_000_000;
/// A lease that ends sooner is read.
const NEAR: i64 = 50_000;

struct Key {
    value: Option<(Arc<Decoded>, Option<ServerTime>)>,
    is_changed: bool,
    times: u64,
}

struct Pair {
    each: State,
    word: State,
    keys: Vec<Key>,
    now: Mono,
    poll: Duration,
    ahead: i64,
    connection: u64,
    flushes: u64,
    has_feed: bool,
    had_feed: bool,
    reread: Option<usize>,
}

#[derive(Clone, Debug)]
enum Deed {
    Take(usize, i64),
    TakeWithoutEnd(usize),
    Renew(usize, i64),
    Release(usize),
    Odd(usize),
    Reread(usize),
    Rest(u32),
    Gap(u32),
    Step(i64),
    Reconnect,
    Flush,
    Feed(bool),
    New,
    Forget(usize),
    Reload(u64),
}

fn deed() -> impl Strategy<Value = Deed> {
    let n = 0usize..6;
    prop_oneof![
        4 => (n.clone(), 1_000i64..90_000).prop_map(|(n, lease)| Deed::Take(n, lease)),
        1 => n.clone().prop_map(Deed::TakeWithoutEnd),
        4 => (n.clone(), 5_000i64..90_000).prop_map(|(n, lease)| Deed::Renew(n, lease)),
        2 => n.clone().prop_map(Deed::Release),
        1 => n.clone().prop_map(Deed::Odd),
        2 => n.clone().prop_map(Deed::Reread),
        6 => (1u32..12).prop_map(Deed::Rest),
        1 => (1u32..8).prop_map(Deed::Gap),
        1 => (-4_000i64..4_000).prop_map(Deed::Step),
        1 => Just(Deed::Reconnect),
        1 => Just(Deed::Flush),
        1 => any::<bool>().prop_map(Deed::Feed),
        1 => Just(Deed::New),
        1 => n.prop_map(Deed::Forget),
        1 => (500u64..3_000).prop_map(Deed::Reload),
    ]
}

fn rules(entry: (Option<u64>, Option<u64>, bool)) -> LockRules {
    let (max_hold, lease, pooled) = entry;
    LockRules {
        group: Some(Group { name: "jobs".into(), top: 2 }),
        series: SeriesTier::Core,
        max_hold: max_hold.map(Duration::from_secs),
        lease: lease.map(Duration::from_secs),
        token: Some(TokenKind::PerAcquire),
        pooled,
        ..LockRules::default()
    }
}

fn held(n: usize, times: u64) -> Arc<Decoded> {
    let token = Token::new(format!("{n}-{times}").as_bytes());
    let owner = Owner { token, worker: None, host: None, pid: None, thread: None };
    let holding = Holding {
        owner: Arc::new(owner),
        count: 1,
        mode: Mode::Exclusive,
        until: None,
        refreshed_ms: None,
        taken_at: None,
    };
    Arc::new(Decoded { holders: vec![holding], ..Decoded::nobody("string", Shape::Text) })
}

impl Pair {
    fn new(poll_ms: u64, rules_of: LockRules) -> Self {
        let poll = Duration::from_millis(poll_ms);
        let now = Mono(1_000_000_000_000);
        let state = State::new(Self::rules(poll), now);
        let mut pair = Self {
            word: state.clone(),
            each: state,
            keys: Vec::new(),
            now,
            poll,
            ahead: AHEAD_MICROS,
            connection: 1,
            flushes: 0,
            has_feed: true,
            had_feed: false,
            reread: None,
        };
        pair.step(&Observation::StoreStarted { store: STORE, name: "main".into(), at: now });
        let rules = Arc::new(rules_of);
        for n in 0..6 {
            pair.watch(n, &rules);
        }
        pair
    }

    fn rules(poll: Duration) -> Rules {
        let group = Group { name: "jobs".into(), top: 2 };
        Rules {
            poll_interval: poll,
            lock_groups: [("main".into(), vec![group])].into(),
            ..Rules::default()
        }
    }

    fn watch(&mut self, n: usize, rules: &Arc<LockRules>) {
        let name: Arc<str> = format!("job-{n}").into();
        self.step(&Observation::KeyWatched(KeyWatched {
            store: STORE,
            key: KeyId(n as u64),
            key_text: name.clone(),
            lock: name,
            rules: rules.clone(),
            with: None,
            has_appeared: false,
        }));
        self.keys.push(Key { value: None, is_changed: true, times: 0 });
    }

    fn time(&self) -> ServerTime {
        ServerTime(self.ahead + i64::try_from(self.now.0 / 1000).unwrap())
    }

    fn step(&mut self, fact: &Observation) {
        self.step_each(fact, fact);
    }

    /// What both want has to be the same, in whatever order.
    fn step_each(&mut self, each: &Observation, word: &Observation) {
        let both = [(&mut self.each, each), (&mut self.word, word)].map(|(state, fact)| {
            let mut fx = Effects::default();
            state.step(fact, &mut fx);
            let mut told: Vec<String> = fx.wanted.iter().map(|w| format!("{w:?}")).collect();
            told.extend(fx.notices.iter().map(|n| format!("{n:?}")));
            told.extend(fx.keep.iter().map(|k| format!("{k:?}")));
            told.sort();
            told
        });
        assert_eq!(both[0], both[1], "{word:?}");
    }

    fn batch(&self, reads: Vec<KeyRead>) -> BatchRead {
        BatchRead {
            node: node(),
            connection: self.connection,
            span: Span { sent: self.now, done: self.now.plus(Duration::from_micros(300)) },
            time: self.time(),
            role: Role::Master,
            offset: Some(1),
            reads,
        }
    }

    fn found(&self, n: usize) -> Found {
        match &self.keys[n].value {
            None => Found::Absent,
            Some((value, end)) => Found::Present {
                value: value.clone(),
                expiry: end.map_or(Expiry::Never, Expiry::At),
            },
        }
    }

    fn read(&self, keys: &[usize]) -> Vec<KeyRead> {
        keys.iter().map(|n| KeyRead { key: KeyId(*n as u64), found: self.found(*n) }).collect()
    }

    fn poll(&mut self) {
        let begun = self.now;
        let time = self.time();
        for key in &mut self.keys {
            if key.value.as_ref().is_some_and(|(_, end)| end.is_some_and(|end| end <= time)) {
                (key.value, key.is_changed) = (None, true);
            }
        }
        let probe = self.batch(Vec::new());
        self.step(&Observation::Batch(probe.clone()));
        let facts = Observation::Node(Box::new(self.facts()));
        self.step(&facts);
        let is_proven = self.has_feed && self.had_feed;
        self.had_feed = self.has_feed;
        let is_near = |key: &Key| {
            let end = key.value.as_ref().and_then(|(_, end)| *end);
            end.is_some_and(|end| end.micros_since(time) <= NEAR)
        };
        let all = 0..self.keys.len();
        let is_known = |n: &usize| {
            let key = &self.keys[*n];
            is_proven && !key.is_changed && !is_near(key)
        };
        let (known, due): (Vec<usize>, Vec<usize>) = all.partition(is_known);
        let (there, absent): (Vec<usize>, Vec<usize>) =
            known.into_iter().partition(|n| self.keys[*n].value.is_some());
        if is_proven && !there.is_empty() {
            let reads = self.read(&there);
            let each = Observation::Batch(BatchRead { reads, ..probe.clone() });
            let except = due.iter().map(|n| KeyId(*n as u64));
            let mut except: Vec<KeyId> = except.collect();
            except.sort();
            let last = KeyId(self.keys.len() as u64);
            let word = Unchanged { probe: probe.clone(), last, except };
            self.step_each(&each, &Observation::Unchanged(Box::new(word)));
        }
        if !absent.is_empty() {
            let reads = self.read(&absent);
            self.step(&Observation::Batch(BatchRead { reads, ..probe }));
        }
        self.now = self.now.plus(Duration::from_millis(1));
        let mut read = due;
        read.extend(self.reread.take().filter(|n| *n < self.keys.len()));
        read.sort_unstable();
        read.dedup();
        let reads = self.read(&read);
        self.step(&Observation::Batch(self.batch(reads)));
        read.iter().for_each(|n| self.keys[*n].is_changed = false);
        let span = Span { sent: begun, done: self.now.plus(Duration::from_millis(1)) };
        let facts = Observation::Node(Box::new(self.facts()));
        self.step(&facts);
        let busy = span.width();
        self.step(&Observation::SweepDone(SweepDone { node: node(), span, busy }));
        self.compare();
        self.now = begun.plus(self.poll);
    }

    fn compare(&self) {
        let now = Instant { mono: self.now.plus(Duration::from_millis(3)), wall: 1.7e9 };
        let (each, word) = (&self.each.stores[&STORE], &self.word.stores[&STORE]);
        for n in 0..self.keys.len() {
            let key = KeyId(n as u64);
            let both = [each, word].map(|s| format!("{:#?}", s.locks.current(&key)));
            if both[0] != both[1] {
                let lines = both[0].lines().zip(both[1].lines());
                let differs: Vec<_> = lines.filter(|(a, b)| a != b).collect();
                panic!("{key:?}: {differs:#?}");
            }
        }
        assert_eq!(each.lease_ends, word.lease_ends);
        let whole = View::of(&self.each, now, 1).stores.remove(0);
        let same = View::of(&self.word, now, 1).stores.remove(0);
        assert_eq!(format!("{whole:?}"), format!("{same:?}"));
        let few = View::showing(&self.word, now, 1, &Show::Needed).stores.remove(0);
        let left_out = whole.locks.len() - few.locks.len();
        assert_eq!(few.counted_only.0, left_out as u64);
        for lock in &few.locks {
            let same = whole.locks.iter().find(|l| l.name == lock.name).unwrap();
            assert_eq!(format!("{lock:?}"), format!("{same:?}"));
        }
        assert_eq!(rounded(&few.groups), rounded(&whole.groups));
        assert_eq!((few.held, few.free), (whole.held, whole.free));
        assert_eq!((few.flagged, few.blind), (whole.flagged, whole.blind));
        assert_eq!((few.ownerless, few.refused), (whole.ownerless, whole.refused));
        self.compare_pages(now);
    }

    /// A part of the group that is asked for is that of the whole.
    fn compare_pages(&self, now: Instant) {
        let whole = View::of(&self.each, now, 1);
        let mut locks: Vec<_> = whole.stores[0].locks.iter().collect();
        locks.sort_by_key(|l| l.look.unwrap_or(usize::MAX));
        let (store, group) = ("main".to_owned(), "jobs".to_owned());
        let show = Show::Group { store, group, offset: 1, limit: 3 };
        let part = View::showing(&self.word, now, 1, &show);
        let page = part.page.clone().expect("a part was asked for");
        let names: Vec<_> = locks.iter().skip(1).take(3).map(|l| l.name.clone()).collect();
        assert_eq!(page.names, names);
        for name in names {
            let [a, b] = [&whole, &View { page: None, ..part.clone() }].map(|v| {
                let lock = v.stores[0].locks.iter().find(|l| l.name == name);
                format!("{:?}", lock.expect("it is there"))
            });
            assert_eq!(a, b);
        }
    }

    fn at_rest(&self) -> usize {
        self.word.stores[&STORE].locks.resting().count()
    }

    fn run(&mut self, deed: Deed, rules: &Arc<LockRules>) {
        let lease = |ms: i64| self.time().plus_micros(ms * 1000);
        let n = match deed {
            Deed::Take(n, _)
            | Deed::TakeWithoutEnd(n)
            | Deed::Renew(n, _)
            | Deed::Release(n)
            | Deed::Odd(n)
            | Deed::Reread(n)
            | Deed::Forget(n) => n % self.keys.len(),
            _ => 0,
        };
        match deed {
            Deed::Take(_, ms) => {
                self.change(n, Some((held(n, self.keys[n].times + 1), Some(lease(ms)))))
            }
            Deed::TakeWithoutEnd(_) => {
                self.change(n, Some((held(n, self.keys[n].times + 1), None)))
            }
            Deed::Renew(_, ms) => {
                if let Some((value, _)) = self.keys[n].value.clone() {
                    self.change(n, Some((value, Some(lease(ms)))));
                }
            }
            Deed::Release(_) => self.change(n, None),
            Deed::Odd(_) => {
                let odd = Arc::new(Decoded::nobody("number", Shape::Number));
                self.change(n, Some((odd, Some(lease(40_000)))));
            }
            Deed::Reread(_) => self.reread = Some(n),
            Deed::Rest(polls) => (0..polls).for_each(|_| self.poll()),
            Deed::Gap(polls) => self.now = self.now.plus(self.poll * polls),
            Deed::Step(ms) => self.ahead += ms * 1000,
            Deed::Reconnect => {
                self.connection += 1;
                self.had_feed = false;
            }
            Deed::Flush => {
                self.flushes += 1;
                (0..self.keys.len()).for_each(|n| self.change(n, None));
                self.had_feed = false;
            }
            Deed::Feed(has) => self.has_feed = has,
            Deed::New if self.keys.len() < 12 => self.watch(self.keys.len(), rules),
            Deed::New => {}
            Deed::Forget(_) => {
                self.step(&Observation::KeyForgotten { store: STORE, key: KeyId(n as u64) });
                self.keys[n].value = None;
            }
            Deed::Reload(ms) => {
                self.poll = Duration::from_millis(ms);
                for state in [&mut self.each, &mut self.word] {
                    state.reconfigure(Self::rules(Duration::from_millis(ms)), self.now);
                }
            }
        }
    }

    fn change(&mut self, n: usize, value: Option<(Arc<Decoded>, Option<ServerTime>)>) {
        let key = &mut self.keys[n];
        (key.value, key.is_changed, key.times) = (value, true, key.times + 1);
    }

    fn facts(&self) -> NodeFacts {
        let flushes = Flushes { all: self.flushes, ..Flushes::default() };
        let span = Span { sent: self.now, done: self.now.plus(Duration::from_micros(200)) };
        NodeFacts {
            node: node(),
            connection: self.connection,
            span,
            time: Some(self.time()),
            version: "8.2.0".into(),
            flavor: "redis".into(),
            mode: "standalone".into(),
            run_id: Some("run".into()),
            role: Role::Master,
            replid: Some("replid".into()),
            replid2: None,
            second_offset: None,
            offset: Some(1),
            primary: None,
            replicas: vec![],
            connected_replicas: Some(0),
            min_replicas_to_write: None,
            aof: Some(true),
            loaded_keys: Some(0),
            maxmemory: Some(0),
            maxmemory_policy: Some("noeviction".into()),
            evicted_keys: Some(0),
            expired_keys: Some(0),
            connected_clients: Some(2),
            connections_received: Some(2),
            rejected_connections: Some(0),
            flushes: Some(flushes),
            has_other_databases: Some(false),
            permissions: vec![],
        }
    }
}

fn node() -> NodeRef {
    NodeRef { store: STORE, line: Line::default(), addr: "redis:6379".into() }
}

#[test]
fn locks_at_which_nothing_goes_on_rest_until_they_change() {
    let rules = Arc::new(rules((None, None, false)));
    let mut pair = Pair::new(1000, (*rules).clone());
    (0..6).for_each(|n| pair.run(Deed::Take(n, 600_000 + n as i64), &rules));
    (0..6).for_each(|_| pair.poll());
    assert_eq!(pair.at_rest(), 6);
    pair.run(Deed::Reread(2), &rules);
    pair.poll();
    assert_eq!(pair.at_rest(), 6, "a read that shows the same");
    pair.run(Deed::Renew(3, 700_000), &rules);
    pair.run(Deed::Take(4, 500_000), &rules);
    pair.run(Deed::Release(5), &rules);
    pair.poll();
    assert_eq!(pair.at_rest(), 3);
    (0..4).for_each(|_| pair.poll());
    assert_eq!(pair.at_rest(), 5, "but for the one that is free");
    pair.run(Deed::Gap(6), &rules);
    pair.poll();
    assert_eq!(pair.at_rest(), 0, "polls are missing");
    (0..4).for_each(|_| pair.poll());
    assert_eq!(pair.at_rest(), 5);
    pair.has_feed = false;
    (0..2).for_each(|_| pair.poll());
    assert_eq!(pair.at_rest(), 0, "nobody tells what does not change");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::with_failure_persistence(FileFailurePersistence::WithSource("regressions")) })]

    #[test]
    fn one_word_comes_to_what_telling_each_does(
        entry in (proptest::option::of(20u64..200), proptest::option::of(5u64..90), any::<bool>()),
        poll in 500u64..3_000,
        deeds in proptest::collection::vec(deed(), 1..24),
    ) {
        let rules = Arc::new(rules(entry));
        let mut pair = Pair::new(poll, (*rules).clone());
        for deed in deeds {
            pair.run(deed, &rules);
            pair.poll();
        }
        (0..8).for_each(|_| pair.poll());
    }
}

/// To the microsecond: a lease that is left, and one that is computed back from its end, may differ in the last bit.
fn rounded(groups: &[GroupView]) -> Vec<GroupView> {
    let micros = |seconds: f64| (seconds * 1e6).round() / 1e6;
    let mut groups = groups.to_vec();
    for group in &mut groups {
        group.remaining_min_seconds = group.remaining_min_seconds.map(micros);
        group.held_max_seconds = group.held_max_seconds.map(micros);
    }
    groups
}
