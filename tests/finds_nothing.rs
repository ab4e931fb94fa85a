//! What is configured and finds nothing: sources of tokens, counts and claims whose key was never there, and a pointer into
//! JSON that misses the owner. Each is told once, and never taken for what it would have been.

use std::time::Duration;

use crate::support::{Exporter, Metrics, RedisServer, for_a_while};

const POLL: Duration = Duration::from_millis(200);
const SOON: Duration = Duration::from_secs(15);

fn blind(m: &Metrics, lock: &str, aspect: &str) -> Vec<String> {
    let lost = m.all("dlock_coverage_lost", &[("lock", lock), ("aspect", aspect)]);
    lost.iter().map(|s| s.label("reason").to_owned()).collect()
}

fn locks_blind(m: &Metrics, reason: &str) -> Option<f64> {
    m.value("dlock_locks_blind", &[("aspect", "fencing"), ("reason", reason)])
}

#[test]
fn each_is_told_once_with_the_right_reason_until_there_is_something() {
    let server = RedisServer::start();
    let set = |key: &str, value: &str| drop(server.cmd(&["SET", key, value, "PX", "600000"]));
    for lock in ["lock:orders", "lock:pay-1", "lock:pay-2"] {
        set(lock, "hunter2");
    }
    set("lock:imports", r#"{"holder": {"id": "hunter2"}}"#);
    set("lock:json-1", r#"{"holder": {"id": "hunter2"}}"#);
    set("lock:json-2", r#"{"holder": {"id": "hunter2"}}"#);
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - name: orders
        key: 'lock:orders'
        fencing: {{ issued: {{ redis: {{ key: 'lock:fence' }} }} }}
        effects: [{{ name: mail, total: {{ redis: {{ key: 'lock:sent' }} }} }}]
      - name: 'pay-{{1}}'
        match: 'lock:pay-*'
        capture: '^lock:pay-(.+)$'
        fencing:
          accepted: [{{ name: db, redis: {{ key: 'lock:db:{{lock}}' }} }}]
          rejected: [{{ name: db, redis: {{ key: 'lock:refused:{{lock}}' }} }}]
      - {{ name: imports, key: 'lock:imports', owner_json: /holder/idd }}
      - {{ name: 'json-{{1}}', match: 'lock:json-*', capture: '^lock:json-(.+)$', owner_json: /owner }}
workers:
  orders: {{ names: [orders-1], claim: {{ redis: {{ store: main, key: 'hb:{{worker}}' }} }} }}
",
        server.url()
    ));
    exporter.wait_for("dlock_ what finds nothing is blind", SOON, |m| {
        let never = ["no_history".to_owned()];
        blind(m, "orders", "fencing") == never
            && blind(m, "pay-1", "fencing") == never
            && blind(m, "imports", "holder") == ["unsupported"]
            && locks_blind(m, "no_history") == Some(3.0)
            // The other lock by its key, which has no fencing at all.
            && locks_blind(m, "not_configured") == Some(1.0)
    });
    for_a_while(POLL * 5);
    let page = exporter.get("/locks/main/imports").body;
    assert!(page.contains("<code>/holder/idd</code> finds nothing in the value"), "{page}");
    let api = exporter.get("/api/v1/locks/main/imports").body;
    assert!(api.contains("`/holder/idd` finds nothing in the value"), "{api}");
    let page = exporter.get("/locks/main/orders").body;
    assert!(page.contains("fencing: no token seen yet"), "{page}");

    let log = exporter.log();
    for once in [
        "the issued fencing token: none seen yet",
        "the side effects on mail: none seen yet",
        // Of the two locks of a pattern one is enough.
        "the token that db accepted: none seen yet",
        "what db rejected: none seen yet",
        "no claim seen yet",
        "`owner_json: /holder/idd` finds no owner",
        "`owner_json: /owner` finds no owner",
    ] {
        let told = log.lines().filter(|line| line.contains(once)).count();
        assert_eq!(told, 1, "{once} in\n{log}");
    }
    assert!(!log.contains("token can be read again"), "what was never there is not back:\n{log}");

    set("lock:fence", "1");
    set("lock:db:pay-1", "1");
    set("lock:db:pay-2", "1");
    set("lock:imports", r#"{"holder": {"id": 7, "idd": "hunter2"}}"#);
    exporter.wait_for("dlock_ what is there now is judged", SOON, |m| {
        m.is("dlock_fencing_token_issued", &[("lock", "orders")], 1.0)
            && ["orders", "pay-1", "pay-2"].iter().all(|l| blind(m, l, "fencing").is_empty())
            && blind(m, "imports", "holder").is_empty()
            // Nobody is known to check the tokens that are there now.
            && locks_blind(m, "not_configured") == Some(2.0)
    });
    let said = exporter.log() + &exporter.get("/api/v1/locks").body + &exporter.get("/").body;
    assert!(said.contains("the issued fencing token is there now"), "{said}");
    assert!(!said.contains("hunter2"), "a value is shown:\n{said}");
}
