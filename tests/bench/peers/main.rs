//! The exporter beside programs that others use for parts of what it does, and beside raw clients, in one run: locks beside
//! redis_exporter, a clock beside chrony_exporter, a host's processes beside process-exporter. Prints a table of ratios, with
//! `UPDATE=1` into the README too. What is not installed is not measured, and said to be. `tests/bench/compare` installs what
//! can be and runs this; it judges nothing.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod chrony;
mod locks;
mod peer;
// Not all that it can do is wanted here.
#[allow(dead_code)]
#[path = "../sweep/poller.rs"]
mod poller;
mod processes;
#[path = "../sweep/raw.rs"]
mod raw;
// Its self-tests and half of its means are for the tests.
#[allow(unused_imports)]
#[path = "../../support/mod.rs"]
mod support;
mod table;

use support::cpu_of_threads;
use table::Table;

fn main() {
    let mut table = Table::default();
    // One of them alone, while working on it.
    let only = std::env::var("PEERS_ONLY").ok();
    let is_wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    if is_wanted("locks") {
        locks::compare(&mut table);
    }
    if is_wanted("clocks") {
        chrony::compare(&mut table);
    }
    if is_wanted("processes") {
        processes::compare(&mut table);
    }
    table.print();
    if only.is_none() && std::env::var_os("UPDATE").is_some() {
        table.write_readme();
    }
}
