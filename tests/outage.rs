//! A Redis that stands still, dies, comes back or refuses the password costs a scrape nothing: `/metrics` answers at
//! once, says which node is down, withholds what it no longer knows, and recovers by itself.

use std::time::Duration;

use crate::support::{
    Exporter, Flavor, Latencies, Metrics, RedisServer, SLACK, WorkerSetup, wait_until,
};

const POLL: Duration = Duration::from_millis(500);
const RESPONSE: Duration = Duration::from_secs(1);
const LOCK: &[(&str, &str)] = &[("store", "main"), ("lock", "orders")];

fn config(server: &RedisServer) -> String {
    format!(
        "poll_interval: 500ms
stores:
  main:
    url: {}
    username: dlock
    connect_timeout: 1s
    response_timeout: 1s
    locks:
      - {{ name: orders, key: 'lock:orders', lease: 30s, holder: '^(?P<worker>[^:]+):' }}
",
        server.url()
    )
}

fn up(m: &Metrics) -> Option<f64> {
    m.value("dlock_store_up", &[("store", "main")])
}

/// Nothing that would need a fresh read of the lock is shown.
fn withheld(m: &Metrics) -> bool {
    [
        "dlock_lock_held",
        "dlock_lease_remaining_seconds",
        "dlock_holder_stale",
        "dlock_lock_held_seconds",
    ]
    .iter()
    .all(|name| m.all(name, LOCK).is_empty())
}

/// Breaks a server, looks, mends it, looks again; all the while `/metrics` is timed.
fn survives(
    break_it: impl FnOnce(&mut RedisServer),
    reasons: &'static [&'static str],
    mend_it: impl FnOnce(&mut RedisServer),
) {
    let mut server = RedisServer::start();
    let mut exporter = Exporter::start(&config(&server));
    let _worker = WorkerSetup::new(&server, "orders-1", "lock:orders")
        .lease(30.0, 1.0)
        .beat_every(0.0)
        .start();
    exporter.wait_for("dlock_lock_held 1", Duration::from_secs(15), |m| {
        up(m) == Some(1.0) && m.is("dlock_lock_held", LOCK, 1.0)
    });
    let watch = Latencies::measure(exporter.address());

    break_it(&mut server);
    let down =
        exporter.wait_for("dlock_store_up 0", Duration::from_secs(10), |m| up(m) == Some(0.0));
    assert!(down <= RESPONSE + POLL + SLACK, "down only after {down:?}");
    let gone = down
        + exporter.wait_for(
            "the lock withheld: dlock_lock_held",
            Duration::from_secs(10),
            withheld,
        );
    // The last good read is at most one poll older than the break.
    assert!(gone <= POLL * 3 + SLACK, "withheld only after {gone:?}, three intervals allowed");
    exporter.wait_for("dlock_exporter_poll_failures_total", Duration::from_secs(5), |m| {
        reasons.iter().any(|r| {
            m.sum("dlock_exporter_poll_failures_total", &[("poller", "redis"), ("reason", r)]) > 0.0
        })
    });
    exporter.never("a lock that nobody reads", POLL * 4, |m| !withheld(m) || up(m) != Some(0.0));

    mend_it(&mut server);
    exporter.wait_for("dlock_store_up 1 and dlock_lock_held 1", Duration::from_secs(15), |m| {
        up(m) == Some(1.0) && m.is("dlock_lock_held", LOCK, 1.0)
    });

    let seen = watch.finish();
    assert!(seen.failed().is_empty(), "scrapes failed: {:?}", seen.failed());
    assert!(seen.count() > 50, "only {} scrapes", seen.count());
    // Waiting for a target would take its timeout. The very longest is the scheduler's on a busy machine.
    assert!(seen.quantile(0.95) <= Duration::from_millis(50), "95 %: {:?}", seen.quantile(0.95));
    assert!(seen.quantile(1.0) < RESPONSE / 2, "longest: {:?}", seen.quantile(1.0));
}

#[test]
fn a_server_that_stands_still() {
    survives(|s| s.pause(), &["timeout"], |s| s.resume());
}

#[test]
fn a_server_that_was_killed_and_comes_back_empty() {
    survives(|s| s.kill(), &["refused", "network"], |s| s.restart());
}

#[test]
fn a_server_that_refuses_the_password() {
    let refuse = |s: &mut RedisServer| {
        s.cmd(&["ACL", "SETUSER", "dlock", "resetpass", ">another"]);
        s.cmd(&["CLIENT", "KILL", "USER", "dlock"]);
    };
    let accept = |s: &mut RedisServer| {
        s.cmd(&["ACL", "SETUSER", "dlock", "resetpass", ">watch-only"]);
    };
    survives(refuse, &["auth"], accept);
}

#[test]
fn a_server_without_memory_is_read_on() {
    let server = RedisServer::start();
    let mut exporter = Exporter::start(&config(&server));
    // Renews by PEXPIRE, which such a server still does.
    let _worker = WorkerSetup::new(&server, "orders-1", "lock:orders")
        .lease(30.0, 1.0)
        .beat_every(0.0)
        .start();
    let lost = |m: &Metrics| {
        let left = m.value("dlock_lease_remaining_seconds", LOCK);
        up(m) != Some(1.0)
            || !m.is("dlock_lock_held", LOCK, 1.0)
            || !left.is_some_and(|left| (20.0..=30.0).contains(&left))
            || m.sum("dlock_exporter_poll_failures_total", &[]) > 0.0
            || m.sum("dlock_lease_ends_total", LOCK) > 0.0
    };
    let renewals = |m: &Metrics| m.sum("dlock_lease_renewals_total", LOCK);
    exporter
        .wait_for("dlock_lock_held 1", Duration::from_secs(15), |m| !lost(m) && renewals(m) >= 2.0);

    server.cmd(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    server.cmd(&["CONFIG", "SET", "maxmemory", "1"]);
    let before = renewals(&exporter.metrics());
    assert!(server.try_cmd(&["SET", "lock:other", "x"]).is_err(), "it has memory");
    exporter.never("a lock that cannot be read", POLL * 8, lost);
    exporter.wait_for("dlock_lease_renewals_total goes on", Duration::from_secs(10), |m| {
        renewals(m) >= before + 3.0
    });
    // A write of another kind shows too.
    server.cmd(&["DEL", "lock:orders"]);
    exporter.wait_for("dlock_lock_held 0", Duration::from_secs(10), |m| {
        m.is("dlock_lock_held", LOCK, 0.0)
    });

    server.cmd(&["CONFIG", "SET", "maxmemory", "0"]);
    exporter.wait_for("dlock_lock_held 1", Duration::from_secs(15), |m| {
        m.is("dlock_lock_held", LOCK, 1.0)
    });
    // Newer servers let a transaction of reads through without memory.
    let refuses = matches!(Flavor::default(), Flavor::Redis62 | Flavor::Installed);
    if refuses {
        wait_until("it is told that memory is back", Duration::from_secs(15), || {
            exporter.log().contains("has memory again").then_some(())
        });
    }
    let log = exporter.log();
    for told in ["is out of memory", "has memory again"] {
        assert_eq!(log.matches(told).count(), usize::from(refuses), "{told}: {log}");
    }
    assert_eq!(up(&exporter.metrics()), Some(1.0));
}

#[test]
fn a_restart_is_counted_and_invents_nothing() {
    let mut server = RedisServer::start();
    let mut exporter = Exporter::start(&config(&server));
    let _worker = WorkerSetup::new(&server, "orders-1", "lock:orders")
        .lease(10.0, 1.0)
        .beat_every(0.0)
        .start();
    exporter.wait_for("dlock_lock_held 1", Duration::from_secs(15), |m| {
        m.is("dlock_lock_held", LOCK, 1.0) && m.sum("dlock_lease_renewals_total", LOCK) >= 2.0
    });
    server.restart();
    exporter.wait_for("dlock_store_restarts_total 1", Duration::from_secs(15), |m| {
        m.sum("dlock_store_restarts_total", &[("store", "main")]) == 1.0
            && m.is("dlock_lock_held", LOCK, 1.0)
    });
    let m = exporter.metrics();
    assert_eq!(
        m.sum("dlock_lease_ends_total", &[("lock", "orders"), ("evidence", "released")]),
        0.0
    );
    assert_eq!(
        m.sum("dlock_lease_ends_total", &[("lock", "orders"), ("evidence", "overwritten")]),
        0.0
    );
    assert_eq!(m.sum("dlock_signal_rises_total", &[("lock", "orders")]), 0.0);
}

#[test]
fn a_server_that_was_never_there_does_not_keep_the_exporter_from_starting() {
    let mut server = RedisServer::start();
    server.kill();
    let setup = crate::support::ExporterSetup::file(&config(&server)).password();
    let mut exporter = setup.spawn();
    exporter.wait_for("dlock_store_up 0", Duration::from_secs(15), |m| up(m) == Some(0.0));
    assert_eq!(exporter.get("/-/healthy").status, 200);
    server.restart();
    exporter.wait_for("dlock_store_up 1", Duration::from_secs(15), |m| up(m) == Some(1.0));
    assert_eq!(exporter.get("/-/ready").status, 200);
}
