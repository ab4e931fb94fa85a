//! The API's documents of workers and clocks from the built exporter, on a host whose exporter has no locks to watch.

use std::time::Duration;

use serde_json::Value;

use crate::processes::{POLL, SOON, sleeper, unique};
use crate::support::{Exporter, RedisServer, SLACK, wait_until};

fn document(exporter: &Exporter, path: &str) -> Value {
    let answer = exporter.get(path);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    serde_json::from_str(&answer.body).expect("a JSON document")
}

/// The worker as the exporter shows it, once that is `wanted`.
fn worker(exporter: &Exporter, deadline: Duration, wanted: &str) -> Value {
    let (found, _) = wait_until(&format!("a worker that is {wanted}"), deadline, || {
        let worker = document(exporter, "/api/v1/workers")["workers"][0].take();
        (worker["process_state"] == wanted).then_some(worker)
    });
    found
}

#[test]
fn a_host_without_locks_shows_its_workers_and_the_servers_clock() {
    let server = RedisServer::start();
    let mark = unique();
    let (process, _dir) = sleeper(&mark);
    let yaml = format!(
        "poll_interval: 200ms
stores:
  main: {{ url: '{}', username: dlock }}
workers:
  lone: {{ names: [lone-1], process: {{ command: 'sleep 600 {mark}$' }} }}
",
        server.url()
    );
    let exporter = Exporter::start(&yaml);

    let lone = worker(&exporter, SOON, "sleeping");
    assert_eq!(lone["name"], "lone-1");
    assert_eq!(lone["sources"]["process"]["alive"], true);
    assert_eq!(lone["process"]["threads"], 1);
    assert!(lone["process"]["resident_memory_bytes"].as_u64().is_some_and(|n| n > 100_000));
    assert!(lone["jvm"].is_null(), "sleep is no JVM: {lone}");
    process.pause();
    let lone = worker(&exporter, POLL * 2 + SLACK + SLACK, "stopped");
    assert_eq!(lone["sources"]["process"]["alive"], false);
    process.resume();
    worker(&exporter, POLL * 2 + SLACK + SLACK, "sleeping");

    let (clocks, _) = wait_until("the server's clock", SOON, || {
        let clocks = document(&exporter, "/api/v1/clocks");
        clocks["nodes"][0]["offset_seconds"].is_number().then_some(clocks)
    });
    let node = &clocks["nodes"][0];
    assert_eq!(
        (&node["store"], &node["addr"]),
        (&"main".into(), &server.address().to_string().into())
    );
    let (offset, error) = (node["offset_seconds"].as_f64(), node["offset_error_seconds"].as_f64());
    // It is this host's clock, so that the interval must contain 0, but for the microsecond that TIME is cut to.
    let holds = offset.zip(error).is_some_and(|(o, e)| e > 0.0 && o.abs() <= e + 2e-6);
    assert!(holds, "{node}");
    assert_eq!(clocks["clocks"], serde_json::json!([]));
}
