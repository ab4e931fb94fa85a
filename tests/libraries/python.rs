//! Libraries of PyPI.

use std::process::Command;
use std::time::Duration;

use super::case::{CASE, Case, LONG_MS, NamedBy};
use super::driver::Driver;
use super::run::run;
use super::world::{WORKER, server};
use crate::support::{Exporter, SLACK, repository};

/// Its tokens say when each was acquired.
const REDIS_PY: Case =
    Case { format: "redis-py", also_fits: &["node-redlock"], states_time: true, ..CASE };

/// One that its application does not renew, with an owner that the application names.
const NAMED: Case = Case { lease_ms: LONG_MS, renews: false, named_by: NamedBy::Itself, ..CASE };

/// python-redis-lock and redbeat know whole seconds only.
const WHOLE_MS: u64 = 3000;

const CASES: &[Case] = &[
    Case { case: "redis-py", name: "job", key: "job", ..REDIS_PY },
    Case { case: "redis-py-extend", name: "extended", key: "extended", ..REDIS_PY },
    Case { case: "redis-py-async", name: "async", key: "async", ..REDIS_PY },
    Case {
        case: "python-redis-lock",
        name: "renewed",
        key: "lock:renewed",
        format: "python-redis-lock",
        lease_ms: WHOLE_MS,
        ..CASE
    },
    // A name of the application's own says nothing of the library.
    Case {
        case: "python-redis-lock-id",
        name: "named",
        key: "lock:named",
        config: "holder: '^(?P<worker>driver)@'",
        ..NAMED
    },
    Case {
        case: "pottery",
        name: "quorum",
        key: "redlock:quorum",
        format: "redlock",
        also_fits: &["redlock-net", "redis-lock-rs", "spring-integration"],
        ..CASE
    },
    Case {
        case: "redbeat",
        name: "beat",
        key: "redbeat::lock",
        format: "redbeat",
        also_fits: &[],
        lease_ms: WHOLE_MS,
        ..REDIS_PY
    },
    Case { case: "django-lock", name: "page", key: ":1:page", ..REDIS_PY },
    Case {
        case: "django-add",
        name: "added",
        key: ":1:added",
        config: "holder: '(?P<worker>driver):'",
        ..NAMED
    },
];

fn command() -> Command {
    let python = repository("tests/.venv/bin/python");
    assert!(python.exists(), "{} is missing; tests/run makes it", python.display());
    let mut command = Command::new(python);
    command.arg(repository("tests/libraries/python/driver.py"));
    command
}

#[test]
fn of_pypi() {
    run("python", command(), CASES);
}

#[test]
fn redis_py_without_a_timeout() {
    const LOCK: &[(&str, &str)] = &[("store", "main"), ("lock", "job")];
    let poll = Duration::from_millis(200);
    let server = server();
    let mut driver = Driver::start(WORKER, command(), &server);
    let mut exporter = Exporter::start(&format!(
        "{{ poll_interval: 200ms, stores: {{ main: {{ url: '{}', username: dlock, locks: [{{ name: job, key: job }}] }} }} }}",
        server.url()
    ));
    let soon = Duration::from_secs(20);
    exporter.wait_for("dlock_lock_held 0", soon, |m| m.is("dlock_lock_held", LOCK, 0.0));
    driver.acquire("redis-py-for-ever", "job", 0);
    let worst = Duration::from_secs(1) + poll * 2;
    let after = exporter.wait_for("dlock_lease_without_ttl 1", worst + SLACK * 4, |m| {
        m.is("dlock_lease_without_ttl", LOCK, 1.0)
    });
    assert!(after <= worst + SLACK, "after {after:?}, worst case {worst:?}");
    let m = exporter.metrics();
    assert!(m.all("dlock_lease_remaining_seconds", LOCK).is_empty(), "no expiry, nothing remains");
    driver.release("job");
    exporter.wait_for("dlock_lock_held 0 and its end: dlock_lease_ends_total", soon, |m| {
        m.is("dlock_lock_held", LOCK, 0.0)
            && m.sum("dlock_lease_ends_total", &[("evidence", "released")]) == 1.0
    });
    let m = exporter.metrics();
    assert!(m.is("dlock_lease_without_ttl", LOCK, 0.0));
    let rises = [("lock", "job"), ("signal", "lease_without_ttl")];
    assert_eq!(m.value("dlock_signal_rises_total", &rises), Some(1.0));
}
