//! Sweeps of our poller and of the raw client in turn, and what each costs at least.

use std::net::SocketAddr;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::poller::{self, Poller};
use super::raw::RawClient;
use super::support::RedisServer;
use super::{AT_ONCE, cpu_of_threads};

/// The server's thread, whose processor time is asked for.
struct Measured<'a> {
    server: &'a RedisServer,
    pid: i32,
}

impl<'a> Measured<'a> {
    fn new(server: &'a RedisServer) -> Self {
        let info = server.text(&["INFO", "server"]);
        let pid = info.lines().find_map(|l| l.strip_prefix("process_id:")).unwrap();
        Self { server, pid: pid.trim().parse().unwrap() }
    }

    fn cpu(&self) -> f64 {
        cpu_of_threads(self.pid, "redis-server").as_secs_f64()
    }

    /// Mean time of an `EXEC` since the last call, in seconds.
    fn exec_took(&self) -> f64 {
        let info = self.server.text(&["INFO", "commandstats"]);
        self.server.cmd(&["CONFIG", "RESETSTAT"]);
        let line = info.lines().find(|l| l.starts_with("cmdstat_exec:"));
        let took = line.and_then(|l| l.split(',').find_map(|f| f.strip_prefix("usec_per_call=")));
        took.map_or(0.0, |t| t.parse::<f64>().unwrap() / 1e6)
    }
}

/// What a sweep costs at least, of some: what else runs on the machine can only add to it. In seconds.
#[derive(Clone, Copy, Debug)]
pub struct Least {
    /// From the first request to the last reply.
    pub wall: f64,
    /// Processor time of the server.
    pub server: f64,
    /// Processor time of the client.
    pub client: f64,
    /// Mean time of an `EXEC`, as the server counts it.
    pub exec: f64,
}

impl Least {
    /// Nothing was measured.
    pub const NONE: Self = Self {
        wall: f64::INFINITY,
        server: f64::INFINITY,
        client: f64::INFINITY,
        exec: f64::INFINITY,
    };

    /// The less of each.
    pub fn or(self, other: Self) -> Self {
        Self {
            wall: self.wall.min(other.wall),
            server: self.server.min(other.server),
            client: self.client.min(other.client),
            exec: self.exec.min(other.exec),
        }
    }
}

/// A sweep of ours and one of the raw client, made in turn.
pub fn compare(
    address: SocketAddr,
    server: &RedisServer,
    keys: &[String],
    rounds: usize,
) -> (Least, Least) {
    let measured = Measured::new(server);
    let mut raw = RawClient::new(address, keys);
    let mut poller = Poller::start(address, keys, AT_ONCE);
    raw.sweep();
    let (mut ours, mut theirs) = (Least::NONE, Least::NONE);
    let in_a_row = u32::try_from((50_000 / keys.len()).max(1)).unwrap();
    for _ in 0..rounds {
        measured.exec_took();
        let (wall, [server, client]) = poller.sweeps(in_a_row, || [measured.cpu(), poller::cpu()]);
        ours = ours.or(Least { wall, server, client, exec: measured.exec_took() });
        poller.while_held(|| {
            measured.exec_took();
            let own = || thread_cpu().as_secs_f64();
            let before = (measured.cpu(), own());
            let wall: f64 = (0..in_a_row).map(|_| raw.sweep().as_secs_f64()).sum();
            let of = |rise: f64| rise / f64::from(in_a_row);
            let (server, client) = (of(measured.cpu() - before.0), of(own() - before.1));
            let exec = measured.exec_took();
            theirs = theirs.or(Least { wall: of(wall), server, client, exec });
        });
    }
    println!("{} locks: ours {ours:.6?}, raw {theirs:.6?}", keys.len());
    (ours, theirs)
}

fn thread_cpu() -> Duration {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec.unsigned_abs(), t.tv_nsec.try_into().unwrap())
}
