//! Libraries of npm.

use std::process::Command;

use tempfile::TempDir;

use super::case::{CASE, Case, NamedBy, RENEWED_MS};
use super::driver::Driver;
use super::run::{Beside, run_with};
use super::world::{SOON, WORKER, server};
use crate::support::{Exporter, Metrics, raised, repository};

/// 16 random bytes in hexadecimal, as many applications make them too.
const REDLOCK: Case = Case { also_fits: &["node-redlock"], ..CASE };

/// Named by a suffix of its tokens, which the worker gives.
const SUFFIXED: Case = Case { format: "redis-semaphore", named_by: NamedBy::Itself, ..CASE };

const PERMITS: Case = Case { format: "redis-semaphore-permits", holders: 2, ..SUFFIXED };

const CASES: &[Case] = &[
    Case { case: "redlock-using", name: "using", key: "using", ..REDLOCK },
    Case { case: "redlock-5", name: "redlock5", key: "redlock5", ..REDLOCK },
    Case { case: "redlock-4", name: "redlock4", key: "redlock4", ..REDLOCK },
    Case { case: "mutex", name: "one", key: "mutex:one", ..SUFFIXED },
    Case {
        case: "mutex-unnamed",
        name: "unnamed",
        key: "mutex:unnamed",
        format: "redis-semaphore",
        also_fits: &["redlock", "spring-integration"],
        ..CASE
    },
    Case { case: "redlock-mutex", name: "quorum", key: "mutex:quorum", ..SUFFIXED },
    Case { case: "semaphore", name: "few", key: "semaphore:few", ..PERMITS },
    Case { case: "multi-semaphore", name: "several", key: "semaphore:several", ..PERMITS },
    // The worker's name is in the hash of the job.
    Case {
        case: "bullmq",
        name: "job",
        key: "bull:work:job:lock",
        format: "bullmq",
        named_by: NamedBy::Itself,
        ..CASE
    },
];

fn command(worker: &str) -> Command {
    let modules = repository("tests/libraries/node/node_modules");
    assert!(modules.exists(), "{} is missing; tests/run makes it", modules.display());
    let mut command = Command::new("node");
    command.arg(repository("tests/libraries/node/driver.mjs")).args(["--worker", worker]);
    command
}

#[test]
fn of_npm() {
    // BullMQ names the connections of its workers, and the lock of a job is held against that list.
    let beside = Beside {
        config: "live_workers: { bull: { preset: bullmq, store: main, queue: work, refresh: 1s } }",
        shows: |m| m.is("dlock_worker_alive", &[("worker", WORKER), ("source", "list")], 1.0),
    };
    run_with("node", command(WORKER), CASES, &beside);
}

/// Two processes with a worker each. The first one's stands still while it has a job, so that BullMQ marks the job as
/// stalled, and gives it to the other when its lock is over.
#[test]
fn a_job_of_bullmq_whose_worker_stands_still_goes_to_another() {
    const LOCK: &[(&str, &str)] = &[("store", "main"), ("lock", "bull:work:job:lock")];
    let server = server();
    let mut first = Driver::start(WORKER, command(WORKER), &server);
    let mut second = Driver::start("other", command("other"), &server);
    let dir = TempDir::new().expect("a temporary directory can be made");
    for (name, driver) in [(WORKER, &first), ("other", &second)] {
        std::fs::write(dir.path().join(name), driver.pid().to_string()).expect("room for a pid");
    }
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 200ms
stores:
  main: {{ url: '{}', username: dlock, locks: [{{ match: 'bull:*', series: full }}] }}
workers:
  all: {{ names: [{WORKER}, other], process: {{ pid_file: '{}/{{worker}}' }} }}
",
        server.url(),
        dir.path().display()
    ));
    let held_by = |m: &Metrics, worker: &str| {
        m.is("dlock_lock_holder_info", &[LOCK, &[("worker", worker)]].concat(), 1.0)
    };
    first.acquire("bullmq", "job", RENEWED_MS);
    exporter.wait_for("dlock_lock_holder_info dlock_lease_renewals", SOON, |m| {
        held_by(m, WORKER) && m.sum("dlock_lease_renewals_total", LOCK) >= 3.0
    });
    assert_eq!(raised(&exporter.metrics()), None);
    first.pause();
    second.acquire("bullmq", "job", RENEWED_MS);
    exporter.wait_for("dlock_lock_holder_info dlock_lease_ends dlock_holder_stale", SOON, |m| {
        held_by(m, "other")
            && m.is("dlock_holder_stale", LOCK, 0.0)
            && m.sum("dlock_lease_ends_total", LOCK) == 1.0
    });
    let m = exporter.metrics();
    let rises = |signal| m.sum("dlock_signal_rises_total", &[LOCK, &[("signal", signal)]].concat());
    assert_eq!((rises("holder_stale"), rises("renewal_after_lost_liveness")), (1.0, 0.0));
    // That end is rightly unknown where a busy machine read the key too late for more.
    let stopped = [LOCK, &[("state", "stopped")]].concat();
    let lapsed = m.sum("dlock_lease_ends_total", &[LOCK, &[("evidence", "lapsed")]].concat());
    assert!(m.is("dlock_lease_expired_under_holder_total", &stopped, lapsed));
    let previous = [LOCK, &[("worker", WORKER)]].concat();
    let how = m.all("dlock_lock_previous_holder_info", &previous);
    let how: Vec<_> = how.iter().map(|s| s.label("evidence")).collect();
    assert_eq!(how, [if lapsed == 1.0 { "lapsed" } else { "unknown" }]);
    let told = exporter.get("/api/v1/locks/main/bull%3Awork%3Ajob%3Alock").body;
    assert!(told.contains("\"noted_stalled\""), "{told}");
    second.release("job");
    exporter.wait_for("dlock_lease_ends_total", SOON, |m| {
        m.is("dlock_lease_ends_total", &[LOCK, &[("evidence", "released")]].concat(), 1.0)
    });
}
