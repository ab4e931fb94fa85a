//! Servers of every version that can be had, watched at once by one exporter as the README's user is written for each:
//! what is told of a lock is the same on all of them, what one lacks turns off nothing else, and none has to refuse the
//! exporter anything.

mod pair;

use std::time::Duration;

use pair::Pair;

use crate::replicas::{addr, has_role};
use crate::support::{
    Exporter, ExporterSetup, Flavor, Metrics, PASSWORD, Sampler, for_a_while, wait_until,
};

/// Long enough that a busy machine makes no break of it, across which nothing is claimed.
const POLL: Duration = Duration::from_millis(400);
const SOON: Duration = Duration::from_secs(15);
/// Of a Redisson lock, and of one of Medallion's semaphores.
const FIELD: &str = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47";
const PERMITS: [&str; 2] =
    ["host-a_12_fac79ce72b1c4f0e8a3c1d2e3f405162", "host-b_13_0ac79ce72b1c4f0e8a3c1d2e3f405163"];
const LOCKS: [&str; 8] =
    ["busy", "free", "let-go", "lapsing", "moved", "still", "counted", "permits"];

/// Waits until it is so on each.
fn on_each(
    exporter: &mut Exporter,
    pairs: &[Pair],
    what: &str,
    is_so: impl Fn(&Pair, &Metrics) -> bool,
) {
    for pair in pairs {
        let what = format!("on {}: {what}", pair.store);
        exporter.wait_for(&what, SOON, |m| is_so(pair, m));
    }
}

#[test]
fn every_server_is_watched_alike_and_refuses_nothing() {
    let mut pairs = Flavor::ALL.map(Pair::start);
    let stores: String = pairs.iter().map(Pair::config).collect();
    let file = format!("poll_interval: 400ms\nstores:\n{stores}");
    let setup = pairs.iter().fold(ExporterSetup::file(&file), |setup, pair| {
        let name = format!("DLOCK__STORES__{}__PASSWORD", pair.store.to_uppercase());
        setup.env(&name, PASSWORD)
    });
    let mut exporter = setup.start();
    on_each(&mut exporter, &pairs, "dlock_replica_diverged 0 of all", |pair, m| {
        LOCKS.iter().all(|l| pair.of(m, "dlock_replica_diverged", l) == Some(0.0))
    });
    let m = exporter.metrics();
    pairs.iter().for_each(|pair| is_known(pair, &m));
    let before = pairs.each_ref().map(Pair::refusals);

    locks_are_told(&mut exporter, &pairs);
    replicas_are_told(&mut exporter, &pairs);
    let after = pairs.each_ref().map(Pair::refusals);
    assert_eq!(before, after, "errors are made: {}", exporter.log());
    for (errors, log) in after.iter().flatten() {
        assert!(*log == 0 && !errors.contains("errorstat_"), "once, too: {errors}");
    }
    a_restart_is_told(&mut exporter, &mut pairs);
    a_promotion_is_told(&mut exporter, &mut pairs);
}

/// Which server it is, and what of its commands is used.
fn is_known(pair: &Pair, m: &Metrics) {
    let at = addr(&pair.primary);
    let info = m.all("dlock_store_info", &[("addr", &at)]);
    let said = info.first().map(|s| (s.label("flavor"), s.label("version")));
    let (flavor, version) = match pair.flavor {
        Flavor::Redis62 => ("redis", "6.2."),
        Flavor::Installed => ("redis", ""),
        Flavor::Redis82 => ("redis", "8.2."),
        Flavor::Valkey91 => ("valkey", "9.1."),
    };
    assert!(said.is_some_and(|(f, v)| f == flavor && v.starts_with(version)), "{said:?}");
    let used = m.all("dlock_store_permission_denied", &[("addr", &at)]);
    assert!(used.iter().all(|s| s.value == 0.0), "{used:?}");
    let is_used = |command: &str| used.iter().any(|s| s.label("command") == command);
    assert!(["hello", "info", "role", "config|get"].into_iter().all(is_used), "{used:?}");
    assert_eq!(is_used("pexpiretime"), pair.flavor != Flavor::Redis62, "{used:?}");
    let has_no_touch = matches!(pair.flavor, Flavor::Redis82 | Flavor::Valkey91);
    assert_eq!(is_used("client|no-touch"), has_no_touch, "{used:?}");
}

/// Taken, renewed, released, run out, given to another without a trace; held by several, and more than once.
fn locks_are_told(exporter: &mut Exporter, pairs: &[Pair]) {
    for pair in pairs {
        let ends = (dlock_exporter::clock::wall_secs() as u64 + 600) * 1000;
        for (lock, lease) in [("busy", "100000"), ("let-go", "60000"), ("moved", "60000")] {
            let key = format!("lock:{lock}");
            pair.primary.cmd(&["SET", &key, &format!("{lock}-1:x"), "PX", lease]);
        }
        pair.primary.cmd(&["SET", "lock:still", "still-1:x", "PX", "600000"]);
        pair.primary.cmd(&["HSET", "lock:counted", FIELD, "2"]);
        pair.primary.cmd(&["PEXPIRE", "lock:counted", "600000"]);
        for permit in PERMITS {
            pair.primary.cmd(&["ZADD", "lock:permits", &ends.to_string(), permit]);
        }
    }
    on_each(exporter, pairs, "all taken: dlock_lock_acquisitions_total", |pair, m| {
        LOCKS.iter().all(|l| {
            let times = match *l {
                "free" | "lapsing" => 0.0,
                "permits" => 2.0,
                _ => 1.0,
            };
            pair.of(m, "dlock_lock_acquisitions_total", l) == Some(times)
        }) && pair.has_holder(m, "busy", "busy-1")
            && pair.of(m, "dlock_lock_reentrancy", "counted") == Some(2.0)
            && pair.of(m, "dlock_lock_holders", "permits") == Some(2.0)
            && pair.has_holder(m, "permits", "host-a")
    });
    for pair in pairs {
        pair.primary.cmd(&["PEXPIRE", "lock:busy", "200000"]);
        pair.primary.cmd(&["DEL", "lock:let-go"]);
        pair.primary.cmd(&["SET", "lock:moved", "moved-2:y", "PX", "60000"]);
        pair.primary.cmd(&["HINCRBY", "lock:counted", FIELD, "-1"]);
        pair.primary.cmd(&["ZREM", "lock:permits", PERMITS[0]]);
    }
    on_each(exporter, pairs, "dlock_lease_ends_total dlock_lease_renewals_total", |pair, m| {
        pair.of(m, "dlock_lease_renewals_total", "busy") == Some(1.0)
            && pair.of(m, "dlock_lease_remaining_seconds", "busy") > Some(150.0)
            && pair.ended(m, "let-go", "released")
            // Whether its owner let it go first cannot be told from two reads.
            && pair.ended(m, "moved", "unknown")
            && pair.has_holder(m, "moved", "moved-2")
            && pair.of(m, "dlock_lock_acquisitions_total", "moved") == Some(2.0)
            && pair.of(m, "dlock_lock_reentrancy", "counted") == Some(1.0)
            && pair.of(m, "dlock_lock_holders", "permits") == Some(1.0)
            && !pair.has_holder(m, "permits", "host-a")
    });
    leases_run_out(exporter, pairs);
    let m = exporter.metrics();
    for pair in pairs {
        let told = pair.of(&m, "dlock_lease_expiry_timestamp_seconds", "still").expect("it ends");
        let left = pair.primary.number(&["PTTL", "lock:still"]) as f64 / 1000.0;
        let expires = dlock_exporter::clock::wall_secs() + left;
        assert!((told - expires).abs() < 0.3, "{}: {told}, {expires}", pair.store);
        assert_eq!(pair.sum(&m, "dlock_contention_events_total", &[]), 0.0, "{}", pair.store);
    }
}

/// A lease that ran out is known as such by a read right before its end, which a busy machine may miss: then the end is
/// unknown, never a release, and the next one is watched.
fn leases_run_out(exporter: &mut Exporter, pairs: &[Pair]) {
    let ends = |pair: &Pair, m: &Metrics, evidence: &str| {
        pair.sum(m, "dlock_lease_ends_total", &[("lock", "lapsing"), ("evidence", evidence)])
    };
    for round in 1..=5 {
        for pair in pairs {
            pair.primary.cmd(&["SET", "lock:lapsing", &format!("lapsing-1:{round}"), "PX", "1500"]);
        }
        on_each(exporter, pairs, "dlock_lease_ends_total of lapsing", |pair, m| {
            ends(pair, m, "lapsed") + ends(pair, m, "unknown") == f64::from(round)
                && pair.of(m, "dlock_lock_held", "lapsing") == Some(0.0)
        });
        let m = exporter.metrics();
        if pairs.iter().all(|pair| ends(pair, &m, "lapsed") > 0.0) {
            return;
        }
    }
    panic!("not one of five was seen: {}", exporter.metrics().lines("dlock_lease_ends_total"));
}

/// One that writes on its own differs, one that stands still does not.
fn replicas_are_told(exporter: &mut Exporter, pairs: &[Pair]) {
    let store = |pair: &Pair, to: &str| {
        pair.replica.cmd(&["CONFIG", "SET", "replica-read-only", "no"]);
        let left = pair.primary.number(&["PTTL", "lock:still"]).to_string();
        pair.replica.cmd(&["SET", "lock:still", to, "PX", &left]);
    };
    pairs.iter().for_each(|pair| store(pair, "thief-1:x"));
    let diverged = |pair: &Pair, m: &Metrics| pair.of(m, "dlock_replica_diverged", "still");
    on_each(exporter, pairs, "dlock_replica_diverged 1 of still", |pair, m| {
        diverged(pair, m) == Some(1.0)
            && pair.of(m, "dlock_replica_diverged", "busy") == Some(0.0)
            && pair.has_holder(m, "still", "still-1")
    });
    for pair in pairs {
        // As a replica does after a break; by a write of the primary's it has the very same expiry.
        pair.primary.cmd(&["SET", "lock:still", "still-1:x", "PX", "600000"]);
    }
    on_each(exporter, pairs, "dlock_replica_diverged 0 again", |pair, m| {
        diverged(pair, m) == Some(0.0)
    });

    let sampler = Sampler::start(exporter.address(), |m| {
        (m.sum("dlock_replica_diverged", &[]) > 0.0).then(|| m.lines("dlock_replica"))
    });
    pairs.iter().for_each(|pair| pair.replica.pause());
    for pair in pairs {
        pair.primary.cmd(&["SET", "lock:still", "still-2:y", "PX", "600000"]);
        pair.primary.cmd(&["DEL", "lock:counted"]);
    }
    on_each(exporter, pairs, "dlock_store_up 0 of the replica", |pair, m| {
        m.is("dlock_store_up", &[("addr", &addr(&pair.replica))], 0.0)
            && pair.has_holder(m, "still", "still-2")
    });
    for_a_while(POLL * 3);
    pairs.iter().for_each(|pair| pair.replica.resume());
    on_each(exporter, pairs, "dlock_replica_diverged 0 after a pause", |pair, m| {
        diverged(pair, m) == Some(0.0)
    });
    sampler.finish();
}

/// All locks are lost while their leases run, and one is granted again.
fn a_restart_is_told(exporter: &mut Exporter, pairs: &mut [Pair]) {
    pairs.iter_mut().for_each(|pair| pair.primary.restart());
    on_each(exporter, pairs, "dlock_store_restart dlock_store_lease_ends_total", |pair, m| {
        let of_primary = [("addr", addr(&pair.primary))];
        let of_primary = of_primary.each_ref().map(|(k, v)| (*k, v.as_str()));
        m.is("dlock_store_restarts_total", &of_primary, 1.0)
            && m.is("dlock_store_restart_unsafe", &of_primary, 1.0)
            && LOCKS.iter().all(|l| pair.of(m, "dlock_lock_held", l) == Some(0.0))
            // busy, moved, still and permits.
            && pair.value(m, "dlock_store_lease_ends_total", &[("evidence", "failover")]) == Some(4.0)
    });
    for pair in &*pairs {
        pair.primary.cmd(&["SET", "lock:busy", "busy-2:y", "PX", "100000"]);
    }
    on_each(exporter, pairs, "dlock_contested dlock_contention_events_total", |pair, m| {
        let lost = [("lock", "busy"), ("kind", "lost")];
        let events = pair.value(m, "dlock_contention_events_total", &lost);
        // Before 7.0 nothing says that the server began empty.
        let is_claimed = pair.flavor != Flavor::Redis62;
        pair.has_holder(m, "busy", "busy-2")
            && events == Some(f64::from(u8::from(is_claimed)))
            && pair.of(m, "dlock_contested", "busy") == events
    });
}

/// The replica takes over with what it has.
fn a_promotion_is_told(exporter: &mut Exporter, pairs: &mut [Pair]) {
    for pair in &*pairs {
        let has_followed = || {
            let has = pair.replica.cmd(&["GET", "lock:busy"]);
            (has == redis::Value::BulkString("busy-2:y".into())).then_some(())
        };
        wait_until("the replica has the new history", SOON, has_followed);
    }
    on_each(exporter, pairs, "dlock_replica_diverged 0 after the restart", |pair, m| {
        has_role(m, &pair.replica, "replica")
            && pair.of(m, "dlock_replica_diverged", "busy") == Some(0.0)
    });
    for pair in &mut *pairs {
        pair.primary.kill();
        pair.replica.cmd(&["REPLICAOF", "NO", "ONE"]);
        pair.replica.cmd(&["SET", "lock:free", "free-1:x", "PX", "60000"]);
    }
    on_each(
        exporter,
        pairs,
        "dlock_store_failovers_total dlock_store_role dlock_lock_holder_info dlock_lock_held",
        |pair, m| {
            has_role(m, &pair.replica, "master")
                && pair.value(m, "dlock_store_failovers_total", &[]) == Some(1.0)
                && pair.has_holder(m, "busy", "busy-2")
                && pair.has_holder(m, "free", "free-1")
        },
    );
    let m = exporter.metrics();
    for pair in &*pairs {
        assert_eq!(pair.of(&m, "dlock_lock_acquisitions_total", "busy"), Some(2.0), "kept");
        let lost = pair.value(&m, "dlock_store_failover_lost_bytes_total", &[]);
        assert_eq!(lost, Some(0.0), "{}", pair.store);
    }
}
