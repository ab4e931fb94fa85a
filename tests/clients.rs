//! Locks of real client libraries, not of our own sample worker: their tokens name nobody, their renewals are their own.
//! `tests/run` installs them into `tests/.venv`.

use std::time::Duration;

use crate::support::{Exporter, Metrics, RedisServer, SLACK, Worker, repository};

const POLL: Duration = Duration::from_millis(200);
const SOON: Duration = Duration::from_secs(20);
const LOCK: &[(&str, &str)] = &[("store", "main"), ("lock", "job")];

/// Holds `lock:job` with that library and watches it.
fn watched(library: &str) -> (RedisServer, Exporter, Worker) {
    let server = RedisServer::start();
    let yaml = format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: job, key: 'lock:job' }}
",
        server.url()
    );
    let mut exporter = Exporter::start(&yaml);
    let address = server.address().to_string();
    let script = repository("tests/fixtures/hold.py");
    let worker = Worker::script(library, &script, &[&address, library, "job"]);
    exporter.wait_for("dlock_lock_held 1", SOON, |m| m.is("dlock_lock_held", LOCK, 1.0));
    (server, exporter, worker)
}

/// The end of a lock that its library released.
fn released(exporter: &mut Exporter, worker: &mut Worker) -> Metrics {
    assert!(worker.stop().success());
    // An end is settled with the node's facts, which are read after the sweep that saw it.
    exporter.wait_for("dlock_lock_held 0 and its end: dlock_lease_ends_total", SOON, |m| {
        m.is("dlock_lock_held", LOCK, 0.0) && m.sum("dlock_lease_ends_total", LOCK) == 1.0
    });
    let m = exporter.metrics();
    let ends = [("lock", "job"), ("evidence", "released")];
    assert!(m.is("dlock_lease_ends_total", &ends, 1.0), "{}", m.lines("dlock_lease_ends_total"));
    assert_eq!(m.sum("dlock_lock_acquisitions_total", LOCK), 1.0);
    m
}

/// A lock with a lease of 3 s that is renewed: nothing is wrong with it, and nobody can be named.
fn renewed(library: &str, times: f64) {
    let (_server, mut exporter, mut worker) = watched(library);
    exporter.wait_for("dlock_lease_renewals_total", SOON * 2, |m| {
        m.value("dlock_lease_renewals_total", LOCK).is_some_and(|n| n >= times)
    });
    let m = exporter.metrics();
    let length = m.value("dlock_lease_length_seconds", LOCK);
    assert!(length.is_some_and(|l| (2.7..=3.001).contains(&l)), "learned a lease of {length:?}");
    let left = m.value("dlock_lease_remaining_seconds", LOCK);
    assert!(left.is_some_and(|l| (0.0..=3.0).contains(&l)), "{left:?} left");
    assert!(m.is("dlock_lease_without_ttl", LOCK, 0.0));
    assert!(m.is("dlock_lock_holder_info", &[("lock", "job"), ("worker", "")], 1.0));
    assert!(m.all("dlock_holder_stale", &[("lock", "job")]).iter().all(|s| s.value == 0.0));
    let m = released(&mut exporter, &mut worker);
    assert_eq!(m.sum("dlock_signal_rises_total", LOCK), 0.0, "{}", m.lines("dlock_signal_rises"));
}

#[test]
fn redis_py_with_a_timeout() {
    renewed("redis-py", 5.0);
}

#[test]
fn python_redis_lock_with_auto_renewal() {
    renewed("python-redis-lock", 5.0);
}

#[test]
fn redis_py_without_a_timeout() {
    let (_server, mut exporter, mut worker) = watched("redis-py-for-ever");
    let worst = Duration::from_secs(1) + POLL * 2;
    let after = exporter.wait_for("dlock_lease_without_ttl 1", worst + SLACK * 4, |m| {
        m.is("dlock_lease_without_ttl", LOCK, 1.0)
    });
    assert!(after <= worst + SLACK, "after {after:?}, worst case {worst:?}");
    let m = exporter.metrics();
    assert!(m.all("dlock_lease_remaining_seconds", LOCK).is_empty(), "no expiry, nothing remains");
    let m = released(&mut exporter, &mut worker);
    assert!(m.is("dlock_lease_without_ttl", LOCK, 0.0));
    let rises = [("lock", "job"), ("signal", "lease_without_ttl")];
    assert_eq!(m.value("dlock_signal_rises_total", &rises), Some(1.0));
}
