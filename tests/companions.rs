//! What lies beside locks under the names that a pattern finds, and tokens and keys of any bytes: what is no lock is not
//! listed, what is one is watched whatever it is called, and none of it raises anything.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{
    Driver, Exporter, Metrics, RedisServer, RedisSetup, acl_line_of_the_readme, raised,
};

const SOON: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(100);
const UUID: &str = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162";

/// A server whose exporter user may read every key.
fn server() -> RedisServer {
    let line = acl_line_of_the_readme().replace("ACL SETUSER", "user");
    let line = line.replace("%R~lock:* %R~hb:*", "%R~*").replace("PASSWORD", "watch-only");
    RedisSetup::default().acl(&line).start()
}

fn config(server: &RedisServer) -> String {
    format!(
        "poll_interval: 100ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ match: '*', series: full }}
",
        server.url()
    )
}

/// The names of all locks that are listed.
fn listed(m: &Metrics) -> BTreeSet<String> {
    m.all("dlock_lock_info", &[]).iter().map(|s| s.label("lock").to_owned()).collect()
}

#[test]
fn what_libraries_keep_beside_their_locks_is_not_listed() {
    let server = server();
    let reader = format!("{UUID}:1");
    let epoch = "1795969586629";
    for words in [
        // Redisson: a fair lock's waiters, a fenced lock's counter, a semaphore, an unlock that is under way, a reader's
        // own expiry.
        &["RPUSH", "redisson_lock_queue:{fair}", &format!("{UUID}:2"), &format!("{UUID}:3")][..],
        &["ZADD", "redisson_lock_timeout:{fair}", epoch, &format!("{UUID}:2")],
        &["SET", "redisson_lock_token:{fenced}", "17"],
        &["SET", "semaphore", "3"],
        &["SET", &format!("redisson_unlock_latch:{{fair}}:{UUID}"), "0", "PX", "60000"],
        &["SET", &format!("{{readwrite}}:{reader}:rwlock_timeout:1"), "1", "PX", "60000"],
        // python-redis-lock: the wake-up of one waiter. jedis-lock: the time until which it holds, and no expiry.
        &["RPUSH", "lock-signal:job", "1"],
        &["SET", "jedis", epoch],
        // Semaphores with expired members only, a list of stalled jobs, a digest of unique jobs.
        &["ZADD", "symfony", "1500000000", "dG9rZW4gb2YgMTggYnl0ZXMh"],
        &["SADD", "bull:q:stalled", "7"],
        &["HSET", "uniquejobs:1:LOCKED", "0a1b2c3d4e5f", "1795969586.6"],
        &["SET", "date", "2026-11-29T13:14:01.090039Z"],
        &["SET", "document", "{\"holder\": \"somebody\"}"],
        &["XADD", "stream", "*", "a", "b"],
        &["SET", "empty", ""],
    ] {
        server.cmd(words);
    }
    let beside = server.number(&["DBSIZE"]);
    // The locks themselves: hashes, a string, and a token that only looks like the announcement of a writer.
    server.cmd(&["HSET", "fair", &format!("{UUID}:1"), "1"]);
    server.cmd(&["PEXPIRE", "fair", "600000"]);
    server.cmd(&["HSET", "readwrite", "mode", "read", &reader, "1"]);
    server.cmd(&["PEXPIRE", "readwrite", "600000"]);
    server.cmd(&["SET", "lock:job", "dG9rZW4gb2YgMTggYnl0ZXMh", "PX", "600000"]);
    server.cmd(&["SET", "writer", "host_4a41_WRITERWAITING", "PX", "600000"]);
    let locks = BTreeSet::from(["fair", "lock:job", "readwrite", "writer"].map(str::to_owned));
    let mut exporter = Exporter::start(&config(&server));
    let wanted = locks.clone();
    exporter.wait_for("dlock_lock_info of the locks", SOON, move |m| {
        listed(m) == wanted && m.sum("dlock_lock_held", &[]) == 4.0
    });
    server.cmd(&["SET", "writer", "host_4a41", "PX", "600000"]);
    let wanted = locks.clone();
    exporter.never("something else listed", POLL * 20, move |m| listed(m) != wanted);
    let m = exporter.metrics();
    assert_eq!(raised(&m), None);
    assert_eq!(m.sum("dlock_locks", &[]), 4.0, "{beside} others: {}", m.lines("dlock_locks"));
    let api: serde_json::Value =
        serde_json::from_str(&exporter.get("/api/v1/locks").body).expect("it is JSON");
    assert_eq!(api["locks"].as_array().map(Vec::len), Some(4));
}

/// Tokens as libraries make them from random bytes, and worse ones.
const TOKENS: [&[u8]; 7] = [
    b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13",
    b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7\xf6\xf5\xf4\xf3\xf2\xf1\xf0\x00\x00\x00\x00\x00\x00\x00\x01",
    b"sixteen\x00bytes\xc3\x28!!",
    b"a \"quoted\" one\\",
    b"two\nlines\r\n# HELP up x\nup 1",
    b"<script>alert(1)</script>",
    "\u{202e}reversed\u{0}".as_bytes(),
];
const KEYS: [&[u8]; 7] = [
    b"lock:{orders}:1",
    b"lock:with space",
    b"lock:\"quoted\"\\",
    b"lock:two\nlines",
    b"lock:\xff\xfe\x00",
    b"lock:<b>bold</b>",
    "lock:schl\u{fc}ssel/\u{1f512}?#%2F".as_bytes(),
];

#[test]
fn tokens_and_keys_of_any_bytes() {
    let server = server();
    let renewer = Driver::start(&server, 0, |c| {
        for (key, token) in KEYS.iter().zip(TOKENS) {
            c.cmd(&[b"SET".as_slice(), key, token, b"PX", b"2000"]);
        }
        while c.wait(Duration::from_millis(500)) {
            for key in KEYS {
                c.cmd(&[b"PEXPIRE".as_slice(), key, b"2000"]);
            }
        }
        for key in KEYS {
            c.cmd(&[b"DEL".as_slice(), key]);
        }
    });
    let mut exporter = Exporter::start(&config(&server));
    exporter.wait_for("dlock_lock_held dlock_lease_renewals_total of all", SOON, |m| {
        let renewed = m.all("dlock_lease_renewals_total", &[]);
        listed(m).len() == KEYS.len()
            && m.sum("dlock_lock_held", &[]) == KEYS.len() as f64
            && renewed.iter().all(|s| s.value >= 4.0)
    });
    let m = exporter.metrics();
    assert_eq!(raised(&m), None);
    assert_eq!(m.sum("up", &[]), 0.0, "no token became a sample");
    let api = exporter.get("/api/v1/locks");
    let document: serde_json::Value = serde_json::from_str(&api.body).expect("it is JSON");
    assert_eq!(document["locks"].as_array().map(Vec::len), Some(KEYS.len()));
    let page = exporter.get("/");
    assert_eq!(page.status, 200);
    assert!(!page.body.contains("<b>bold"), "a key is text, not HTML");
    for text in ["<script>", "sixteen", "quoted\" one", "reversed"] {
        for place in [&api.body, &page.body, &exporter.get("/metrics").body, &exporter.log()] {
            assert!(!place.contains(text), "a token is shown: {text}");
        }
    }
    // Each is reached by its name as a path.
    for name in listed(&m) {
        let path: String = name.bytes().map(|b| format!("%{b:02x}")).collect();
        let one = exporter.get(&format!("/api/v1/locks/main/{path}"));
        assert_eq!(one.status, 200, "{name}");
    }
    renewer.stop();
    exporter.wait_for(
        "dlock_lock_held 0 of all and their ends: dlock_lease_ends_total",
        SOON,
        |m| {
            m.sum("dlock_lock_held", &[]) == 0.0
                && m.sum("dlock_lease_ends_total", &[("evidence", "released")]) == KEYS.len() as f64
        },
    );
    assert_eq!(raised(&exporter.metrics()), None);
}
