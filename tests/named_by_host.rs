//! Tokens that name a host and no worker, without any `holder`: the host is the worker, and each token is judged by its own
//! process, however many of them are on one host.

use crate::processes::{ALIVE, POLL, SOON, WORST, host, rises, said, sleeper, unique};
use crate::support::{Exporter, RedisServer, SLACK};

/// A token of Medallion's.
fn take(server: &RedisServer, lock: &str, host: &str, pid: i32) {
    let token = format!("{host}_{pid}_9f86d081884c7d659a2feaa0c55ad0{}", lock.len() + 10);
    server.cmd(&["SET", &format!("lock:{lock}"), &token, "PX", "600000"]);
}

#[test]
fn each_token_of_a_host_is_judged_by_its_own_process() {
    let server = RedisServer::start();
    let here = host();
    let ((mut first, _a), (second, _b)) = (sleeper(&unique()), sleeper(&unique()));
    take(&server, "a", &here, first.pid());
    take(&server, "bb", &here, second.pid());
    take(&server, "far", "far.example", second.pid());
    let shed =
        format!("ADDED:2026-11-29T13:14:01.090Z@{here}:0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f10");
    server.cmd(&["SET", "lock:shed", &shed, "PX", "600000"]);
    // Made by redis-py on a host of which only the hardware address is known.
    server.cmd(&["SET", "lock:py", "86bb5074ebf111f1930402fc00000001", "PX", "600000"]);
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: '{{1}}', match: 'lock:*', capture: '^lock:(.+)$', series: full, workers: ['{here}'] }}
workers:
  any: {{ match: '.+', process: {{ pid_from_holder: true }} }}
",
        server.url()
    ));
    let worker = here.clone();
    exporter.wait_for("dlock_ each is named as far as its token goes", SOON, move |m| {
        let named = [("a", &*worker), ("bb", &worker), ("far", "far.example"), ("shed", &worker)];
        let is_named = |(lock, worker): (&str, &str)| {
            m.value("dlock_lock_holder_info", &[("lock", lock), ("worker", worker)]) == Some(1.0)
        };
        let unexpected = |lock| m.value("dlock_holder_unexpected", &[("lock", lock)]);
        named.into_iter().chain([("py", "")]).all(is_named)
            && [said(m, "a"), said(m, "bb")] == [ALIVE, ALIVE]
            && [said(m, "far"), said(m, "shed"), said(m, "py")].iter().all(|s| s == "unknown None")
            && [unexpected("a"), unexpected("far"), unexpected("py")]
                == [Some(0.0), Some(1.0), None]
    });
    let why = |lock, reason| [("lock", lock), ("aspect", "process"), ("reason", reason)];
    let m = exporter.metrics();
    assert!(m.is("dlock_coverage_lost", &why("far", "foreign_host"), 1.0));
    assert!(m.is("dlock_coverage_lost", &why("shed", "opaque_token"), 1.0));

    first.kill();
    let dead = |lock: &'static str, state: &'static str| {
        move |m: &crate::support::Metrics| said(m, lock) == state
    };
    let after = exporter.wait_for("dlock_holder_ a dead", SOON, dead("a", "dead Some(1.0)"));
    assert!(after <= WORST + SLACK, "dead after {after:?}, worst case {WORST:?}");
    exporter.never("the other process lost", POLL * 5, |m| said(m, "bb") != ALIVE);
    let m = exporter.metrics();
    let by_process = [("worker", &*here), ("source", "process")];
    assert!(m.is("dlock_worker_alive", &by_process, 1.0), "one of its processes lives");

    // The application was started anew, and takes the lock with a token of its own; its neighbour stops.
    let (third, _c) = sleeper(&unique());
    take(&server, "a", &here, third.pid());
    exporter.wait_for("dlock_holder_ a alive again", SOON, dead("a", ALIVE));
    second.pause();
    exporter.wait_for("dlock_holder_ b stopped", SOON, dead("bb", "stopped Some(1.0)"));
    exporter.never("the new process lost", POLL * 3, |m| said(m, "a") != ALIVE);
    let m = exporter.metrics();
    assert_eq!(
        (rises(&m, "a", "holder_stale"), rises(&m, "bb", "holder_stale")),
        (Some(1.0), Some(1.0))
    );
    second.resume();
}
