//! Libraries of npm.

use std::process::Command;

use super::case::{CASE, Case, NamedBy};
use super::run::{Beside, WORKER, run_with};
use crate::support::repository;

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

#[test]
fn of_npm() {
    let modules = repository("tests/libraries/node/node_modules");
    assert!(modules.exists(), "{} is missing; tests/run makes it", modules.display());
    let mut command = Command::new("node");
    command.arg(repository("tests/libraries/node/driver.mjs"));
    // BullMQ names the connections of its workers, and the lock of a job is held against that list.
    let beside = Beside {
        config: "live_workers: { bull: { preset: bullmq, store: main, queue: work, refresh: 1s } }",
        shows: |m| m.is("dlock_worker_alive", &[("worker", WORKER), ("source", "list")], 1.0),
    };
    run_with("node", command, CASES, &beside);
}
