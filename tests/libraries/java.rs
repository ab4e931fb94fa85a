//! Libraries of Maven Central.

use std::process::Command;

use super::build::built;
use super::case::{CASE, Case, LONG_MS};
use super::run::run;
use crate::support::repository;

/// Redisson with its watchdog.
const REDISSON: Case = Case { format: "redisson", waiters: Some(0.0), ..CASE };

const CASES: &[Case] = &[
    Case { case: "redisson", name: "plain", key: "plain", ..REDISSON },
    Case {
        case: "redisson-lease",
        name: "leased",
        key: "leased",
        lease_ms: LONG_MS,
        renews: false,
        ..REDISSON
    },
    Case { case: "redisson-spin", name: "spin", key: "spin", ..REDISSON },
    // Somebody waits for it, in a queue that is no lock.
    Case {
        case: "redisson-fair",
        name: "fair",
        key: "fair",
        lease_ms: LONG_MS,
        renews: false,
        waiters: Some(1.0),
        ..REDISSON
    },
    // Its counter is no lock, and is read without config.
    Case { case: "redisson-fenced", name: "fenced", key: "fenced", fenced: true, ..REDISSON },
    Case {
        case: "redisson-readers",
        name: "read",
        key: "read",
        format: "redisson-rwlock",
        waiters: None,
        holders: 2,
        ..REDISSON
    },
    Case {
        case: "redisson-writer",
        name: "written",
        key: "written",
        format: "redisson-rwlock",
        waiters: None,
        ..REDISSON
    },
    Case {
        case: "redisson-multi",
        name: "seats",
        key: "seats",
        format: "redisson-multilock",
        waiters: None,
        ..REDISSON
    },
    // The numbers of free permits, of this and of a plain semaphore, are no locks.
    Case {
        case: "redisson-permits",
        name: "permits",
        key: "{permits}:timeout",
        format: "redisson-semaphore",
        waiters: None,
        lease_ms: LONG_MS,
        renews: false,
        ..REDISSON
    },
    Case {
        case: "shedlock",
        name: "nightly",
        key: "job-lock:default:nightly",
        format: "shedlock",
        lease_ms: LONG_MS,
        renews: false,
        states_time: true,
        left_to_expire: true,
        ..CASE
    },
    Case {
        case: "shedlock-extend",
        name: "hourly",
        key: "job-lock:default:hourly",
        format: "shedlock",
        config: "ends: by_release",
        states_time: true,
        ..CASE
    },
    Case {
        case: "spring",
        name: "quick",
        key: "spring:quick",
        format: "spring-integration",
        lease_ms: LONG_MS,
        renews: false,
        config: "format: spring-integration",
        ..CASE
    },
    Case {
        case: "spring-renewal",
        name: "long",
        key: "spring-renewal:long",
        format: "spring-integration",
        config: "format: spring-integration",
        ..CASE
    },
];

#[test]
fn of_maven() {
    built("tests/libraries/java/build");
    let of = |dir| repository(&format!("tests/libraries/java/{dir}")).display().to_string();
    let mut command = Command::new("java");
    // It lives for seconds: what a better compiler takes it does not win back.
    command.args(["-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp"]);
    command.arg(format!("{}:{}/*", of("classes"), of("jars"))).arg("Driver");
    run("java", command, CASES);
}
