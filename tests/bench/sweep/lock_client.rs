//! A lock client: `SET NX PX` and a compare-and-delete by script, about a thousand times a second, and how long each took.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use dlock_exporter::clock;

use super::raw::command;

/// The pace of an application, not of a benchmark.
const PAUSE: Duration = Duration::from_micros(700);

/// Latencies, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// The median.
    pub p50: f64,
    /// One in a hundred is longer.
    pub p99: f64,
}

/// Takes and releases a lock so many times.
pub fn latency(address: SocketAddr, operations: usize) -> Latency {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut set = Vec::new();
    command(&mut set, &["SET", "app:probe", "token", "NX", "PX", "10000"]);
    let mut unlock = Vec::new();
    let script =
        "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0";
    command(&mut unlock, &["EVAL", script, "1", "app:probe", "token"]);
    let mut buffer = [0; 64];
    let mut took = Vec::with_capacity(operations * 2);
    for _ in 0..operations {
        for request in [&set, &unlock] {
            let begun = clock::mono();
            stream.write_all(request).unwrap();
            assert!(stream.read(&mut buffer).unwrap() > 0);
            took.push(clock::mono().since(begun).as_secs_f64());
        }
        std::thread::sleep(PAUSE);
    }
    took.sort_by(f64::total_cmp);
    Latency { p50: took[took.len() / 2], p99: took[took.len() * 99 / 100] }
}
