//! Drivers in languages that are compiled: each has a script that does so, and that fetches its libraries if need be.

use std::process::Command;

use crate::support::repository;

/// Runs the script; quick where nothing has changed.
pub fn built(script: &str) {
    let done = Command::new(repository(script)).output();
    let done = done.unwrap_or_else(|e| panic!("cannot run {script}: {e}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{script} failed:\n{said}");
}
