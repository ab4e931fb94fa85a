//! Servers that answer anything but what they should, all at once beside a good one: garbage, half replies, lengths of
//! gigabytes, nesting without end, replies that never end. Each may cost its own store's series and nothing else.

use std::time::Duration;

use dlock_exporter::clock;

use crate::support::{
    Content, ExporterSetup, Latencies, Metrics, RedisServer, Sampler, Script, ScriptedRedis, Spoil,
    for_a_while, promtool_accepts,
};

const POLL: Duration = Duration::from_millis(500);
/// How long the servers have.
const LENGTH: Duration = Duration::from_secs(8);
/// What the exporter may use with all of them; it takes 31 MB as it is built for tests.
const MOST_MEMORY: f64 = 100e6;
const GOOD: &[(&str, &str)] = &[("store", "main"), ("lock", "orders")];

/// A way to misbehave: at which command, and how.
struct Way(&'static str, &'static str, fn() -> Spoil);

fn say(text: &[u8]) -> Spoil {
    Spoil::Say(text.to_vec())
}

fn endless(first: &[u8], again: Vec<u8>, millis: u64) -> Spoil {
    Spoil::Repeat(first.to_vec(), again, Duration::from_millis(millis))
}

/// An array of arrays of arrays.
fn nested(depth: usize) -> Vec<u8> {
    [b"*1\r\n".repeat(depth), b":1\r\n".to_vec()].concat()
}

/// An array of small numbers.
fn wide(kind: char, count: usize) -> Vec<u8> {
    let elements = if kind == '%' { 2 * count } else { count };
    [format!("{kind}{count}\r\n").into_bytes(), b":1\r\n".repeat(elements)].concat()
}

fn bulk(text: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat()
}

const PUSH: &[u8] = b">2\r\n$1\r\na\r\n$1\r\nb\r\n";

const WAYS: &[Way] = &[
    Way("hello-http", "HELLO", || Spoil::Close(b"HTTP/1.1 400 Bad Request\r\n\r\n<html>".to_vec())),
    Way("hello-garbage", "HELLO", || say(b"\x16\x03\x01\x00\xff garbage\r\n\0\0")),
    Way("hello-closed", "HELLO", || Spoil::Close(Vec::new())),
    Way("hello-silent", "HELLO", || endless(b"", Vec::new(), 60_000)),
    Way("hello-wide", "HELLO", || Spoil::Say(wide('%', 2_000_000))),
    Way("hello-quote", "HELLO", || {
        say(b"-ERR unknown 'HELLO' '3' 'AUTH' 'dlock' 'watch-only'\r\n")
    }),
    Way("info-huge-length", "INFO", || endless(b"$2147483648\r\n", vec![b'x'; 1 << 16], 1)),
    Way("info-bad-length", "INFO", || say(b"$-5\r\n\r\n")),
    Way("info-overflow", "INFO", || say(b"$99999999999999999999999\r\n")),
    Way("info-large", "INFO", || {
        Spoil::Say(bulk(&b"slave0:ip=127.0.0.9,port=1\r\n".repeat(1 << 20)))
    }),
    Way("info-liar", "INFO", || {
        let mut text = b"redis_version:\0\x1b[31m\"9\r\nrun_id:x\r\nrole:master\r\n".to_vec();
        for n in 1..2000 {
            text.extend(
                format!("slave{n}:ip=127.0.9.{},port={n},state=online\r\n", n % 250).bytes(),
            );
        }
        Spoil::Say(bulk(&text))
    }),
    Way("time-number", "TIME", || say(b":17\r\n")),
    Way("time-end", "TIME", || say(b"*2\r\n$19\r\n9223372036854775807\r\n$6\r\n999999\r\n")),
    Way("time-text", "TIME", || say(b"*2\r\n$3\r\nnow\r\n$1\r\n0\r\n")),
    Way("exec-half", "EXEC", || Spoil::Close(b"*7\r\n*2\r\n$10\r\n17".to_vec())),
    Way("exec-halt", "EXEC", || endless(b"*7\r\n*2\r\n$10\r\n17", Vec::new(), 60_000)),
    Way("exec-empty", "EXEC", || say(b"*0\r\n")),
    Way("exec-null", "EXEC", || say(b"_\r\n")),
    Way("exec-deep", "EXEC", || Spoil::Say(nested(1_000_000))),
    Way("exec-less-deep", "EXEC", || Spoil::Say(nested(12))),
    Way("exec-wide", "EXEC", || Spoil::Say(wide('*', 4_000_000))),
    Way("exec-too-wide", "EXEC", || say(b"*9223372036854775807\r\n:1\r\n")),
    Way("exec-endless", "EXEC", || endless(b"*4000000\r\n", b":1\r\n".repeat(1 << 12), 1)),
    Way("exec-line", "EXEC", || endless(b"+", vec![b'a'; 1 << 12], 1)),
    Way("exec-drip", "EXEC", || endless(b"$100000\r\n", b"a".to_vec(), 100)),
    Way("exec-pushes", "EXEC", || endless(b"", PUSH.repeat(3), 100)),
    Way("exec-twice", "EXEC", || say(b"*0\r\n*0\r\n*0\r\n")),
    Way("multi-error", "MULTI", || say(b"-ERR \0\x1b[2J \xff\xfe nonsense\r\n")),
    Way("mget-closed", "MGET", || Spoil::Close(Vec::new())),
    Way("type-long", "TYPE", || Spoil::Say([b"+", &[b'q'; 60_000][..], b"\r\n"].concat())),
    Way("type-number", "TYPE", || say(b":5\r\n")),
    Way("length-lie", "STRLEN", || say(b":-9223372036854775808\r\n")),
    Way("role-odd", "ROLE", || say(b"*3\r\n$6\r\nmaster\r\n$1\r\nx\r\n*-1\r\n")),
    Way("scan-never-ends", "SCAN", || {
        let keys: Vec<u8> = (0..500).flat_map(|n| bulk(format!("odd:{n}").as_bytes())).collect();
        Spoil::Say([b"*2\r\n$20\r\n18446744073709551615\r\n*500\r\n".to_vec(), keys].concat())
    }),
    Way("scan-wide", "SCAN", || {
        let keys = b"$1\r\nx\r\n".repeat(1_000_000);
        Spoil::Say([b"*2\r\n$1\r\n7\r\n*1000000\r\n".to_vec(), keys].concat())
    }),
];

/// What a spoiled server would say of its locks if it were not spoiled.
fn script(way: &'static Way) -> Script {
    let Way(_, at, how) = way;
    // A login may go on by AUTH.
    let is_at = move |word: &[u8]| word == at.as_bytes() || (*at == "HELLO" && word == b"AUTH");
    let script = Script {
        spoiler: Some(Box::new(move |words| is_at(&words[0]).then(how))),
        ..Script::default()
    };
    script
        .key("lock:a", Content::text("x"), Some(i64::MAX))
        .key("lock:b", Content::text("y"), Some(i64::MIN))
        .key("lock:c", Content::Hash(vec![(b"f".to_vec(), b"v".to_vec())]), Some(0))
}

struct Attack {
    main: RedisServer,
    servers: Vec<ScriptedRedis>,
    dir: tempfile::TempDir,
}

impl Attack {
    fn start(ways: &'static [Way]) -> Self {
        let main = RedisServer::start();
        main.cmd(&["SET", "lock:orders", "orders-1:x", "PX", "600000"]);
        let dir = tempfile::TempDir::new().expect("a temporary directory can be made");
        std::fs::write(dir.path().join("password"), "watch-only").expect("a file can be written");
        let servers = ways.iter().map(|way| ScriptedRedis::start(script(way))).collect();
        Self { main, servers, dir }
    }

    fn config(&self, ways: &[Way]) -> String {
        let login = |url: &str| {
            let password = self.dir.path().join("password").display().to_string();
            format!("    url: {url}\n    username: dlock\n    password_file: {password}\n")
        };
        let mut config = format!(
            "poll_interval: 500ms\nstores:\n  main:\n{}    locks: [{{ name: orders, key: 'lock:orders', lease: 10m }}]\n",
            login(&self.main.url())
        );
        for (Way(name, ..), server) in ways.iter().zip(&self.servers) {
            config.push_str(&format!("  {name}:\n{}    locks:\n", login(&server.url())));
            for lock in ["a", "b", "c"] {
                config.push_str(&format!("      - {{ name: {lock}, key: 'lock:{lock}' }}\n"));
            }
            config.push_str("      - { match: 'odd:*' }\n");
        }
        config
    }
}

/// Ways that leave the server usable in part: its polls succeed.
const IN_PART: [&str; 4] = ["info-liar", "type-number", "scan-never-ends", "scan-wide"];

/// What must not be in any scrape.
fn wrong(m: &Metrics) -> Option<String> {
    let now = m.value("dlock_exporter_snapshot_timestamp_seconds", &[])?;
    let polls = m.all("dlock_exporter_poll_last_success_timestamp_seconds", &[("poller", "redis")]);
    let main = polls.iter().find(|s| s.label("target").starts_with("main/"))?;
    let age = now - main.value;
    if !m.is("dlock_lock_held", GOOD, 1.0) {
        return Some(format!("the good lock is not held: {}", m.lines("dlock_lock_held")));
    }
    if age > POLL.as_secs_f64() * 3.0 {
        return Some(format!("the good store was read {age:.1} s ago"));
    }
    if m.sum("dlock_exporter_poll_failures_total", &[("target", main.label("target"))]) > 0.0 {
        return Some("a poll of the good store failed".into());
    }
    let memory = m.value("process_resident_memory_bytes", &[]).unwrap_or(0.0);
    (memory > MOST_MEMORY).then(|| format!("it uses {:.0} MB", memory / 1e6))
}

/// What must not be in any scrape once each server was tried.
fn wrong_of_the_bad(m: &Metrics) -> Option<String> {
    let bad = WAYS.iter().map(|way| way.0).filter(|name| !IN_PART.contains(name));
    bad.filter_map(|name| {
        let store = [("store", name)];
        let up = m.sum("dlock_store_up", &store) > 0.0;
        let locks = !m.all("dlock_lock_held", &store).is_empty();
        (up || locks).then(|| format!("{name}: up {up}, shows locks {locks}"))
    })
    .next()
}

#[test]
fn servers_that_misbehave_cost_themselves_only() {
    let attack = Attack::start(WAYS);
    let mut exporter = ExporterSetup::file(&attack.config(WAYS)).start();
    exporter.wait_for("the good lock is held: dlock_lock_held", Duration::from_secs(15), |m| {
        m.is("dlock_lock_held", GOOD, 1.0)
    });
    let sampler = Sampler::start(exporter.address(), wrong);
    exporter.wait_for("every bad server failed: dlock_store_up", Duration::from_secs(15), |m| {
        wrong_of_the_bad(m).is_none() && m.all("dlock_store_up", &[]).len() > WAYS.len()
    });
    let bad = Sampler::start(exporter.address(), wrong_of_the_bad);
    let stopwatch = Latencies::measure(exporter.address());
    let machine = Latencies::measure_path(exporter.address(), "/-/healthy");
    let begun = clock::mono();
    let before = renewals(&exporter.metrics());
    while clock::mono().since(begun) < LENGTH {
        attack.main.cmd(&["PEXPIRE", "lock:orders", "600000"]);
        for_a_while(POLL / 2);
    }
    exporter.wait_for("the good lock's renewals", Duration::from_secs(5), |m| {
        renewals(m) - before > LENGTH.as_secs_f64() / POLL.as_secs_f64() / 2.0
    });
    bad.finish();
    sampler.finish();
    let seen = stopwatch.finish();
    assert!(seen.failed().is_empty(), "{:?}", seen.failed());
    let (p95, idle) = (seen.quantile(0.95), machine.finish().quantile(0.95));
    let limit = Duration::from_millis(50) + idle * 5;
    assert!(p95 < limit, "95 % of {} scrapes took {p95:?}, the machine {idle:?}", seen.count());
    promtool_accepts(&exporter.get("/metrics").body);

    let log = exporter.log();
    assert!(!log.contains(|c: char| c.is_control() && c != '\n'), "control characters in the log");
    let lines = log.lines().count();
    assert!(lines < 8 * WAYS.len(), "{lines} lines are in the log:\n{log}");
    assert!(exporter.stop().success());
}

fn renewals(m: &Metrics) -> f64 {
    m.value("dlock_lease_renewals_total", GOOD).unwrap_or(0.0)
}
