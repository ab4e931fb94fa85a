//! Libraries of the Go module proxy.

use std::process::Command;

use super::build::built;
use super::case::{CASE, Case, LONG_MS, NamedBy};
use super::run::run;
use crate::support::repository;

const CASES: &[Case] = &[
    Case {
        case: "redsync",
        name: "redsync",
        key: "redsync",
        format: "redsync",
        lease_ms: LONG_MS,
        renews: false,
        ..CASE
    },
    Case {
        case: "redsync-extend",
        name: "redsync-extend",
        key: "redsync-extend",
        format: "redsync",
        ..CASE
    },
    Case {
        case: "bsm",
        name: "bsm",
        key: "bsm",
        format: "bsm-redislock",
        lease_ms: LONG_MS,
        renews: false,
        ..CASE
    },
    // Its metadata is JSON with the driver's name.
    Case {
        case: "bsm-refresh",
        name: "bsm-refresh",
        key: "bsm-refresh",
        format: "bsm-redislock",
        config: r#"holder: '"worker":"(?P<worker>[^"]+)"'"#,
        named_by: NamedBy::Itself,
        ..CASE
    },
    // A majority of its keys is the lock.
    Case {
        case: "rueidislock",
        name: "majority",
        key: "majority",
        format: "rueidislock",
        config: "keys: ['rueidislock:0:majority', 'rueidislock:1:majority', 'rueidislock:2:majority']",
        ..CASE
    },
];

#[test]
fn of_go() {
    built("tests/libraries/go/build");
    run("go", Command::new(repository("tests/libraries/go/bin/driver")), CASES);
}
