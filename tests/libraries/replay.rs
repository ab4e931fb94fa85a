//! Libraries of languages that no test here runs: the commands that they send, one by one.

use std::process::Command;

use super::case::{CASE, Case, LONG_MS, NamedBy};
use super::run::run;
use crate::support::repository;

/// Renewed by nobody.
const KEPT: Case = Case { lease_ms: LONG_MS, renews: false, ..CASE };
/// Host and process are in the token.
const MEDALLION: Case = Case { format: "medallion", states_pid: true, ..CASE };

const CASES: &[Case] = &[
    // What is there does not tell it from other libraries.
    Case {
        case: "redlock-net",
        name: "net",
        key: "redlock:net",
        format: "redlock",
        also_fits: &["redlock-net", "redis-lock-rs", "spring-integration"],
        ..CASE
    },
    Case {
        case: "redlock-net",
        name: "net-declared",
        key: "redlock:net-declared",
        format: "redlock-net",
        config: "format: redlock-net",
        ..CASE
    },
    Case { case: "medallion", name: "mutex", key: "mutex", ..MEDALLION },
    // They share the key's expiry, so whose renewals these are cannot be told.
    Case {
        case: "medallion-readers",
        renews: false,
        name: "book",
        key: "book.readers",
        format: "medallion-readers",
        holders: 2,
        ..MEDALLION
    },
    Case { case: "medallion-writer", name: "page", key: "page.writer", ..MEDALLION },
    Case {
        case: "medallion-semaphore",
        name: "seats",
        key: "seats",
        format: "medallion-semaphore",
        holders: 2,
        ..MEDALLION
    },
    Case {
        case: "stackexchange",
        name: "machine",
        key: "machine",
        config: "holder: '^(?P<worker>.+)$'",
        named_by: NamedBy::Itself,
        ..CASE
    },
    // Whole seconds.
    Case {
        case: "laravel",
        name: "import",
        key: "app-database-app-cache-import",
        format: "laravel",
        lease_ms: 3000,
        ..CASE
    },
    Case {
        case: "laravel-overlap",
        name: "ImportJob:7",
        key: "app-database-app-cache-laravel-queue-overlap:ImportJob:7",
        format: "laravel-overlap",
        lease_ms: 0,
        renews: false,
        ..CASE
    },
    Case {
        case: "laravel-unique",
        name: "ReportJob:7",
        key: "app-database-app-cache-laravel_unique_job:ReportJob:7",
        format: "laravel-unique",
        lease_ms: 0,
        renews: false,
        left_to_expire: true,
        ..CASE
    },
    Case {
        case: "laravel-schedule",
        name: "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
        key: "app-database-app-cache-framework/schedule-a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
        format: "laravel-schedule",
        lease_ms: 86_400_000,
        renews: false,
        left_to_expire: true,
        ..CASE
    },
    Case { case: "symfony", name: "write", key: "write", format: "symfony", ..CASE },
    Case {
        case: "symfony-readers",
        name: "read",
        key: "read",
        format: "symfony",
        holders: 2,
        ..CASE
    },
    Case {
        case: "redlock-rb",
        name: "ruby",
        key: "ruby",
        format: "redlock",
        config: "format: redlock",
        ..CASE
    },
    Case {
        case: "sidekiq-unique-jobs",
        name: "0cc175b9c0f1b6a831c399e269772661",
        key: "uniquejobs:0cc175b9c0f1b6a831c399e269772661:LOCKED",
        format: "sidekiq-unique-jobs",
        lease_ms: 0,
        renews: false,
        states_time: true,
        ..CASE
    },
    Case {
        case: "sidekiq-unique-jobs-9",
        name: "92eb5ffee6ae2fec3ad71c777531578f",
        key: "uniquejobs:92eb5ffee6ae2fec3ad71c777531578f:LOCKED",
        format: "sidekiq-unique-jobs",
        states_time: true,
        ..KEPT
    },
    Case {
        case: "sidekiq-enterprise",
        name: "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
        key: "unique:86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
        format: "sidekiq-enterprise",
        left_to_expire: true,
        ..KEPT
    },
    Case { case: "rslock", name: "bytes", key: "bytes", format: "rslock", ..CASE },
    Case {
        case: "redis-lock-rs",
        name: "rust",
        key: "redlock:rust",
        format: "redis-lock-rs",
        config: "format: redis-lock-rs",
        ..KEPT
    },
    // A thousand times its lease.
    Case {
        case: "redis-lock-rs-multi",
        name: "several",
        key: "lock:several",
        format: "redis-lock-rs-multi",
        ..KEPT
    },
    Case {
        case: "quartz",
        name: "lock",
        key: "quartz:lock",
        format: "quartz",
        config: "format: quartz",
        ..KEPT
    },
    Case {
        case: "quartz-trigger",
        name: "group:nightly",
        key: "quartz:trigger_lock:group:nightly",
        format: "quartz",
        also_fits: &["string"],
        config: "holder: '^(?P<worker>driver)'",
        named_by: NamedBy::Itself,
        ..KEPT
    },
    Case {
        case: "jedis-lock",
        name: "JobLock",
        key: "JobLock",
        format: "jedis-lock",
        config: "format: jedis-lock",
        named_by: NamedBy::Nobody,
        ..KEPT
    },
];

#[test]
fn of_other_languages() {
    let mut command = Command::new("python3");
    command.arg(repository("tests/libraries/replay/driver.py"));
    run("replay", command, CASES);
}
