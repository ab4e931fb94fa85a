//! What sweeps over 10,000 and 100,000 string locks cost, each beside a raw client that sends the same transactions in the
//! same run, what they do to another client's latency, and that scrapes cost the server nothing. Prints ratios; fails when
//! one is over its bound. With `DLOCK_TEST_LONG=1` the rounds are more and the bounds those of the documents; without it
//! they leave room for a busy machine.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod compare;
#[path = "../growth.rs"]
mod growth;
mod lock_client;
mod poller;
mod raw;
mod scrapes;
// Its self-tests and half of its means are for the tests.
#[allow(unused_imports)]
#[path = "../../support/mod.rs"]
mod support;
mod table;

use std::alloc::System;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::Duration;

use compare::{Least, compare};
use growth::Growth;
use lock_client::latency;
use poller::Poller;
use raw::command;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::{Proxy, RedisServer, cpu_of_threads, long};
use table::Table;

#[global_allocator]
static ALLOCATIONS: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Sweep after sweep.
const AT_ONCE: Duration = Duration::from_millis(1);
/// A link's round trip, half of it each way or all of it one way.
const ROUND_TRIP: Duration = Duration::from_micros(1300);
/// Microseconds that a transaction may hold the server.
const HELD: f64 = 100.0;

fn main() -> ExitCode {
    let mut table = Table::default();
    let server = RedisServer::start();
    let keys = fill(&server, 100_000);
    let [small, large] = [10_000, 100_000].map(|n| sweeps(&mut table, &server, &keys[..n]));
    // 1 if ten times as many locks take ten times as long.
    table.add("exponent of growth, 10,000 to 100,000 locks", (large / small).log10(), 1.15);
    over_a_link(&mut table, &server, &keys[..10_000]);
    other_clients(&mut table, &server, &keys[..10_000]);
    if long() {
        as_locks_grow(&server);
    }
    server.cmd(&["FLUSHALL"]);
    let caused = scrapes::commands(&server, &fill(&server, 1000));
    table.add("commands that 30 scrapes cause on the server", caused as f64, 0.0);
    table.finish()
}

/// The long form's bound, and that of the other.
fn bound(strict: f64, busy: f64) -> f64 {
    if long() { strict } else { busy }
}

fn rounds(many: usize, few: usize) -> usize {
    if long() { many } else { few }
}

fn fill(server: &RedisServer, count: usize) -> Vec<String> {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let keys: Vec<String> = (0..count).map(|n| format!("lock:orders:shard:{n:06}")).collect();
    for (part, some) in keys.chunks(1000).enumerate() {
        let mut sent = Vec::new();
        for (n, key) in some.iter().enumerate() {
            let token = format!("worker-{n:03}:host:{part:05}:8f14e45fceea");
            command(&mut sent, &["SET", key, &token, "PX", "36000000"]);
        }
        stream.write_all(&sent).unwrap();
        stream.read_exact(&mut vec![0; 5 * some.len()]).unwrap();
    }
    keys
}

/// Gives our processor time for a sweep.
fn sweeps(table: &mut Table, server: &RedisServer, keys: &[String]) -> f64 {
    let count = keys.len();
    let (wall, cpu) = (bound(1.2, 1.5), bound(1.05, 1.15));
    let (mut ours, mut raw) = (Least::NONE, Least::NONE);
    for _ in 0..3 {
        let (o, r) = compare(server.address(), server, keys, rounds(15, 5));
        (ours, raw) = (ours.or(o), raw.or(r));
        if ours.wall <= wall * raw.wall && ours.server <= cpu * raw.server {
            break;
        }
    }
    table.add(&format!("a sweep of {count} locks / raw client"), ours.wall / raw.wall, wall);
    table.add("the server's processor time for it / raw client", ours.server / raw.server, cpu);
    table.add("our processor time for it / raw client", ours.client / raw.client, f64::INFINITY);
    table.add("microseconds that a transaction holds the server", ours.exec * 1e6, HELD);
    let mut poller = Poller::start(server.address(), keys, AT_ONCE);
    let region = Region::new(ALLOCATIONS);
    let (_, [allocations]) = poller.sweeps(3, || [region.change().allocations as f64]);
    table.add("allocations for each unchanged lock", allocations / count as f64, 0.1);
    ours.client
}

/// Ours and the raw client's, in turn at each size.
fn as_locks_grow(server: &RedisServer) {
    let sizes = [1_000, 10_000, 100_000, 1_000_000];
    let keys = fill(server, sizes[3]);
    let mut growth = Growth::of(&sizes);
    for count in sizes {
        let (ours, raw) = compare(server.address(), server, &keys[..count], 5);
        growth.add("a sweep", ours.wall * 1e3);
        growth.add("our processor time", ours.client * 1e3);
        growth.add("the server's processor time", ours.server * 1e3);
        growth.add("raw client", raw.wall * 1e3);
    }
    growth.print();
}

fn over_a_link(table: &mut Table, server: &RedisServer, keys: &[String]) {
    let proxy = Proxy::start(server.address());
    proxy.delay(ROUND_TRIP);
    let what = format!("a sweep of {} locks over a link of 1.3 ms / raw client", keys.len());
    let (ours, raw) = compare(proxy.address(), server, keys, rounds(5, 2));
    table.add(&what, ours.wall / raw.wall, bound(1.2, 1.5));
}

/// A lock client's latency while the poller sweeps, beside that while it does not; in pairs, because the machine's own noise
/// drifts.
fn other_clients(table: &mut Table, server: &RedisServer, keys: &[String]) {
    let address = server.address();
    let operations = rounds(8000, 2000);
    let ways = [
        ("all the time", AT_ONCE, bound(2.5, 3.5), bound(2.0, 4.0)),
        ("every second", Duration::from_secs(1), bound(1.2, 1.5), bound(1.3, 2.5)),
    ];
    for (how, interval, median, tail) in ways {
        let mut poller = Poller::start(address, keys, interval);
        let mut ratios = [f64::INFINITY; 2];
        for _ in 0..rounds(5, 3) {
            let idle = poller.while_held(|| latency(address, operations));
            let polled = poller.meanwhile(|| latency(address, operations));
            println!("swept {how}: {polled:.6?}, idle {idle:.6?}");
            ratios = [ratios[0].min(polled.p50 / idle.p50), ratios[1].min(polled.p99 / idle.p99)];
            if !long() && ratios[0] <= median && ratios[1] <= tail {
                break;
            }
        }
        table.add(&format!("p50 of a lock client, keys swept {how} / idle"), ratios[0], median);
        table.add("p99 of it / idle", ratios[1], tail);
    }
}
