//! Slow commands on locks, as the slow logs of four servers tell of them to the user that the README grants; to users that
//! may not read them, or on Valkey by its own command only. Owners' tokens, which those logs show in clear, appear nowhere.

use std::time::Duration;

use serde_json::Value;

use crate::support::{
    Exporter, ExporterSetup, Flavor, Metrics, PASSWORD, RedisServer, RedisSetup,
    acl_line_of_the_readme, wait_until,
};

const SOON: Duration = Duration::from_secs(30);
const ENTRIES: &str = "dlock_store_slowlog_lock_entries_total";
const KEY: &str = "lock:orders";
const TOKENS: [&str; 2] =
    ["f3a9c0de-0000-4000-8000-00000000beef", "0badc0de-1111-4111-8111-00000000cafe"];
/// Of the tokens, by `sha256sum`.
const PRINTS: [&str; 2] = ["884dcf2bb4e0", "a227de649727"];
/// Keeps the server busy for a while.
const BUSY: &str = "local n = 0 for i = 1, 1000000 do n = n + i end return n";

/// The README's user under another name, without what stands there of slow logs, and with this instead.
fn user(name: &str, grants: &str) -> String {
    let line = acl_line_of_the_readme().replace(" +slowlog|get", grants);
    line.replace("ACL SETUSER dlock", &format!("user {name}")).replace("PASSWORD", PASSWORD)
}

fn store(name: &str, server: &RedisServer, user: &str, slowlog: &str) -> String {
    let (url, long) = (server.url(), long_key());
    format!(
        "  {name}:
    url: {url}
    username: {user}
    slowlog: {slowlog}
    locks:
      - {{ name: orders, key: '{KEY}', lease: 60s }}
      - {{ name: long, key: '{long}' }}
"
    )
}

/// Longer than what a server logs of an argument.
fn long_key() -> String {
    format!("lock:{}", "x".repeat(200))
}

/// Runs a command that is logged however quick it is.
fn logged(server: &RedisServer, words: &[&str]) {
    server.cmd(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    server.cmd(words);
    server.cmd(&["CONFIG", "SET", "slowlog-log-slower-than", "-1"]);
}

fn entries(m: &Metrics, store: &str) -> Option<f64> {
    m.value(ENTRIES, &[("store", store)])
}

fn slow_commands(exporter: &Exporter, store: &str, lock: &str) -> Vec<Value> {
    let body = exporter.get(&format!("/api/v1/locks/{store}/{lock}")).body;
    for token in TOKENS {
        assert!(!body.contains(token), "a token is shown: {body}");
    }
    let one: Value = serde_json::from_str(&body).expect("it is JSON");
    one["lock"]["slow_commands"].as_array().expect("a list").clone()
}

#[test]
fn slow_commands_on_locks_are_told_on_each_server_and_tokens_nowhere() {
    let quiet = ["--slowlog-log-slower-than", "-1"];
    let mut servers = Flavor::ALL.map(|flavor| {
        let setup = RedisSetup::default().flavor(flavor).arguments(&quiet);
        let setup = setup.acl(&user("bare", ""));
        let setup = match flavor {
            Flavor::Valkey91 => setup.acl(&user("other", " +commandlog|get +client|no-touch")),
            _ => setup,
        };
        (format!("{flavor:?}").to_lowercase(), setup.start())
    });
    let mut stores: String = servers.iter().map(|(n, s)| store(n, s, "dlock", "on")).collect();
    stores += &store("bare", &servers[0].1, "bare", "on");
    stores += &store("other", &servers[3].1, "other", "on");
    let setup = ExporterSetup::file(&format!("poll_interval: 300ms\nstores:\n{stores}"));
    let names = servers.iter().map(|(name, _)| name.as_str()).chain(["bare", "other"]);
    let setup = names.fold(setup, |setup, name| {
        setup.env(&format!("DLOCK__STORES__{}__PASSWORD", name.to_uppercase()), PASSWORD)
    });
    // What is there before the first look is shown and not counted.
    servers.iter().for_each(|(_, server)| logged(server, &["EXISTS", KEY]));
    let mut exporter = setup.start();
    let reads: Vec<String> =
        servers.iter().map(|(name, _)| name.clone()).chain(["other".to_owned()]).collect();
    let on_each = |exporter: &mut Exporter, wanted: f64| {
        exporter.wait_for(&format!("{ENTRIES} {wanted} on each"), SOON, |m| {
            reads.iter().all(|name| entries(m, name) == Some(wanted))
        });
    };
    on_each(&mut exporter, 0.0);

    for (_, server) in &servers {
        logged(server, &["SET", KEY, TOKENS[0], "NX", "PX", "60000"]);
        logged(server, &["EVAL", BUSY, "1", KEY, TOKENS[0]]);
    }
    on_each(&mut exporter, 2.0);
    for name in &reads {
        is_told(&exporter, name);
    }
    a_refused_one_costs_itself(&mut exporter, &servers[0].1);

    // Another owner within the same lease: a hint, and no more.
    for (_, server) in &servers {
        server.cmd(&["DEL", KEY]);
        logged(server, &["SET", KEY, TOKENS[1], "NX", "PX", "60000"]);
        logged(server, &["EVAL", BUSY, "1", &long_key()]);
    }
    on_each(&mut exporter, 3.0);
    let m = exporter.metrics();
    for name in &reads {
        let hinted = [("store", name.as_str()), ("lock", "orders"), ("kind", "slowlog")];
        assert_eq!(m.value("dlock_contention_events_total", &hinted), Some(1.0), "{name}");
    }
    assert_eq!(m.sum("dlock_contested", &[]), 0.0, "it raises nothing");
    // The key of the last script was cut: it may be that lock's.
    for name in &reads {
        let (long, _) = wait_until("the long key's command", SOON, || {
            slow_commands(&exporter, name, "long").pop()
        });
        assert_eq!((&long["touches"], &long["truncated"]), (&"maybe".into(), &true.into()));
    }

    // Ids begin at 0 again. A command inside a script has an entry of its own.
    let (name, server) = &mut servers[1];
    server.restart();
    logged(server, &["EVAL", "return redis.call('GET', KEYS[1])", "1", KEY]);
    let restarted = [("store", name.as_str())];
    exporter.wait_for(&format!("dlock_store_restarts_total {ENTRIES} 5"), SOON, |m| {
        m.sum("dlock_store_restarts_total", &restarted) == 1.0 && entries(m, name) == Some(5.0)
    });
    let m = exporter.metrics();
    assert!(reads.iter().filter(|n| *n != name).all(|n| entries(&m, n) == Some(3.0)));
    let inside = slow_commands(&exporter, name, "orders");
    let inside = inside.iter().rfind(|c| c["command"] == "GET").expect("what a script did");
    assert_eq!(inside["client_address"], Value::Null, "it is not said whose");
    let log = exporter.log();
    assert!(TOKENS.iter().all(|token| !log.contains(token)), "a token is logged: {log}");
}

/// The lock was taken by `SET` and read by a slow script.
fn is_told(exporter: &Exporter, store: &str) {
    let all = slow_commands(exporter, store, "orders");
    let words: Vec<&Value> = all.iter().map(|c| &c["command"]).collect();
    assert_eq!(words, ["EXISTS", "SET", "EVAL"], "{store}");
    assert_eq!(all[1]["owner_fingerprint"], PRINTS[0], "{store}");
    assert_eq!(all[2]["owner_fingerprint"], Value::Null);
    let now = dlock_exporter::clock::wall_secs();
    for command in &all {
        assert_eq!((&command["touches"], &command["truncated"]), (&"key".into(), &false.into()));
        let address = command["client_address"].as_str().expect("they tell it");
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        let at = command["timestamp"].as_f64().expect("a number");
        assert!((now - 300.0..now + 5.0).contains(&at), "{at}, and it is {now}");
    }
    let took = all[2]["duration_seconds"].as_f64().expect("a number");
    assert!((0.000_1..60.0).contains(&took), "{took}");
}

/// A user that may not read it: the slow log is lost, which is shown, and nothing else.
fn a_refused_one_costs_itself(exporter: &mut Exporter, server: &RedisServer) {
    let lost =
        [("store", "bare"), ("lock", "orders"), ("aspect", "slowlog"), ("reason", "permission")];
    exporter.wait_for("dlock_coverage_lost dlock_store_permission_denied", SOON, |m| {
        let refused = [("store", "bare"), ("command", "slowlog|get")];
        m.value("dlock_store_permission_denied", &refused) == Some(1.0)
            && m.value("dlock_coverage_lost", &lost) == Some(1.0)
    });
    let m = exporter.metrics();
    assert_eq!(entries(&m, "bare"), None, "not known is not zero");
    assert_eq!(m.value("dlock_lock_held", &lost[..2]), Some(1.0));
    assert_eq!(m.sum("dlock_coverage_lost", &[("store", "bare")]), 2.0, "of both locks, no more");
    let denied = |m: &Metrics| {
        let all = m.all("dlock_store_permission_denied", &[]);
        let denied = all.iter().filter(|s| s.value == 1.0);
        denied
            .map(|s| (s.label("store").to_owned(), s.label("command").to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(denied(&m), [("bare".to_owned(), "slowlog|get".to_owned())]);
    let redis::Value::Array(log) = server.cmd(&["ACL", "LOG"]) else { panic!("no list") };
    assert_eq!(log.len(), 1, "asked for once");
}
