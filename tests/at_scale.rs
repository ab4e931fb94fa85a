//! Very many locks, live: a Prometheus that scrapes the core series of 10,000 has room and time for the shipped rules, also
//! when all of their holders are lost at once, and a million locks of one group have the series of one group. Only the long
//! form of the tests has the minutes for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{
    Driver, Exporter, Metrics, Prometheus, PrometheusSetup, RedisServer, for_a_while, long,
    not_tested, request, shipped, whole_machine,
};

const MINUTES: Duration = Duration::from_secs(300);
const LOCKS: u32 = 10_000;
const WORKERS: u32 = 500;
/// Of scrapes and rules: what the shipped ones are made for.
const INTERVAL: Duration = Duration::from_secs(15);
const GIB: f64 = (1u64 << 30) as f64;
const MILLION: u32 = 1_000_000;
/// Series of locks that a group may have with the twenty that need a look most, were there any.
const BUDGET: usize = 150;

/// Takes so many locks for an hour, each by one of the workers.
fn take(server: &RedisServer, locks: u32) {
    let script = "for n = tonumber(ARGV[1]), tonumber(ARGV[2]) do \
                  redis.call('SET', string.format('lock:job:%07d', n), 'w-' .. n % ARGV[3] .. ':' .. n, 'PX', 7200000) end";
    for first in (0..locks).step_by(10_000) {
        let words = [first, first + 9_999, WORKERS].map(|n| n.to_string());
        server.cmd(&["EVAL", script, "0", &words[0], &words[1], &words[2]]);
    }
}

fn held(m: &Metrics, locks: u32) -> bool {
    m.is("dlock_locks", &[("state", "held")], f64::from(locks))
}

fn resident(pid: i32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0
}

/// What it says of itself.
fn own(prometheus: &Prometheus) -> Metrics {
    let answer = request(prometheus.address(), "GET", "/metrics", Duration::from_secs(10)).unwrap();
    Metrics::parse(&answer.body).unwrap()
}

/// What the slowest group of rules took last, in seconds.
fn slowest(prometheus: &Prometheus) -> f64 {
    let metrics = own(prometheus);
    let groups = metrics.all("prometheus_rule_group_last_duration_seconds", &[]);
    groups.iter().map(|s| s.value).filter(|v| v.is_finite()).fold(0.0, f64::max)
}

/// The most that it takes of memory and the slowest group of rules for a while.
fn watch(prometheus: &Prometheus, rounds: u32) -> (f64, f64) {
    let (mut memory, mut time) = (0.0f64, 0.0f64);
    for _ in 0..rounds {
        for_a_while(INTERVAL);
        memory = memory.max(own(prometheus).sum("process_resident_memory_bytes", &[]));
        time = time.max(slowest(prometheus));
    }
    assert!(time > 0.0, "rules are evaluated");
    assert_eq!(prometheus.broken_rules(), [""; 0]);
    (memory, time)
}

#[test]
fn prometheus_has_room_and_time_for_ten_thousand_locks() {
    if !long() {
        return not_tested("10,000 locks in Prometheus: it takes minutes; see DLOCK_TEST_LONG");
    }
    let _whole = whole_machine();
    let server = RedisServer::start();
    take(&server, LOCKS);
    let are_lost = Arc::new(AtomicBool::new(false));
    let lost = are_lost.clone();
    let _beats = Driver::start(&server, 0, move |c| {
        let script = "for n = 0, ARGV[1] - 1 do redis.call('SET', 'hb:w-' .. n, ARGV[2]) end";
        let mut beat = 0;
        while c.wait(Duration::from_secs(1)) {
            beat += u32::from(!lost.load(Ordering::Relaxed));
            c.cmd(&["EVAL", script, "0", &WORKERS.to_string(), &beat.to_string()]);
        }
    });
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 5s
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ match: 'lock:job:*', max_locks: {LOCKS}, series: core, holder: '^(?P<worker>[^:]+):' }}
workers:
  all: {{ match: 'w-.*', heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 20s }} }}
",
        server.url()
    ));
    exporter.wait_for("dlock_locks of all", MINUTES, |m| held(m, LOCKS));
    let mut setup = PrometheusSetup::new(&[exporter.address()]).every(INTERVAL);
    for file in shipped::rule_files() {
        setup = setup.rules(&file);
    }
    let mut prometheus = setup.start();
    prometheus.wait_for("count(dlock:holder:info) == 10000", MINUTES);
    let (memory, time) = watch(&prometheus, 8);
    let series = own(&prometheus).sum("prometheus_tsdb_head_series", &[]);
    eprintln!("{series} series, {:.0} MB, slowest rules {time:.2} s", memory / 1e6);
    assert!(time < INTERVAL.as_secs_f64() / 3.0, "a group of rules took {time} s of {INTERVAL:?}");
    assert!(memory < GIB, "{memory} bytes");

    // The worst that can happen to the rules: everything is to be told at once.
    are_lost.store(true, Ordering::Relaxed);
    prometheus.wait_for("count(dlock_holder_stale == 1) == 10000", MINUTES);
    let (memory, time) = watch(&prometheus, 6);
    eprintln!("all stale: {:.0} MB, slowest rules {time:.2} s", memory / 1e6);
    // Tens of thousands of alerts are made and described: they come late rather than not at all.
    assert!(time < INTERVAL.as_secs_f64(), "a group of rules took {time} s of {INTERVAL:?}");
    assert!(memory < 2.0 * GIB, "{memory} bytes");
}

#[test]
fn a_million_locks_of_a_group_have_the_series_of_one() {
    if !long() {
        return not_tested("a million locks in one group: it takes minutes; see DLOCK_TEST_LONG");
    }
    let _whole = whole_machine();
    let server = RedisServer::start();
    take(&server, MILLION);
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 60s
stores:
  main:
    url: {}
    username: dlock
    locks: [{{ match: 'lock:job:*', name: 'job-{{1}}', capture: '^lock:job:(.+)$', group: true, group_top: 20, max_locks: {MILLION} }}]
",
        server.url()
    ));
    exporter.wait_for("dlock_locks of all", 3 * MINUTES, |m| held(m, MILLION));
    let text = exporter.get("/metrics").body;
    let of_store = text.lines().filter(|l| l.contains("store=\"main\"")).count();
    eprintln!("{of_store} series, {:.0} MB", resident(exporter.pid()) / 1e6);
    assert!(of_store < BUDGET, "{of_store} series of the store and its locks");
}
