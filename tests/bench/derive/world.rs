//! A store of many string locks on invented time: what its pollers would tell of each poll, and the state that takes it. A
//! pattern found the locks and tells them as a group, as in a store of very many. Reads nothing and measures nothing.

use std::sync::Arc;
use std::time::Duration;

use dlock_exporter::config::{Group, LockRules, SeriesTier};
use dlock_exporter::derive::{Effects, Rules, State};
use dlock_exporter::observe::lock::{Decoded, Holding, KeyWatched, Mode, Shape, Unchanged};
use dlock_exporter::observe::node::SweepDone;
use dlock_exporter::observe::*;
use dlock_exporter::view::{Instant, Show, View};

const STORE: StoreId = StoreId(1);
const POLL: Duration = Duration::from_secs(2);
const LEASE_MICROS: i64 = 600_000_000;
/// Keys told in one go.
const AT_ONCE: usize = 1000;
/// The server's clock minus ours.
const AHEAD_MICROS: i64 = 1_700_000_000_000_000;

/// What happened to the locks since the poll before.
#[derive(Clone, Copy)]
pub enum Change {
    None,
    /// One in so many was renewed.
    Renewed(usize),
    /// Another owner has each.
    Taken,
    /// Nothing, which a feed proves.
    Word,
}

struct Key {
    value: Arc<Decoded>,
    expiry: ServerTime,
    generation: u64,
}

/// The store and the state.
pub struct World {
    state: State,
    keys: Vec<Key>,
    now: Mono,
    polls: usize,
}

impl World {
    pub fn new(locks: usize) -> Self {
        let group = Group { name: "orders".into(), top: 10 };
        let rules = Rules {
            poll_interval: POLL,
            lock_groups: [("main".into(), vec![group.clone()])].into(),
            ..Rules::default()
        };
        let now = Mono(1_000_000_000_000);
        let mut world = Self { state: State::new(rules, now), keys: Vec::new(), now, polls: 0 };
        world.step(&Observation::StoreStarted { store: STORE, name: "main".into(), at: now });
        let rules = Arc::new(LockRules {
            series: SeriesTier::Flagged,
            group: Some(group),
            ..LockRules::default()
        });
        for n in 0..locks {
            let name = name(n);
            world.step(&Observation::KeyWatched(KeyWatched {
                store: STORE,
                key: KeyId(n as u64),
                key_text: name.clone(),
                lock: name,
                rules: rules.clone(),
                with: None,
                has_appeared: false,
            }));
            let expiry = world.time().plus_micros(LEASE_MICROS + n as i64);
            world.keys.push(Key { value: held(n, 0), expiry, generation: 0 });
        }
        world
    }

    /// Bytes of keys, names, and values: what any program that knows them would keep.
    pub fn bytes_of_names(&self) -> f64 {
        let name = (name(0).len() + 16) as f64;
        let value = size_of::<Decoded>() + size_of::<Holding>() + size_of::<Owner>();
        // The world's own keys, and reference counts of the three.
        let own = size_of::<Key>() + 16 * 3 + token(0, 0).len();
        self.keys.len() as f64 * (name + (value + own) as f64)
    }

    /// One poll.
    pub fn poll(&mut self, change: Change) {
        self.poll_timed(change, || Duration::ZERO);
    }

    /// One poll, and how much the state took of what this clock shows.
    pub fn poll_timed(&mut self, change: Change, clock: impl Fn() -> Duration) -> Duration {
        self.now = self.now.plus(POLL);
        self.polls += 1;
        self.change(change);
        let begun = self.now;
        let mut took = Duration::ZERO;
        if matches!(change, Change::Word) {
            let probe = BatchRead { reads: Vec::new(), ..self.batch(0) };
            let (last, except) = (KeyId(self.keys.len() as u64), Vec::new());
            let word = Observation::Unchanged(Box::new(Unchanged { probe, last, except }));
            let at = clock();
            self.step(&word);
            took += clock() - at;
            return took + self.end_sweep(begun, clock);
        }
        for first in (0..self.keys.len()).step_by(AT_ONCE) {
            let batch = Observation::Batch(self.batch(first));
            self.now = self.now.plus(Duration::from_micros(100));
            let at = clock();
            self.step(&batch);
            took += clock() - at;
        }
        took + self.end_sweep(begun, clock)
    }

    fn end_sweep(&mut self, begun: Mono, clock: impl Fn() -> Duration) -> Duration {
        let span = Span { sent: begun, done: self.now };
        let busy = span.width();
        let facts = Observation::Node(Box::new(self.facts(span)));
        let at = clock();
        self.step(&facts);
        self.step(&Observation::SweepDone(SweepDone { node: node(), span, busy }));
        clock() - at
    }

    pub fn view(&self, show: &Show) -> View {
        let now = Instant { mono: self.now, wall: 1_700_000_000.0 };
        View::showing(&self.state, now, 1, show)
    }

    fn change(&mut self, change: Change) {
        let (polls, expiry) = (self.polls, self.time().plus_micros(LEASE_MICROS - 1_000));
        for (n, key) in self.keys.iter_mut().enumerate() {
            match change {
                Change::Renewed(of) if (n + polls) % of == 0 => {
                    key.expiry = expiry.plus_micros(n as i64);
                }
                Change::Taken => {
                    key.generation += 1;
                    key.value = held(n, key.generation);
                    key.expiry = expiry.plus_micros(n as i64);
                }
                _ => {}
            }
        }
    }

    fn batch(&self, first: usize) -> BatchRead {
        let read = |(n, key): (usize, &Key)| KeyRead {
            key: KeyId((first + n) as u64),
            found: Found::Present { value: key.value.clone(), expiry: Expiry::At(key.expiry) },
        };
        let some = self.keys.iter().skip(first).take(AT_ONCE);
        BatchRead {
            node: node(),
            connection: 1,
            span: Span { sent: self.now, done: self.now.plus(Duration::from_micros(90)) },
            time: self.time(),
            role: Role::Master,
            offset: Some(1),
            reads: some.enumerate().map(read).collect(),
        }
    }

    /// What the server says of itself after the reads.
    fn facts(&self, span: Span) -> NodeFacts {
        NodeFacts {
            node: node(),
            connection: 1,
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
            flushes: Some(Default::default()),
            has_other_databases: Some(false),
            permissions: vec![],
        }
    }

    fn time(&self) -> ServerTime {
        let since_boot = i64::try_from(self.now.0 / 1000).unwrap_or_default();
        ServerTime(AHEAD_MICROS + since_boot)
    }

    fn step(&mut self, fact: &Observation) {
        let mut fx = Effects::default();
        self.state.step(fact, &mut fx);
    }
}

fn node() -> NodeRef {
    NodeRef { store: STORE, line: Line::default(), addr: "redis:6379".into() }
}

fn name(n: usize) -> Arc<str> {
    format!("lock:orders:shard:{n:07}").into()
}

fn token(n: usize, generation: u64) -> String {
    format!("{n:08x}-{generation:04x}-4f0e-8a3c-1d2e3f405162")
}

/// A string that is the token of one holder.
fn held(n: usize, generation: u64) -> Arc<Decoded> {
    let token = Token::new(token(n, generation).as_bytes());
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
