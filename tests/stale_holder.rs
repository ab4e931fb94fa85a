//! A holder that no longer works while its key still says that it holds: frozen with something else renewing, seen by
//! its process or only by its heartbeat, and killed with nothing renewing. Each within the worst delay that the
//! verdicts allow.

use std::time::Duration;

use crate::support::{Exporter, Metrics, RedisServer, SLACK, Worker, WorkerSetup};

const POLL: Duration = Duration::from_millis(500);
const LEASE: f64 = 6.0;
const RENEW: Duration = Duration::from_secs(1);
const BEAT: Duration = Duration::from_millis(200);
const FROZEN_AFTER: Duration = Duration::from_secs(3);
/// A beat looks at most one poll longer than it is.
const USUAL_BEAT: Duration = BEAT.saturating_add(POLL);
/// One scrape of the test itself and one read of the exporter.
const READ: Duration = Duration::from_millis(100);
const LOCK: &[(&str, &str)] = &[("store", "main"), ("lock", "orders")];

/// A file that watches the lock `orders`, with or without a view of the holder's process.
fn config(server: &RedisServer, process: &str) -> String {
    format!(
        "poll_interval: 500ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - name: orders
        key: lock:orders
        lease: 6s
        holder: '^(?P<worker>[^:]+):(?P<host>[^:]+):(?P<pid>\\d+):'
workers:
  sample:
    match: 'orders-\\d+'
    {process}
    heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 3s }}
",
        server.url()
    )
}

const BY_PROCESS: &str = "process: { pid_from_holder: true }";

/// A worker seen alive for long enough that its beat and its renewals are known.
fn healthy(server: &RedisServer, exporter: &mut Exporter, separate: bool) -> Worker {
    let setup = WorkerSetup::new(server, "orders-1", "lock:orders")
        .lease(LEASE, RENEW.as_secs_f64())
        .beat_every(BEAT.as_secs_f64());
    let worker = if separate { setup.separate_renewer().start() } else { setup.start() };
    exporter.wait_for(
        "a healthy worker: dlock_lock_held dlock_lease_renewals_total dlock_worker_heartbeats_total dlock_holder_liveness",
        Duration::from_secs(30),
        |m| {
            m.is("dlock_lock_held", LOCK, 1.0)
                && m.value("dlock_lease_renewals_total", LOCK).is_some_and(|n| n >= 4.0)
                && m.value("dlock_worker_heartbeats_total", &[("worker", "orders-1")])
                    .is_some_and(|n| n >= 8.0)
                && m.is("dlock_holder_stale", LOCK, 0.0)
                && m.is("dlock_renewal_after_lost_liveness", LOCK, 0.0)
                && liveness(m, "alive")
        },
    );
    worker
}

fn liveness(m: &Metrics, state: &str) -> bool {
    m.is("dlock_holder_liveness", &[("lock", "orders"), ("state", state)], 1.0)
}

fn rises(m: &Metrics, signal: &str) -> f64 {
    m.sum("dlock_signal_rises_total", &[("lock", "orders"), ("signal", signal)])
}

/// Freezes a worker whose lock something else renews, and holds both signals against their worst delays.
fn freeze_and_resume(process: &str, state: &'static str, stale_worst: Duration) {
    let server = RedisServer::start();
    let mut exporter = Exporter::start(&config(&server, process));
    let worker = healthy(&server, &mut exporter, true);

    worker.pause();
    let stale = exporter.wait_for("dlock_holder_stale 1", stale_worst + SLACK * 4, |m| {
        m.is("dlock_holder_stale", LOCK, 1.0)
    });
    assert!(stale <= stale_worst + SLACK, "stale after {stale:?}, worst case {stale_worst:?}");
    let worst = stale_worst.max(RENEW + POLL * 2 + USUAL_BEAT * 3);
    let after = stale
        + exporter.wait_for("dlock_renewal_after_lost_liveness 1", worst + SLACK * 4, |m| {
            m.is("dlock_renewal_after_lost_liveness", LOCK, 1.0)
        });
    assert!(after <= worst + SLACK, "renewal_after after {after:?}, worst case {worst:?}");

    let m = exporter.metrics();
    assert!(m.is("dlock_holder_stale", LOCK, 1.0), "renewal_after implies stale");
    assert!(liveness(&m, state), "{}", m.lines("dlock_holder_liveness"));
    assert!(m.value("dlock_holder_lost_seconds", LOCK).is_some());
    assert!(m.sum("dlock_lease_renewals_after_lost_liveness_total", LOCK) >= 1.0);
    assert!(m.is("dlock_lock_holder_info", &[("lock", "orders"), ("worker", "orders-1")], 1.0));
    assert_eq!(rises(&m, "holder_stale"), 1.0);
    assert_eq!(rises(&m, "renewal_after_lost_liveness"), 1.0);

    worker.resume();
    exporter.wait_for(
        "both clear: dlock_holder_stale dlock_renewal_after_lost_liveness dlock_holder_liveness",
        Duration::from_secs(10),
        |m| {
            m.is("dlock_holder_stale", LOCK, 0.0)
                && m.is("dlock_renewal_after_lost_liveness", LOCK, 0.0)
                && liveness(m, "alive")
        },
    );
    let m = exporter.metrics();
    assert!(m.value("dlock_holder_lost_seconds", LOCK).is_none());
    assert_eq!(rises(&m, "holder_stale"), 1.0, "a signal that clears has not risen again");
}

#[test]
fn a_frozen_holder_is_seen_by_its_process() {
    freeze_and_resume(BY_PROCESS, "stopped", POLL + READ);
}

#[test]
fn a_frozen_holder_is_seen_by_its_heartbeat_alone() {
    freeze_and_resume("", "frozen", FROZEN_AFTER + POLL * 2);
}

#[test]
fn a_killed_holder_is_stale_until_its_lease_runs_out() {
    let server = RedisServer::start();
    let mut exporter = Exporter::start(&config(&server, BY_PROCESS));
    let mut worker = healthy(&server, &mut exporter, false);

    worker.kill();
    let left = Duration::from_millis(server.number(&["PTTL", "lock:orders"]).unsigned_abs());
    let stale = exporter.wait_for("dlock_holder_stale 1", Duration::from_secs(4), |m| {
        m.is("dlock_holder_stale", LOCK, 1.0)
    });
    assert!(stale <= POLL * 2 + SLACK, "stale after {stale:?}, two polls allowed");
    let m = exporter.metrics();
    assert!(liveness(&m, "dead"), "{}", m.lines("dlock_holder_liveness"));
    assert!(m.is("dlock_lock_held", LOCK, 1.0), "the lease still runs");

    let free = stale
        + exporter.wait_for("dlock_lock_held 0", left + SLACK * 4, |m| {
            m.is("dlock_lock_held", LOCK, 0.0)
        });
    assert!(free <= left + POLL + SLACK, "free after {free:?}, the lease had {left:?} left");
    assert!(free + POLL + READ >= left, "free after {free:?} although the lease had {left:?} left");

    // A read that comes late on a busy machine makes the end unknown; it never makes it a release.
    let ends = |m: &Metrics, evidence| {
        m.sum("dlock_lease_ends_total", &[("lock", "orders"), ("evidence", evidence)])
    };
    exporter.wait_for("dlock_holder_stale 0 and the end: dlock_lease_ends_total", POLL * 4, |m| {
        m.is("dlock_holder_stale", LOCK, 0.0) && ends(m, "lapsed") + ends(m, "unknown") == 1.0
    });
    let m = exporter.metrics();
    assert_eq!(rises(&m, "holder_stale"), 1.0);
    assert_eq!(rises(&m, "renewal_after_lost_liveness"), 0.0, "nothing renewed it");
    assert_eq!(ends(&m, "released"), 0.0);
    assert!(m.is("dlock_renewal_after_lost_liveness", LOCK, 0.0));
    assert!(m.all("dlock_lock_holder_info", LOCK).is_empty());
}
