//! A failover, seen by polling: the promoted replica is judged, what the old primary had granted and lost ends as such,
//! and none of it raises a signal; an old primary that wakes up is a second one.

use std::time::Duration;

use crate::replicas::{FOR_LONG, POLL, SOON, addr, config, diverged, has_role};
use crate::support::{
    Driver, Exporter, Metrics, RedisServer, RedisSetup, Steady, for_a_while, raised,
    raised_besides, wait_until,
};

/// Beats of the worker `kept-1`.
fn beats(server: &RedisServer) -> Driver {
    Driver::start(server, 0, |c| {
        let start = dlock_exporter::clock::mono().0;
        for n in start.. {
            c.cmd(&["SET", "hb:kept-1", &n.to_string()]);
            if !c.wait(Duration::from_millis(150)) {
                break;
            }
        }
    })
}

/// A primary, its replica and a lock `kept` whose worker beats, all seen well.
fn before_failover() -> (RedisServer, RedisServer, Exporter, Driver) {
    let primary = RedisServer::start();
    let replica = RedisSetup::default().replica_of(&primary).start();
    primary.cmd(&["SET", "lock:kept", "kept-1:x", "PX", FOR_LONG]);
    let beats = beats(&primary);
    let mut exporter = Exporter::start(&config(&primary, &["kept", "lost"]));
    exporter.wait_for("dlock_store dlock_holder_stale dlock_worker_heartbeats_total", SOON, |m| {
        has_role(m, &primary, "master")
            && has_role(m, &replica, "replica")
            && m.is("dlock_holder_stale", &[("lock", "kept")], 0.0)
            && m.sum("dlock_worker_heartbeats_total", &[]) >= 8.0
            && diverged(m, "kept") == Some(0.0)
    });
    (primary, replica, exporter, beats)
}

/// The new primary is judged, `kept` is the same tenure there, and nothing rose.
fn after_failover(exporter: &mut Exporter, new: &RedisServer, held_before: f64) {
    exporter.wait_for("dlock_store_failovers_total 1 dlock_store dlock_holder", SOON, |m| {
        m.is("dlock_store_failovers_total", &[], 1.0)
            && has_role(m, new, "master")
            && m.is("dlock_lock_held", &[("lock", "kept")], 1.0)
            && m.is("dlock_holder_liveness", &[("lock", "kept"), ("state", "alive")], 1.0)
            && m.is("dlock_holder_stale", &[("lock", "kept")], 0.0)
    });
    let m = exporter.metrics();
    assert!(m.value("dlock_lock_held_seconds", &[("lock", "kept")]) > Some(held_before));
    let kept = [("lock", "kept")];
    assert_eq!(m.sum("dlock_lock_acquisitions_total", &kept), 0.0, "it was held all along");
    assert_eq!(m.sum("dlock_lease_ends_total", &kept), 0.0);
    assert_eq!(m.sum("dlock_lease_renewals_total", &kept), 0.0, "a failover renews nothing");
    // It is judged from the new primary: what is written there is seen, once its new history is known.
    let _renewing = Driver::start(new, 0, |c| {
        while c.wait(Duration::from_millis(300)) {
            c.cmd(&["PEXPIRE", "lock:kept", FOR_LONG]);
        }
    });
    exporter.wait_for("dlock_lease_renewals_total", SOON, |m| {
        m.value("dlock_lease_renewals_total", &kept).is_some_and(|n| n >= 3.0)
    });
}

/// The lock is contested, once and by this proof only.
pub fn contested(exporter: &mut Exporter, lock: &str, kind: &str) {
    exporter.wait_for("dlock_contested 1: dlock_contention", SOON, |m| {
        m.is("dlock_contested", &[("lock", lock)], 1.0)
            && m.is("dlock_contention_events_total", &[("lock", lock), ("kind", kind)], 1.0)
    });
    assert_eq!(exporter.metrics().sum("dlock_contention_events_total", &[]), 1.0);
}

/// For how long what the lock shows has been on no replica.
fn unreplicated(m: &Metrics, lock: &str) -> Option<f64> {
    m.value("dlock_lock_unreplicated_seconds", &[("lock", lock)])
}

fn held_seconds(exporter: &Exporter) -> f64 {
    let m = exporter.metrics();
    m.value("dlock_lock_held_seconds", &[("lock", "kept")]).expect("it is held")
}

#[test]
fn a_replica_is_promoted_after_its_primary_died() {
    let (mut primary, replica, mut exporter, beating) = before_failover();
    let steady = Steady::watch(&exporter);
    // `lost` was granted and never reached the replica.
    replica.cmd(&["CONFIG", "SET", "masteruser", "nobody"]);
    replica.cmd(&["CONFIG", "SET", "masterauth", "wrong"]);
    primary.cmd(&["CLIENT", "KILL", "TYPE", "replica"]);
    // Only an acquire that a read before it shows to be beyond the replica's last offset is surely lost.
    let seen = |m: &Metrics| m.sum("dlock_worker_heartbeats_total", &[]);
    let before = seen(&exporter.metrics());
    exporter.wait_for("dlock_worker_heartbeats_total", SOON, |m| seen(m) >= before + 3.0);
    primary.cmd(&["SET", "lock:lost", "lost-1:x", "PX", FOR_LONG]);
    exporter.wait_for("dlock_lock_held of lost", SOON, |m| {
        // Seen once is not enough.
        m.value("dlock_lock_held_seconds", &[("lock", "lost")]) > Some(POLL.as_secs_f64() * 4.0)
    });
    exporter.wait_for("dlock_lock_unreplicated_seconds of lost", SOON, |m| {
        unreplicated(m, "lost") > Some(POLL.as_secs_f64() * 3.0)
    });
    assert_eq!(unreplicated(&exporter.metrics(), "kept"), Some(0.0), "the replica has it");
    let held = held_seconds(&exporter);
    beating.stop();
    primary.kill();
    exporter.wait_for("dlock_store_up 0", SOON, |m| {
        m.is("dlock_store_up", &[("addr", &addr(&primary))], 0.0)
    });
    // Longer than the heartbeat may stand still: it lives in the same store.
    for_a_while(Duration::from_secs(2));
    replica.cmd(&["REPLICAOF", "NO", "ONE"]);
    let _beats = beats(&replica);
    after_failover(&mut exporter, &replica, held);
    exporter.wait_for("the end of lost: dlock_store_lease_ends_total", SOON, |m| {
        m.is("dlock_store_lease_ends_total", &[("evidence", "failover")], 1.0)
            && m.is("dlock_lock_held", &[("lock", "lost")], 0.0)
    });
    let m = exporter.metrics();
    assert_eq!(m.sum("dlock_store_lease_ends_total", &[]), 1.0, "no other end is claimed");
    assert!(m.sum("dlock_store_failover_lost_bytes_total", &[]) > 0.0);
    assert_eq!(m.sum("dlock_contention_events_total", &[]), 0.0, "nobody else has it yet");
    assert_eq!(m.sum("dlock_lease_ends_total", &[]), 0.0, "a failover is no end of the lock's");
    assert_eq!(raised(&m), None);
    // Its owner still believes in it when another takes it.
    replica.cmd(&["SET", "lock:lost", "lost-2:y", "PX", FOR_LONG]);
    contested(&mut exporter, "lost", "lost");

    // The old one comes back empty: another history, so not a second primary of this one.
    primary.restart();
    exporter.wait_for("the old one again: dlock_store_role", SOON, |m| {
        m.is("dlock_store_up", &[("addr", &addr(&primary))], 1.0) && has_role(m, &primary, "master")
    });
    exporter.never("the empty old primary judged", POLL * 8, |m| {
        !m.is("dlock_lock_held", &[("lock", "kept")], 1.0)
            || !m.is("dlock_store_failovers_total", &[], 1.0)
            || !m.is("dlock_store_primaries", &[], 1.0)
            || !m.is("dlock_contested", &[("lock", "kept")], 0.0)
    });
    assert_eq!(exporter.metrics().sum("dlock_contention_events_total", &[]), 1.0);
    steady.finish();
}

#[test]
fn an_old_primary_that_wakes_up_is_a_second_one() {
    let (primary, replica, mut exporter, beating) = before_failover();
    let steady = Steady::watch(&exporter);
    let held = held_seconds(&exporter);
    beating.stop();
    primary.pause();
    exporter.wait_for("dlock_store_up 0", SOON, |m| {
        m.is("dlock_store_up", &[("addr", &addr(&primary))], 0.0)
    });
    replica.cmd(&["REPLICAOF", "NO", "ONE"]);
    let _beats = beats(&replica);
    after_failover(&mut exporter, &replica, held);
    primary.resume();
    exporter.wait_for("dlock_store_primaries 2: dlock_store", SOON, |m| {
        m.is("dlock_store_primaries", &[], 2.0)
            && has_role(m, &primary, "master")
            && has_role(m, &replica, "master")
    });
    // What the old one says of a lock counts no more.
    wait_until("it answers", SOON, || primary.try_cmd(&["DEL", "lock:kept"]).ok());
    primary.cmd(&["SET", "lock:lost", "lost-1:x", "PX", FOR_LONG]);
    exporter.never("the old primary judged", POLL * 8, |m| {
        !m.is("dlock_lock_held", &[("lock", "kept")], 1.0)
            || !m.is("dlock_lock_held", &[("lock", "lost")], 0.0)
            || !m.is("dlock_store_failovers_total", &[], 1.0)
    });
    assert_eq!(raised(&exporter.metrics()), None);
    // It granted the lock to one, and the new one grants it to another.
    replica.cmd(&["SET", "lock:lost", "lost-2:y", "PX", FOR_LONG]);
    contested(&mut exporter, "lost", "primaries");
    let m = exporter.metrics();
    assert!(m.is("dlock_contested", &[("lock", "kept")], 0.0));
    assert!(m.sum("dlock_store_failover_lost_bytes_total", &[]) > 0.0);
    let alone = |m: &Metrics| unreplicated(m, "kept") > Some(POLL.as_secs_f64() * 3.0);
    assert!(alone(&m), "the new primary has no replica");
    let port = replica.address().port().to_string();
    primary.cmd(&["REPLICAOF", "127.0.0.1", &port]);
    exporter.wait_for("dlock_store_primaries 1: dlock_store dlock_replica", SOON, |m| {
        m.is("dlock_store_primaries", &[], 1.0)
            && has_role(m, &primary, "replica")
            && diverged(m, "kept") == Some(0.0)
            && unreplicated(m, "kept") == Some(0.0)
            && m.is("dlock_contested", &[("lock", "lost")], 0.0)
    });
    let m = exporter.metrics();
    assert_eq!(m.sum("dlock_contention_events_total", &[]), 1.0);
    assert_eq!(m.sum("dlock_store_lease_ends_total", &[]), 0.0);
    steady.finish();
}

/// The primary hands over, and is done with it.
fn hand_over(primary: &RedisServer, replica: &RedisServer) {
    let (host, port) = (replica.address().ip().to_string(), replica.address().port().to_string());
    primary.cmd(&["FAILOVER", "TO", &host, &port]);
    wait_until("the replica is the primary", SOON, || {
        replica.text(&["INFO", "replication"]).contains("role:master").then_some(())
    });
}

#[test]
fn a_planned_failover_loses_nothing() {
    let (primary, replica, mut exporter, beating) = before_failover();
    let steady = Steady::watch(&exporter);
    let held = held_seconds(&exporter);
    // A beat that meets the hand-over is refused.
    beating.stop();
    hand_over(&primary, &replica);
    let _beats = beats(&replica);
    exporter.wait_for("dlock_store_failovers_total: dlock_store dlock_holder", SOON, |m| {
        m.is("dlock_store_failovers_total", &[], 1.0)
            && has_role(m, &replica, "master")
            && has_role(m, &primary, "replica")
            && m.is("dlock_store_primaries", &[], 1.0)
            && diverged(m, "kept") == Some(0.0)
            && unreplicated(m, "kept") == Some(0.0)
    });
    // What is taken there is on the old primary at once.
    replica.cmd(&["SET", "lock:lost", "lost-1:x", "PX", FOR_LONG]);
    exporter.wait_for("dlock_lock_held of lost", SOON, |m| {
        m.is("dlock_lock_held", &[("lock", "lost")], 1.0) && unreplicated(m, "lost") == Some(0.0)
    });
    for_a_while(POLL * 4);
    let m = exporter.metrics();
    assert_eq!(raised(&m), None);
    assert_eq!(m.sum("dlock_store_lease_ends_total", &[]), 0.0);
    assert_eq!(m.sum("dlock_store_failover_lost_bytes_total", &[]), 0.0);
    assert_eq!(m.sum("dlock_contention_events_total", &[]), 0.0);
    assert!(m.value("dlock_lock_held_seconds", &[("lock", "kept")]) > Some(held));
    steady.finish();
}

/// An owner that enters a Redisson lock again and again, and renews it.
fn climb(server: &RedisServer) -> Driver {
    Driver::start(server, 0, |c| {
        loop {
            c.cmd(&["HINCRBY", "lock:nested", "4b3b2a52-7a35-4f1c-9f2e-0d3f5a9c1e11:1", "1"]);
            c.cmd(&["PEXPIRE", "lock:nested", "2500"]);
            if !c.wait(Duration::from_millis(300)) {
                break;
            }
        }
    })
}

#[test]
fn a_hold_count_goes_on_climbing_through_a_failover() {
    let primary = RedisServer::start();
    let replica = RedisSetup::default().replica_of(&primary).start();
    let nested = "      - { name: nested, key: 'lock:nested', format: redisson }\nworkers:";
    let yaml = config(&primary, &["kept"]).replace("workers:", nested);
    let mut exporter = Exporter::start(&yaml);
    let steady = Steady::watch(&exporter);
    let lock = [("lock", "nested")];
    let count = |m: &Metrics| m.value("dlock_lock_reentrancy", &lock);
    let acquired = |m: &Metrics| m.sum("dlock_lock_acquisitions_total", &lock);
    exporter.wait_for("both: dlock_store", SOON, |m| {
        has_role(m, &primary, "master") && has_role(m, &replica, "replica")
    });
    // Two owners, one after the other, enter it once each.
    for n in [2, 3, 2] {
        let before = acquired(&exporter.metrics());
        let owner = format!("4b3b2a52-7a35-4f1c-9f2e-0d3f5a9c1e11:{n}");
        primary.cmd(&["HINCRBY", "lock:nested", &owner, "1"]);
        primary.cmd(&["PEXPIRE", "lock:nested", "2500"]);
        exporter.wait_for("dlock_lock_acquisitions_total of nested", SOON, |m| {
            acquired(m) > before && count(m) == Some(1.0)
        });
        primary.cmd(&["DEL", "lock:nested"]);
    }
    let climbing = climb(&primary);
    exporter.wait_for("dlock_lock_reentrancy of nested", SOON, |m| count(m) >= Some(2.0));
    let m = exporter.metrics();
    let ends = |m: &Metrics| m.sum("dlock_store_lease_ends_total", &[]);
    let before = (acquired(&m), ends(&m));
    climbing.stop();
    hand_over(&primary, &replica);
    let _climbing = climb(&replica);
    exporter.wait_for("dlock_hold_count_creep 1 after the failover", SOON * 2, |m| {
        m.is("dlock_store_failovers_total", &[], 1.0)
            && has_role(m, &replica, "master")
            && m.is("dlock_hold_count_creep", &lock, 1.0)
            && count(m) >= Some(8.0)
    });
    // A poll that is late on a busy machine shows no lock at all.
    exporter.wait_for("the same tenure: dlock_", SOON, |m| (acquired(m), ends(m)) == before);
    let m = exporter.metrics();
    assert_eq!(raised_besides(&m, "hold_count_creep"), None);
    assert_eq!(m.sum("dlock_contention_events_total", &[]), 0.0);
    steady.finish();
}
