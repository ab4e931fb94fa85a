//! A lock's key that the server evicts for its memory: told as a danger before it happens, and as what it was once the
//! holder makes the same token again. Until then nobody knows how that tenure ended, and nothing is claimed.

use std::time::Duration;

use crate::support::{Exporter, Metrics, RedisServer, RedisSetup, raised};

const SOON: Duration = Duration::from_secs(15);
const LOCK: [(&str, &str); 1] = [("lock", "job")];
const TOKEN: &str = "0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f10";

fn config(server: &RedisServer) -> String {
    format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks: [{{ name: job, key: 'lock:job', format: redlock-net, token: per_acquire }}]
",
        server.url()
    )
}

fn ends(m: &Metrics, evidence: &str) -> f64 {
    m.sum("dlock_store_lease_ends_total", &[("evidence", evidence)])
}

fn take(server: &RedisServer) {
    server.cmd(&["SET", "lock:job", TOKEN, "NX", "PX", "600000"]);
}

#[test]
fn a_lock_that_is_evicted_is_not_called_released() {
    // Of all keys only the lock has an expiry.
    let policy = ["--maxmemory-policy", "volatile-ttl", "--maxmemory", "100mb"];
    let server = RedisSetup::default().arguments(&policy).start();
    take(&server);
    let mut exporter = Exporter::start(&config(&server));
    exporter.wait_for("dlock_store_evicts_locks 1 dlock_lock_held", SOON, |m| {
        m.is("dlock_store_evicts_locks", &[], 1.0)
            && m.value("dlock_lock_held_seconds", &LOCK) > Some(0.5)
    });

    server.cmd(&["CONFIG", "SET", "maxmemory", "2mb"]);
    let filler = "x".repeat(100_000);
    for n in 0.. {
        let is_full = server.try_cmd(&["SET", &format!("filler:{n}"), &filler]).is_err();
        if server.number(&["EXISTS", "lock:job"]) == 0 {
            break;
        }
        assert!(!is_full, "it has to make room");
    }
    server.cmd(&["CONFIG", "SET", "maxmemory", "100mb"]);
    exporter.wait_for("dlock_store_evicted_keys_total dlock_lock_held 0", SOON, |m| {
        m.is("dlock_lock_held", &LOCK, 0.0)
            && m.value("dlock_store_evicted_keys_total", &[]) >= Some(1.0)
    });
    assert_eq!(ends(&exporter.metrics(), "evicted"), 0.0, "a counter of all keys proves nothing");

    // Its library finds nothing to extend, and sets what it had.
    take(&server);
    exporter.wait_for("dlock_store_lease_ends_total evicted", SOON, |m| ends(m, "evicted") == 1.0);
    let m = exporter.metrics();
    assert_eq!(ends(&m, "released") + ends(&m, "lapsed"), 0.0);
    assert_eq!(
        m.value("dlock_lock_acquisitions_total", &LOCK),
        Some(1.0),
        "the first was not seen"
    );
    assert_eq!(raised(&m), None);
}
