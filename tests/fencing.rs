//! Fencing tokens and side effects, live: a counter in Redis, a resource behind HTTP that accepts and refuses, a server
//! that loses its data, and answers that are none.

use std::time::Duration;

use crate::support::{
    Endpoint, Exporter, Metrics, RedisServer, RedisSetup, Reply, SLACK, acl_line_of_the_readme,
    for_a_while,
};

const POLL: Duration = Duration::from_millis(200);
const SOON: Duration = Duration::from_secs(15);

/// A server whose user `dlock` may also read these keys.
fn server_with(patterns: &str) -> RedisServer {
    let line = acl_line_of_the_readme().replace("ACL SETUSER", "user");
    let line = line.replace("PASSWORD", "watch-only") + " " + patterns;
    RedisSetup::default().acl(&line).start()
}

fn config(server: &RedisServer, orders: &str) -> String {
    format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: plain, key: 'lock:plain' }}
      - name: orders
        key: 'lock:orders'
{orders}",
        server.url()
    )
}

fn hold(server: &RedisServer) {
    for lock in ["plain", "orders"] {
        server.cmd(&["SET", &format!("lock:{lock}"), "token", "PX", "600000"]);
    }
}

fn state(token: &str) -> Reply {
    Reply::Answer(200, format!("{{\"resource\": {{\"last_token\": {token}}}}}"))
}

fn refused(n: u64) -> Reply {
    Reply::Answer(200, format!("# TYPE refused_total counter\nrefused_total{{why=\"old\"}} {n}\n"))
}

fn issued(m: &Metrics) -> Option<f64> {
    m.value("dlock_fencing_token_issued", &[("lock", "orders")])
}

fn accepted(m: &Metrics) -> Option<f64> {
    m.value("dlock_fencing_token_accepted", &[("lock", "orders"), ("resource", "db")])
}

fn regressions(m: &Metrics, resource: &str) -> Option<f64> {
    let labels = [("lock", "orders"), ("resource", resource)];
    m.value("dlock_fencing_regressions_total", &labels)
}

/// The locks of which this cannot be judged for this reason.
fn blind(m: &Metrics, reason: &str) -> Option<f64> {
    m.value("dlock_locks_blind", &[("aspect", "fencing"), ("reason", reason)])
}

#[test]
fn tokens_are_followed_until_the_counter_is_lost_and_the_resource_takes_an_old_one() {
    let mut server = server_with("%R~fence:*");
    let (db, counts) = (Endpoint::start(state("null")), Endpoint::start(refused(40)));
    hold(&server);
    let mut exporter = Exporter::start(&config(
        &server,
        &format!(
            "        fencing:
          issued: {{ redis: {{ key: 'fence:{{lock}}' }} }}
          accepted: [{{ name: db, http: {{ url: '{}', json: /resource/last_token }} }}]
          rejected: [{{ name: db, http: {{ url: '{}', metric: 'refused_total{{why=\"old\"}}' }} }}]
",
            db.url("/state"),
            counts.url("/metrics"),
        ),
    ));
    exporter.wait_for("dlock_fencing_ dlock_locks_blind", SOON, |m| {
        let start = [regressions(m, ""), regressions(m, "db")] == [Some(0.0), Some(0.0)];
        let rejections = m.value("dlock_fencing_rejections_total", &[("resource", "db")]);
        start && rejections == Some(0.0) && blind(m, "no_history") == Some(1.0)
    });
    let m = exporter.metrics();
    assert_eq!((issued(&m), accepted(&m)), (None, None), "nobody has a token yet");
    assert_eq!(blind(&m, "not_configured"), Some(1.0), "nobody checks the other lock's tokens");
    for n in 1..=3 {
        server.cmd(&["INCR", "fence:orders"]);
        db.set(state(&n.to_string()));
        exporter.wait_for("dlock_fencing_", SOON, move |m| {
            (issued(m), accepted(m)) == (Some(f64::from(n)), Some(f64::from(n)))
                && blind(m, "no_history") == Some(0.0)
        });
    }
    counts.set(refused(42));
    exporter.wait_for("dlock_fencing_rejections", SOON, |m| {
        m.value("dlock_fencing_rejections_total", &[("resource", "db")]) == Some(2.0)
    });

    // The counter is lost with the server's data, begins anew, and its next token passes at the resource.
    server.restart();
    hold(&server);
    exporter.wait_for("dlock_fencing_", SOON, |m| regressions(m, "") == Some(1.0));
    server.cmd(&["INCR", "fence:orders"]);
    db.set(state("1"));
    exporter.wait_for("dlock_fencing_", SOON, |m| {
        (issued(m), accepted(m), regressions(m, "db")) == (Some(1.0), Some(1.0), Some(1.0))
    });
    for_a_while(POLL * 4);
    let m = exporter.metrics();
    assert_eq!((regressions(&m, ""), regressions(&m, "db")), (Some(1.0), Some(1.0)), "each once");
    let answer = exporter.get("/api/v1/locks/main/orders");
    assert!(answer.body.contains("fencing_regressed"), "{}", answer.body);
    assert!(exporter.get("/locks/main/orders").body.contains("Fencing and side effects"));
    assert!(exporter.get("/").body.contains("the fencing token that db accepted went down"));
}

/// A resource that is down says nothing of tokens, and costs no other series.
#[test]
fn a_resource_that_fails_is_blind_and_costs_itself_only() {
    let server = server_with("%R~fence:*");
    let db = Endpoint::start(state("33"));
    hold(&server);
    server.cmd(&["SET", "fence:orders", "34"]);
    let mut exporter = Exporter::start(&config(
        &server,
        &format!(
            "        fencing:
          issued: {{ redis: {{ key: 'fence:orders' }} }}
          accepted: [{{ name: db, http: {{ url: '{}', json: /resource/last_token }} }}]
",
            db.url("/state")
        ),
    ));
    let both = |m: &Metrics| (issued(m), accepted(m)) == (Some(34.0), Some(33.0));
    exporter.wait_for("dlock_fencing_", SOON, both);
    let huge = format!("{{\"resource\": \"{}\"}}", "hunter2".repeat(700_000));
    for reply in [
        Reply::Answer(500, "hunter2".into()),
        Reply::Answer(200, "hunter2 is no JSON".into()),
        Reply::Answer(200, huge),
        state("\"hunter2\""),
        state("-1"),
        state("1.5"),
        state("[12]"),
        Reply::Close,
        Reply::Silence,
        Reply::Bytes("hunter2\r\n\r\n"),
    ] {
        let what = format!("{:.60}", format!("{reply:?}"));
        db.set(reply);
        exporter.wait_for(&format!("dlock_fencing_ after {what}"), SOON, |m| {
            (issued(m), accepted(m)) == (Some(34.0), None)
                && m.value("dlock_lock_held", &[("lock", "orders")]) == Some(1.0)
                && blind(m, "unreachable") == Some(1.0)
        });
        db.set(state("33"));
        exporter.wait_for("dlock_fencing_", SOON, both);
    }
    // The counter becomes something else, then a number again.
    server.cmd(&["DEL", "fence:orders"]);
    server.cmd(&["RPUSH", "fence:orders", "35"]);
    exporter.wait_for("dlock_fencing_", SOON, |m| {
        (issued(m), accepted(m)) == (None, Some(33.0))
            && m.value("dlock_lock_held", &[("lock", "orders")]) == Some(1.0)
    });
    server.cmd(&["SET", "fence:orders", &"9".repeat(1 << 20)]);
    for_a_while(POLL * 3);
    server.cmd(&["SET", "fence:orders", "35"]);
    exporter.wait_for("dlock_fencing_", SOON, |m| issued(m) == Some(35.0));
    let m = exporter.metrics();
    let failures = [("poller", "fencing"), ("target", "main")];
    assert!(m.sum("dlock_exporter_poll_failures_total", &failures) >= 10.0);
    assert_eq!(regressions(&m, "db"), Some(0.0), "no answer is no token");
    let said = exporter.log() + &exporter.get("/api/v1/locks").body;
    assert!(!said.contains("hunter2"), "an answer is quoted");
    assert!(said.contains("source_unreadable") && said.contains("source_readable"));
}

#[test]
fn duplicates_of_side_effects_are_counted_and_requests_under_way_are_none() {
    let server = server_with("%R~mail:*");
    hold(&server);
    server.cmd(&["MSET", "mail:sent", "100", "mail:requests", "97"]);
    let mut exporter = Exporter::start(&config(
        &server,
        "        effects: [{ name: mail, total: { redis: { key: 'mail:sent' } }, distinct: { redis: { key: 'mail:requests' } } }]
",
    ));
    let counts = |m: &Metrics| {
        let at = [("lock", "orders"), ("resource", "mail")];
        (m.value("dlock_effects_total", &at), m.value("dlock_effect_duplicates_total", &at))
    };
    let polls = |m: &Metrics| m.sum("dlock_exporter_polls_total", &[("poller", "effects")]);
    exporter.wait_for("dlock_eff dlock_exporter_polls", SOON, |m| polls(m) >= 2.0);
    assert_eq!(counts(&exporter.metrics()), (Some(0.0), Some(0.0)), "what was there is history");
    for _ in 0..5 {
        server.cmd(&["INCR", "mail:requests"]);
        server.cmd(&["INCR", "mail:sent"]);
    }
    exporter.wait_for("dlock_eff", SOON, |m| counts(m) == (Some(5.0), Some(0.0)));
    server.cmd(&["INCRBY", "mail:sent", "2"]);
    let after = exporter.wait_for("dlock_eff", SOON, |m| counts(m) == (Some(7.0), Some(2.0)));
    assert!(after <= POLL * 4 + SLACK, "{after:?}");
    let answer = exporter.get("/api/v1/locks/main/orders").body;
    assert!(answer.contains("effects_duplicated"), "{answer}");
    assert!(exporter.log().contains("effects_duplicated"), "a line in the log");
    assert!(exporter.get("/").body.contains("on mail beyond one for each request"));
    server.cmd(&["FLUSHALL"]);
    server.cmd(&["INCR", "mail:sent"]);
    server.cmd(&["INCR", "mail:requests"]);
    exporter.wait_for("dlock_eff", SOON, |m| counts(m) == (Some(8.0), Some(2.0)));
}
