//! Thousands of short-lived locks behind one pattern, told as one group, live: what needs a look among them is shown, the
//! series stay few whatever comes and goes, nothing that was counted is lost, and in the end only the group is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{Driver, Exporter, Metrics, RedisServer, promtool_accepts, wait_until};

const SOON: Duration = Duration::from_secs(30);
const LOCKS: u32 = 2000;
const GROUP: [(&str, &str); 1] = [("group", "job-*")];
/// Names in paths are percent-encoded.
const PATH: &str = "/api/v1/groups/main/job-%2A";

/// Takes so many locks, each of a name that was not there before.
fn take(server: &RedisServer, wave: u32) {
    let script = "for n = 1, tonumber(ARGV[1]) do \
                  redis.call('SET', 'lock:job:' .. ARGV[2] .. '-' .. n, 'w-' .. n % 5 .. ':' .. n, 'PX', 120000) end";
    server.cmd(&["EVAL", script, "0", &LOCKS.to_string(), &wave.to_string()]);
}

fn let_go(server: &RedisServer, wave: u32) {
    let script = "for n = 1, tonumber(ARGV[1]) do \
                  redis.call('DEL', 'lock:job:' .. ARGV[2] .. '-' .. n) end";
    server.cmd(&["EVAL", script, "0", &LOCKS.to_string(), &wave.to_string()]);
}

fn of_group(m: &Metrics, name: &str, label: &str, value: &str) -> Option<f64> {
    m.value(name, &[GROUP[0], (label, value)])
}

fn held(m: &Metrics) -> Option<f64> {
    of_group(m, "dlock_group_locks", "state", "held")
}

/// Tenures that ended. Where the machine is slow, reads come too late for it to be known how.
fn ends(m: &Metrics) -> f64 {
    m.sum("dlock_group_lease_ends_total", &GROUP)
}

/// Locks that have series of their own.
fn single(m: &Metrics) -> Vec<String> {
    m.all("dlock_lock_info", &[]).iter().map(|s| s.label("lock").to_owned()).collect()
}

fn json(exporter: &Exporter, path: &str) -> serde_json::Value {
    serde_json::from_str(&exporter.get(path).body).expect("it is JSON")
}

#[test]
fn thousands_of_short_lived_locks_are_one_group() {
    let server = RedisServer::start();
    let is_silent = Arc::new(AtomicBool::new(false));
    let silent = is_silent.clone();
    let _beats = Driver::start(&server, 0, move |c| {
        let mut beat = 0;
        while c.wait(Duration::from_millis(200)) {
            beat += 1;
            (0..5).for_each(|n| {
                c.cmd(&["SET", &format!("hb:w-{n}"), &beat.to_string()]);
            });
            // This one beats until the exporter has seen that it does, and then no more.
            if !silent.load(Ordering::Relaxed) {
                c.cmd(&["SET", "hb:w-stale", &beat.to_string()]);
            }
        }
    });
    server.cmd(&["SET", "lock:job:stale", "w-stale:1", "PX", "120000"]);
    take(&server, 1);
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 500ms
retain: 5s
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ match: 'lock:job:*', capture: '^lock:job:(.+)$', name: 'job-{{1}}', group: true, group_top: 3,
          max_locks: 5000, holder: '^(?P<worker>[^:]+):' }}
workers:
  all: {{ match: 'w-.*', heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }}, frozen_after: 2s }} }}
",
        server.url()
    ));
    let none =
        of_group(&exporter.metrics(), "dlock_group_lease_ends_total", "evidence", "released");
    assert_eq!(none, Some(0.0), "the group is there from the start");
    exporter.wait_for("dlock_worker_heartbeats_total of w-stale", SOON, |m| {
        m.value("dlock_worker_heartbeats_total", &[("worker", "w-stale")]).is_some_and(|n| n >= 2.0)
    });
    is_silent.store(true, Ordering::Relaxed);
    exporter.wait_for("dlock_group_ of the stale lock", SOON, |m| {
        of_group(m, "dlock_group_flagged", "signal", "holder_stale") == Some(1.0)
    });

    let all = f64::from(LOCKS) + 1.0;
    exporter.wait_for("dlock_group_locks of the first wave", SOON, |m| held(m) == Some(all));
    let m = exporter.metrics();
    assert_eq!(single(&m), ["job-stale"], "of {all} locks");
    assert!(m.is("dlock_holder_stale", &[("lock", "job-stale")], 1.0));
    assert!(m.is("dlock_locks_flagged", &[("signal", "holder_stale")], 1.0));
    assert!(m.is("dlock_locks", &[("state", "held")], all));
    assert!(m.is("dlock_group_signal_rises_total", &[GROUP[0], ("signal", "holder_stale")], 1.0));
    assert!(m.value("dlock_group_lease_remaining_min_seconds", &GROUP).is_some_and(|s| s < 120.0));
    let lines = exporter.get("/metrics").body;
    promtool_accepts(&lines);
    let about_single = lines.lines().filter(|l| l.contains("lock=\"job-")).count();
    assert!(about_single < 60, "{about_single} series of one lock");

    // The API is bounded, has all of them page by page, and the worst first.
    let document = json(&exporter, "/api/v1/locks");
    assert_eq!(document["locks"].as_array().map(Vec::len), Some(1));
    assert_eq!(document["groups"][0]["flagged"]["holder_stale"], 1);
    let page = json(&exporter, &format!("{PATH}?limit=7"));
    assert_eq!(
        (&page["members"], &page["locks"][0]["lock"]),
        (&(LOCKS + 1).into(), &"job-stale".into())
    );
    assert_eq!(page["locks"].as_array().map(Vec::len), Some(7));
    let last = json(&exporter, &format!("{PATH}?offset={LOCKS}"));
    assert_eq!(last["locks"].as_array().map(Vec::len), Some(1));
    let one = json(&exporter, "/api/v1/locks/main/job-1-17");
    assert_eq!(one["lock"]["holders"][0]["worker"], "w-2");
    assert!(exporter.get("/").body.contains("Groups of locks"));
    assert!(exporter.get("/groups/main/job-%2A").body.contains("1901 more"));

    // One wave goes while another comes: both are counted, neither is left behind.
    let_go(&server, 1);
    take(&server, 2);
    exporter.wait_for("dlock_group_ of the second wave", SOON, |m| {
        let taken = m.value("dlock_group_acquisitions_total", &GROUP);
        held(m) == Some(all)
            && ends(m) == f64::from(LOCKS)
            && taken.is_some_and(|n| n >= f64::from(LOCKS))
    });
    assert_eq!(exporter.metrics().sum("dlock_locks_dropped", &[]), 0.0);

    let_go(&server, 2);
    server.cmd(&["DEL", "lock:job:stale"]);
    exporter.wait_for("dlock_group_locks when all have gone", SOON, |m| {
        held(m) == Some(0.0)
            && of_group(m, "dlock_group_locks", "state", "free") == Some(0.0)
            && single(m).is_empty()
    });
    let m = exporter.metrics();
    assert_eq!(ends(&m), 2.0 * f64::from(LOCKS) + 1.0, "what they counted stays");
    assert_eq!(m.sum("dlock_store_lease_ends_total", &[]), ends(&m));
    assert_eq!(m.all("dlock_signal_rises_total", &[]).len(), 0, "and nothing else of them");
    wait_until("the API forgets them", SOON, || {
        (json(&exporter, PATH)["members"] == 0).then_some(())
    });
}
