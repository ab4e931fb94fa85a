//! What servers do to locks: they evict, flush, fail over, and their clocks stand still. Only what polling one primary can
//! see: which of several nodes lost what, and how many bytes a failover lost, is for those who see all of them.

use std::sync::Arc;

use super::cases::{Case, OTHER, UUID, matched, plain, run_all};
use super::sim::{Sim, held_by, running};
use crate::config::LockRules;
use crate::derive::{Evidence, Signal};
use crate::observe::lock::KeyWatched;
use crate::observe::node::NodeRef;
use crate::observe::{
    BatchRead, Expiry, Found, KeyId, KeyRead, Observation, Role, ServerTime, StoreId,
};
use crate::view::{Instant, View};

/// A cache that evicts whatever was not used lately, lock keys too.
const CACHE: (u64, &str) = (100 << 20, "allkeys-lru");

fn redlock_net() -> LockRules {
    LockRules { format: Some("redlock-net".into()), ..plain() }
}

fn node(s: &Sim) -> crate::view::NodeFactsView {
    let view = View::of(&s.state, Instant { mono: s.now(), wall: 0.0 }, 1);
    view.stores[0].nodes[0].facts.clone().unwrap()
}

fn ends(s: &Sim, evidence: Evidence) -> u64 {
    s.ends(evidence)
}

#[test]
fn servers_that_evict_or_lose_locks() {
    run_all(&[
        Case {
            name: "evicted, and its holder makes the same token again",
            poll_ms: 500,
            rules: redlock_net,
            run: |s| {
                s.memory = CACHE;
                s.advance(1_000);
                assert_eq!(node(s).evicts_locks, Some(true), "that is told before it happens");
                s.string("redlock:job", UUID, 60_000);
                s.advance(620);
                s.vanish();
                s.evicted += 531;
                s.advance(3_000);
                assert_eq!(ends(s, Evidence::Evicted), 0, "a counter of all keys proves nothing");
                // The timer at half of the lease finds nothing and sets it again.
                s.string("redlock:job", UUID, 60_000);
                s.advance(5_000);
                let lock = s.lock();
                assert_eq!((ends(s, Evidence::Evicted), ends(s, Evidence::Released)), (1, 0));
                assert_eq!((lock.held, lock.counts.acquisitions), (Some(true), 2));
            },
            raises: &[],
        },
        Case {
            name: "evicted, and somebody else takes it",
            poll_ms: 500,
            rules: redlock_net,
            run: |s| {
                s.memory = CACHE;
                s.advance(1_000);
                s.string("redlock:job", UUID, 20_000);
                s.advance(620);
                s.vanish();
                s.evicted += 531;
                s.advance(1_000);
                s.string("redlock:job", OTHER, 20_000);
                s.renew_each(10_000, 20_000, 3);
                s.advance(5_000);
                assert_eq!((ends(s, Evidence::Unknown), ends(s, Evidence::Released)), (1, 0));
            },
            raises: &[],
        },
        Case {
            name: "a job's lock evicted for its TTL, the job runs again",
            poll_ms: 500,
            rules: matched,
            run: |s| {
                s.memory = (100 << 20, "volatile-lru");
                s.advance(1_000);
                assert_eq!(node(s).evicts_locks, Some(true));
                s.string("bull:paint:1:lock", format!("{UUID}:1"), 30_000);
                s.advance(8_000);
                s.vanish();
                s.evicted += 1;
                s.advance(1_000);
                s.string("bull:paint:1:lock", format!("{OTHER}:2"), 30_000);
                s.advance(25_000);
                assert_eq!((ends(s, Evidence::Unknown), ends(s, Evidence::Released)), (1, 0));
            },
            raises: &[Signal::RenewalOverdue],
        },
        Case {
            name: "a failover loses the lock that no replica had, and another takes it",
            poll_ms: 500,
            rules: plain,
            run: |s| {
                s.process = Some(running(7, 0));
                s.string("lock", TOKEN, 30_000);
                s.index(&[(TOKEN, Some("a")), (NEXT, Some("b"))]);
                s.advance(3_000);
                // Behind the same address is another server now, which never had it.
                s.vanish();
                (s.run_id, s.connection) = (s.run_id + 1, s.connection + 1);
                s.advance(700);
                s.string("lock", NEXT, 30_000);
                s.advance(5_000);
                let lock = s.lock();
                assert_eq!((ends(s, Evidence::Released), ends(s, Evidence::Lapsed)), (0, 0));
                assert_eq!(ends(s, Evidence::Failover), 1, "{:#?}", lock.transitions);
                assert_eq!(lock.counts.acquisitions, 2);
                assert!(lock.counts.expired_under_holder.unwrap().iter().all(|(_, n)| *n == 0));
            },
            raises: &[Signal::Contested],
        },
        Case {
            name: "and the other one had it by the first read after the failover",
            poll_ms: 500,
            rules: plain,
            run: |s| {
                s.string("lock", TOKEN, 30_000);
                s.advance(3_000);
                s.string("lock", NEXT, 30_000);
                (s.run_id, s.connection) = (s.run_id + 1, s.connection + 1);
                s.advance(5_000);
                assert_eq!(ends(s, Evidence::Failover), 1, "{:#?}", s.lock().transitions);
            },
            raises: &[Signal::Contested],
        },
        Case {
            name: "one node of a quorum is flushed, and extending does not bring its key back",
            poll_ms: 500,
            rules: matched,
            run: |s| {
                let token = "q3JvZ+Yw0a7LkT9uXc2hVb==";
                s.string("job", token, 8_000);
                s.renew_each(4_000, 8_000, 6);
                s.vanish();
                s.flushes += 1;
                s.advance(30_000);
                assert_eq!((s.lock().held, ends(s, Evidence::Flushed)), (Some(false), 1));
                assert_eq!((ends(s, Evidence::Released), ends(s, Evidence::Lapsed)), (0, 0));
            },
            raises: &[],
        },
        Case {
            name: "debris of a round that failed on the other nodes, taken away by its maker",
            poll_ms: 500,
            rules: matched,
            run: |s| {
                for k in 0..40u64 {
                    s.string("job", format!("q3JvZ+Yw0a7LkT9uXc2h{k:02}=="), 8_000);
                    s.advance(30 + k * 37 % 900);
                    s.vanish();
                    s.advance(200 + k * 91 % 1_500);
                }
            },
            raises: &[],
        },
    ]);
}

const TOKEN: &str = "86bb5074ebf111f1930402fc00000001";
const NEXT: &str = "86bb5074ebf111f1930402fc00000002";

#[test]
fn servers_whose_clock_stands_still() {
    run_all(&[
        Case {
            name: "nothing expires, and nothing is renewed as well as it seems",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                s.hash("job", &[(&format!("{UUID}:47"), "1")], 30_000);
                s.renew_each(10_000, 30_000, 12);
                s.advance(3_100);
                let renewals = s.lock().counts.renewals;
                s.stands_at = Some(s.server_ms());
                s.advance(2_500);
                for _ in 0..60 {
                    s.advance(10_000);
                    // Its watchdog sets what is there already.
                    s.expire_in(30_000);
                    let (lock, node) = (s.lock(), node(s));
                    assert_eq!(node.clock_frozen, Some(true));
                    assert!(!lock.fresh, "by such a clock no lease can be judged");
                    assert_eq!(lock.counts.renewals, renewals);
                    assert!(s.ends(Evidence::Lapsed) + s.ends(Evidence::ClockStep) == 0);
                }
            },
            raises: &[],
        },
        Case {
            name: "it runs again, behind by as long as it stood",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                s.hash("job", &[(&format!("{UUID}:47"), "1")], 30_000);
                s.renew_each(10_000, 30_000, 12);
                s.stands_at = Some(s.server_ms());
                s.advance(300_000);
                s.stands_at = None;
                s.offset_ms -= 300_000;
                s.renew_each(10_000, 30_000, 12);
                s.advance(2_000);
                assert_eq!((s.lock().held, node(s).clock_frozen), (Some(true), Some(false)));
            },
            raises: &[],
        },
        Case {
            name: "it runs again and catches up, so that the lease is over at once",
            poll_ms: 1_000,
            rules: plain,
            run: |s| {
                s.string("lock", TOKEN, 30_000);
                s.advance(12_000);
                s.stands_at = Some(s.server_ms());
                s.advance(300_000);
                s.stands_at = None;
                s.advance(5_000);
                assert_eq!(s.lock().held, Some(false));
                assert_eq!((ends(s, Evidence::Lapsed), ends(s, Evidence::Released)), (0, 0));
            },
            raises: &[],
        },
    ]);
}

/// Two stores are two databases of one server: the same key, held by one in each.
#[test]
fn the_same_name_in_two_databases_is_two_locks() {
    let mut s = Sim::new(500, None, plain());
    let (store, addr) = (StoreId(2), "redis:6379".into());
    let node = NodeRef { store, line: Default::default(), addr };
    s.step(Observation::StoreStarted { store, name: "other".into(), at: s.now() });
    s.step(Observation::KeyWatched(KeyWatched {
        store,
        key: KeyId(0),
        key_text: "lock".into(),
        lock: "lock".into(),
        rules: Arc::new(plain()),
        with: None,
        has_appeared: false,
    }));
    s.advance(1_300);
    s.string("lock", TOKEN, 30_000);
    for round in 0..40 {
        let value = Arc::new(held_by(NEXT));
        let expiry = Expiry::At(ServerTime::from_ms(s.server_ms() + 30_000));
        let found = match round % 4 {
            0 => Found::Absent,
            _ => Found::Present { value, expiry },
        };
        s.step(Observation::Batch(BatchRead {
            node: node.clone(),
            connection: 9,
            span: s.span(),
            time: ServerTime::from_ms(s.server_ms()),
            role: Role::Master,
            offset: None,
            reads: vec![KeyRead { key: KeyId(0), found }],
        }));
        s.expire_in(30_000);
        s.advance(1_000);
    }
    let view = View::of(&s.state, Instant { mono: s.now(), wall: 0.0 }, 1);
    let counts = |name: &str| {
        let store = view.stores.iter().find(|s| &*s.name == name).unwrap();
        (store.locks.len(), store.locks[0].counts.acquisitions, store.locks[0].counts.renewals)
    };
    assert_eq!(counts("main"), (1, 1, 39));
    assert_eq!(counts("other"), (1, 10, 20));
    s.assert_quiet();
}
