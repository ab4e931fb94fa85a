//! The exporter as a daemon: its flags, its config's mistakes, reloads, its end, its routes.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::{
    Exporter, ExporterSetup, RedisServer, WorkerSetup, acl_line_of_the_readme, wait_until,
};

const SOON: Duration = Duration::from_secs(15);

fn config(server: &RedisServer, lock: &str) -> String {
    format!(
        "poll_interval: 300ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: {lock}, key: 'lock:{lock}', lease: 5s, holder: '^(?P<worker>[^:]+):' }}
",
        server.url()
    )
}

const BAD: &str = "poll_interval: 5
stores:
  main:
    url: redis://127.0.0.1:1
    locks:
      - { name: orders, key: 'lock:orders', leese: 30s }
      - { name: jobs, match: 'lock:job:*', capture: '(' }
workers:
  sample:
    match: 'orders-.*'
    heartbeat: { redis: { store: mian, key: 'hb:{worker}' } }
";

/// What each mistake in [`BAD`] must be called by.
const MISTAKES: [&str; 4] = ["poll_interval", "leese", "stores.main.locks[1].capture", "mian"];

#[test]
fn a_config_can_be_checked_without_starting() {
    let server = RedisServer::start();
    let good = ExporterSetup::file(&config(&server, "orders")).password();
    let mut good = good.arguments(&["--config.check"]).spawn();
    let status = good.wait(SOON);
    assert!(status.success(), "{status}: {}", good.log());

    let mut bad = ExporterSetup::file(BAD).arguments(&["--config.check"]).spawn();
    assert!(!bad.wait(SOON).success());
    for mistake in MISTAKES {
        assert!(bad.log().contains(mistake), "{mistake} is not reported:\n{}", bad.log());
    }
    assert!(bad.log().contains("lease"), "no did-you-mean for leese:\n{}", bad.log());
}

#[test]
fn a_bad_config_does_not_start_and_every_mistake_is_told() {
    let mut exporter = ExporterSetup::file(BAD).spawn();
    let status = exporter.wait(SOON);
    assert!(status.code().is_some_and(|code| code != 0), "{status}");
    for mistake in MISTAKES {
        assert!(exporter.log().contains(mistake), "{mistake}:\n{}", exporter.log());
    }
}

#[test]
fn a_missing_file_and_an_unknown_flag_are_told() {
    let mut missing =
        ExporterSetup::default().arguments(&["--config.file", "/nonexistent/d.yml"]).spawn();
    assert!(!missing.wait(SOON).success());
    assert!(missing.log().contains("/nonexistent/d.yml"), "{}", missing.log());

    let mut unknown = ExporterSetup::default().arguments(&["--web.listen-adress", ":0"]).spawn();
    assert!(!unknown.wait(SOON).success());
    assert!(unknown.log().contains("--web.listen-address"), "{}", unknown.log());
}

/// Reloads with `reload` and sees a new lock arrive while the old one keeps its counters; then a bad file changes nothing.
fn reloads(reload: impl Fn(&Exporter)) {
    let server = RedisServer::start();
    let mut exporter = Exporter::start(&config(&server, "orders"));
    let _a = WorkerSetup::new(&server, "orders-1", "lock:orders").lease(5.0, 0.5).start();
    let _b = WorkerSetup::new(&server, "bills-1", "lock:bills").lease(5.0, 0.5).start();
    exporter.wait_for("dlock_lease_renewals_total", SOON, |m| {
        m.sum("dlock_lease_renewals_total", &[("lock", "orders")]) >= 4.0
    });
    let before = exporter.metrics().sum("dlock_lease_renewals_total", &[("lock", "orders")]);

    let both = config(&server, "orders")
        + "      - { name: bills, key: 'lock:bills', lease: 5s, holder: '^(?P<worker>[^:]+):' }\n";
    exporter.rewrite(&both);
    reload(&exporter);
    exporter.wait_for("dlock_lock_held of bills", SOON, |m| {
        m.is("dlock_lock_held", &[("lock", "bills")], 1.0)
            && m.is("dlock_lock_held", &[("lock", "orders")], 1.0)
    });
    let m = exporter.metrics();
    let after = m.sum("dlock_lease_renewals_total", &[("lock", "orders")]);
    assert!(after >= before, "a reload must keep counters: {before}, then {after}");
    assert!(m.is("dlock_exporter_config_last_reload_successful", &[], 1.0));
    assert_eq!(m.sum("dlock_signal_rises_total", &[]), 0.0);

    exporter.rewrite(BAD);
    reload(&exporter);
    exporter.wait_for("dlock_exporter_config_last_reload_successful 0", SOON, |m| {
        m.is("dlock_exporter_config_last_reload_successful", &[], 0.0)
            && m.is("dlock_lock_held", &[("lock", "bills")], 1.0)
    });
    for mistake in MISTAKES {
        assert!(exporter.log().contains(mistake), "{mistake}:\n{}", exporter.log());
    }
    exporter.never("a lock lost by a bad reload", Duration::from_secs(2), |m| {
        !m.is("dlock_lock_held", &[("lock", "orders")], 1.0)
    });

    exporter.rewrite(&both);
    reload(&exporter);
    exporter.wait_for("dlock_exporter_config_last_reload_successful 1", SOON, |m| {
        m.is("dlock_exporter_config_last_reload_successful", &[], 1.0)
    });
    assert!(exporter.stop().success());
}

#[test]
fn sighup_reloads() {
    reloads(|exporter| exporter.signal(Signal::HUP));
}

#[test]
fn a_post_reloads_and_tells_the_mistakes() {
    reloads(|exporter| {
        let answer = exporter.request("POST", "/-/reload");
        if answer.status != 200 {
            assert_eq!(answer.status, 500, "{}", answer.body);
            for mistake in MISTAKES {
                assert!(answer.body.contains(mistake), "{mistake}:\n{}", answer.body);
            }
        }
    });
}

#[test]
fn sigterm_ends_it_with_status_0_even_while_redis_stands_still() {
    let server = RedisServer::start();
    let mut exporter = Exporter::start(&config(&server, "orders"));
    server.pause();
    exporter
        .wait_for("dlock_store_up 0", SOON, |m| m.is("dlock_store_up", &[("store", "main")], 0.0));
    let status = exporter.stop();
    assert_eq!(status.code(), Some(0), "{}", exporter.log());
}

#[test]
fn routes_answer_as_documented() {
    let server = RedisServer::start();
    let exporter = Exporter::start(&config(&server, "orders"));
    let metrics = exporter.get("/metrics");
    assert_eq!(metrics.status, 200);
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(
        metrics.body.contains("# HELP dlock_store_up ")
            && metrics.body.contains("dlock_exporter_build_info{")
    );
    for (method, path, status) in [
        ("GET", "/", 200),
        ("GET", "/-/healthy", 200),
        ("GET", "/-/ready", 200),
        ("GET", "/api/v1/locks", 200),
        ("GET", "/api/v1/locks/main/orders", 200),
        ("GET", "/api/v1/locks/main/none", 404),
        ("GET", "/none", 404),
        ("GET", "/-/reload", 405),
        ("POST", "/metrics", 405),
    ] {
        assert_eq!(exporter.request(method, path).status, status, "{method} {path}");
    }
    let document: serde_json::Value =
        serde_json::from_str(&exporter.get("/api/v1/locks").body).unwrap();
    assert_eq!(document["locks"][0]["lock"], "orders");
}

#[test]
fn an_owner_token_and_the_password_are_never_shown() {
    let server = RedisServer::start();
    let exporter = ExporterSetup::file(&config(&server, "orders")).password();
    let mut exporter = exporter.arguments(&["--log.level", "debug"]).start();
    let mut worker = WorkerSetup::new(&server, "orders-1", "lock:orders").lease(5.0, 0.5).start();
    exporter.wait_for("dlock_lock_held 1", SOON, |m| {
        m.is("dlock_lock_held", &[("lock", "orders")], 1.0)
    });
    let token = server.text(&["GET", "lock:orders"]);
    let secret = token.rsplit(':').next().unwrap();
    assert_eq!(secret.len(), 32, "the random part of the token");
    for path in ["/", "/metrics", "/api/v1/locks", "/api/v1/locks/main/orders"] {
        assert!(!exporter.get(path).body.contains(secret), "{path} shows an owner token");
    }
    worker.stop();
    exporter.wait_for("dlock_lock_held 0", SOON, |m| {
        m.is("dlock_lock_held", &[("lock", "orders")], 0.0)
    });
    assert!(!exporter.log().contains(secret), "the log shows an owner token");
    assert!(!exporter.log().contains("watch-only"), "the log shows the password");
}

#[test]
fn it_starts_without_a_file() {
    let server = RedisServer::start();
    let url = server.url();
    let setup =
        ExporterSetup::default().arguments(&["--redis.url", &url, "--lock.pattern", "lock:*"]);
    let mut exporter = setup.start();
    let _a = WorkerSetup::new(&server, "orders-1", "lock:orders").lease(5.0, 0.5).start();
    let _b = WorkerSetup::new(&server, "bills-1", "lock:bills").lease(5.0, 0.5).start();
    exporter.wait_for("dlock_lock_held", SOON, |m| {
        ["lock:orders", "lock:bills"]
            .iter()
            .all(|l| m.is("dlock_lock_held", &[("store", "main"), ("lock", l)], 1.0))
    });
    assert!(exporter.stop().success());
}

#[test]
fn it_only_reads() {
    let server = RedisServer::start();
    let mut exporter = Exporter::start(&config(&server, "orders"));
    let _a = WorkerSetup::new(&server, "orders-1", "lock:orders").lease(5.0, 0.5).start();
    exporter.wait_for("dlock_lease_renewals_total", SOON, |m| {
        m.sum("dlock_lease_renewals_total", &[]) >= 3.0
    });
    let line = acl_line_of_the_readme();
    let allowed: Vec<&str> = line.split(' ').filter_map(|word| word.strip_prefix('+')).collect();
    // The sample worker, the server's first check and this test use these.
    let others = ["ping", "get", "set", "eval", "pexpire", "client|setinfo", "acl|log", "info"];
    let (stats, _) = wait_until("commandstats", SOON, || {
        let stats = server.text(&["INFO", "commandstats"]);
        stats.contains("cmdstat_exec:").then_some(stats)
    });
    for line in stats.lines().filter_map(|l| l.strip_prefix("cmdstat_")) {
        let name = line.split(':').next().unwrap();
        assert!(allowed.contains(&name) || others.contains(&name), "{name} reached Redis: {line}");
    }
    // Nothing was even tried that the line does not allow, but for what tells a refused feature once.
    let refused = server.cmd(&["ACL", "LOG"]);
    let entries = matches!(&refused, redis::Value::Array(list) if list.len() <= 1);
    assert!(entries, "the exporter tries what it may not do: {refused:?}");
}
