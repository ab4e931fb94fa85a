//! Lists of live workers and claims, live: a registry as Sidekiq keeps it, workers of Celery that are heard, a fleet of one's
//! own, and what a worker says it holds.

use std::time::Duration;

use crate::support::{
    Driver, Exporter, Metrics, RedisServer, RedisSetup, Worker, acl_line_of_the_readme,
    for_a_while, repository, wait_until,
};

const SOON: Duration = Duration::from_secs(20);
/// An absence counts after a minute.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose user `dlock` may read registries as the README says.
fn server() -> RedisServer {
    let readme = std::fs::read_to_string(repository("README.md")).expect("README.md can be read");
    let more = readme.lines().find_map(|l| l.strip_prefix("ACL SETUSER dlock +")).unwrap();
    let line = acl_line_of_the_readme().replace("ACL SETUSER", "user");
    let line = line.replace("PASSWORD", "watch-only") + " +" + more;
    let heard = readme.lines().find_map(|l| l.strip_prefix("ACL SETUSER dlock +subscribe"));
    let line = line + " +subscribe" + &heard.unwrap().replace("/0.", "/1.");
    let keys = "%R~processes %R~queues %R~queue:* %R~schedule %R~retry %R~web-1:* %R~uniquejobs:* %R~unique:* %R~fleet*";
    RedisSetup::default().acl(&line.replace("%R~YOUR-REGISTRY", keys)).start()
}

fn liveness(m: &Metrics, lock: &str) -> String {
    let live = m.all("dlock_holder_liveness", &[("lock", lock)]);
    let states: Vec<_> = live.iter().filter(|s| s.value == 1.0).map(|s| s.label("state")).collect();
    states.join("+")
}

fn stale(m: &Metrics, lock: &str) -> Option<f64> {
    m.value("dlock_holder_stale", &[("lock", lock)])
}

/// A real worker of Celery that holds `lock:NAME` by a token with its own name.
fn celery(server: &RedisServer, name: &str) -> Worker {
    let script = repository("tests/fixtures/celery_worker.py");
    Worker::script(name, &script, &[&server.url(), name])
}

/// The driver beats for a process of Sidekiq, and a job's lock is held by the job's id. The job ends without letting go, and
/// so does one of two workers of Celery: an absence counts after a minute, which is waited for once.
#[test]
fn who_is_neither_registered_nor_heard_is_unlisted_and_its_lock_stale() {
    let server = server();
    let (mut killed, _lives) = (celery(&server, "c-1"), celery(&server, "c-2"));
    let jobs = ["0123456789abcdef01234567", "89abcdef0123456789abcdef"];
    server.cmd(&["SADD", "processes", "web-1:42:aabbccddeeff"]);
    server.cmd(&["SADD", "queues", "default"]);
    for (lock, job) in ["a", "b"].iter().zip(jobs) {
        let key = format!("uniquejobs:{}:LOCKED", lock.repeat(32));
        server.cmd(&["HSET", &key, job, "1790000000.5"]);
        server.cmd(&["PEXPIRE", &key, "3600000"]);
    }
    // A lock of Sidekiq Enterprise that is held by a job which is nowhere, as its log says and nothing else does: one of
    // those that the config says are released, and one as the library leaves them, to run out.
    for digest in ["c", "d"] {
        let key = format!("unique:{}", format!("{digest}1").repeat(20));
        server.cmd(&["SET", &key, "fedcba9876543210fedcba98", "NX", "EX", "43200"]);
    }
    server.cmd(&[
        "LPUSH",
        "queue:default",
        &format!("{{\"class\":\"A\",\"jid\":\"{}\"}}", jobs[1]),
    ]);
    let busy =
        format!("{{\"queue\":\"default\",\"payload\":\"{{\\\"jid\\\":\\\"{}\\\"}}\"}}", jobs[0]);
    server.cmd(&["HSET", "web-1:42:aabbccddeeff:work", "t1", &busy]);
    let _beats = Driver::start(&server, 0, move |c| {
        let mut n = 1_790_000_000;
        while c.wait(Duration::from_millis(500)) {
            n += 1;
            c.cmd(&["HSET", "web-1:42:aabbccddeeff", "beat", &n.to_string(), "info", "{}"]);
        }
    });
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 500ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ match: 'uniquejobs:*:LOCKED', capture: '^uniquejobs:(.).*', name: '{{1}}', series: full }}
      - {{ match: 'lock:c-*', capture: '^lock:(.*)', name: '{{1}}', series: full, listed_in: tasks, holder: '^(?P<worker>[^:]+)' }}
      - {{ name: c, key: 'unique:c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1', ends: by_release }}
      - {{ name: d, key: 'unique:d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1' }}
live_workers:
  jobs: {{ preset: sidekiq, store: main, refresh: 1s }}
  tasks: {{ preset: celery, store: main, channel: /1.celeryev, refresh: 1s }}
workers:
  processes: {{ match: 'web-1:.*', heartbeat: {{ redis: {{ store: main, key: '{{worker}}', field: beat }} }} }}
",
        server.url()
    ));
    exporter.wait_for("dlock_holder_liveness dlock_lock_held dlock_exporter_poll", SOON, |m| {
        liveness(m, "a") == "alive" && liveness(m, "b") == "alive" && stale(m, "a") == Some(0.0)
    });
    // A process that the list names and a group serves is a worker.
    exporter.wait_for("dlock_worker_", SOON, |m| {
        let at = |source| [("worker", "web-1:42:aabbccddeeff"), ("source", source)];
        m.is("dlock_worker_alive", &at("list"), 1.0)
            && m.is("dlock_worker_alive", &at("heartbeat"), 1.0)
    });
    exporter.wait_for("dlock_holder_liveness dlock_lock_held dlock_coverage_lost", SOON, |m| {
        liveness(m, "c-1") == "alive" && liveness(m, "c-2") == "alive"
    });
    killed.kill();
    // One job moves from its queue to a thread and stays listed; the other is not anywhere any more.
    let moved = busy.replace(jobs[0], jobs[1]);
    server.cmd(&["HSET", "web-1:42:aabbccddeeff:work", "t1", &moved]);
    server.cmd(&["DEL", "queue:default"]);
    let begun = dlock_exporter::clock::mono();
    exporter.wait_for("dlock_holder_", PATIENCE + SOON, |m| {
        ["a", "c-1"].iter().all(|l| stale(m, l) == Some(1.0) && liveness(m, l) == "unlisted")
    });
    let waited = dlock_exporter::clock::mono().since(begun);
    assert!(waited >= PATIENCE - Duration::from_secs(2), "after {waited:?}");
    exporter.wait_for("dlock_holder_", SOON, |m| {
        stale(m, "c") == Some(1.0)
            && liveness(m, "c") == "unlisted"
            && liveness(m, "d") == "unlisted"
    });
    let m = exporter.metrics();
    assert_eq!(stale(&m, "d"), None, "its job may be over by then, so nothing pages");
    assert!(m.value("dlock_holder_lost_seconds", &[("lock", "d")]).is_some_and(|s| s >= 55.0));
    for lock in ["b", "c-2"] {
        assert_eq!((liveness(&m, lock).as_str(), stale(&m, lock)), ("alive", Some(0.0)));
    }
    for lock in ["a", "c-1"] {
        let rises = [("lock", lock), ("signal", "renewal_after_lost_liveness")];
        assert_eq!(m.sum("dlock_signal_rises_total", &rises), 0.0);
    }
    assert!(m.value("dlock_holder_lost_seconds", &[("lock", "a")]).is_some_and(|s| s >= 58.0));

    // Whoever was not heard for a while may have spoken: nobody is missing then, and coverage says why.
    let blind = [("lock", "c-2"), ("aspect", "holder"), ("reason", "unreachable")];
    server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    exporter.wait_for("dlock_holder_liveness dlock_coverage_lost", SOON, |m| {
        liveness(m, "c-2") == "unknown" && m.is("dlock_coverage_lost", &blind, 1.0)
    });
    exporter.wait_for("dlock_holder_liveness dlock_coverage_lost", SOON, |m| {
        liveness(m, "c-2") == "alive" && liveness(m, "c-1") == "unlisted"
    });
    assert_eq!(exporter.metrics().sum("dlock_signal_rises_total", &[("lock", "c-2")]), 0.0);

    // The registry turns into something else, and back: nothing follows from what cannot be read.
    server.cmd(&["DEL", "processes"]);
    server.cmd(&["SET", "processes", "hunter2"]);
    exporter.wait_for("dlock_holder_liveness dlock_coverage_lost", SOON, |m| {
        liveness(m, "b") == "unknown"
            && m.is(
                "dlock_coverage_lost",
                &[("lock", "b"), ("aspect", "holder"), ("reason", "unreachable")],
                1.0,
            )
    });
    server.cmd(&["DEL", "processes"]);
    server.cmd(&["SADD", "processes", "web-1:42:aabbccddeeff"]);
    exporter.wait_for("dlock_holder_liveness", SOON, |m| {
        liveness(m, "b") == "alive" && m.value("dlock_lock_held", &[("lock", "a")]) == Some(1.0)
    });
    let all = exporter.log() + &exporter.get("/api/v1/locks").body + &exporter.get("/metrics").body;
    for secret in ["hunter2", jobs[0], jobs[1]] {
        assert!(!all.contains(secret), "{secret} is printed");
    }
}

/// A huge element in a registry breaks the connection that it is read over, and no read of a lock.
#[test]
fn a_registry_that_is_too_large_costs_itself_only() {
    let server = server();
    server.cmd(&["SET", "lock:orders", "w-1:t", "PX", "600000"]);
    server.cmd(&["SADD", "fleet", "w-1"]);
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks: [{{ name: orders, key: 'lock:orders', listed_in: fleet, holder: '^(?P<worker>[^:]+)', series: full }}]
live_workers:
  fleet: {{ members: {{ redis: {{ store: main, key: fleet }} }}, refresh: 1s }}
",
        server.url()
    ));
    exporter.wait_for("dlock_holder_liveness", SOON, |m| liveness(m, "orders") == "alive");
    let failures = |m: &Metrics, poller: &str| {
        m.sum("dlock_exporter_poll_failures_total", &[("poller", poller)])
    };
    let script = "redis.call('SADD', 'fleet', string.rep('x', 20 * 1024 * 1024))";
    server.cmd(&["EVAL", script, "0"]);
    exporter.wait_for("dlock_holder_liveness dlock_exporter_poll_failures", SOON, |m| {
        failures(m, "list") >= 3.0 && liveness(m, "orders") == "unknown"
    });
    let page = exporter.get("/").body;
    let (_, said) = page.split_once("live workers <b>fleet</b>").expect("the list is on the page");
    assert!(said.contains("cannot be read") && said.contains(", 1 member"), "{said}");
    let m = exporter.metrics();
    assert_eq!(failures(&m, "redis"), 0.0, "{}", m.lines("dlock_exporter_poll_failures_total"));
    assert_eq!(m.value("dlock_lock_held", &[("lock", "orders")]), Some(1.0));
    server.cmd(&["DEL", "fleet"]);
    server.cmd(&["SADD", "fleet", "w-1"]);
    exporter.wait_for("dlock_holder_liveness", SOON, |m| liveness(m, "orders") == "alive");
}

#[test]
fn what_a_worker_says_it_holds_is_shown_and_its_tokens_are_not() {
    let server = server();
    server.cmd(&["SET", "lock:orders", "w-1:hunter2", "PX", "600000"]);
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks: [{{ name: orders, key: 'lock:orders', holder: '^(?P<worker>[^:]+)' }}]
workers:
  w: {{ match: 'w-.*', claim: {{ redis: {{ store: main, key: 'hb:{{worker}}', json: /locks }} }} }}
",
        server.url()
    ));
    let claimed = |m: &Metrics, lock: &str| {
        m.value("dlock_worker_claim_info", &[("worker", "w-1"), ("store", "main"), ("lock", lock)])
    };
    let claim =
        |locks: &str| server.cmd(&["SET", "hb:w-1", &format!("{{\"at\": 1, \"locks\": {locks}}}")]);
    let good = r#"[{"store": "main", "lock": "orders", "token": "w-1:hunter2"}]"#;
    claim(good);
    exporter.wait_for("dlock_worker_", SOON, |m| claimed(m, "orders") == Some(1.0));
    let many = format!("[{}]", vec![r#"{"store":"main","lock":"x"}"#; 300].join(","));
    let large = format!("[\"hunter2{}\"]", "x".repeat(100_000));
    for hostile in ["\"hunter2\"", "[{\"store\": \"main\"}]", "[1, 2", &many, &large] {
        claim(hostile);
        exporter.wait_for("dlock_worker_claim", SOON, |m| claimed(m, "orders").is_none());
        claim(good);
        exporter.wait_for("dlock_worker_claim", SOON, |m| claimed(m, "orders") == Some(1.0));
    }
    claim(r#"[{"store": "main", "lock": "a\"} 1\n<b>"}]"#);
    exporter.wait_for("dlock_worker_claim", SOON, |m| {
        m.all("dlock_worker_claim_info", &[]).iter().any(|s| s.label("lock").contains("<b>"))
    });
    claim("null");
    exporter
        .wait_for("dlock_worker_claim", SOON, |m| m.all("dlock_worker_claim_info", &[]).is_empty());
    claim(good);
    exporter.wait_for("dlock_worker_claim", SOON, |m| claimed(m, "orders") == Some(1.0));
    server.pause();
    wait_until("claims are withheld", SOON, || {
        claimed(&exporter.metrics(), "orders").is_none().then_some(())
    });
    server.resume();
    exporter.wait_for("dlock_worker_claim", SOON, |m| claimed(m, "orders") == Some(1.0));
    for_a_while(Duration::from_millis(300));
    let pages = ["/metrics", "/api/v1/workers", "/api/v1/locks", "/"].map(|p| exporter.get(p).body);
    let said = exporter.log() + &pages.concat();
    assert!(!said.contains("hunter2"), "a token is printed");
    assert!(said.contains("claim_unreadable"));
}
