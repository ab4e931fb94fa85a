//! Clocks as real chronyds tell of them, in every state: values are those of `chronyc`, the bound holds against the true
//! offset, and one that does not answer is down and says nothing else.

use std::time::Duration;

use dlock_exporter::clock;

use crate::support::{
    Chronyd, ChronydSetup, Exporter, ExporterSetup, Metrics, NtpSource, has_ipv6, wait_until,
};

pub const SOON: Duration = Duration::from_secs(15);
/// What the source of all clocks here is ahead of this host.
const AHEAD: f64 = 0.25;

pub fn config(clocks: &[(&str, String)], more: &str) -> String {
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
pub fn start(yaml: &str) -> Exporter {
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

pub fn polls(m: &Metrics, poller: &str, target: &str) -> f64 {
    let labels = [("poller", poller), ("target", target)];
    m.value("dlock_exporter_polls_total", &labels).unwrap_or(0.0)
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
