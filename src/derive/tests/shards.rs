//! A lock whose key moves between the shards of a cluster: its holder goes on, nothing is taken for an end, a takeover or a
//! failover, and what one server counts is never compared with what another does. A shard that fails costs its own locks.

use std::sync::Arc;
use std::time::Duration;

use super::sim::{Sim, held_by, rules};
use crate::config::LockRules;
use crate::derive::Evidence;
use crate::observe::lock::{KeyWatched, Unreadable};
use crate::observe::node::Flushes;
use crate::observe::node::{FailReason, NodeFacts, NodeFailed, SweepDone};
use crate::observe::*;
use crate::view::{Aspect, BlindReason, Instant, View};

const STORE: StoreId = StoreId(1);
const KEY: KeyId = KeyId(0);
const LEASE_MS: i64 = 60_000;

/// Another shard, whose server counts and tells the time for itself.
struct Shard {
    line: u16,
    ahead_ms: i64,
    flushes: u64,
    run: u64,
}

impl Shard {
    fn new() -> Self {
        Self { line: 1, ahead_ms: 7_000, flushes: 40, run: 900 }
    }

    fn node(&self) -> NodeRef {
        NodeRef {
            store: STORE,
            line: Line(self.line),
            addr: format!("shard{}:1", self.line).into(),
        }
    }

    fn time(&self, s: &Sim) -> i64 {
        s.server_ms() + self.ahead_ms
    }

    fn facts(&self, s: &mut Sim) {
        let own = s.node_facts();
        let time = own.time.map(|t| t.plus_micros(self.ahead_ms * 1_000));
        let id = Some(format!("run{}", self.run));
        let facts = NodeFacts {
            node: self.node(),
            time,
            run_id: id.clone(),
            replid: id,
            flushes: Some(Flushes { all: self.flushes, ..Flushes::default() }),
            ..own
        };
        s.step(Observation::Node(Box::new(facts)));
    }

    fn read(&self, s: &mut Sim, key: KeyId, found: Found) {
        let time = ServerTime::from_ms(self.time(s));
        s.step(Observation::Batch(BatchRead {
            node: self.node(),
            connection: 1,
            span: s.span(),
            time,
            role: Role::Master,
            offset: Some(5),
            reads: vec![KeyRead { key, found }],
        }));
    }

    fn swept(&self, s: &mut Sim) {
        self.facts(s);
        let (span, busy) = (s.span(), Duration::from_millis(1));
        s.step(Observation::SweepDone(SweepDone { node: self.node(), span, busy }));
    }

    /// So much of a lease is left.
    fn held(&self, s: &Sim, token: &str, left_ms: i64) -> Found {
        let expiry = Expiry::At(ServerTime::from_ms(self.time(s) + left_ms));
        Found::Present { value: Arc::new(held_by(token)), expiry }
    }
}

fn moved(run: impl FnOnce(&mut Sim, &Shard)) -> Sim {
    let mut s = Sim::new(1_000, None, rules());
    let shard = Shard::new();
    shard.facts(&mut s);
    s.advance(3_000);
    s.acquire("a:1", LEASE_MS);
    s.advance(3_000);
    run(&mut s, &shard);
    s
}

fn all_ends(s: &Sim) -> u64 {
    Evidence::ALL.iter().map(|e| s.ends(*e)).sum()
}

#[test]
fn a_holder_goes_on_where_its_key_went() {
    let s = moved(|s, shard| {
        let left = LEASE_MS - 3_000;
        for step in 1..4 {
            s.ms += 1_000;
            // MIGRATE takes what is left along, so that the end is another on the other clock.
            let found = shard.held(s, "a:1", left - step * 1_000 - 3);
            shard.read(s, KEY, found);
            shard.swept(s);
        }
        assert_eq!(s.lock().counts.renewals, 0, "an end on another clock is no renewal");
        for _ in 0..2 {
            s.ms += 1_000;
            let found = shard.held(s, "a:1", LEASE_MS);
            shard.read(s, KEY, found);
            shard.swept(s);
        }
        assert_eq!(s.lock().counts.renewals, 2, "it is followed as before");
    });
    assert_eq!((all_ends(&s), s.lock().counts.acquisitions), (0, 1));
    assert_eq!(s.lock().held, Some(true));
    s.assert_quiet();
}

#[test]
fn an_end_across_a_move_is_nobodys() {
    for next in [None, Some("b:1")] {
        let s = moved(|s, shard| {
            s.ms += 1_000;
            let found = next.map_or(Found::Absent, |token| shard.held(s, token, LEASE_MS));
            shard.read(s, KEY, found);
            shard.swept(s);
        });
        assert_eq!((all_ends(&s), s.ends(Evidence::Unknown)), (1, 1), "{next:?}");
        assert_eq!(s.state.stores[&STORE].failovers().0, 0);
        s.assert_quiet();
    }
}

#[test]
fn an_end_that_waits_is_not_settled_by_another_server() {
    let s = moved(|s, shard| {
        s.ms += 1_000;
        // The key is gone, and before its server tells what it did, the slot is another's.
        s.key = None;
        s.read_key();
        s.ms += 500;
        shard.read(s, KEY, Found::Absent);
        shard.swept(s);
    });
    assert_eq!((all_ends(&s), s.ends(Evidence::Unknown)), (1, 1));
}

#[test]
fn what_the_old_shard_still_says_is_passed_over() {
    let s = moved(|s, shard| {
        s.ms += 1_000;
        let before = s.span();
        s.ms += 10;
        let found = shard.held(s, "a:1", LEASE_MS - 4_000);
        shard.read(s, KEY, found);
        // Sent before, and heard after.
        s.step(Observation::Batch(BatchRead {
            node: super::sim::node(),
            connection: s.connection,
            span: before,
            time: ServerTime::from_ms(s.server_ms()),
            role: Role::Master,
            offset: None,
            reads: vec![KeyRead { key: KEY, found: Found::Absent }],
        }));
        s.ms += 100;
        s.batch(KeyRead { key: KEY, found: Found::Unreadable(Unreadable::Unexpected) });
        shard.swept(s);
        let lock = &s.state.stores[&STORE].locks[&KEY];
        assert_eq!((lock.line, lock.unreadable), (Line(1), None));
    });
    assert_eq!(all_ends(&s), 0);
    s.assert_quiet();
}

#[test]
fn a_shard_that_fails_costs_its_own_locks() {
    let mut s = Sim::new(1_000, None, rules());
    let (shard, other) = (Shard::new(), KeyId(1));
    s.step(Observation::KeyWatched(KeyWatched {
        store: STORE,
        key: other,
        key_text: "other".into(),
        lock: "other".into(),
        rules: Arc::new(LockRules { by_key: true, ..rules() }),
        with: None,
        has_appeared: false,
    }));
    s.acquire("a:1", LEASE_MS);
    s.advance(2_000);
    let found = shard.held(&s, "b:1", LEASE_MS);
    shard.read(&mut s, other, found);
    shard.swept(&mut s);
    let view =
        |s: &Sim| View::of(&s.state, Instant { mono: s.now(), wall: 0.0 }, 1).stores.remove(0);
    assert_eq!((view(&s).held, view(&s).fresh), (2, true));
    s.step(Observation::NodeFailed(NodeFailed {
        node: shard.node(),
        at: s.now(),
        reason: FailReason::Timeout,
        detail: "timeout".into(),
    }));
    s.advance(10_000);
    let store = view(&s);
    assert_eq!((store.held, store.fresh), (1, true), "nobody knows of the other");
    let fresh: Vec<_> = store.locks.iter().map(|l| (&*l.name, l.fresh)).collect();
    assert_eq!(fresh, [("lock", true), ("other", false)]);
    assert!(store.locks[1].blind.contains(&(Aspect::Lease, BlindReason::Unreachable)));
}

#[test]
fn a_shard_without_nodes_is_forgotten_and_its_counts_are_not() {
    let s = &mut moved(|s, shard| {
        s.ms += 1_000;
        shard.swept(s);
        // Another node leads its line.
        s.step(Observation::NodeFailed(NodeFailed {
            node: shard.node(),
            at: s.now(),
            reason: FailReason::Timeout,
            detail: "timeout".into(),
        }));
        let facts = NodeFacts {
            node: NodeRef { addr: "promoted:1".into(), ..shard.node() },
            replid: Some("promoted".into()),
            ..s.node_facts()
        };
        s.step(Observation::Node(Box::new(facts)));
        assert_eq!(s.state.stores[&STORE].failovers().0, 1);
    });
    assert_eq!(s.state.stores[&STORE].lines.len(), 2);
    s.advance(300_000);
    assert_eq!(s.state.stores[&STORE].lines.len(), 1);
    assert_eq!(s.state.stores[&STORE].failovers().0, 1);
}
