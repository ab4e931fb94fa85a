//! A primary and its replicas: agreement, lag that is no divergence, and divergence that is. Lag and a standing replica
//! must raise nothing; a write of a replica's own must, by its kind.

use std::time::Duration;

use crate::support::{
    Driver, Exporter, Metrics, Proxy, RedisServer, RedisSetup, SLACK, Sampler, for_a_while, long,
    raised,
};

pub const POLL: Duration = Duration::from_millis(200);
pub const SOON: Duration = Duration::from_secs(15);
pub const FOR_LONG: &str = "600000";

/// A file that watches these locks, `lock:NAME`, and the workers' heartbeats in the same store.
pub fn config(server: &RedisServer, locks: &[&str]) -> String {
    let url = server.url();
    let holder = "'^(?P<worker>[^:]+):'";
    let locks: String = locks
        .iter()
        .map(|l| format!("      - {{ name: {l}, key: 'lock:{l}', holder: {holder} }}\n"))
        .collect();
    format!(
        "poll_interval: 200ms
stores:
  main:
    url: {url}
    username: dlock
    response_timeout: 400ms
    locks:
{locks}workers:
  sample:
    match: '[a-z]+-\\d+'
    heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 1500ms }}
"
    )
}

pub fn addr(server: &RedisServer) -> String {
    server.address().to_string()
}

pub fn has_role(m: &Metrics, server: &RedisServer, role: &str) -> bool {
    let addr = addr(server);
    let roles = m.all("dlock_store_role", &[("addr", &addr)]);
    let up: Vec<_> = roles.iter().filter(|s| s.value == 1.0).map(|s| s.label("role")).collect();
    up == [role]
}

/// Which locks differ on a replica now, and how, sorted.
fn differences(m: &Metrics) -> Vec<(String, String)> {
    let all = m.all("dlock_replica_lock_diverged", &[]);
    let mut all: Vec<_> =
        all.iter().map(|s| (s.label("lock").to_owned(), s.label("kind").to_owned())).collect();
    all.sort();
    all
}

pub fn diverged(m: &Metrics, lock: &str) -> Option<f64> {
    m.value("dlock_replica_diverged", &[("lock", lock)])
}

/// Looks all the time for a divergence while `scenario` runs.
fn never_diverged(exporter: &mut Exporter, scenario: impl FnOnce(&mut Exporter)) {
    let sampler = Sampler::start(exporter.address(), |m| {
        let seen = differences(m);
        (!seen.is_empty() || m.sum("dlock_replica_diverged", &[]) > 0.0)
            .then(|| format!("diverged: {seen:?}"))
    });
    scenario(exporter);
    sampler.finish();
    assert_eq!(raised(&exporter.metrics()), None);
}

/// A lock renewed all the time and one taken and released all the time, by new owners.
fn traffic(server: &RedisServer) -> Driver {
    Driver::start(server, 0, |c| {
        for n in 0.. {
            c.cmd(&["SET", "lock:busy", "busy-1:x", "PX", FOR_LONG]);
            c.cmd(&["SET", "lock:moving", &format!("moving-1:{n}"), "PX", FOR_LONG]);
            if !c.wait(Duration::from_millis(350)) {
                break;
            }
            c.cmd(&["DEL", "lock:moving"]);
            if !c.wait(Duration::from_millis(130)) {
                break;
            }
        }
    })
}

fn judged(exporter: &mut Exporter, lock: &'static str) {
    exporter.wait_for("dlock_replica_diverged 0: dlock_store", SOON, move |m| {
        diverged(m, lock) == Some(0.0)
    });
}

#[test]
fn replicas_that_follow_agree() {
    let primary = RedisServer::start();
    let replicas = [0, 1].map(|_| RedisSetup::default().replica_of(&primary).start());
    primary.cmd(&["SET", "lock:still", "still-1:x", "PX", FOR_LONG]);
    let _traffic = traffic(&primary);
    let mut exporter = Exporter::start(&config(&primary, &["still", "busy", "moving", "free"]));
    never_diverged(&mut exporter, |exporter| {
        judged(exporter, "still");
        judged(exporter, "free");
        let addrs = replicas.each_ref().map(addr);
        exporter.wait_for("both replicas: dlock_store dlock_replica", SOON, |m| {
            replicas.iter().all(|r| has_role(m, r, "replica"))
                && has_role(m, &primary, "master")
                && m.is("dlock_store_primaries", &[], 1.0)
                && m.sum("dlock_store_connected_replicas", &[]) == 2.0
                && addrs.iter().all(|addr| {
                    let at = [("addr", addr.as_str())];
                    m.is("dlock_store_up", &at, 1.0)
                        && m.is("dlock_store_replica_link_up", &at, 1.0)
                        && m.value("dlock_store_replication_lag_bytes", &at)
                            .is_some_and(|n| n >= 0.0)
                        && m.value("dlock_replica_confirmations_total", &at)
                            .is_some_and(|n| n > 50.0)
                })
        });
        let m = exporter.metrics();
        assert_eq!(m.sum("dlock_store_failovers_total", &[]), 0.0);
        let of_primary = addr(&primary);
        assert!(
            m.all("dlock_store_replication_lag_bytes", &[("addr", &of_primary)]).is_empty(),
            "a primary does not lag"
        );
    });
}

#[test]
fn locks_shorter_than_a_poll_have_not_diverged() {
    let primary = RedisServer::start();
    let _replica = RedisSetup::default().replica_of(&primary).start();
    let names = ["sa", "sb", "sc", "sd", "se", "sf"];
    let _drivers = names.map(|name| {
        Driver::start(&primary, 0, move |c| {
            let key = format!("lock:{name}");
            for n in 0.. {
                c.cmd(&["SET", &key, &format!("{name}-1:{n}"), "PX", "10000"]);
                if !c.wait(Duration::from_millis(2 + n % 9)) {
                    break;
                }
                c.cmd(&["DEL", &key]);
                if !c.wait(Duration::from_millis(2 + n % 7)) {
                    break;
                }
            }
        })
    });
    // Often, so that there are many chances to be wrong.
    let yaml = config(&primary, &names).replace("200ms", "50ms");
    let mut exporter = Exporter::start(&yaml);
    never_diverged(&mut exporter, |exporter| {
        judged(exporter, "sa");
        for_a_while(Duration::from_secs(if long() { 120 } else { 10 }));
    });
}

#[test]
fn a_replica_that_lags_or_stands_still_has_not_diverged() {
    let primary = RedisServer::start();
    let slow = Proxy::start(primary.address());
    let port = slow.address().port().to_string();
    let replica = RedisSetup::default().arguments(&["--replicaof", "127.0.0.1", &port]).start();
    primary.cmd(&["SET", "lock:still", "still-1:x", "PX", FOR_LONG]);
    let of_replica = addr(&replica);
    let lag = |m: &Metrics| m.value("dlock_store_replication_lag_bytes", &[("addr", &of_replica)]);
    let link = |m: &Metrics| m.value("dlock_store_replica_link_up", &[("addr", &of_replica)]);
    let mut exporter = Exporter::start(&config(&primary, &["still", "busy", "moving"]));
    judged(&mut exporter, "still");
    let _traffic = traffic(&primary);
    never_diverged(&mut exporter, |exporter| {
        slow.delay(Duration::from_millis(1700));
        exporter.wait_for("dlock_store_replication_lag_bytes > 0", SOON, |m| {
            lag(m).is_some_and(|n| n > 0.0) && link(m) == Some(1.0)
        });
        for_a_while(Duration::from_secs(4));
        slow.delay(Duration::ZERO);
        // A difference of two reads is a byte or a command at most while nothing is held back.
        exporter.wait_for("caught up: dlock_store_replication_lag_bytes", SOON, |m| {
            lag(m).is_some_and(|n| n < 500.0)
        });

        replica.pause();
        exporter.wait_for("dlock_store_up 0 of the replica", SOON, |m| {
            m.is("dlock_store_up", &[("addr", &of_replica)], 0.0)
        });
        for_a_while(POLL * 6);
        let m = exporter.metrics();
        assert!(m.is("dlock_lock_held", &[("lock", "still")], 1.0), "the primary is judged on");
        assert_eq!(diverged(&m, "still"), None, "nobody knows what the replica shows");
        replica.resume();
        judged(exporter, "still");

        replica.cmd(&["CONFIG", "SET", "masteruser", "nobody"]);
        replica.cmd(&["CONFIG", "SET", "masterauth", "wrong"]);
        primary.cmd(&["CLIENT", "KILL", "TYPE", "replica"]);
        exporter.wait_for("dlock_store_replica_link_up 0", SOON, |m| link(m) == Some(0.0));
        // The lock is another's now, and the replica will not know it.
        primary.cmd(&["SET", "lock:still", "still-2:y", "PX", FOR_LONG]);
        for_a_while(POLL * 8);
        assert_eq!(diverged(&exporter.metrics(), "still"), None, "a cut off replica is no proof");
        replica.cmd(&["CONFIG", "SET", "masteruser", ""]);
        replica.cmd(&["CONFIG", "SET", "masterauth", ""]);
        exporter.wait_for("dlock_store_replica_link_up 1", SOON, |m| link(m) == Some(1.0));
        judged(exporter, "still");
    });
    let m = exporter.metrics();
    let at = [("addr", of_replica.as_str())];
    let undecided = m.value("dlock_replica_confirm_unknown_total", &at);
    assert!(undecided.is_some_and(|n| n > 0.0), "a lag decides nothing: {undecided:?}");
    let proxy = slow.address().to_string();
    let other_name = m.all("dlock_store_up", &[("addr", &proxy)]);
    assert!(other_name.is_empty(), "one server by two addresses is one: {other_name:?}");
    assert_eq!(m.sum("dlock_store_failovers_total", &[]), 0.0);
}

#[test]
fn a_replica_with_writes_of_its_own_has_diverged_until_they_are_undone() {
    let primary = RedisServer::start();
    let replica = RedisSetup::default()
        .replica_of(&primary)
        .arguments(&["--replica-read-only", "no"])
        .start();
    let names = ["owner", "missing", "expiry", "extra", "quiet"];
    for name in names.iter().filter(|n| **n != "extra") {
        primary.cmd(&["SET", &format!("lock:{name}"), "right-1:x", "PX", FOR_LONG]);
    }
    let mut exporter = Exporter::start(&config(&primary, &names));
    exporter.wait_for("dlock_replica_diverged 0 of all", SOON, move |m| {
        names.iter().all(|name| diverged(m, name) == Some(0.0))
    });

    let until = |key: &str| primary.number(&["PEXPIRETIME", key]).to_string();
    replica.cmd(&["SET", "lock:owner", "wrong-1:x", "PXAT", &until("lock:owner")]);
    replica.cmd(&["DEL", "lock:missing"]);
    replica.cmd(&["PEXPIREAT", "lock:expiry", &until("lock:expiry"), "XX"]);
    replica.cmd(&["PEXPIRE", "lock:expiry", "30000"]);
    replica.cmd(&["SET", "lock:extra", "wrong-1:x", "PX", FOR_LONG]);
    // Two looks at the replica, each with the primary's next read.
    let worst = POLL * 3;
    let after = exporter.wait_for("dlock_replica_diverged 1 of four", worst + SLACK * 4, |m| {
        ["owner", "missing", "expiry", "extra"].iter().all(|l| diverged(m, l) == Some(1.0))
    });
    assert!(after <= worst + SLACK, "after {after:?}, worst case {worst:?}");
    let m = exporter.metrics();
    let expected = ["expiry", "extra", "missing", "owner"].map(|n| (n.to_owned(), n.to_owned()));
    assert_eq!(differences(&m), expected, "each by its kind, and the quiet one not at all");
    let of_replica = addr(&replica);
    assert_eq!(m.all("dlock_replica_lock_diverged", &[("addr", &of_replica)]).len(), 4);
    assert_eq!(diverged(&m, "quiet"), Some(0.0));

    for key in ["lock:owner", "lock:missing"] {
        replica.cmd(&["SET", key, "right-1:x", "PXAT", &until(key)]);
    }
    replica.cmd(&["PEXPIREAT", "lock:expiry", &until("lock:expiry")]);
    replica.cmd(&["DEL", "lock:extra"]);
    exporter.wait_for("dlock_replica_diverged 0 again", SOON, move |m| {
        names.iter().all(|name| diverged(m, name) == Some(0.0)) && differences(m).is_empty()
    });
    let m = exporter.metrics();
    for name in names {
        let signal = [("lock", name), ("signal", "replica_diverged")];
        let times = if name == "quiet" { 0.0 } else { 1.0 };
        assert_eq!(m.value("dlock_signal_rises_total", &signal), Some(times), "{name}");
    }
    assert_eq!(
        m.sum("dlock_signal_rises_total", &[]),
        4.0,
        "and nothing else: {}",
        m.lines("dlock_signal_rises_total")
    );
}
