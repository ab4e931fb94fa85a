//! A small world on invented time: a server with one lock key, a worker, and an exporter that polls both. Reads take
//! one millisecond; wanted reads are made at their instants, as the pollers do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::still::step_both;
use crate::config::{
    Heartbeat, JvmMode, LockRules, Pattern, ProcessSource, RedisPart, SeriesTier, Source,
    TokenKind, WorkerGroup,
};
use crate::derive::host::WorstStall;
use crate::derive::{Effects, Evidence, LivenessSource, Rules, Signal, State, Wanted};
use crate::observe::lock::{
    CompanionRead, CompanionValue, Decoded, Holding, KeyWatched, Mode, OwnersNamed, Shape, Tells,
};
use crate::observe::node::Flushes;
use crate::observe::node::{FailReason, NodeFailed, NodeRef, SweepDone};
use crate::observe::worker::{
    Beat, HeartbeatRead, Process, ProcessRead, ProcessSeen, ProcessState,
};
use crate::observe::*;
use crate::view::{Instant, LockView, View};

/// What the fake server holds.
#[derive(Clone, Debug)]
pub struct Key {
    pub token: String,
    pub count: u64,
    pub expiry_ms: Option<i64>,
}

pub struct Sim {
    pub state: State,
    /// Our clock.
    pub ms: u64,
    /// Server clock minus ours.
    pub offset_ms: i64,
    pub key: Option<Key>,
    /// Another value, and when the key ends, in place of `key`.
    pub shows: Option<(Arc<Decoded>, Option<i64>)>,
    /// What is read beside the key after it.
    pub beside: Vec<(Tells, CompanionValue)>,
    /// Reads of the key so far.
    pub reads: u64,
    pub poll_ms: u64,
    next_poll: u64,
    wanted: Vec<(u64, Wanted)>,
    pub connection: u64,
    pub run_id: u64,
    pub flushes: u64,
    pub flushes_of_one: u64,
    /// Databases that were swapped, among those.
    pub swaps: u64,
    pub has_other_databases: bool,
    pub evicted: u64,
    /// `maxmemory` and `maxmemory-policy`.
    pub memory: (u64, &'static str),
    /// The server's clock stands at this time.
    pub stands_at: Option<i64>,
    /// Redis does not answer.
    pub is_down: bool,
    /// The exporter itself stands still.
    pub is_asleep: bool,
    /// The heartbeat's source does not answer.
    pub beat_fails: bool,
    /// The worker's beat; `None` without a heartbeat source.
    pub beat: Option<u64>,
    /// The worker's process; `None` without a process source.
    pub process: Option<ProcessSeen>,
    /// Those of single workers, where they are not like the others'.
    pub processes: BTreeMap<String, ProcessSeen>,
    pub token_pid: Option<i32>,
    rules: Arc<LockRules>,
    cached: Option<(String, u64, Arc<Decoded>)>,
    /// Keys that were to stay watched.
    pub kept: Vec<(StoreId, KeyId)>,
    /// Highest value every counter had; they must never fall.
    pub counters: Vec<u64>,
    /// Reads of which it was known that they change nothing.
    pub stayed: u64,
    /// Of so many steps one is made both ways (`step_both`), which takes long: all only where that is what is tested.
    pub both_each: u64,
    steps: u64,
}

pub fn rules() -> LockRules {
    LockRules {
        series: SeriesTier::Full,
        holder: Some(Pattern(regex::bytes::Regex::new("^(?P<worker>[^:]+)").unwrap())),
        by_key: true,
        ..LockRules::default()
    }
}

pub fn running(pid: i32, started_ms: u64) -> ProcessSeen {
    in_state(pid, started_ms, ProcessState::Sleeping)
}

pub fn in_state(pid: i32, started_ms: u64, state: ProcessState) -> ProcessSeen {
    ProcessSeen::Processes(vec![Process {
        pid,
        start_ticks: started_ms / 10,
        started: Mono(started_ms * 1_000_000),
        state,
        frozen: Some(false),
        threads: 1,
        cpu: Duration::ZERO,
        resident_bytes: 0,
    }])
}

/// A holder whose token is this, named by what is before the first colon.
pub fn holding(token: &str) -> Holding {
    let worker = token.split_once(':').map(|(worker, _)| Arc::from(worker));
    let owner =
        Owner { token: Token::new(token.as_bytes()), worker, host: None, pid: None, thread: None };
    Holding {
        owner: Arc::new(owner),
        count: 1,
        mode: Mode::Exclusive,
        until: None,
        refreshed_ms: None,
        taken_at: None,
    }
}

/// A string that is the token of one holder.
pub fn held_by(token: &str) -> Decoded {
    Decoded { holders: vec![holding(token)], ..Decoded::nobody("string", Shape::Text) }
}

pub const STORE: StoreId = StoreId(1);
pub const KEY: KeyId = KeyId(0);

pub fn node() -> NodeRef {
    NodeRef { store: STORE, line: Default::default(), addr: "redis:6379".into() }
}

impl Sim {
    pub fn new(poll_ms: u64, frozen_after_ms: Option<u64>, rules: LockRules) -> Self {
        let group = WorkerGroup {
            name: "all".into(),
            names: vec![],
            matches: Some(Pattern(regex::bytes::Regex::new(".*").unwrap())),
            series: SeriesTier::Full,
            process: Some(ProcessSource::PidFile("/run/{worker}.pid".into())),
            heartbeat: Some(Heartbeat {
                source: Source::Redis {
                    store: "main".into(),
                    key: "hb:{worker}".into(),
                    part: RedisPart::Text,
                    json: None,
                },
                frozen_after: frozen_after_ms.map(Duration::from_millis),
            }),
            claim: None,
            jvm: JvmMode::Auto,
        };
        let derive_rules = Rules {
            poll_interval: Duration::from_millis(poll_ms),
            retain: Duration::from_secs(3600),
            max_workers: 100,
            groups: Arc::new(vec![group]),
            ..Rules::default()
        };
        let mut sim = Self {
            state: State::new(derive_rules, Mono(0)),
            ms: 1_000_000,
            offset_ms: 1_700_000_000_000,
            key: None,
            shows: None,
            beside: vec![],
            reads: 0,
            poll_ms,
            next_poll: 1_000_000,
            wanted: vec![],
            connection: 1,
            run_id: 1,
            flushes: 0,
            flushes_of_one: 0,
            swaps: 0,
            has_other_databases: false,
            evicted: 0,
            memory: (0, "noeviction"),
            stands_at: None,
            is_down: false,
            is_asleep: false,
            beat_fails: false,
            beat: None,
            process: None,
            processes: BTreeMap::new(),
            token_pid: None,
            rules: Arc::new(rules),
            cached: None,
            kept: vec![],
            counters: vec![],
            stayed: 0,
            both_each: if std::env::var_os("DLOCK_TEST_LONG").is_some() { 1 } else { 16 },
            steps: 0,
        };
        sim.announce();
        sim
    }

    /// A new exporter that knows nothing.
    pub fn restart_exporter(&mut self) {
        self.state = State::new(self.state.rules.clone(), self.now());
        self.wanted.clear();
        self.counters.clear();
        self.connection += 1;
        self.announce();
    }

    pub fn announce(&mut self) {
        self.step(Observation::StoreStarted { store: STORE, name: "main".into(), at: self.now() });
        self.step(Observation::KeyWatched(KeyWatched {
            store: STORE,
            key: KEY,
            key_text: "lock".into(),
            lock: "lock".into(),
            rules: self.rules.clone(),
            with: None,
            has_appeared: false,
        }));
        self.facts();
    }

    pub fn now(&self) -> Mono {
        Mono(self.ms * 1_000_000)
    }

    pub fn server_ms(&self) -> i64 {
        self.stands_at.unwrap_or(self.ms as i64 + self.offset_ms)
    }

    pub fn span(&self) -> Span {
        Span { sent: self.now(), done: self.now().plus(Duration::from_millis(1)) }
    }

    pub fn step(&mut self, o: Observation) {
        let mut fx = Effects::default();
        self.steps += 1;
        let is_both = self.steps.is_multiple_of(self.both_each);
        self.stayed += step_both(&mut self.state, &o, &mut fx, is_both);
        self.kept.extend(fx.keep);
        for w in fx.wanted {
            let at = match &w {
                Wanted::Key { at, .. } | Wanted::Look { at, .. } => at.0.div_ceil(1_000_000),
                Wanted::Facts { .. } => 0,
            };
            self.wanted.push((at.max(self.ms + 1), w));
        }
        self.check_invariants();
    }

    fn check_invariants(&mut self) {
        let Some(lock) = self.state.stores.get(&STORE).and_then(|s| s.locks.get(&KEY)) else {
            return;
        };
        if lock.signals.is_up(Signal::RenewalAfterLostLiveness) {
            assert!(lock.signals.is_up(Signal::HolderStale), "renewal_after without stale");
        }
        let c = &lock.counts;
        let mut now = vec![c.acquisitions, c.renewals, c.late_renewals, c.renewals_after_loss];
        now.extend(c.ends);
        now.extend(c.expired_under);
        now.extend(Signal::ALL.iter().map(|s| lock.signals.rises(*s)));
        for (before, after) in self.counters.iter().zip(&now) {
            assert!(after >= before, "a counter fell");
        }
        self.counters = now;
    }

    // What the world does.

    pub fn acquire(&mut self, token: &str, lease_ms: i64) -> bool {
        self.expire();
        if self.key.is_some() {
            return false;
        }
        let expiry_ms = (lease_ms > 0).then(|| self.server_ms() + lease_ms);
        self.key = Some(Key { token: token.into(), count: 1, expiry_ms });
        true
    }

    pub fn renew(&mut self, token: &str, lease_ms: i64) -> bool {
        self.expire();
        let until = self.server_ms() + lease_ms;
        match &mut self.key {
            Some(k) if k.token == token => {
                k.expiry_ms = Some(until);
                true
            }
            _ => false,
        }
    }

    pub fn release(&mut self, token: &str) {
        self.expire();
        if self.key.as_ref().is_some_and(|k| k.token == token) {
            self.key = None;
        }
    }

    pub fn beat(&mut self) {
        self.beat = Some(self.beat.unwrap_or(0) + 1);
    }

    pub fn rules(&self) -> &LockRules {
        &self.rules
    }

    pub fn expire(&mut self) {
        let now = self.server_ms();
        if self.shows.as_ref().and_then(|(_, e)| *e).is_some_and(|e| now > e) {
            self.shows = None;
        }
        if self.key.as_ref().and_then(|k| k.expiry_ms).is_some_and(|e| now > e) {
            self.key = None;
        }
    }

    // What the exporter does.

    /// Lets time pass; the exporter polls and makes its wanted reads.
    pub fn advance(&mut self, ms: u64) {
        let until = self.ms + ms;
        loop {
            let wanted = self.wanted.iter().map(|(at, _)| *at).min().unwrap_or(u64::MAX);
            let next = self.next_poll.min(wanted);
            if next > until {
                break;
            }
            self.ms = next.max(self.ms);
            if self.is_asleep {
                if self.next_poll <= self.ms {
                    self.next_poll += self.poll_ms;
                }
                self.wanted.retain(|(at, _)| *at > until);
                continue;
            }
            if self.next_poll <= self.ms {
                self.next_poll += self.poll_ms;
                self.poll();
            }
            let due: Vec<Wanted> = {
                let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.wanted)
                    .into_iter()
                    .partition(|(at, _)| *at <= self.ms);
                self.wanted = later;
                due.into_iter().map(|(_, w)| w).collect()
            };
            for w in due {
                match w {
                    Wanted::Key { .. } => self.read_key(),
                    Wanted::Facts { .. } => self.facts(),
                    Wanted::Look { what: LivenessSource::Heartbeat, .. } => self.read_beat(),
                    Wanted::Look { what: LivenessSource::Process, .. } => self.read_process(),
                    Wanted::Look { what: LivenessSource::List, .. } => {
                        panic!("lists are read at their own pace")
                    }
                }
            }
        }
        self.ms = until;
    }

    fn poll(&mut self) {
        self.read_process();
        self.read_beat();
        self.read_key();
        if !self.is_down {
            self.facts();
            self.step(Observation::SweepDone(SweepDone {
                node: node(),
                span: self.span(),
                busy: Duration::from_millis(1),
            }));
        }
    }

    pub fn read_key(&mut self) {
        self.reads += 1;
        if self.is_down {
            self.connection += 1;
            self.step(Observation::NodeFailed(NodeFailed {
                node: node(),
                at: self.now(),
                reason: FailReason::Timeout,
                detail: "timeout".into(),
            }));
            return;
        }
        self.expire();
        let expiry =
            |ms: Option<i64>| ms.map_or(Expiry::Never, |e| Expiry::At(ServerTime::from_ms(e)));
        let found = match (self.shows.clone(), self.key.clone()) {
            (Some((value, ms)), _) => Found::Present { value, expiry: expiry(ms) },
            (None, None) => Found::Absent,
            (None, Some(k)) => {
                Found::Present { value: self.decode(&k), expiry: expiry(k.expiry_ms) }
            }
        };
        self.batch(KeyRead { key: KEY, found });
        if !self.beside.is_empty() {
            let sent = self.now().plus(Duration::from_micros(1_100));
            self.step(Observation::Companions(Box::new(CompanionRead {
                store: STORE,
                key: KEY,
                span: Span { sent, done: sent.plus(Duration::from_micros(500)) },
                time: ServerTime::from_ms(self.server_ms())
                    .plus_micros(if self.stands_at.is_none() { 1_300 } else { 0 }),
                told: self.beside.clone(),
            })));
        }
    }

    pub fn batch(&mut self, read: KeyRead) {
        self.step(Observation::Batch(BatchRead {
            node: node(),
            connection: self.connection,
            span: self.span(),
            time: ServerTime::from_ms(self.server_ms()),
            role: Role::Master,
            offset: Some(self.ms),
            reads: vec![read],
        }));
    }

    /// So many other locks of the same entry were held once each, for leases of this length.
    pub fn siblings(&mut self, count: u32, lease_ms: i64) {
        for n in 1..=count {
            let (key, lock) = (KeyId(n.into()), Arc::from(format!("sibling-{n}")));
            self.step(Observation::KeyWatched(KeyWatched {
                store: STORE,
                key,
                key_text: "sibling".into(),
                lock,
                rules: self.rules.clone(),
                with: None,
                has_appeared: false,
            }));
            let until = Expiry::At(ServerTime::from_ms(self.server_ms() + 500 + lease_ms));
            let held = Found::Present { value: Arc::new(held_by("sibling")), expiry: until };
            for found in [Found::Absent, held, Found::Absent] {
                self.batch(KeyRead { key, found });
                self.advance(500);
            }
            self.advance(self.poll_ms);
        }
    }

    /// The store's owner index names these workers.
    pub fn index(&mut self, names: &[(&str, Option<&str>)]) {
        let names = names
            .iter()
            .map(|(token, worker)| (Token::new(token.as_bytes()), worker.map(Arc::from)));
        self.step(Observation::Owners(Box::new(OwnersNamed {
            store: STORE,
            span: self.span(),
            names: names.collect(),
        })));
    }

    /// The key has this value from now on, until this instant of the server's clock.
    pub fn show(&mut self, value: Decoded, expiry_ms: Option<i64>) {
        self.shows = Some((Arc::new(value), expiry_ms));
    }

    /// The key is gone.
    pub fn vanish(&mut self) {
        (self.key, self.shows) = (None, None);
    }

    fn decode(&mut self, key: &Key) -> Arc<Decoded> {
        if let Some((token, count, value)) = &self.cached
            && *token == key.token
            && *count == key.count
        {
            return value.clone();
        }
        let worker = key.token.split(':').next().map(Arc::from);
        let value = Arc::new(Decoded {
            tokens: TokenKind::PerAcquire,
            holders: vec![Holding {
                owner: Arc::new(Owner {
                    token: Token::new(key.token.as_bytes()),
                    worker,
                    host: None,
                    pid: self.token_pid,
                    thread: None,
                }),
                count: key.count,
                mode: Mode::Exclusive,
                until: None,
                refreshed_ms: None,
                taken_at: None,
            }],
            ..Decoded::nobody("string", Shape::Text)
        });
        self.cached = Some((key.token.clone(), key.count, value.clone()));
        value
    }

    fn watched(&self) -> Vec<Arc<str>> {
        self.state.to_watch().into_iter().map(|w| w.name).collect()
    }

    fn read_beat(&mut self) {
        let Some(beat) = self.beat else { return };
        for worker in self.watched() {
            let beat = if self.is_down || self.beat_fails {
                Beat::Failed { reason: FailReason::Timeout, detail: String::new() }
            } else {
                Beat::Value { mark: beat, expires: false }
            };
            self.step(Observation::Heartbeat(HeartbeatRead { worker, span: self.span(), beat }));
        }
    }

    fn read_process(&mut self) {
        let Some(seen) = self.process.clone() else { return };
        for worker in self.watched() {
            let seen = self.processes.get(&*worker).unwrap_or(&seen);
            self.step(Observation::Process(ProcessRead {
                worker,
                token_pid: None,
                span: self.span(),
                seen: seen.clone(),
                detail: String::new(),
            }));
        }
    }

    pub fn facts(&mut self) {
        self.step(Observation::Node(Box::new(self.node_facts())));
    }

    /// What the server says of itself.
    pub fn node_facts(&self) -> NodeFacts {
        NodeFacts {
            node: node(),
            connection: self.connection,
            span: Span {
                sent: self.span().done,
                done: self.span().done.plus(Duration::from_millis(1)),
            },
            time: Some(ServerTime::from_ms(self.server_ms() + i64::from(self.stands_at.is_none()))),
            version: "7.0.15".into(),
            flavor: "redis".into(),
            mode: "standalone".into(),
            run_id: Some(format!("run{}", self.run_id)),
            role: Role::Master,
            replid: Some(format!("repl{}", self.run_id)),
            replid2: None,
            second_offset: None,
            offset: Some(self.ms),
            primary: None,
            replicas: vec![],
            connected_replicas: Some(0),
            min_replicas_to_write: None,
            aof: Some(false),
            loaded_keys: Some(0),
            maxmemory: Some(self.memory.0),
            maxmemory_policy: Some(self.memory.1.into()),
            evicted_keys: Some(self.evicted),
            expired_keys: Some(0),
            connected_clients: Some(3),
            connections_received: Some(1),
            rejected_connections: Some(0),
            flushes: Some(Flushes {
                all: self.flushes,
                one: self.flushes_of_one,
                swaps: self.swaps,
            }),
            has_other_databases: Some(self.has_other_databases),
            permissions: vec![],
        }
    }

    // What is shown.

    pub fn view(&self) -> View {
        View::of(&self.state, Instant { mono: self.now(), wall: 0.0 }, 1)
    }

    pub fn lock(&self) -> LockView {
        self.view().stores[0].locks[0].clone()
    }

    pub fn signal(&self, signal: Signal) -> Option<bool> {
        self.state.stores[&STORE].locks[&KEY].signals.get(signal)
    }

    pub fn worst_stall(&self, worker: &str) -> WorstStall {
        let host = &self.state.workers.by_name[worker].host;
        host.worst_stall(self.now(), self.state.rules.stalls()).expect("its stalls are known")
    }

    pub fn rises(&self, signal: Signal) -> u64 {
        self.state.stores[&STORE].locks[&KEY].signals.rises(signal)
    }

    pub fn ends(&self, evidence: Evidence) -> u64 {
        self.state.stores[&STORE].lease_ends[evidence as usize]
    }

    /// Advances in steps of `tick` until the signal is up; returns how long that took.
    pub fn until_up(
        &mut self,
        signal: Signal,
        most_ms: u64,
        tick: u64,
        mut world: impl FnMut(&mut Sim),
    ) -> u64 {
        let begin = self.ms;
        while self.signal(signal) != Some(true) {
            assert!(self.ms - begin < most_ms, "{} did not rise in {most_ms} ms", signal.as_str());
            world(self);
            self.advance(tick);
        }
        self.ms - begin
    }

    pub fn assert_quiet(&self) {
        self.assert_raised(&[]);
    }

    /// No signal rose but these, which may have.
    pub fn assert_quiet_but(&self, signals: &[Signal]) {
        let rose = |s: &&Signal| self.rises(**s) > 0 && !signals.contains(s);
        let rose: Vec<&Signal> = Signal::ALL.iter().filter(rose).collect();
        assert!(rose.is_empty(), "{rose:?}: {:#?}", self.lock().transitions);
    }

    /// These signals rose, and no other.
    pub fn assert_raised(&self, signals: &[Signal]) {
        let rose: Vec<Signal> =
            Signal::ALL.iter().copied().filter(|s| self.rises(*s) > 0).collect();
        assert_eq!(rose, signals, "{:#?}", self.lock().transitions);
    }
}
