//! What sampling the stalls of 500 processes of 40 threads costs, by taskstats and from /proc, with all of them moving
//! and, with `DLOCK_TEST_LONG=1`, with all of them idle, which costs less. Prints shares of a core and how often each process
//! is sampled; fails over the bound.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

// Its self-tests and half of its means are for the tests.
#[allow(unused_imports)]
#[path = "../support/mod.rs"]
mod support;

use std::collections::HashMap;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use dlock_exporter::clock;
use dlock_exporter::config::JvmMode;
use dlock_exporter::observe::{Observation, ProcessId};
use dlock_exporter::poll::process::Paths;
use dlock_exporter::poll::residents::{Resident, Residents};
use dlock_exporter::poll::stalls::{Settings, spawn};
use support::{Fleet, cpu_of_threads, long};

const PROCESSES: usize = 500;
const THREADS: usize = 40;
const STALL_POLL: Duration = Duration::from_millis(500);
/// Samples before it is measured, and while it is.
fn ticks() -> (u32, u32) {
    if long() { (10, 40) } else { (4, 12) }
}

/// A share of a core; the long form's is that of the documents.
fn bound() -> f64 {
    if long() { 0.015 } else { 0.02 }
}

fn main() -> ExitCode {
    // Once more without the right to taskstats, which is another process's to have.
    if std::env::args().any(|a| a == "--from-proc") {
        return measure("/proc");
    }
    println!(
        "| {PROCESSES} processes of {THREADS} threads every {STALL_POLL:?} | share of a core | bound | samples a tick | told thread by thread |\n|---|---|---|---|---|"
    );
    let first = measure("taskstats");
    let own = std::env::current_exe().unwrap();
    let status = Command::new("setpriv")
        .args(["--bounding-set=-net_admin", "--inh-caps=-net_admin"])
        .arg(own)
        .arg("--from-proc")
        .status();
    match status {
        Ok(status) if status.success() => first,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            println!("not measured: /proc, for want of setpriv: {e}");
            first
        }
    }
}

fn measure(way: &str) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    let fleets = [("moving", 200), ("idle", 3_600_000)];
    for (what, beat) in fleets.into_iter().take(if long() { 2 } else { 1 }) {
        let share = (0..3).map(|_| one(way, what, Duration::from_millis(beat)));
        // What else runs on the machine can only make it worse.
        if !share.into_iter().any(|share| share <= bound()) {
            println!("over its bound");
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn one(way: &str, what: &str, beat: Duration) -> f64 {
    let dir = tempfile::TempDir::new().unwrap();
    let fleet = Fleet::start(PROCESSES, THREADS, beat, "fleet", dir.path());
    let residents = Residents::default();
    let processes = fleet.processes().into_iter().map(|(pid, _)| Resident {
        worker: Arc::from("fleet-1"),
        process: ProcessId { pid, start_ticks: start_ticks(pid) },
        jvm: JvmMode::Never,
    });
    residents.set(&Arc::from("fleet-1"), None, processes.collect());
    let paths = Paths { procfs: "/proc".into(), cgroupfs: None };
    let settings =
        Settings { stall_poll: STALL_POLL, poll_interval: Duration::from_secs(2), paths };
    let (out, mut facts) = tokio::sync::mpsc::channel(4096);
    let _sampler = spawn(residents, settings, out);
    let pid = std::process::id().try_into().unwrap();
    let (warm, measured) = ticks();
    let (mut ticks, mut samples, mut looked) = (0, 0, 0);
    let mut begun = (Duration::ZERO, clock::mono());
    let mut each: HashMap<ProcessId, u32> = HashMap::new();
    while ticks < warm + measured {
        let Some(Observation::Stalls(read)) = facts.blocking_recv() else { continue };
        ticks += 1;
        if ticks == warm {
            begun = (cpu_of_threads(pid, "stalls"), clock::mono());
        }
        if ticks > warm {
            samples += read.samples.len() as u32;
            for sample in read.samples {
                *each.entry(sample.process).or_default() += 1;
                looked += u32::from(sample.seen.is_ok_and(|s| s.each.is_some()));
            }
        }
    }
    let wall = clock::mono().since(begun.1);
    let share = (cpu_of_threads(pid, "stalls") - begun.0).as_secs_f64() / wall.as_secs_f64();
    println!(
        "| {way}, {what} | {:.2} % | {:.1} % | {:.0} | {:.1} |",
        share * 1e2,
        bound() * 1e2,
        f64::from(samples) / f64::from(measured),
        f64::from(looked) / f64::from(measured)
    );
    share
}

fn start_ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let mut fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    fields.nth(19).unwrap().parse().unwrap()
}
