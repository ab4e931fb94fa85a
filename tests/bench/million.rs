//! What a million locks of a group cost while the server tells of changes: at rest, and while a hundred a second are renewed or
//! taken; and how soon a change is in the metrics. Prints shares of a core of the exporter and of the server and memory a
//! lock; fails over the bounds of the documents. Takes minutes and some gigabytes: `MILLION_LOCKS` for fewer.
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

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dlock_exporter::clock::mono;
use support::{Exporter, Metrics, RedisServer, for_a_while, wait_until};

/// Keys sent in one go.
const AT_ONCE: usize = 2_000;
/// Changes a second.
const CHANGES: u64 = 100;
const LEASE_MS: usize = 864_000_000;
/// Shares of a core, and the delay of all but one of ten changes.
const EXPORTER: f64 = 0.05;
const SERVER: f64 = 0.02;
const DELAY: Duration = Duration::from_millis(50);
const PROBES: usize = 60;

fn main() -> ExitCode {
    let locks = std::env::var("MILLION_LOCKS").ok().and_then(|n| n.parse().ok());
    let locks: usize = locks.unwrap_or(1_000_000);
    let server = RedisServer::start();
    fill(&server, locks);
    let mut exporter = Exporter::start(&config(&server));
    let all_held = |m: &Metrics| m.is("dlock_group_locks", &[("state", "held")], locks as f64);
    exporter.wait_for("all locks are known", Duration::from_secs(600), all_held);
    let pids = [exporter.pid(), server_pid(&server)];
    // The first sweeps read all, and what was held against each other twice comes to rest.
    wait_until("they come to rest", Duration::from_secs(120), || {
        let before = cpu(pids[1]);
        for_a_while(Duration::from_secs(6));
        (cpu(pids[1]) - before < Duration::from_millis(300)).then_some(())
    });
    println!("| {locks} locks of a group | exporter | server | memory a lock |\n|---|---|---|---|");
    let idle = shares(pids);
    print("at rest", idle, pids[0], locks);
    let changing = Changing::start(&server, locks);
    for_a_while(Duration::from_secs(3));
    let busy = shares(pids);
    print("100 changes a second", busy, pids[0], locks);
    let mut delays: Vec<Duration> = (0..PROBES).map(|n| delay(&server, &exporter, n)).collect();
    drop(changing);
    delays.sort();
    let [half, most] = [2, 10].map(|of| delays[PROBES - 1 - PROBES / of]);
    println!("a change is in the metrics after {half:?}, and after {most:?} nine times of ten");
    let is_within = [idle, busy].iter().all(|s| s[0] <= EXPORTER && s[1] <= SERVER);
    if !is_within || most > DELAY {
        println!("over its bound");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn config(server: &RedisServer) -> String {
    format!(
        "poll_interval: 2s
stores:
  main:
    url: {}
    username: dlock
    events: tracking
    locks:
      - {{ name: probe, key: 'lock:probe' }}
      - {{ match: 'lock:job:*', max_locks: 1000000, group: true, lease: 240h }}
",
        server.url()
    )
}

fn key(n: usize) -> String {
    format!("lock:job:{n:07}")
}

fn token(n: usize, times: u64) -> String {
    format!("{n:07}-{times:08}-{}", "x".repeat(83))
}

fn fill(server: &RedisServer, locks: usize) {
    let mut connection = client(server);
    for first in (0..locks).step_by(AT_ONCE) {
        let mut pipe = redis::pipe();
        for n in first..locks.min(first + AT_ONCE) {
            pipe.cmd("SET").arg(key(n)).arg(token(n, 0)).arg("PX").arg(LEASE_MS + n).ignore();
        }
        pipe.query::<()>(&mut connection).unwrap();
    }
}

fn client(server: &RedisServer) -> redis::Connection {
    redis::Client::open(server.url()).unwrap().get_connection().unwrap()
}

fn server_pid(server: &RedisServer) -> i32 {
    let info = server.text(&["INFO", "server"]);
    let line = info.lines().find_map(|l| l.strip_prefix("process_id:"));
    line.unwrap().trim().parse().unwrap()
}

/// Renews and takes locks until it is dropped.
struct Changing(Arc<AtomicBool>, Option<thread::JoinHandle<()>>);

impl Changing {
    fn start(server: &RedisServer, locks: usize) -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let (mut connection, over) = (client(server), is_over.clone());
        let thread = thread::spawn(move || {
            let mut due = mono();
            let mut n = 0;
            for times in 1u64.. {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                // All over the place, and none soon again.
                n = (n + 618_033) % locks;
                let lease = LEASE_MS + n + times as usize;
                let command = match times % 2 {
                    0 => redis::cmd("PEXPIRE").arg(key(n)).arg(lease).to_owned(),
                    _ => {
                        let taken = token(n, times);
                        redis::cmd("SET").arg(key(n)).arg(taken).arg("PX").arg(lease).to_owned()
                    }
                };
                command.exec(&mut connection).unwrap();
                due = due.plus(Duration::from_micros(1_000_000 / CHANGES));
                thread::sleep(due.since(mono()));
            }
        });
        Self(is_over, Some(thread))
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let _ = self.1.take().map(thread::JoinHandle::join);
    }
}

/// How long after a change of a lock of its own it is in the metrics.
fn delay(server: &RedisServer, exporter: &Exporter, n: usize) -> Duration {
    for_a_while(Duration::from_millis(150 + (n as u64 * 37) % 300));
    let is_taken = n.is_multiple_of(2);
    match is_taken {
        true => server.cmd(&["SET", "lock:probe", &token(n, 0), "PX", "600000"]),
        false => server.cmd(&["DEL", "lock:probe"]),
    };
    let begun = mono();
    let held = if is_taken { 1.0 } else { 0.0 };
    while !exporter.metrics().is("dlock_lock_held", &[("lock", "probe")], held) {
        assert!(mono().since(begun) < Duration::from_secs(10), "a change is not seen");
    }
    mono().since(begun)
}

fn shares(pids: [i32; 2]) -> [f64; 2] {
    let begun = (pids.map(cpu), mono());
    for_a_while(Duration::from_secs(60));
    let took = mono().since(begun.1).as_secs_f64();
    [0, 1].map(|i| (cpu(pids[i]) - begun.0[i]).as_secs_f64() / took)
}

fn print(what: &str, [exporter, server]: [f64; 2], pid: i32, locks: usize) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    let kib: usize = line.split_whitespace().next().unwrap().parse().unwrap();
    let (exporter, server) = (exporter * 1e2, server * 1e2);
    println!("| {what} | {exporter:.2} % | {server:.2} % | {} B |", kib * 1024 / locks);
}

/// Processor time of all threads that run now.
fn cpu(pid: i32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let nanos = tasks.filter_map(|task| {
        let stat = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
