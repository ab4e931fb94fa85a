//! Libraries of PyPI.

use std::process::Command;

use super::case::{CASE, Case, LONG_MS, NamedBy};
use super::run::run;
use crate::support::repository;

const CASES: &[Case] = &[Case {
    case: "redis-py",
    name: "redis-py",
    key: "redis-py",
    format: "redis-py",
    states_time: true,
    ..CASE
}];

#[test]
fn of_pypi() {
    let mut command = Command::new(repository("tests/.venv/bin/python"));
    command.arg(repository("tests/libraries/python/driver.py"));
    run("python", command, CASES);
}
