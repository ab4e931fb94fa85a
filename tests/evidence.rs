//! Evidence on disk: a document for each rise, kept through a restart and through any kill; a disk that does not take it costs
//! the document and nothing else; raw tokens are only where the config asks for them.

mod disk;
mod kills;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Answer, Exporter, Metrics, RedisServer, Worker, WorkerSetup, wait_until};

const SOON: Duration = Duration::from_secs(30);

/// Watches `lock:orders`, and the locks under `lock:x:`, any holder of which is unexpected.
fn config(server: &RedisServer, evidence: &str) -> String {
    format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - name: orders
        key: lock:orders
        lease: 30s
        holder: '^(?P<worker>[^:]+):(?P<host>[^:]+):(?P<pid>\\d+):'
      - name: '{{1}}'
        match: 'lock:x:*'
        capture: '(?s)^lock:x:(.+)$'
        holder: '^(?P<worker>[^:]+):'
        workers: [nobody]
workers:
  sample:
    match: 'orders-\\d+'
    process: {{ pid_from_holder: true }}
{evidence}
",
        server.url()
    )
}

fn at(dir: &Path, more: &str) -> String {
    format!("evidence: {{ dir: '{}'{more} }}", dir.display())
}

/// Takes a lock under `lock:x:` for a holder that nobody expects.
fn unexpected(server: &RedisServer, lock: &str) {
    server.cmd(&["SET", &format!("lock:x:{lock}"), &format!("w:{lock}:t0ken"), "PX", "600000"]);
}

fn json(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).expect("JSON")
}

fn documents(dir: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir).expect("the directory is there");
    let mut paths: Vec<PathBuf> = files.map(|e| e.expect("an entry").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
    paths.sort();
    paths
}

fn writes(m: &Metrics) -> f64 {
    m.value("dlock_exporter_evidence_writes_total", &[]).unwrap_or(0.0)
}

fn failures(m: &Metrics, reason: &str) -> f64 {
    m.value("dlock_exporter_evidence_failures_total", &[("reason", reason)])
        .expect("from the start")
}

/// The incident of this lock and signal, once there is one.
fn incident(exporter: &Exporter, lock: &str, signal: &str) -> Value {
    let (found, _) = wait_until(&format!("an incident of {lock}: {signal}"), SOON, || {
        let all = json(&exporter.get("/api/v1/incidents?limit=1000"));
        let all = all["incidents"].as_array().expect("a list").clone();
        all.into_iter().find(|i| i["lock"] == lock && i["signal"] == signal)
    });
    found
}

/// A holder that was seen alive, and is then killed while its lease goes on.
fn dead_holder(server: &RedisServer, exporter: &mut Exporter, name: &str) {
    let setup = WorkerSetup::new(server, name, "lock:orders").lease(30.0, 1.0);
    let mut worker: Worker = setup.start();
    let alive = [("lock", "orders"), ("state", "alive")];
    exporter.wait_for("a live holder: dlock_holder_liveness", SOON, |m| {
        m.is("dlock_holder_liveness", &alive, 1.0)
    });
    worker.kill();
}

#[test]
fn an_incident_of_a_stale_holder_is_kept_and_tokens_are_told_only_if_wanted() {
    let server = RedisServer::start();
    let dir = TempDir::new().expect("a temporary directory");
    let mut exporter = Exporter::start(&config(&server, &at(dir.path(), "")));
    assert_eq!(failures(&exporter.metrics(), "full"), 0.0);
    dead_holder(&server, &mut exporter, "orders-1");
    let token = server.text(&["GET", "lock:orders"]);

    let found = incident(&exporter, "orders", "holder_stale");
    let path = format!("/api/v1/incidents/{}", found["id"].as_str().expect("an id"));
    let kept = exporter.get(&path);
    let document = json(&kept);
    assert!(kept.body.starts_with("{\n  \"summary\": \"holder_stale rose: lock orders of"));
    assert_eq!(document["lock"]["key"], "lock:orders");
    assert_eq!(document["lock"]["holders"][0]["liveness"], "dead");
    assert!(document["lock"]["lease"]["expiry_timestamp"].is_number(), "{document}");
    // A process that has ended is a zombie until somebody asks how.
    let state = document["workers"][0]["process_state"].as_str();
    assert!(matches!(state, Some("gone" | "zombie")), "{document}");
    assert_eq!(document["servers"][0]["run_id"].as_str().map(str::len), Some(40));
    assert!(document["server_clocks"][0]["offset_seconds"].is_number());
    let release = &document["lock"]["release_safe"];
    assert_ne!(release["safe"], true, "nothing tells of fencing: {release}");
    let fingerprint = &document["lock"]["holders"][0]["fingerprint"];
    assert_eq!(release["fingerprint"], *fingerprint);

    // Without `raw_tokens` it is in no document, no answer and no log.
    let now = exporter.get("/api/v1/locks/main/orders/evidence").body;
    let listed = exporter.get("/api/v1/incidents").body;
    let locks = exporter.get("/api/v1/locks").body;
    assert!(now.contains(fingerprint.as_str().expect("text")));
    for text in [&kept.body, &now, &listed, &locks, &exporter.log()] {
        assert!(!text.contains(&token), "the token is told: {text}");
    }
    exporter.wait_for("as many as are counted: dlock_exporter_evidence", SOON, |m| {
        writes(m) == documents(dir.path()).len() as f64
    });

    // A directory that is not there is refused, and the old one stays in use.
    exporter.rewrite(&config(&server, &at(&dir.path().join("none"), "")));
    let refused = exporter.request("POST", "/-/reload");
    assert!(refused.status != 200 && refused.body.contains("evidence.dir"), "{}", refused.body);
    // With it, it is in the documents that are written from then on, and in no log.
    exporter.rewrite(&config(&server, &at(dir.path(), ", raw_tokens: true")));
    assert_eq!(exporter.request("POST", "/-/reload").status, 200);
    unexpected(&server, "one");
    let raw = incident(&exporter, "one", "holder_unexpected");
    let raw = exporter.get(&format!("/api/v1/incidents/{}", raw["id"].as_str().expect("an id")));
    assert_eq!(json(&raw)["raw_tokens"][0]["text"], "w:one:t0ken");
    let now = exporter.get("/api/v1/locks/main/one/evidence").body;
    for text in [&now, &exporter.get("/api/v1/locks").body, &exporter.log()] {
        assert!(!text.contains("t0ken"), "the token is told: {text}");
    }

    assert!(exporter.stop().success());
    let again = Exporter::start(&config(&server, &at(dir.path(), "")));
    let (body, _) = wait_until("the incident is listed again", SOON, || {
        let listed = json(&again.get("/api/v1/incidents?limit=1000"));
        let mut all = listed["incidents"].as_array().expect("a list").iter();
        let is_there = all.any(|i| *i == found);
        is_there.then(|| again.get(&path).body)
    });
    assert_eq!(body, kept.body, "byte for byte");
}

#[test]
fn no_lock_leads_out_of_the_directory_and_what_is_kept_is_bounded() {
    let server = RedisServer::start();
    let dir = TempDir::new().expect("a temporary directory");
    let inner = dir.path().join("kept");
    std::fs::create_dir(&inner).expect("a directory");
    std::fs::write(inner.join("foreign.json"), "{}").expect("a file");
    let mut exporter = Exporter::start(&config(&server, &at(&inner, ", keep: 12")));
    let long = "ä/".repeat(100);
    let hostile =
        ["../../../../tmp/out", "/etc/cron.d/x", "a\n\"b", "..", "%2e%2e%2fx", "-rf", &long];
    for lock in hostile {
        unexpected(&server, lock);
    }
    let all = hostile.len() as f64;
    exporter.wait_for("all are written: dlock_exporter_evidence", SOON, |m| writes(m) >= all);
    let kept = documents(&inner);
    assert_eq!(kept.len(), hostile.len() + 1, "{kept:?}");
    assert_eq!(std::fs::read_dir(dir.path()).expect("it is there").count(), 1, "nothing beside it");
    incident(&exporter, "../../../../tmp/out", "holder_unexpected");
    for id in ["..%2f..%2fdlock.yml", "%2e%2e", "foreign"] {
        assert_eq!(exporter.get(&format!("/api/v1/incidents/{id}")).status, 404, "{id}");
    }

    // Many at once: the most that are kept, the rest is counted, and the foreign file stays.
    for i in 0..40 {
        unexpected(&server, &format!("many-{i:02}"));
    }
    exporter.wait_for("the rest is counted: dlock_exporter_evidence", SOON, |m| {
        writes(m) + failures(m, "queue") >= all + 40.0
    });
    wait_until("no more than are kept", SOON, || (documents(&inner).len() == 13).then_some(()));
    assert!(inner.join("foreign.json").exists());
}
