//! What is healthy, or heals, and must raise nothing: clean exits, pauses that end, an outage of the Redis that the
//! heartbeat lives in, a pause of the exporter itself, and hundreds of short leases. The obvious definitions of these
//! signals fail here most of the time; the counters of rises prove that not even a short flash happened.

use std::time::Duration;

use crate::support::{
    Exporter, Metrics, RedisServer, Sampler, WorkerSetup, for_a_while, long, wait_until,
};

/// Signals that a healthy holder never raises. `contested` need not be there, but must not be up.
const ALARMS: [&str; 4] =
    ["holder_stale", "renewal_after_lost_liveness", "renewal_overdue", "contested"];

const PROCESS: &str = "process: { pid_from_holder: true }";

/// A file that watches these locks, with the workers' heartbeats in the same Redis.
fn config(
    server: &RedisServer,
    locks: &[&str],
    poll: &str,
    process: &str,
    frozen_after: &str,
) -> String {
    let url = server.url();
    let holder = r"^(?P<worker>[^:]+):(?P<host>[^:]+):(?P<pid>\d+):";
    let locks: String = locks
        .iter()
        .map(|l| format!("      - {{ name: {l}, key: 'lock:{l}', holder: '{holder}' }}\n"))
        .collect();
    format!(
        "poll_interval: {poll}
stores:
  main:
    url: {url}
    username: dlock
    locks:
{locks}workers:
  sample:
    match: '[a-z]+-\\d+'
    {process}
    heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: {frozen_after} }}
"
    )
}

/// Which of these signals is up or has ever been.
fn raised(m: &Metrics, signals: &[&str]) -> Option<String> {
    for signal in signals {
        let up = m.sum(&format!("dlock_{signal}"), &[]);
        let rises = m.sum("dlock_signal_rises_total", &[("signal", signal)]);
        if up > 0.0 || rises > 0.0 {
            let series = m.lines("dlock_holder") + &m.lines("dlock_signal_rises_total");
            return Some(format!("{signal}: {up} up, {rises} rises\n{series}"));
        }
    }
    None
}

/// Looks all the time while `scenario` runs, and once more at the end.
fn raises_nothing(
    exporter: &mut Exporter,
    signals: &'static [&'static str],
    scenario: impl FnOnce(&mut Exporter),
) {
    let sampler = Sampler::start(exporter.address(), move |m| raised(m, signals));
    scenario(exporter);
    sampler.finish();
    let m = exporter.metrics();
    assert_eq!(raised(&m, signals), None);
    assert!(
        !m.all("dlock_signal_rises_total", &[("signal", "holder_stale")]).is_empty(),
        "no lock was judged, so nothing was proven:\n{}",
        m.lines("dlock_")
    );
}

/// Waits until the lock is held by somebody seen alive, renewed and beating so often.
fn settled(exporter: &mut Exporter, lock: &'static str, worker: &'static str, beats: f64) {
    exporter.wait_for(
        "a settled worker: dlock_holder_liveness dlock_lease_renewals_total dlock_worker_heartbeats_total",
        Duration::from_secs(30),
        |m| {
            m.is("dlock_holder_liveness", &[("lock", lock), ("state", "alive")], 1.0)
                && m.value("dlock_lease_renewals_total", &[("lock", lock)]).is_some_and(|n| n >= 4.0)
                && m.value("dlock_worker_heartbeats_total", &[("worker", worker)])
                    .is_some_and(|n| n >= beats)
        },
    );
}

#[test]
fn clean_exits() {
    let server = RedisServer::start();
    let mut exporter = Exporter::start(&config(&server, &["orders"], "200ms", PROCESS, "3s"));
    let exits = if long() { 200 } else { 25 };
    raises_nothing(&mut exporter, &ALARMS, |exporter| {
        for n in 0..exits {
            let mut worker = WorkerSetup::new(&server, "orders-1", "lock:orders")
                .lease(5.0, 1.0)
                .beat_every(0.2)
                .cycles(1, 0.7, 0.0)
                .start();
            assert!(worker.wait(Duration::from_secs(20)).success());
            // Every other time the lock stays free for longer than a poll; else the next worker may be quicker.
            for_a_while(Duration::from_millis(if n % 2 == 0 { 450 } else { 0 }));
        }
        exporter.wait_for("dlock_lock_acquisitions_total", Duration::from_secs(5), |m| {
            m.sum("dlock_lock_acquisitions_total", &[("lock", "orders")]) >= f64::from(exits) * 0.9
        });
    });
    let m = exporter.metrics();
    let ends = |evidence| m.sum("dlock_lease_ends_total", &[("evidence", evidence)]);
    let (released, unknown) = (ends("released"), ends("unknown"));
    assert!(released >= f64::from(exits) * 0.4, "{}", m.lines("dlock_lease_ends_total"));
    assert!(released + unknown >= f64::from(exits) * 0.9, "{}", m.lines("dlock_lease_ends_total"));
    assert_eq!(ends("lapsed") + ends("overwritten"), 0.0, "a clean exit is neither");
}

/// Freezes a worker that renews its own lock again and again, for shorter than its lease; the first thing it does when
/// it goes on is to renew. That is a renewal after a loss that was over by then: stale may be true, the other never.
fn pauses(process: &str, frozen_after: &str, signals: &'static [&'static str], lengths: &[u64]) {
    let server = RedisServer::start();
    let mut exporter =
        Exporter::start(&config(&server, &["orders"], "200ms", process, frozen_after));
    let worker = WorkerSetup::new(&server, "orders-1", "lock:orders")
        .lease(12.0, 1.0)
        .beat_every(0.2)
        .start();
    settled(&mut exporter, "orders", "orders-1", 10.0);
    raises_nothing(&mut exporter, signals, |exporter| {
        for _ in 0..if long() { 10 } else { 2 } {
            for length in lengths {
                worker.pause();
                for_a_while(Duration::from_millis(*length));
                worker.resume();
                exporter.wait_for("dlock_holder_liveness alive", Duration::from_secs(10), |m| {
                    m.is("dlock_holder_liveness", &[("lock", "orders"), ("state", "alive")], 1.0)
                });
                for_a_while(Duration::from_millis(700 + length % 331));
            }
        }
    });
    assert!(exporter.metrics().is("dlock_lock_held", &[("lock", "orders")], 1.0));
}

#[test]
fn pauses_that_end_before_the_heartbeat_counts_as_frozen() {
    pauses("", "3s", &ALARMS, &[600, 1300, 1900]);
}

#[test]
fn pauses_that_end_after_the_heartbeat_counts_as_frozen() {
    pauses(
        "",
        "2s",
        &["renewal_after_lost_liveness", "renewal_overdue", "contested"],
        &[2600, 3900],
    );
}

#[test]
fn pauses_that_the_process_shows() {
    let only = &["renewal_after_lost_liveness", "renewal_overdue", "contested"];
    pauses(PROCESS, "2s", only, &[300, 1100, 2600, 3900]);
}

/// The Redis of locks and heartbeats stands still for 15 s while the workers are well. The lease of `long` survives
/// it, that of `short` lapses.
fn outage_of_the_heartbeat(process: &str) {
    let server = RedisServer::start();
    let mut exporter =
        Exporter::start(&config(&server, &["long", "short"], "500ms", process, "3s"));
    let _kept =
        WorkerSetup::new(&server, "long-1", "lock:long").lease(60.0, 2.0).beat_every(0.5).start();
    let _lost =
        WorkerSetup::new(&server, "short-1", "lock:short").lease(5.0, 1.0).beat_every(0.5).start();
    settled(&mut exporter, "long", "long-1", 8.0);
    settled(&mut exporter, "short", "short-1", 8.0);
    raises_nothing(&mut exporter, &ALARMS, |exporter| {
        for _ in 0..if long() { 4 } else { 1 } {
            server.pause();
            for_a_while(Duration::from_secs(15));
            server.resume();
            for lock in ["long", "short"] {
                exporter.wait_for(
                    "dlock_holder_liveness alive again",
                    Duration::from_secs(20),
                    |m| m.is("dlock_holder_liveness", &[("lock", lock), ("state", "alive")], 1.0),
                );
            }
            for_a_while(Duration::from_secs(6));
        }
    });
}

#[test]
fn an_outage_of_the_redis_that_the_heartbeat_lives_in() {
    outage_of_the_heartbeat("");
}

#[test]
fn an_outage_of_redis_while_the_process_is_visible() {
    outage_of_the_heartbeat(PROCESS);
}

#[test]
fn a_pause_of_the_exporter_itself() {
    let server = RedisServer::start();
    let mut exporter =
        Exporter::start(&config(&server, &["steady", "busy", "brief"], "300ms", PROCESS, "3s"));
    let _steady = WorkerSetup::new(&server, "steady-1", "lock:steady")
        .lease(4.0, 1.0)
        .beat_every(0.3)
        .start();
    // Lets go and takes again many times while nobody looks.
    let _busy = WorkerSetup::new(&server, "busy-1", "lock:busy")
        .lease(4.0, 0.5)
        .beat_every(0.3)
        .cycles(0, 3.0, 0.2)
        .start();
    settled(&mut exporter, "steady", "steady-1", 8.0);
    settled(&mut exporter, "busy", "busy-1", 8.0);
    raises_nothing(&mut exporter, &ALARMS, |exporter| {
        exporter.pause();
        let mut brief = WorkerSetup::new(&server, "steady-2", "lock:brief")
            .lease(4.0, 1.0)
            .cycles(1, 0.2, 0.0)
            .start();
        assert!(brief.wait(Duration::from_secs(10)).success());
        for_a_while(Duration::from_secs(if long() { 60 } else { 5 }));
        exporter.resume();
        exporter.wait_for("dlock_holder_liveness alive again", Duration::from_secs(15), |m| {
            m.is("dlock_holder_liveness", &[("lock", "steady"), ("state", "alive")], 1.0)
        });
        for_a_while(Duration::from_secs(5));
    });
}

#[test]
fn a_healthy_worker_over_many_short_leases() {
    const LEASE: f64 = 0.6;
    const RENEW: f64 = 0.15;
    let server = RedisServer::start();
    let mut exporter = Exporter::start(&config(&server, &["orders"], "100ms", PROCESS, "3s"));
    let mut worker = WorkerSetup::new(&server, "orders-1", "lock:orders")
        .lease(LEASE, RENEW)
        .beat_every(0.2)
        .start();
    settled(&mut exporter, "orders", "orders-1", 8.0);
    let cycles = if long() { 400.0 } else { 60.0 };
    raises_nothing(
        &mut exporter,
        &["holder_stale", "renewal_after_lost_liveness", "contested"],
        |_| {
            for_a_while(Duration::from_secs_f64(cycles * LEASE));
        },
    );
    let m = exporter.metrics();
    assert!(m.sum("dlock_lease_renewals_total", &[]) >= cycles, "{}", m.lines("dlock_lease_"));
    worker.stop();
    wait_until("the lock is released", Duration::from_secs(2), || {
        (server.number(&["EXISTS", "lock:orders"]) == 0).then_some(())
    });
    // A machine too busy to run the worker in time makes overdue true; the worker itself knows whether that happened.
    let late_from = (RENEW + (LEASE - RENEW) / 2.0) * 1000.0 - 60.0;
    let longest = worker.told("longest_gap_ms") as f64;
    let overdue = raised(&m, &["renewal_overdue"]);
    assert!(overdue.is_none() || longest >= late_from, "longest gap {longest} ms: {overdue:?}");
}
