//! A store in which little happens, while the server tells what does: what has not changed is hardly read, a change is seen
//! at once, a feed that breaks has everything read at once, and what time alone brings about is found in its time.

use std::time::Duration;

use crate::support::{Exporter, Metrics, RedisServer, for_a_while, wait_until};

const SOON: Duration = Duration::from_secs(30);
const LOCKS: usize = 2_000;
/// Transactions of a sweep over all of them.
const ALL: i64 = 40;

fn config(server: &RedisServer) -> String {
    format!(
        "poll_interval: 500ms
sweep_interval: 1h
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: orders, key: 'lock:orders', token: per_acquire, holder: '^(?P<worker>[^:]+):' }}
      - {{ name: nightly, key: 'lock:nightly', expect: always_held, lease: 1s }}
      - {{ match: 'lock:job:*', max_locks: 5000, group: true }}
workers:
  sample:
    match: 'w-\\d+'
    heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 3s }}
",
        server.url()
    )
}

/// Reads of many keys at once so far.
fn reads(server: &RedisServer) -> i64 {
    let stats = server.text(&["INFO", "commandstats"]);
    let line = stats.lines().find_map(|l| l.strip_prefix("cmdstat_mget:calls="));
    line.and_then(|l| l.split(',').next()?.parse().ok()).unwrap_or(0)
}

fn fill(server: &RedisServer) {
    let script =
        "for n = 1, ARGV[1] do redis.call('SET', 'lock:job:' .. n, 'x-' .. n, 'PX', 3600000) end";
    server.cmd(&["EVAL", script, "0", &LOCKS.to_string()]);
    server.cmd(&["SET", "lock:nightly", "n", "PX", "3600000"]);
}

/// Until a sweep over all locks is the price of more than five polls.
fn is_quiet(server: &RedisServer) {
    wait_until("unchanged locks are left alone", SOON, || {
        let before = reads(server);
        for_a_while(Duration::from_millis(2500));
        (reads(server) - before < ALL).then_some(())
    });
}

fn all_held(m: &Metrics) -> bool {
    m.is("dlock_group_locks", &[("state", "held")], LOCKS as f64)
}

fn held(m: &Metrics, lock: &str, held: f64) -> bool {
    m.is("dlock_lock_held", &[("lock", lock)], held)
}

#[test]
fn what_has_not_changed_is_hardly_read_and_nothing_is_found_later_for_it() {
    let server = RedisServer::start();
    fill(&server);
    let mut exporter = Exporter::start(&config(&server));
    exporter.wait_for("dlock_group_locks", SOON, all_held);
    is_quiet(&server);
    // What is not read is no less fresh for it.
    let m = exporter.metrics();
    assert!(all_held(&m) && held(&m, "orders", 0.0) && held(&m, "nightly", 1.0));

    // A change is read, though its poll would not have.
    server.cmd(&["SET", "lock:orders", "w-1:x", "PX", "3600000"]);
    let took = exporter.wait_for("dlock_lock_held 1", SOON, |m| held(m, "orders", 1.0));
    eprintln!("an acquire was seen after {took:?}");

    // Its holder falls silent: nothing happens in the store, and yet it is stale.
    for beat in 0..8 {
        server.cmd(&["SET", "hb:w-1", &beat.to_string()]);
        for_a_while(Duration::from_millis(500));
    }
    let stale = [("lock", "orders")];
    assert!(exporter.metrics().is("dlock_holder_stale", &stale, 0.0));
    exporter.wait_for("dlock_holder_stale 1", SOON, |m| m.is("dlock_holder_stale", &stale, 1.0));

    // A lease that runs out, and nobody who takes the lock that always has to be held.
    let ended = [("lock", "orders"), ("evidence", "lapsed")];
    server.cmd(&["DEL", "lock:orders"]);
    exporter.wait_for("dlock_lock_held 0", SOON, |m| held(m, "orders", 0.0));
    server.cmd(&["SET", "lock:orders", "w-2:y", "PX", "4000"]);
    exporter.wait_for("dlock_lease_ends_total lapsed", SOON, |m| {
        held(m, "orders", 0.0) && m.value("dlock_lease_ends_total", &ended) == Some(1.0)
    });
    server.cmd(&["DEL", "lock:nightly"]);
    exporter
        .wait_for("dlock_unheld 1", SOON, |m| m.is("dlock_unheld", &[("lock", "nightly")], 1.0));

    // The feed breaks: all is read at once, and again once it is whole, and then hardly anything.
    is_quiet(&server);
    let before = reads(&server);
    server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    wait_until("all is read", SOON, || (reads(&server) - before >= ALL).then_some(()));
    is_quiet(&server);
    assert!(all_held(&exporter.metrics()));
}
