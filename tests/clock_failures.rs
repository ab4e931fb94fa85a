//! Clocks that cannot be read: each is told why and what to do, once, and costs the other clocks, the stores and a scrape
//! nothing. Nothing of ours stays in chronyd's directory.

use std::time::Duration;

use dlock_exporter::clock;

use crate::clocks::{SOON, config, polls, start};
use crate::support::{
    ChronydSetup, Exporter, Metrics, RedisServer, SLACK, for_a_while, free_udp_port, has_ipv6,
    wait_until,
};

fn failures(m: &Metrics, clock: &str, reason: &str) -> f64 {
    let labels = [("poller", "chrony"), ("target", clock), ("reason", reason)];
    m.value("dlock_exporter_poll_failures_total", &labels).unwrap_or(0.0)
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
