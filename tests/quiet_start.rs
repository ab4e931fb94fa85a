//! A start and a reload, live: nothing is said of sources, lists and heartbeats only because their store was not asked yet.

use std::time::Duration;

use crate::support::{Exporter, RedisServer};

const SOON: Duration = Duration::from_secs(20);

fn config(server: &RedisServer, more: &str) -> String {
    format!(
        "poll_interval: 200ms
live_workers:
  fleet: {{ members: {{ redis: {{ store: main, key: 'hb:fleet', kind: set }} }}, refresh: 1s }}
stores:
  main:
    url: {}
    username: dlock
    locks:
      - name: orders
        key: lock:orders
        holder: '^(?P<worker>[^:]+):'
        fencing: {{ issued: {{ redis: {{ key: 'hb:issued' }} }} }}
        effects: [{{ name: mail, total: {{ redis: {{ key: 'hb:sent' }} }} }}]
{more}
workers:
  all:
    names: [w-1, w-2, w-3]
    heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 60s }}
    claim: {{ redis: {{ store: main, key: 'hb:claims:{{worker}}' }} }}
",
        server.url()
    )
}

/// What it said of something that it could not read.
fn complaints(exporter: &Exporter) -> Vec<String> {
    let log = exporter.log();
    let is_one = |l: &&str| {
        ["unreadable", "not_ready", "not connected", "cannot"].iter().any(|w| l.contains(w))
    };
    log.lines().filter(is_one).map(str::to_owned).collect()
}

#[test]
fn a_store_that_was_not_asked_yet_is_none_that_fails() {
    let server = RedisServer::start();
    for (key, value) in [
        ("lock:orders", "w-1:x"),
        ("lock:more", "w-2:x"),
        ("hb:w-1", "1"),
        ("hb:w-2", "1"),
        ("hb:w-3", "1"),
        ("hb:issued", "7"),
        ("hb:sent", "3"),
        ("hb:claims:w-1", "[]"),
    ] {
        server.cmd(&["SET", key, value, "EX", "600"]);
    }
    server.cmd(&["SADD", "hb:fleet", "w-1"]);
    // The ACL of the README, and what reading a set as a list of workers needs.
    server.cmd(&["ACL", "SETUSER", "dlock", "+sscan"]);
    let mut exporter = Exporter::start(&config(&server, ""));
    let beats = |m: &crate::support::Metrics| {
        m.all("dlock_worker_heartbeats_total", &[]).len() == 3
            && m.is("dlock_fencing_token_issued", &[("lock", "orders")], 7.0)
    };
    exporter.wait_for("dlock_fencing_token_issued and all heartbeats", SOON, beats);
    assert_eq!(complaints(&exporter), [""; 0]);
    for n in 1..=5 {
        let more = format!("      - {{ name: more-{n}, key: 'lock:more' }}");
        exporter.rewrite(&config(&server, &more));
        assert_eq!(exporter.request("POST", "/-/reload").status, 200);
        exporter.wait_for("dlock_lock_held of another", SOON, |m| {
            m.is("dlock_lock_held", &[("lock", &format!("more-{n}"))], 1.0) && beats(m)
        });
    }
    assert_eq!(complaints(&exporter), [""; 0]);
    assert_eq!(exporter.metrics().sum("dlock_exporter_poll_failures_total", &[]), 0.0);
}
