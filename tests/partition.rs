//! A network that is cut between a primary and its replica while a lock is taken, and a replica that is promoted on its
//! side: two primaries and two owners. Watched from the old primary's side, from the new one's, and from where both are
//! seen. Then it heals, and the old primary has to follow.

use crate::replicas::{FOR_LONG, POLL, SOON, addr, config, has_role};
use crate::support::{
    Exporter, ExporterSetup, Metrics, Partition, RedisServer, RedisSetup, Steady, not_tested,
    wait_until,
};

const TAKEN: [(&str, &str); 1] = [("lock", "taken")];

fn is_up(m: &Metrics, server: &RedisServer, up: f64) -> bool {
    m.is("dlock_store_up", &[("addr", &addr(server))], up)
}

fn holder(m: &Metrics, worker: &str) -> bool {
    m.is("dlock_lock_holder_info", &[("lock", "taken"), ("worker", worker)], 1.0)
}

fn contested(m: &Metrics) -> Option<f64> {
    m.value("dlock_contested", &TAKEN)
}

/// Proofs of two owners: whether there is any by two primaries, which is proven anew after polls that a busy machine left out,
/// and how many by a lock that was lost.
fn proofs(m: &Metrics) -> [f64; 2] {
    let [two, lost] =
        ["primaries", "lost"].map(|kind| m.sum("dlock_contention_events_total", &[("kind", kind)]));
    [f64::from(two > 0.0), lost]
}

/// Both servers, each with its role.
fn is_led_by(m: &Metrics, primary: &RedisServer, replica: &RedisServer) -> bool {
    has_role(m, primary, "master")
        && has_role(m, replica, "replica")
        && m.is("dlock_store_primaries", &[], 1.0)
        && m.is("dlock_lock_held", &[("lock", "kept")], 1.0)
}

#[test]
fn a_primary_that_is_cut_off_goes_on_granting_locks() {
    let net = match Partition::new() {
        Ok(net) => net,
        Err(why) => return not_tested(&format!("a network that is cut in two: {why}")),
    };
    let patience = ["--repl-timeout", "2", "--repl-ping-replica-period", "1"];
    let old = RedisSetup::default().at(&net.here).arguments(&patience).start();
    let new = RedisSetup::default().at(&net.there).arguments(&patience).replica_of(&old).start();
    old.cmd(&["SET", "lock:kept", "kept-1:x", "PX", FOR_LONG]);
    let yaml = config(&old, &["kept", "taken"]);
    let setup = || ExporterSetup::file(&yaml).password();
    let mut with_old = setup().at(&net.here).start();
    let mut with_new = setup().at(&net.there).start();
    let mut with_both = setup().start();
    let mut all: [&mut Exporter; 3] = [&mut with_old, &mut with_new, &mut with_both];
    let steady = all.each_ref().map(|exporter| Steady::watch(exporter));
    for exporter in &mut all {
        exporter.wait_for("both servers: dlock_store", SOON, |m| {
            is_led_by(m, &old, &new) && contested(m) == Some(0.0)
        });
    }

    wait_until("the replica has the lock", SOON, || {
        (new.number(&["EXISTS", "lock:kept"]) == 1).then_some(())
    });

    net.cut();
    let [with_old, with_new, with_both] = all;
    // What the old one writes from here on reaches nobody, and reads show that before the lock is taken.
    old.cmd(&["SET", "filler", "x"]);
    with_old.wait_for("dlock_store_up 0 of the replica", SOON, |m| is_up(m, &new, 0.0));
    with_new.wait_for("dlock_store_up 0 of the primary", SOON, |m| is_up(m, &old, 0.0));
    with_both.wait_for("dlock_store_replica_link_up 0", SOON, |m| {
        m.is("dlock_store_replica_link_up", &[("addr", &addr(&new))], 0.0)
    });
    old.cmd(&["SET", "lock:taken", "taken-1:x", "PX", FOR_LONG]);
    for exporter in [&mut *with_old, &mut *with_both] {
        exporter.wait_for("on no replica: dlock_lock_unreplicated_seconds", SOON, |m| {
            holder(m, "taken-1")
                && m.value("dlock_lock_unreplicated_seconds", &TAKEN)
                    > Some(POLL.as_secs_f64() * 2.0)
        });
    }
    assert_eq!(with_new.metrics().value("dlock_lock_held", &TAKEN), None, "it sees no primary");

    new.cmd(&["REPLICAOF", "NO", "ONE"]);
    with_new.wait_for("dlock_store_failovers_total 1", SOON, |m| {
        m.is("dlock_store_failovers_total", &[], 1.0) && m.is("dlock_lock_held", &TAKEN, 0.0)
    });
    with_both
        .wait_for("dlock_store_primaries 2", SOON, |m| m.is("dlock_store_primaries", &[], 2.0));
    assert_eq!(contested(&with_both.metrics()), Some(0.0), "it has one owner yet");
    new.cmd(&["SET", "lock:taken", "taken-2:y", "PX", FOR_LONG]);
    with_both.wait_for("dlock_contested 1: dlock_contention", SOON, |m| contested(m) == Some(1.0));
    with_new.wait_for("dlock_lock_holder_info", SOON, |m| holder(m, "taken-2"));
    let sides = [&*with_old, &*with_new, &*with_both].map(|exporter| exporter.metrics());
    assert_eq!(sides.each_ref().map(proofs), [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]);
    for (exporter, is, owner) in
        [(&mut *with_old, 0.0, "taken-1"), (with_new, 0.0, "taken-2"), (with_both, 1.0, "taken-1")]
    {
        exporter.wait_for("as each knew it: dlock_contested dlock_lock", SOON, |m| {
            contested(m) == Some(is)
                && holder(m, owner)
                && m.is("dlock_lock_held", &[("lock", "kept")], 1.0)
        });
    }

    // Each side sees the other again, and that it grants the lock to somebody else.
    net.heal();
    for exporter in [&mut *with_old, &mut *with_new] {
        exporter.wait_for("dlock_store_primaries 2 dlock_contested 1", SOON, |m| {
            m.is("dlock_store_primaries", &[], 2.0) && contested(m) == Some(1.0)
        });
    }
    let new_at = new.address();
    old.cmd(&["REPLICAOF", &new_at.ip().to_string(), &new_at.port().to_string()]);
    for exporter in [&mut *with_old, &mut *with_new, &mut *with_both] {
        exporter.wait_for("the new order: dlock_store", SOON, |m| {
            is_led_by(m, &new, &old)
                && m.is("dlock_store_failovers_total", &[], 1.0)
                && m.value("dlock_store_failover_lost_bytes_total", &[]) > Some(0.0)
                && holder(m, "taken-2")
                && m.value("dlock_lock_unreplicated_seconds", &TAKEN) == Some(0.0)
        });
    }
    // Those that had seen the first owner know that its lock was lost, long before its lease was over.
    for (exporter, expected) in
        [(with_old, [1.0, 1.0]), (with_new, [1.0, 0.0]), (with_both, [1.0, 1.0])]
    {
        // That there are two primaries is over; that the lock was lost is shown while the first lease lasts.
        exporter.wait_for("dlock_contention_events_total dlock_contested", SOON, |m| {
            proofs(m) == expected && contested(m) == Some(expected[1])
        });
        let m = exporter.metrics();
        let of_any_kind = m.sum("dlock_contention_events_total", &[]);
        assert_eq!(of_any_kind, expected.iter().sum::<f64>(), "no other kind is among them");
        assert!(m.is("dlock_contested", &[("lock", "kept")], 0.0));
        let rises = m.all("dlock_signal_rises_total", &[]);
        let rose = rises.iter().filter(|s| s.value > 0.0).map(|s| s.label("signal"));
        assert_eq!(rose.collect::<Vec<_>>(), ["contested"]);
    }
    for watched in steady {
        watched.finish();
    }
}
