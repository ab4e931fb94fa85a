//! Bounds of clocks held against what is true, since the test made it so: chronyds that follow a source with a known
//! offset, and lock servers that go by clocks with a known offset. A bound has to contain the truth, and has to be of use.

use std::time::Duration;

use crate::processes::{sleeper, unique};
use crate::support::{
    Chronyd, ChronydSetup, Exporter, Metrics, NtpSource, RedisServer, RedisSetup, SteppedClock,
    for_a_while,
};
use dlock_exporter::clock;

const SOON: Duration = Duration::from_secs(20);
const NAMES: &str =
    "dlock_clock_ dlock_skew_ dlock_store_clock_ dlock_worker_skew_ dlock_coverage_";

/// Clocks by name; the first is this host's, the second the server's.
fn config(server: &RedisServer, clocks: &[(&str, &Chronyd)], worker: &str) -> String {
    let list: String = clocks
        .iter()
        .map(|(name, daemon)| format!("  {name}: {{ chrony: '{}' }}\n", daemon.url()))
        .collect();
    let (own, theirs) = match clocks {
        [(own, _), (theirs, _), ..] => (
            format!("clocks:\n{list}local_clock: {own}\n"),
            format!("    clocks: [{{ addr: '{}', clock: {theirs} }}]\n", server.address()),
        ),
        [(own, _)] => (format!("clocks:\n{list}local_clock: {own}\n"), String::new()),
        [] => (String::new(), String::new()),
    };
    format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
{theirs}    locks:
      - {{ name: job, key: 'lock:job', series: full, holder: '^(?P<worker>[^:]+):' }}
workers:
  all: {{ names: [job-1], process: {{ command: '^sleep 600 {worker}$' }} }}
{own}",
        server.url()
    )
}

fn following(ahead: f64) -> (NtpSource, Chronyd) {
    let source = NtpSource::start(ahead, 0.000_5, clock::wall_secs);
    let daemon = ChronydSetup::following(source.address()).start();
    daemon.wait_synchronised();
    (source, daemon)
}

fn of_clock(m: &Metrics, what: &str, clock: &str) -> Option<f64> {
    m.value(&format!("dlock_clock_{what}"), &[("clock", clock)])
}

fn status(m: &Metrics, clock: &str) -> String {
    let all = m.all("dlock_clock_status", &[("clock", clock)]);
    let up: Vec<_> = all.iter().filter(|s| s.value == 1.0).map(|s| s.label("status")).collect();
    up.join("+")
}

fn skew(m: &Metrics) -> Option<f64> {
    m.value("dlock_skew_bound_seconds", &[("store", "main")])
}

/// The bound contains the truth, and is no more than `room` larger.
fn contains(bound: Option<f64>, truth: f64, room: f64) -> bool {
    bound.is_some_and(|b| b >= truth.abs() && b <= truth.abs() + room)
}

#[test]
fn the_error_bound_contains_the_true_offset_and_ends_with_what_is_known() {
    let server = RedisServer::start();
    // The test says that these sources are right: so this host's clock is off by that much the other way.
    let (ahead, behind) = (following(0.25), following(-0.1));
    // By far more than the update interval, which is a sixteenth of a second.
    let (far_ahead, far_behind) = (following(5.0), following(-100.0));
    let local = ChronydSetup::local(7).start();
    let nothing = ChronydSetup::unsynchronised().start();
    let clocks = [
        ("ahead", &ahead.1),
        ("behind", &behind.1),
        ("far_ahead", &far_ahead.1),
        ("far_behind", &far_behind.1),
        ("local", &local),
        ("nothing", &nothing),
    ];
    let mut exporter = Exporter::start(&config(&server, &clocks, "none"));
    for (name, truth) in [("ahead", -0.25), ("behind", 0.1)] {
        exporter.wait_for(&format!("the bound of {name}: {NAMES}"), SOON, |m| {
            contains(of_clock(m, "error_bound_seconds", name), truth, 0.05)
                && of_clock(m, "offset_seconds", name).is_some_and(|o| (o - truth).abs() < 0.02)
        });
    }
    exporter.never("a bound that does not contain the truth", Duration::from_secs(3), |m| {
        [("ahead", 0.25), ("behind", 0.1)]
            .iter()
            .any(|(n, t)| of_clock(m, "error_bound_seconds", n).is_some_and(|b| b < *t))
            || ["local", "nothing"].iter().any(|n| of_clock(m, "error_bound_seconds", n).is_some())
    });
    // As a clock of this host, whose readings say how old an update is.
    for (name, truth) in [("far_ahead", -5.0), ("far_behind", 100.0)] {
        let here = config(&server, &clocks, "none")
            .replace("local_clock: ahead", &format!("local_clock: {name}"));
        let mut here = Exporter::start(&here);
        here.wait_for(&format!("{name} as this host's clock: {NAMES}"), SOON, |m| {
            contains(of_clock(m, "error_bound_seconds", name), truth, 0.05)
                && status(m, name) == "synchronized"
        });
        // The update that chronyd tells of is its best sample, not its last: of many in a second it may call one old.
        here.never("no source", Duration::from_secs(3), move |m| {
            status(m, name) == "unsynchronized"
        });
    }
    let m = exporter.metrics();
    assert_eq!((&*status(&m, "local"), &*status(&m, "nothing")), ("local", "unsynchronized"));

    // Its source dies: it runs alone, and its bound still holds.
    ahead.0.silence(true);
    exporter.wait_for(&format!("ahead runs alone: {NAMES}"), SOON, |m| {
        status(m, "ahead") == "free_running"
            && of_clock(m, "error_bound_seconds", "ahead").is_some_and(|b| b >= 0.25)
    });
    ahead.0.silence(false);
    exporter.wait_for(&format!("ahead follows again: {NAMES}"), SOON, |m| {
        status(m, "ahead") == "synchronized"
    });

    // chronyd itself hangs: nothing is claimed after three intervals.
    ahead.1.pause();
    exporter.wait_for(&format!("ahead is silent: {NAMES}"), SOON, |m| {
        of_clock(m, "up", "ahead") == Some(0.0)
            && of_clock(m, "error_bound_seconds", "ahead").is_none()
            && status(m, "ahead").is_empty()
            && of_clock(m, "error_bound_seconds", "behind").is_some()
    });
    ahead.1.resume();
    exporter.wait_for(&format!("ahead answers again: {NAMES}"), SOON, |m| {
        contains(of_clock(m, "error_bound_seconds", "ahead"), 0.25, 0.05)
    });
}

#[test]
fn the_skew_bound_of_a_server_contains_its_true_offset_before_and_after_a_step() {
    let theirs = SteppedClock::start();
    theirs.step(3.2);
    let server = RedisSetup::default().clock(&theirs).start();
    let mark = unique();
    let _worker = sleeper(&mark);
    server.cmd(&["SET", "lock:job", "job-1:x", "PX", "600000"]);
    let mut exporter = Exporter::start(&config(&server, &[], &mark));
    for by in [0.0, -4.0, 0.35] {
        theirs.step(by);
        let truth = theirs.ahead();
        exporter.wait_for(&format!("the skew is {truth}: {NAMES}"), SOON, |m| {
            let offset = m.value("dlock_store_clock_offset_seconds", &[]);
            let error = m.value("dlock_store_clock_offset_error_seconds", &[]);
            contains(skew(m), truth, 0.05)
                && offset.zip(error).is_some_and(|(o, e)| (o - truth).abs() <= e)
                && m.value("dlock_worker_skew_bound_seconds", &[("worker", "job-1")]) == skew(m)
        });
        exporter.never(
            "a bound that does not contain the truth",
            Duration::from_secs(2),
            move |m| skew(m).is_some_and(|b| b < truth.abs()),
        );
    }
    // While it stands nobody knows how far it will be off.
    theirs.stop();
    exporter.wait_for(&format!("it stands: {NAMES}"), SOON, |m| {
        m.is("dlock_store_clock_frozen", &[], 1.0)
            && skew(m).is_none()
            && m.value("dlock_worker_skew_bound_seconds", &[]).is_none()
    });
}

#[test]
fn chronyds_that_time_contradicts_are_not_believed() {
    let server = RedisServer::start();
    let (own, same, other) = (following(0.0), following(0.0), following(0.4));
    server.cmd(&["SET", "lock:job", "job-1:x", "PX", "600000"]);
    let lost = |m: &Metrics| m.all("dlock_coverage_lost", &[("aspect", "clock")]).len();
    let mut exporter =
        Exporter::start(&config(&server, &[("own", &own.1), ("x", &same.1)], "none"));
    exporter.wait_for(&format!("both agree: {NAMES}"), SOON, |m| {
        contains(skew(m), 0.0, 0.02) && status(m, "x") == "synchronized" && lost(m) == 0
    });
    // Now the config names the chronyd of some other host.
    let mut exporter =
        Exporter::start(&config(&server, &[("own", &own.1), ("x", &other.1)], "none"));
    exporter.wait_for(&format!("they disagree: {NAMES}"), SOON, |m| {
        contains(skew(m), 0.0, 0.02) && status(m, "x") == "synchronized" && lost(m) == 1
    });
    assert!(exporter.log().contains("clocks_disagree"), "{}", exporter.log());
    for_a_while(Duration::from_secs(1));
    let told = exporter.log().matches("clocks_disagree").count();
    assert_eq!(told, 1, "{}", exporter.log());
}
