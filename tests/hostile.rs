//! A server that is what it should be and keys that are not: values, names, types and sizes that somebody chose to do
//! harm. Each costs at most its own series. For servers that are not what they should be see `hostile_servers`.

mod planted;

use std::time::Duration;

use dlock_exporter::clock;

use planted::{Client, LONGEST, MANY, MIB, NAMED, TYPES, change, odd_keys, values};

use crate::support::{
    Exporter, Latencies, Metrics, RedisServer, Sampler, for_a_while, promtool_accepts,
};

const POLL: Duration = Duration::from_millis(500);
const SOON: Duration = Duration::from_secs(20);
/// How long everything is looked at once it is there.
const LENGTH: Duration = Duration::from_secs(6);
/// What the exporter may use with all of it; it takes 60 MB as it is built for tests.
const MOST_MEMORY: f64 = 150e6;
const GOOD: &[(&str, &str)] = &[("store", "main"), ("lock", "good")];
/// Locks of the large pattern that may be watched.
const MOST: usize = 1000;
/// Workers that may be watched.
const MOST_WORKERS: usize = 50;

fn config(server: &RedisServer) -> String {
    let mut config = format!(
        "poll_interval: 500ms
max_workers: {MOST_WORKERS}
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: good, key: 'lock:good', lease: 10m, holder: '^(?P<worker>good):' }}
      - {{ name: grows, key: 'lock:grows' }}
      - {{ name: fills, key: 'lock:fills' }}
      - {{ name: changes, key: 'lock:changes' }}
      - {{ name: wrong format, key: 'lock:wrong', format: redisson }}
      - {{ name: long key, key: 'lock:{}' }}
      - {{ match: 'lock:odd:*', capture: '(?s-u)^lock:(.*)$', name: '{{1}}' }}
",
        server.url(),
        "k".repeat(LONGEST)
    );
    config.push_str(&format!(
        "      - {{ match: 'lock:many:*', max_locks: {MOST}, series: flagged }}\n"
    ));
    config.push_str("      - { match: 'lock:named:*', holder: '(?s-u)^(?P<worker>.*)$' }\n");
    for name in values().keys().chain(&TYPES) {
        config.push_str(&format!("      - {{ name: {name}, key: 'lock:{name}' }}\n"));
    }
    config.push_str("workers:\n");
    for (name, source) in [
        ("good", "key: 'hb:good'"),
        ("a-list", "key: 'lock:list'"),
        ("large", "key: 'hb:large'"),
        ("large-json", "key: 'hb:large', json: /beat"),
        ("deep-json", "key: 'hb:deep', json: /a/a"),
        ("no-json", "key: 'hb:binary', json: /beat"),
        ("binary", "key: 'hb:binary'"),
        ("huge-field", "key: 'lock:huge-field', field: f0"),
        ("large-field", "key: 'lock:one-field', field: f0"),
        ("no-member", "key: 'lock:list', member: x"),
        ("no-key", "key: 'hb:none', exists: true"),
    ] {
        config.push_str(&format!(
            "  {name}:\n    names: [{name}]\n    heartbeat: {{ redis: {{ store: main, {source} }}, frozen_after: 20s }}\n"
        ));
    }
    config.push_str("  others:\n    match: '(?s).*'\n    heartbeat: { redis: { store: main, key: 'hb:{worker}' } }\n");
    config
}

fn good(m: &Metrics) -> bool {
    let alive = m.is("dlock_worker_alive", &[("worker", "good"), ("source", "heartbeat")], 1.0);
    m.is("dlock_lock_held", GOOD, 1.0) && m.is("dlock_holder_stale", GOOD, 0.0) && alive
}

fn failures(m: &Metrics) -> f64 {
    let polls = m.all("dlock_exporter_poll_failures_total", &[("poller", "redis")]);
    polls.iter().map(|s| s.value).sum()
}

/// What must not be in any scrape.
fn wrong(m: &Metrics) -> Option<String> {
    if !good(m) {
        let lines = ["dlock_lock_held", "dlock_holder_stale", "dlock_worker_alive"];
        return Some(lines.map(|name| m.lines(name)).concat());
    }
    let rises = m.sum("dlock_signal_rises_total", GOOD);
    if rises > 0.0 {
        return Some("a signal of the good lock rose".into());
    }
    let memory = m.value("process_resident_memory_bytes", &[]).unwrap_or(0.0);
    (memory > MOST_MEMORY).then(|| format!("it uses {:.0} MB", memory / 1e6))
}

fn lock(name: &str) -> [(&str, &str); 2] {
    [("store", "main"), ("lock", name)]
}

fn unread(m: &Metrics, name: &str) -> bool {
    let lost = [("lock", name), ("aspect", "lease"), ("reason", "unsupported")];
    m.is("dlock_coverage_lost", &lost, 1.0) && m.value("dlock_lock_held", &lock(name)).is_none()
}

#[test]
fn keys_and_values_that_do_harm_cost_their_own_series() {
    let server = RedisServer::start();
    let mut client = Client::of(&server);
    client.plant();
    let owner = b"fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47";
    client.run(&[b"SET", b"lock:good", b"good:1", b"PX", b"600000"]);
    client.run(&[b"SET", b"lock:grows", b"short", b"PX", b"600000"]);
    client.run(&[b"HSET", b"lock:fills", owner, b"1"]);
    client.run(&[b"SET", b"hb:good", b"0"]);
    let mut exporter = Exporter::start(&config(&server));
    let mut beats = 0u64;
    let mut beat = |client: &mut Client| {
        beats += 1;
        client.run(&[b"SET", b"hb:good", beats.to_string().as_bytes()]);
        client.run(&[b"PEXPIRE", b"lock:good", b"600000"]);
    };
    let begun = clock::mono();
    while !good(&exporter.metrics()) || unread_types(&exporter.metrics()) < TYPES.len() {
        beat(&mut client);
        for_a_while(POLL / 2);
        let m = exporter.metrics();
        assert!(clock::mono().since(begun) < SOON, "{}", m.lines("dlock_coverage_lost"));
    }
    // Two hashes, a sorted set, a set and a field of a hash were larger than any reply may be, which shows only once they
    // are read.
    let before = failures(&exporter.metrics());
    assert!(before <= 5.0, "{before} polls failed, one for each huge key at most");

    let sampler = Sampler::start(exporter.address(), wrong);
    let stopwatch = Latencies::measure(exporter.address());
    let machine = Latencies::measure_path(exporter.address(), "/-/healthy");
    let renewals = |m: &Metrics| m.value("dlock_lease_renewals_total", GOOD).unwrap_or(0.0);
    let first = renewals(&exporter.metrics());
    let begun = clock::mono();
    let mut turn = 0;
    while clock::mono().since(begun) < LENGTH {
        beat(&mut client);
        change(&mut client, turn);
        turn += 1;
        for_a_while(POLL / 3);
    }
    let m = exporter.metrics();
    assert!(renewals(&m) - first > 4.0, "the good lock's renewals are not seen any more");
    assert_eq!(failures(&m), before, "polls failed once everything huge was known");
    shows_what_is_there(&m);

    // A lock that was readable is filled: one poll at most fails, and the lock is told to be unreadable.
    client.run(&[b"SET", b"lock:grows", &vec![b'g'; 8 * MIB], b"KEEPTTL"]);
    client.run(&[b"HSET", b"lock:fills", b"f", &vec![b'v'; 20 * MIB]]);
    let begun = clock::mono();
    while !unread(&exporter.metrics(), "fills") {
        beat(&mut client);
        for_a_while(POLL / 3);
        assert!(clock::mono().since(begun) < SOON, "the filled lock is not told");
    }
    for_a_while(POLL * 3);
    let m = exporter.metrics();
    assert!(failures(&m) <= before + 1.0, "{} polls failed", failures(&m) - before);
    assert!(
        m.is("dlock_lock_held", &lock("grows"), 1.0),
        "a long value is an owner's all the same"
    );
    client.run(&[b"DEL", b"lock:fills"]);
    beat(&mut client);
    exporter.wait_for("what was huge is free: dlock_lock_held", SOON, |m| {
        m.is("dlock_lock_held", &lock("fills"), 0.0)
    });
    client.run(&[b"HSET", b"lock:fills", owner, b"2"]);
    beat(&mut client);
    exporter.wait_for("what was huge is a lock again: dlock_lock_held", SOON, |m| {
        m.is("dlock_lock_reentrancy", &lock("fills"), 2.0)
    });

    sampler.finish();
    let seen = stopwatch.finish();
    assert!(seen.failed().is_empty(), "{:?}", seen.failed());
    let (p95, idle) = (seen.quantile(0.95), machine.finish().quantile(0.95));
    let limit = Duration::from_millis(50) + idle * 5;
    assert!(p95 < limit, "95 % of {} scrapes took {p95:?}, the machine {idle:?}", seen.count());
    promtool_accepts(&exporter.get("/metrics").body);
    let log = exporter.log();
    assert!(!log.contains(|c: char| c.is_control() && c != '\n'), "control characters in the log");
    assert!(log.lines().count() < 200, "{}", log.lines().count());
}

fn unread_types(m: &Metrics) -> usize {
    TYPES.iter().filter(|name| unread(m, name)).count()
}

/// Every planted key is shown as what it is.
fn shows_what_is_there(m: &Metrics) {
    let held = |name: &str| m.value("dlock_lock_held", &lock(name));
    for name in values().keys().copied().chain(["long key"]) {
        assert_eq!(held(name), Some(1.0), "{name}");
    }
    for (_, name) in odd_keys() {
        assert_eq!(held(&name), Some(1.0), "{name:?}");
    }
    for name in TYPES {
        assert!(unread(m, name), "{name}: {:?}", held(name));
    }
    let shown = m.all("dlock_lock_held", &[("store", "main")]);
    assert!(!shown.iter().any(|s| s.label("lock").starts_with("lock:many:")));
    let held = m.sum("dlock_locks", &[("store", "main"), ("state", "held")]);
    assert!(held > (MOST + NAMED) as f64, "{held} locks are held");
    let dropped = [("store", "main"), ("reason", "max_locks")];
    assert!(m.is("dlock_locks_dropped", &dropped, (MANY - MOST + 1) as f64));
    let workers = m.all("dlock_worker_coverage_lost", &[]).len();
    assert!(workers <= 2 * MOST_WORKERS, "{workers} series of workers");
    assert!(m.sum("dlock_workers_dropped", &[]) >= (NAMED - MOST_WORKERS) as f64);
    let lost = |worker: &str, reason: &str| {
        let labels = [("worker", worker), ("aspect", "heartbeat"), ("reason", reason)];
        m.is("dlock_worker_coverage_lost", &labels, 1.0)
    };
    for worker in
        ["a-list", "large-json", "deep-json", "no-json", "huge-field", "large-field", "no-member"]
    {
        assert!(lost(worker, "unreachable"), "{worker}: {}", m.lines("dlock_worker_coverage"));
    }
    for worker in ["large", "binary", "no-key"] {
        assert!(lost(worker, "no_history"), "{worker}: {}", m.lines("dlock_worker_coverage"));
    }
}
