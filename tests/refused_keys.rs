//! Patterns whose keys are refused, too many or no locks at all, live: what is missing is told on the page, in the API and
//! in the metrics, in a line of the log for each pattern, and the server is not asked for what it refuses again and again.

use std::time::Duration;

use crate::support::{Driver, Exporter, Metrics, RedisServer, wait_until};

const SOON: Duration = Duration::from_secs(30);
const BLIND: [(&str, &str); 2] = [("aspect", "lease"), ("reason", "permission")];

fn blind(m: &Metrics) -> f64 {
    m.value("dlock_locks_blind", &BLIND).unwrap_or_default()
}

fn document(exporter: &Exporter) -> serde_json::Value {
    serde_json::from_str(&exporter.get("/api/v1/locks").body).expect("it is JSON")
}

/// Lines of the log that say this of this pattern.
fn lines(exporter: &Exporter, what: &str, pattern: &str) -> usize {
    exporter.log().lines().filter(|l| l.contains(what) && l.contains(pattern)).count()
}

#[test]
fn what_may_not_be_read_is_told_and_not_asked_for_again_and_again() {
    let server = RedisServer::start();
    server.cmd(&["CONFIG", "SET", "acllog-max-len", "100000"]);
    for n in 0..11 {
        server.cmd(&["SET", &format!("amb:{n}"), "w", "EX", "300"]);
        server.cmd(&["SET", &format!("lock:many:{n}"), "w", "EX", "300"]);
    }
    (0..7).for_each(|n| {
        server.cmd(&["SET", &format!("lock:number:{n}"), &n.to_string()]);
    });
    server.cmd(&["SET", "lock:number:lock", "w", "EX", "300"]);
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: 'amb-{{1}}', match: 'amb:*', capture: '^amb:(.+)$' }}
      - {{ name: 'g-{{1}}', match: 'two:*', capture: '^two:(.+)$', group: true, max_locks: 20000 }}
      - {{ name: 'many-{{1}}', match: 'lock:many:*', capture: '^lock:many:(.+)$', max_locks: 5 }}
      - {{ name: 'number-{{1}}', match: 'lock:number:*', capture: '^lock:number:(.+)$', max_locks: 8 }}
",
        server.url()
    ));
    let m = exporter.metrics();
    let group = [("group", "g-*"), ("state", "held")];
    assert_eq!(m.value("dlock_group_locks", &group), Some(0.0), "there is no key of it");

    // Short-lived locks that are all refused, for some rounds over all keys.
    let churn = Driver::start(&server, 0, |c| {
        let mut n = 0;
        while c.wait(Duration::from_millis(20)) {
            for _ in 0..10 {
                n += 1;
                c.cmd(&["SET", &format!("two:{n}"), "w", "PX", "6000"]);
            }
        }
    });
    exporter.wait_for("dlock_locks_blind of more keys than are asked for", SOON, |m| {
        blind(m) > 2500.0 && m.value("dlock_group_locks", &group).is_none()
    });
    let all = document(&exporter);
    let store = &all["stores"][0];
    assert!(store["refused_keys"].as_u64() > Some(2500), "{store}");
    assert_eq!(store["refused_examples"].as_array().map(Vec::len), Some(5));
    assert!(
        all["groups"][0]["held"].is_null()
            && all["groups"][0]["refused_keys"].as_u64() > Some(2500)
    );
    let page = exporter.get("/").body.replace("<wbr>", "");
    assert!(page.contains("may not be read, so that nobody knows"), "{page}");
    assert!(page.contains("keys not to be read: permission refused"), "{page}");
    for pattern in ["amb:*", "two:*"] {
        assert_eq!(lines(&exporter, "keys cannot be read", pattern), 1, "{}", exporter.log());
    }
    let redis::Value::Array(refusals) = server.cmd(&["ACL", "LOG"]) else { panic!("no list") };
    assert!(refusals.len() < 100, "{} refusals", refusals.len());

    // What is left out for other reasons is told as well; what is no lock takes no lock's place.
    assert_eq!(store["dropped"]["max_locks"], 6, "{store}");
    assert!(page.contains("6 locks of <b>main</b> more than <code>max_locks</code>"), "{page}");
    assert_eq!(lines(&exporter, "more keys match this pattern", "lock:many:*"), 1);
    assert_eq!(lines(&exporter, "more keys match this pattern", "lock:number:*"), 0);
    assert_eq!(store["ownerless_keys"], 7);
    let example = store["ownerless_examples"][4].as_str().unwrap_or_default();
    assert!(example.starts_with("lock:number:") && page.contains(example), "{example}");
    assert!(exporter.metrics().is("dlock_lock_held", &[("lock", "number-lock")], 1.0));

    // Keys that are gone are counted no more, and those that were refused are read once they may be.
    churn.stop();
    exporter.wait_for("dlock_locks_blind of the keys that stay", SOON, |m| blind(m) == 11.0);
    server.cmd(&["ACL", "SETUSER", "dlock", "%R~amb:*", "%R~two:*"]);
    server.cmd(&["SET", "two:last", "w", "PX", "60000"]);
    assert_eq!(exporter.request("POST", "/-/reload").status, 200);
    exporter.wait_for("dlock_group_locks of the last", SOON, |m| {
        blind(m) == 0.0
            && m.is("dlock_group_locks", &group, 1.0)
            && m.is("dlock_lock_held", &[("lock", "amb-7")], 1.0)
    });
    wait_until("the log says so", SOON, || {
        let over = |pattern| lines(&exporter, "all keys can be read again", pattern);
        (over("amb:*") == 1 && over("two:*") == 1).then_some(())
    });
    assert!(!exporter.get("/").body.contains("may not be read"));
}
