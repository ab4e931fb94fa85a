//! A view with everything that a view can have: two stores, one of them not fresh, replicas, locks of every tier and
//! state, a worker with all that a host shows of it, clocks, and names that try to break out of whatever they are printed in.

mod clients;
mod contention;
mod group;
mod host;
mod told;
mod worker;

use std::sync::Arc;

use crate::config::SeriesTier;
use crate::observe::Mono;
use crate::observe::node::FailReason;
use crate::view::*;

/// Tries to end a label value, an attribute and an element.
pub const HOSTILE: &str = "a\"} 1\\n<script>alert('x')</script>&amp;{b}/ü";

impl View {
    /// The example.
    pub fn example() -> Self {
        View {
            page: None,
            generation: 7,
            taken: Mono::from_secs_f64(1000.0),
            taken_wall: 1_790_000_000.25,
            stores: vec![main_store(), stale_store()],
            workers: vec![worker::frozen(), worker::gone()],
            clocks: host::clocks(),
            host_clock_steps: (0, 1),
            pollers: vec![PollerView {
                poller: "redis",
                target: "main/10.0.0.5:6379".into(),
                interval_seconds: 2.0,
                duration_seconds: Some(0.004),
                last_success_timestamp: Some(1_789_999_999.5),
                polls: 500,
                failures: FailReason::ALL
                    .map(|r| (r, u64::from(r == FailReason::Timeout)))
                    .to_vec(),
            }],
        }
    }
}

fn main_store() -> StoreView {
    StoreView {
        name: "main".into(),
        fresh: true,
        counted: true,
        read_age_seconds: Some(0.3),
        nodes: vec![node("10.0.0.5:6379", "master"), node("10.0.0.6:6379", "replica")],
        locks: vec![
            hostile_lock(),
            flagged_lock(),
            LockView { told: told::of_orders(), ..orders_lock() },
            unread_lock(),
            hidden_lock(),
        ],
        lists: vec![told::fleet(), told::unread_list()],
        counted_only: (0, 0),
        groups: vec![group::jobs()],
        primaries: Some(1),
        sentinels_disagree: Some(false),
        failovers: 1,
        failover_lost_bytes: 67,
        lease_ends: Evidence::ALL.iter().map(|e| (*e, 3)).collect(),
        held: 3,
        free: 2,
        dropped: vec![("max_locks", 4), ("duplicate_name", 0)],
        workers_dropped: 0,
        ownerless: LeftOut { count: 3, examples: vec!["lock:config".into(), "lock:queue".into()] },
        refused: LeftOut::default(),
        flagged: Signal::ALL.iter().map(|s| (*s, u64::from(*s == Signal::HolderStale))).collect(),
        blind: vec![(Aspect::Heartbeat, BlindReason::NotConfigured, 2)],
    }
}

fn stale_store() -> StoreView {
    let refused = "AUTH was answered by 'WRONGPASS <b>no</b>': check password_file";
    StoreView {
        name: "spare".into(),
        fresh: false,
        counted: false,
        sentinels_disagree: None,
        read_age_seconds: Some(34.0),
        nodes: vec![NodeView {
            facts: None,
            up: false,
            failure: Some((FailReason::Auth, refused.into(), 12.0)),
            ..node("/run/redis.sock", "unknown")
        }],
        locks: vec![LockView { name: "left".into(), ..orders_lock() }],
        primaries: None,
        ..main_store()
    }
}

fn node(addr: &str, role: &'static str) -> NodeView {
    let replica = role == "replica";
    let primary = role == "master";
    NodeView {
        addr: addr.into(),
        up: true,
        failure: None,
        facts: Some(NodeFactsView {
            skew_bound_seconds: Some(0.0031),
            run_id: Some("8f2c3a9d71b04e6fa5c1d2e3f4a5b6c7d8e9f0a1".into()),
            version: "7.0.15".into(),
            flavor: "redis".into(),
            mode: "standalone".into(),
            maxmemory_policy: "noeviction".into(),
            role,
            lag_bytes: replica.then_some(120),
            link_up: replica.then_some(true),
            connected_replicas: primary.then_some(1),
            min_replicas_to_write: primary.then_some(0),
            durable: Some(true),
            evicts_locks: Some(false),
            rtt_seconds: Some(0.000_2),
            clock_offset: Some((-0.003, 0.000_1)),
            clock_frozen: Some(false),
            restart_unsafe: Some(false),
            evicted_keys: Some(0),
            expired_keys: Some(12),
            clients: primary
                .then(|| vec![("redis-py".into(), HOSTILE.into(), 3), ("".into(), "".into(), 2)]),
            connections_received: Some(99),
            rejected_connections: Some(0),
        }),
        permissions: vec![("CONFIG", true), ("INFO", false)],
        restarts: 0,
        confirmations: replica.then_some((5, 1)),
        event_gap_seconds: primary.then_some(0.25),
        feed: primary.then_some(crate::observe::feed::Standing::Live),
        slowlog: Some(SlowlogView { lost: None, entries: Some(3), cut: 1, missed: 0 }),
        clock_steps: (1, 0),
        clock_step_seconds: Some(3.5),
    }
}

fn holder(worker: &str, liveness: Liveness) -> HolderView {
    HolderView {
        worker: worker.into(),
        fingerprint: "0123456789ab".into(),
        count: 1,
        mode: Mode::Exclusive,
        liveness,
        lost_seconds: None,
        remaining_seconds: None,
        held_seconds: 0.0,
        renewal_age_seconds: None,
        taken_at: None,
        host: None,
        pid: None,
        thread: None,
        beat_age_seconds: None,
    }
}

fn orders_lock() -> LockView {
    LockView {
        remaining_by_replica: vec![("10.0.0.6:6379".into(), 20.25, 1.25)],
        group: None,
        look: None,
        name: "orders".into(),
        key: "lock:orders".into(),
        format: "string",
        also_fits: vec!["redlock"],
        lease_source: Some(LeaseSource::Config),
        tier: Some(SeriesTier::Full),
        fresh: true,
        held: Some(true),
        holders: vec![HolderView {
            lost_seconds: Some(33.0),
            remaining_seconds: Some(21.5),
            held_seconds: 93.0,
            renewal_age_seconds: Some(8.5),
            taken_at: Some(1_789_999_906.75),
            host: Some("host-a".into()),
            pid: Some(4711),
            thread: Some("7".into()),
            beat_age_seconds: Some(43.0),
            ..holder("orders-1", Liveness::Frozen)
        }],
        holders_beyond: 0,
        limit: None,
        votes: Some(Votes { most: 3, needed: 2, of: 3 }),
        ballots: vec![
            ("10.0.0.5:6379".into(), Ballot::Owner),
            ("10.0.0.7:6379".into(), Ballot::Silent),
        ],
        waiters: Some(2),
        previous: Some(("orders-2".into(), Evidence::Released)),
        held_seconds: Some(93.0),
        held_since_timestamp: Some(1_789_999_907.0),
        held_after_timestamp: Some(1_789_999_905.0),
        read_timestamp: Some(1_790_000_000.0),
        remaining_seconds: Some(21.5),
        length_seconds: Some(30.0),
        expiry_timestamp: Some(1_790_000_021.5),
        renewal_age_seconds: Some(8.5),
        last_renewal_timestamp: Some(1_789_999_991.5),
        renewal_period_seconds: Some(10.0),
        least_margin_ratio: Some(0.64),
        stall_budget_seconds: Some(19.5),
        left_to_expire: false,
        counts: LockCounts {
            acquisitions: 4,
            renewals: 80,
            late_renewals: 1,
            renewals_after_lost_liveness: 2,
            ends: Evidence::ALL.iter().map(|e| (*e, 1)).collect(),
            expired_under_holder: Some(vec![(Liveness::Stopped, 1)]),
            contentions: ContentionKind::ALL.iter().map(|k| (*k, 0)).collect(),
            free_seconds: 12.5,
            waiting_seconds: Some(7.5),
        },
        signals: Signal::ALL
            .iter()
            .map(|s| match s {
                Signal::HolderStale | Signal::RenewalAfterLostLiveness => (*s, Some(true)),
                Signal::RenewalOverdue => (*s, None),
                _ => (*s, Some(false)),
            })
            .collect(),
        rises: vec![(Signal::HolderStale, 1), (Signal::QuorumDegraded, 0)],
        liveness: Some(Liveness::Frozen),
        lost_seconds: Some(33.0),
        renewal_minus_heartbeat_seconds: Some(30.0),
        overrun_seconds: Some(4.0),
        typical_hold_seconds: Some(100.0),
        unreplicated_seconds: Some(0.5),
        divergences: vec![("10.0.0.6:6379".into(), DivergenceKind::ExpiredByClock)],
        coverage_lost: vec![(Aspect::Renewals, BlindReason::NoHistory)],
        blind: vec![(Aspect::Renewals, BlindReason::NoHistory)],
        hints: Vec::new(),
        beat_age_seconds: Some(43.0),
        clients: Some(clients::of_main()),
        last_write: None,
        other_renewer: None,
        renewer_separate: Some(true),
        renewals: vec![clients::renewal()],
        told: told::of_others(),
        contention: contention::of_orders(),
        missed_pointer: None,
        slow_commands: vec![SlowCommandView {
            addr: "10.0.0.5:6379".into(),
            timestamp: 1_789_999_907.0,
            command: "SET".into(),
            duration_seconds: 0.25,
            client_address: Some("10.0.0.7:40312".into()),
            client_name: Some("orders-1".into()),
            touches: "key",
            truncated: false,
            owner_fingerprint: Some("0123456789ab".into()),
        }],
        recent: Some(told::recent()),
        past: Some(told::past()),
        transitions: vec![TransitionView {
            age_seconds: 93.0,
            what: "acquired",
            detail: "by orders-1".into(),
        }],
    }
}

/// Held by two owners without names, core series, names that try to break out.
fn hostile_lock() -> LockView {
    LockView {
        name: HOSTILE.into(),
        key: HOSTILE.into(),
        tier: Some(SeriesTier::Core),
        holders: vec![holder("", Liveness::Unknown), holder("", Liveness::Alive)],
        limit: Some(1),
        liveness: Some(Liveness::Unknown),
        lost_seconds: None,
        signals: vec![(Signal::LeaseWithoutTtl, Some(true))],
        coverage_lost: Vec::new(),
        ..orders_lock()
    }
}

/// Free, only there because a signal was up.
fn flagged_lock() -> LockView {
    LockView {
        name: "nightly".into(),
        tier: Some(SeriesTier::Flagged),
        held: Some(false),
        holders: Vec::new(),
        liveness: None,
        lost_seconds: None,
        held_seconds: None,
        remaining_seconds: Some(f64::NAN),
        left_to_expire: true,
        signals: Signal::ALL.iter().map(|s| (*s, Some(false))).collect(),
        ..orders_lock()
    }
}

/// Not read lately.
fn unread_lock() -> LockView {
    LockView { name: "unread".into(), fresh: false, ..orders_lock() }
}

/// Without series of its own, yet on the page and in the API.
fn hidden_lock() -> LockView {
    LockView { name: "without-series".into(), tier: None, ..orders_lock() }
}

/// A lock of the example by its name.
pub fn lock_named<'a>(view: &'a mut View, name: &str) -> &'a mut LockView {
    let mut locks = view.stores.iter_mut().flat_map(|s| s.locks.iter_mut());
    locks.find(|l| &*l.name == name).expect("a lock of the example")
}

/// The example, shared.
pub fn shared() -> Arc<View> {
    Arc::new(View::example())
}
