//! 10,000 string locks: one sweep of ours beside a scrape of redis_exporter in each of its three ways to read keys, and
//! beside the raw client that sends what we send.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tempfile::TempDir;

use super::cpu_of_threads;
use super::peer::{self, Peer};
use super::poller::Poller;
use super::raw::{RawClient, command};
use super::support::{Exporter, RedisServer, long, wait_until};
use super::table::Table;

const LOCKS: usize = 10_000;
/// Sweeps in a row; one is over too soon for the count of a processor's time.
const IN_A_ROW: u32 = 10;

/// All locks with their tokens and what is left of their leases, which the exporter alone does not show of a key.
const SCRIPT: &str = "local out, cursor = {}, '0'
repeat
  local page = redis.call('SCAN', cursor, 'MATCH', 'lock:*', 'COUNT', 1000)
  cursor = page[1]
  for _, key in ipairs(page[2]) do
    local token, left = redis.call('GET', key), redis.call('PTTL', key)
    if token then
      out[#out + 1] = key .. '|' .. token
      out[#out + 1] = tostring(left)
    end
  end
until cursor == '0'
return out
";

/// What one sweep or scrape cost, in seconds.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    server: f64,
    /// The longest that the server did nothing else.
    held: f64,
}

/// Theirs and ours, by round.
#[derive(Default)]
struct Ratios {
    wall: Vec<f64>,
    server: Vec<f64>,
    held: Vec<f64>,
    client: Vec<f64>,
}

impl Ratios {
    fn add(&mut self, theirs: Cost, ours: Cost) {
        self.wall.push(theirs.wall / ours.wall);
        self.server.push(theirs.server / ours.server);
        self.held.push(theirs.held / ours.held);
    }
}

/// Measures and adds to the table.
pub fn compare(table: &mut Table) {
    let Some(program) = peer::find("redis_exporter") else {
        return table.missing("redis_exporter, which is not installed".into());
    };
    let server = RedisServer::start();
    let keys = fill(&server);
    let dir = TempDir::new().unwrap();
    let script = dir.path().join("locks.lua");
    std::fs::write(&script, SCRIPT).unwrap();
    let ways = [
        ("--check-single-keys", keys.join(","), "redis_key_value_as_string{"),
        ("--check-keys", "lock:*".into(), "redis_key_value_as_string{"),
        ("--script", script.display().to_string(), "redis_script_values{"),
    ];
    let peers = ways.map(|(flag, value, series)| {
        let words =
            [format!("{flag}={value}"), format!("--redis.addr=redis://{}", server.address())];
        (flag, Peer::start(&program, &words, "--web.listen-address="), series)
    });
    let mut exporter = whole(&server);
    let mut poller = Poller::start(server.address(), &keys, Duration::from_millis(1));
    let mut raw = RawClient::new(server.address(), &keys);
    let mut all = [(); 4].map(|()| Ratios::default());
    for _ in 0..if long() { 15 } else { 5 } {
        let (wall, [spent]) = poller.sweeps(IN_A_ROW, || [cpu_of(&server)]);
        let ours = Cost { wall, server: spent, held: longest(&server, "exec") };
        poller.while_held(|| {
            let theirs = cost(&server, IN_A_ROW, "exec", || raw.sweep().as_secs_f64());
            all[3].add(theirs, ours);
            let own = own_cost(&mut exporter);
            for ((_, peer, series), ratios) in peers.iter().zip(&mut all) {
                let before = peer.cpu();
                let theirs = cost(&server, 1, "eval", || {
                    let (wall, text) = peer.scrape();
                    let shown = text.lines().filter(|l| l.starts_with(series)).count();
                    assert_eq!(shown, LOCKS, "locks that it shows");
                    wall
                });
                ratios.add(theirs, ours);
                ratios.client.push((peer.cpu() - before) / own);
            }
        });
    }
    let version = peer::version(&program);
    let [single, pattern, lua, raw] = all;
    for ((flag, ..), ratios) in peers.iter().zip([&single, &pattern, &lua]) {
        let of = format!("redis_exporter {version} `{flag}`, {LOCKS} keys");
        table.add(&format!("{of}: time of a scrape / of a sweep"), ratios.wall.clone());
        table.add("the server's processor time for it", ratios.server.clone());
        table.add("its own / ours for a sweep, all verdicts and a scrape", ratios.client.clone());
    }
    table.add("the longest that its script / a transaction of ours holds the server", lua.held);
    table.add("raw client that sends what we send: time", raw.wall);
    table.add("the server's processor time for it", raw.server);
}

/// The exporter with series of all locks; it stands still but for when it is measured.
fn whole(server: &RedisServer) -> Exporter {
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 1s
stores:
  main:
    url: {}
    username: dlock
    events: 'off'
    locks: [{{ match: 'lock:*', max_locks: {LOCKS}, series: core }}]
",
        server.url()
    ));
    exporter.wait_for("dlock_locks of all", Duration::from_secs(60), |m| {
        m.is("dlock_locks", &[("state", "held")], LOCKS as f64)
    });
    exporter.pause();
    exporter
}

/// Its processor time for a sweep with all that follows of it, and a scrape.
fn own_cost(exporter: &mut Exporter) -> f64 {
    exporter.resume();
    let polls = || {
        let labels = [("poller", "redis"), ("target", "main")];
        exporter.metrics().sum("dlock_exporter_polls_total", &labels[..1])
    };
    let first = polls() + 1.0;
    let begin = wait_until("a poll", Duration::from_secs(60), || (polls() >= first).then(polls)).0;
    let before = peer::cpu(exporter.pid());
    let mut scrapes = 0.0;
    let end = wait_until("polls", Duration::from_secs(60), || {
        scrapes += 1.0;
        let now = polls();
        // One scrape for each poll.
        std::thread::sleep(Duration::from_millis(950));
        (now >= begin + 4.0).then_some(now)
    });
    let spent = peer::cpu(exporter.pid()) - before;
    exporter.pause();
    spent / (end.0 - begin)
}

fn cost(server: &RedisServer, times: u32, command: &str, mut once: impl FnMut() -> f64) -> Cost {
    longest(server, command);
    let before = cpu_of(server);
    let wall: f64 = (0..times).map(|_| once()).sum();
    let of = |sum: f64| sum / f64::from(times);
    let spent = of(cpu_of(server) - before);
    Cost { wall: of(wall), server: spent, held: longest(server, command) }
}

fn cpu_of(server: &RedisServer) -> f64 {
    let info = server.text(&["INFO", "server"]);
    let pid = info.lines().find_map(|l| l.strip_prefix("process_id:")).unwrap();
    cpu_of_threads(pid.trim().parse().unwrap(), "redis-server").as_secs_f64()
}

/// Mean time of these commands since the last call, in seconds.
fn longest(server: &RedisServer, command: &str) -> f64 {
    let info = server.text(&["INFO", "commandstats"]);
    server.cmd(&["CONFIG", "RESETSTAT"]);
    let of_it = |l: &&str| l.starts_with(&format!("cmdstat_{command}"));
    let took = |l: &str| l.split(',').find_map(|f| f.strip_prefix("usec_per_call=")?.parse().ok());
    info.lines().filter(of_it).filter_map(took).fold(0.0, f64::max) / 1e6
}

fn fill(server: &RedisServer) -> Vec<String> {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let keys: Vec<String> = (0..LOCKS).map(|n| format!("lock:{n:05}")).collect();
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
