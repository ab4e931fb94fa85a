//! Clocks as real chronyds tell of them, in every state: values are those of `chronyc`, the bound holds against the true
//! offset, and one that does not answer is down for a reason that says what to do, and costs nobody else anything.

use std::time::Duration;

use dlock_exporter::clock;

use crate::support::{
    Chronyd, ChronydSetup, Exporter, ExporterSetup, Metrics, NtpSource, RedisServer, SLACK,
    for_a_while, free_udp_port, has_ipv6, wait_until,
};

const SOON: Duration = Duration::from_secs(15);
/// What the source of all clocks here is ahead of this host.
const AHEAD: f64 = 0.25;

fn config(clocks: &[(&str, String)], more: &str) -> String {
    let clocks: String =
        clocks.iter().map(|(name, at)| format!("  {name}: {{ chrony: '{at}' }}\n")).collect();
    format!("poll_interval: 200ms\nclocks:\n{clocks}{more}")
}

/// A source that is ahead of this host, a chronyd that follows it, and one that follows that.
fn followers() -> (NtpSource, Chronyd, Chronyd) {
    let source = NtpSource::start(AHEAD, 0.001, clock::wall_secs);
    let first = ChronydSetup::following(source.address()).start();
    first.wait_synchronised();
    let second = ChronydSetup::following(first.ntp()).start();
    second.wait_synchronised();
    (source, first, second)
}

fn of(m: &Metrics, clock: &str, metric: &str) -> Option<f64> {
    m.value(&format!("dlock_clock_{metric}"), &[("clock", clock)])
}

/// Without a store, and so without the password of one.
fn start(yaml: &str) -> Exporter {
    ExporterSetup::file(yaml).start()
}

/// The state that is 1; the others must be there and 0.
fn status(m: &Metrics, clock: &str) -> String {
    let states = m.all("dlock_clock_status", &[("clock", clock)]);
    let up: Vec<_> = states.iter().filter(|s| s.value == 1.0).map(|s| s.label("status")).collect();
    if up.len() == 1 {
        assert_eq!(states.len(), 4, "{states:?}");
    }
    up.join("+")
}

fn polls(m: &Metrics, poller: &str, target: &str) -> f64 {
    let labels = [("poller", poller), ("target", target)];
    m.value("dlock_exporter_polls_total", &labels).unwrap_or(0.0)
}

fn failures(m: &Metrics, clock: &str, reason: &str) -> f64 {
    let labels = [("poller", "chrony"), ("target", clock), ("reason", reason)];
    m.value("dlock_exporter_poll_failures_total", &labels).unwrap_or(0.0)
}

/// Holds a scrape against two outputs of `chronyc`, of which one came before its poll and one after it. The clock must
/// have no updates meanwhile.
fn equals_chronyc(exporter: &mut Exporter, clock: &str, daemon: &Chronyd) {
    let before = daemon.tracking().expect("chronyc reads it");
    let polled = polls(&exporter.metrics(), "chrony", clock);
    exporter.wait_for("dlock_exporter_polls_total", SOON, |m| {
        polls(m, "chrony", clock) >= polled + 2.0
    });
    let m = exporter.metrics();
    let after = daemon.tracking().expect("chronyc reads it");
    assert_eq!(before[3], after[3], "an update in between");
    compare(&m, clock, &before, &after);
}

/// Each field of `chronyc -c tracking` beside the metric that has it: its unit in the metric's, and digits printed.
const FIELDS: [(&str, usize, f64, i32); 10] = [
    ("stratum", 2, 1.0, 0),
    ("reference_timestamp_seconds", 3, 1.0, 6),
    ("offset_seconds", 4, -1.0, 9),
    ("last_offset_seconds", 5, 1.0, 9),
    ("rms_offset_seconds", 6, 1.0, 9),
    ("frequency_ratio", 7, 1e-6, 9),
    ("frequency_error_ratio", 9, 1e-6, 9),
    ("root_delay_seconds", 10, 1.0, 9),
    ("root_dispersion_seconds", 11, 1.0, 9),
    ("update_interval_seconds", 12, 1.0, 1),
];

fn compare(m: &Metrics, clock: &str, before: &[String], after: &[String]) {
    for (metric, field, unit, digits) in FIELDS {
        let printed = |fields: &[String]| fields[field].parse::<f64>().unwrap() * unit;
        let (a, b) = (printed(before), printed(after));
        let value = of(m, clock, metric).unwrap_or_else(|| panic!("no {metric} of {clock}"));
        // Half of the last digit: both were made of the same bits.
        let slack = 0.501 * 10f64.powi(-digits);
        assert!(
            value >= a.min(b) - slack && value <= a.max(b) + slack,
            "{metric} of {clock} is {value}, chronyc says {a} and {b}"
        );
    }
}

#[test]
fn a_synchronised_clock_equals_chronyc_and_its_bound_holds() {
    let (_source, first, second) = followers();
    let mut clocks = vec![("port", second.url()), ("socket", second.unix_url())];
    if has_ipv6() {
        clocks.push(("six", format!("udp://[::1]:{}", second.port())));
    }
    let mut exporter = start(&config(&clocks, "local_clock: port\n"));
    for (name, _) in &clocks {
        exporter.wait_for("dlock_clock_up dlock_clock_status", SOON, |m| {
            of(m, name, "up") == Some(1.0) && status(m, name) == "synchronized"
        });
        let m = exporter.metrics();
        let offset = of(&m, name, "offset_seconds").unwrap();
        let bound = of(&m, name, "error_bound_seconds").unwrap();
        // This host's clock is behind what its chronyd takes for true.
        assert!((offset + AHEAD).abs() < 0.01, "{offset}");
        // The source reads its clock a little before its answer leaves.
        assert!((AHEAD - 0.001..AHEAD + 0.1).contains(&bound), "{bound}");
        assert_eq!(of(&m, name, "stratum"), Some(3.0));
        // One poll has one socket, and most of the time there is none.
        assert!(second.strangers().len() <= 1, "{:?}", second.strangers());
    }
    // Nothing is updated any more, so that what stands still can be compared to the last digit.
    first.pause();
    let still = || second.tracking().map(|fields| fields[3].clone());
    let mut last = (still(), clock::mono());
    wait_until("no more updates", SOON, || {
        let now = still();
        if now != last.0 {
            last = (now, clock::mono());
        }
        (clock::mono().since(last.1) > Duration::from_secs(1)).then_some(())
    });
    for (name, _) in &clocks {
        equals_chronyc(&mut exporter, name, &second);
    }
    assert!(exporter.stop().success());
    assert_eq!(second.strangers(), Vec::<String>::new());
}

#[test]
fn clocks_without_a_source_have_no_bound() {
    let local = ChronydSetup::local(7).start();
    let none = ChronydSetup::unsynchronised().start();
    let clocks = [("local", local.url()), ("none", none.url())];
    let mut exporter = start(&config(&clocks, ""));
    exporter.wait_for("dlock_clock_status", SOON, |m| {
        status(m, "local") == "local" && status(m, "none") == "unsynchronized"
    });
    exporter.never("a bound where there is none", Duration::from_secs(2), |m| {
        !m.all("dlock_clock_error_bound_seconds", &[]).is_empty()
    });
    let m = exporter.metrics();
    assert_eq!(of(&m, "local", "stratum"), Some(7.0));
    for name in ["local", "none"] {
        assert_eq!(of(&m, name, "up"), Some(1.0), "{name}");
    }
}

/// chronyd goes on to say `Normal` for hours after its source died.
#[test]
fn a_clock_whose_source_died_runs_free_and_keeps_its_bound() {
    let (source, first, second) = followers();
    let mut exporter = start(&config(&[("a", second.url())], ""));
    exporter.wait_for("dlock_clock_status", SOON, |m| status(m, "a") == "synchronized");
    source.silence(true);
    first.pause();
    exporter.wait_for("dlock_clock_status", SOON * 2, |m| status(m, "a") == "free_running");
    assert_eq!(second.tracking().expect("it answers")[13], "Normal");
    let m = exporter.metrics();
    let bound = of(&m, "a", "error_bound_seconds").unwrap();
    assert!(bound >= AHEAD - 0.001, "{bound}");
    first.resume();
    source.silence(false);
    exporter.wait_for("dlock_clock_status", SOON * 2, |m| status(m, "a") == "synchronized");
}

#[test]
fn a_clock_that_cannot_be_read_is_down_and_says_nothing_else() {
    let mut daemon = ChronydSetup::local(5).start();
    let clocks = [("a", daemon.url()), ("b", daemon.unix_url())];
    let mut exporter = start(&config(&clocks, ""));
    let all_up = |up: f64| move |m: &Metrics| ["a", "b"].iter().all(|c| of(m, c, "up") == Some(up));
    exporter.wait_for("dlock_clock_up", SOON, all_up(1.0));
    daemon.pause();
    exporter.wait_for("dlock_clock_up", SOON, all_up(0.0));
    // What it said last is no news any more after three polls.
    exporter.wait_for("dlock_clock_", SOON, |m| {
        FIELDS.iter().all(|(metric, ..)| of(m, "a", metric).is_none()) && status(m, "a").is_empty()
    });
    daemon.resume();
    exporter.wait_for("dlock_clock_up", SOON, all_up(1.0));
    daemon.kill();
    exporter.wait_for("dlock_clock_up", SOON, all_up(0.0));
    daemon.restart();
    exporter.wait_for("dlock_clock_up", SOON, all_up(1.0));
}

/// Each way to fail has its reason, and is logged once with what to do.
#[test]
fn failures_are_told_apart_and_logged_once() {
    let stopped = ChronydSetup::local(5).start();
    let mut dead = ChronydSetup::local(5).start();
    let gone = ChronydSetup::local(5).start();
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    stopped.pause();
    dead.kill();
    let mut clocks = vec![
        ("stopped", stopped.url()),
        ("stopped_socket", stopped.unix_url()),
        ("closed", format!("udp://127.0.0.1:{}", free_udp_port())),
        ("stale", dead.unix_url()),
        ("missing", format!("unix://{}x", gone.socket().display())),
        ("nameless", "udp://no-such-host.invalid".to_owned()),
        // As a chronyd without `cmdallow` does towards another host.
        ("silent", format!("udp://{}", silent.local_addr().unwrap())),
    ];
    let mut expected = vec![
        ("stopped", "timeout", "is cmdallow/bindcmdaddress set?"),
        ("stopped_socket", "timeout", "is it stopped"),
        ("closed", "refused", "is chronyd running"),
        ("stale", "refused", "left it behind"),
        ("missing", "missing", "is chronyd running"),
        ("nameless", "dns", "does not resolve"),
        ("silent", "timeout", "is cmdallow/bindcmdaddress set?"),
    ];
    if has_ipv6() {
        clocks.push(("closed_six", format!("udp://[::1]:{}", free_udp_port())));
        expected.push(("closed_six", "refused", "is chronyd running"));
    }
    let mut exporter = start(&config(&clocks, ""));
    let wanted = expected.clone();
    exporter.wait_for("dlock_exporter_poll_failures_total", SOON, move |m| {
        wanted.iter().all(|(name, reason, _)| failures(m, name, reason) >= 5.0)
    });
    let m = exporter.metrics();
    let log = exporter.log();
    for (name, reason, words) in expected {
        let others: f64 = m
            .all("dlock_exporter_poll_failures_total", &[("poller", "chrony"), ("target", name)])
            .iter()
            .filter(|s| s.label("reason") != reason)
            .map(|s| s.value)
            .sum();
        assert_eq!(others, 0.0, "{name}");
        let told = |l: &&str| {
            l.contains("event=clock_unreachable") && has_field(l, &format!("subject={name}"))
        };
        let lines: Vec<&str> = log.lines().filter(told).collect();
        let [line] = lines.as_slice() else { panic!("{name}: {lines:?}\n{log}") };
        assert!(line.contains(words) && line.contains(reason), "{line}");
    }
    stopped.resume();
    exporter.wait_for("dlock_exporter_polls_total", SOON, |m| {
        polls(m, "chrony", "stopped") > failures(m, "stopped", "timeout")
    });
    wait_until("it is told that it answers", SOON, || {
        let log = exporter.log();
        let told = |l: &str| l.contains("event=clock_returned") && has_field(l, "subject=stopped");
        log.lines().any(told).then_some(())
    });
}

/// Whether a line of the log has this field.
fn has_field(line: &str, field: &str) -> bool {
    line.split(' ').any(|word| word == field)
}

/// A clock that is silent for its whole second costs neither the others nor the stores nor a scrape anything.
#[test]
fn a_silent_clock_delays_nobody() {
    let server = RedisServer::start();
    server.cmd(&["SET", "lock:orders", "x", "PX", "600000"]);
    let stopped = ChronydSetup::local(5).start();
    let good = ChronydSetup::local(5).start();
    stopped.pause();
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut clocks = vec![("good", good.url()), ("good_socket", good.unix_url())];
    clocks.push(("stopped", stopped.url()));
    clocks.push(("stopped_socket", stopped.unix_url()));
    let many: Vec<String> = (0..20).map(|i| format!("silent{i}")).collect();
    let at = format!("udp://{}", silent.local_addr().unwrap());
    clocks.extend(many.iter().map(|name| (name.as_str(), at.clone())));
    let store = format!(
        "stores: {{ main: {{ url: '{}', username: dlock, locks: [{{ name: orders, key: 'lock:orders' }}] }} }}\n",
        server.url()
    );
    let yaml = config(&clocks, &store).replace("200ms", "1s");
    let mut exporter = Exporter::start(&yaml);
    let node = format!("main/{}", server.address());
    let ready = node.clone();
    exporter.wait_for("dlock_exporter_polls_total", SOON, move |m| {
        polls(m, "redis", &ready) >= 2.0
            && polls(m, "chrony", "good") >= 2.0
            && polls(m, "chrony", "stopped_socket") >= 2.0
    });
    let begun = clock::mono();
    let before = exporter.metrics();
    let mut slowest = Duration::ZERO;
    while clock::mono().since(begun) < Duration::from_secs(5) {
        let asked = clock::mono();
        let m = exporter.metrics();
        slowest = slowest.max(clock::mono().since(asked));
        for name in ["good", "good_socket"] {
            let labels = [("poller", "chrony"), ("target", name)];
            let took = m.value("dlock_exporter_poll_duration_seconds", &labels).unwrap();
            assert!(took < 0.5, "{name} took {took}");
        }
        for_a_while(Duration::from_millis(20));
    }
    let passed = clock::mono().since(begun).as_secs_f64();
    let after = exporter.metrics();
    for (poller, target) in
        [("redis", node.as_str()), ("chrony", "good"), ("chrony", "good_socket")]
    {
        let polled = polls(&after, poller, target) - polls(&before, poller, target);
        assert!(polled >= passed - 2.0, "{poller} {target}: {polled} polls in {passed} s");
    }
    let refused = failures(&after, "stopped", "timeout") + failures(&after, "silent7", "timeout");
    assert!(refused >= 4.0, "{refused}");
    assert_eq!(failures(&after, "good", "timeout"), 0.0);
    assert!(slowest < SLACK, "a scrape took {slowest:?}");
    // Nor does it hold up the end, and nothing of ours stays beside its socket.
    let asked = clock::mono();
    assert!(exporter.stop().success());
    assert!(clock::mono().since(asked) < SLACK * 3);
    assert_eq!(stopped.strangers(), Vec::<String>::new());
    assert_eq!(good.strangers(), Vec::<String>::new());
}

/// A reload ends the pollers of clocks that are gone, and with them what they made.
#[test]
fn a_reload_changes_the_clocks() {
    let daemon = ChronydSetup::local(5).start();
    let mut exporter = start(&config(&[("old", daemon.unix_url())], ""));
    exporter.wait_for("dlock_exporter_polls_total", SOON, |m| polls(m, "chrony", "old") >= 2.0);
    exporter.rewrite(&config(&[("new", daemon.url())], ""));
    exporter.signal(rustix::process::Signal::HUP);
    exporter.wait_for("dlock_exporter_polls_total", SOON, |m| polls(m, "chrony", "new") >= 2.0);
    wait_until("nothing of the old one is left", SOON, || {
        daemon.strangers().is_empty().then_some(())
    });
    let asked = polls(&exporter.metrics(), "chrony", "old");
    exporter.wait_for("dlock_exporter_polls_total", SOON, |m| polls(m, "chrony", "new") >= 8.0);
    assert!(polls(&exporter.metrics(), "chrony", "old") <= asked);
}
