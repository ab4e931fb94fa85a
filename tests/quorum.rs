//! A lock over five servers of their own, live: a client of Redlock holds it, its servers lose the key one by one until another
//! owner gets it, and what a failed acquire leaves is no lock.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{
    Exporter, Metrics, RedisServer, RedisSetup, Steady, acl_line_of_the_readme, raised, repository,
};

const SOON: Duration = Duration::from_secs(15);
const FOR_LONG: &str = "600000";

/// Takes the lock as pottery does, and holds it until it is told to let go.
const HOLDER: &str = "
import sys
from redis import Redis
from pottery import Redlock
masters = {Redis(port=int(port)) for port in sys.argv[1:]}
lock = Redlock(key='job', masters=masters, auto_release_time=120)
assert lock.acquire(blocking=False)
print('held', flush=True)
sys.stdin.readline()
lock.release()
print('free', flush=True)
";

struct Holder(Child);

impl Holder {
    fn start(servers: &[RedisServer]) -> Self {
        let mut child = Command::new(repository("tests/.venv/bin/python"))
            .args(["-c", HOLDER])
            .args(servers.iter().map(|s| s.address().port().to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("tests/run made tests/.venv");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("it is piped");
        BufReader::new(out).read_line(&mut line).expect("it can be read");
        assert_eq!(line, "held\n");
        Self(child)
    }

    fn let_go(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().expect("it ends").success());
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One whose exporter may read pottery's keys too.
fn server() -> RedisServer {
    let line = acl_line_of_the_readme().replace("ACL SETUSER", "user");
    let line = line.replace("%R~hb:*", "%R~redlock:*");
    RedisSetup::default().acl(&line.replace("PASSWORD", "watch-only")).start()
}

/// One round of an acquire; gives the votes.
fn acquire(servers: &[RedisServer], key: &str, token: &str) -> usize {
    let set = |s: &RedisServer| s.cmd(&["SET", key, token, "NX", "PX", FOR_LONG]);
    servers.iter().filter(|s| set(s) == redis::Value::Okay).count()
}

fn release(servers: &[RedisServer], key: &str, token: &str) {
    let script =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end";
    servers.iter().for_each(|s| {
        s.cmd(&["EVAL", script, "1", key, token]);
    });
}

fn of(m: &Metrics, family: &str, lock: &str) -> Option<f64> {
    m.value(family, &[("lock", lock)])
}

fn votes(m: &Metrics, lock: &str) -> Option<f64> {
    of(m, "dlock_quorum_votes", lock)
}

fn proofs(m: &Metrics, lock: &str) -> f64 {
    m.sum("dlock_contention_events_total", &[("lock", lock), ("kind", "quorum")])
}

#[test]
fn a_lock_over_five_servers_erodes_until_two_owners_were_valid() {
    let mut servers: Vec<RedisServer> = (0..5).map(|_| server()).collect();
    let urls: Vec<String> = servers.iter().map(RedisServer::url).collect();
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 200ms
stores:
  main:
    topology: quorum
    urls: {urls:?}
    username: dlock
    response_timeout: 300ms
    locks:
      - {{ name: job, key: 'redlock:job', lease: 120s }}
      - {{ name: calm, key: 'lock:calm' }}
      - match: 'lock:found:*'
"
    ));
    let addr = |s: &RedisServer| s.address().to_string();
    let families = "dlock_quorum dlock_lock_held dlock_store_up";
    exporter.wait_for(families, SOON, |m| {
        servers.iter().all(|s| m.is("dlock_store_up", &[("addr", &addr(s))], 1.0))
            && votes(m, "job") == Some(0.0)
            && of(m, "dlock_lock_held", "job") == Some(0.0)
    });
    let steady = Steady::watch(&exporter);

    // Held by all, found by a pattern on all, and the rest of an acquire that failed.
    let holder = Holder::start(&servers);
    assert_eq!(acquire(&servers, "lock:found:x", "x-1"), 5);
    assert_eq!(acquire(&servers[3..], "lock:calm", "c-0"), 2);
    exporter.wait_for(families, SOON, |m| {
        votes(m, "job") == Some(5.0)
            && of(m, "dlock_quorum_needed", "job") == Some(3.0)
            && of(m, "dlock_lock_held", "job") == Some(1.0)
            && of(m, "dlock_quorum_degraded", "job") == Some(0.0)
            && votes(m, "lock:found:x") == Some(5.0)
            && votes(m, "calm") == Some(2.0)
            && of(m, "dlock_lock_held", "calm") == Some(0.0)
    });
    release(&servers, "lock:calm", "c-0");

    // A server is away: its own series end, the lock's go on. It comes back empty.
    servers[0].kill();
    exporter.wait_for(families, SOON, |m| {
        m.is("dlock_store_up", &[("addr", &addr(&servers[0]))], 0.0)
            && votes(m, "job") == Some(4.0)
            && of(m, "dlock_lock_held", "job") == Some(1.0)
            && of(m, "dlock_lock_held", "lock:found:x") == Some(1.0)
    });
    servers[0].restart();
    exporter.wait_for(families, SOON, |m| {
        m.is("dlock_store_up", &[("addr", &addr(&servers[0]))], 1.0)
            && votes(m, "job") == Some(4.0)
            && of(m, "dlock_quorum_degraded", "job") == Some(1.0)
    });
    // The next ones lose it by a flush and by eviction; with two left nobody holds it.
    servers[1].cmd(&["FLUSHALL"]);
    exporter.wait_for(families, SOON, |m| {
        votes(m, "job") == Some(3.0) && of(m, "dlock_lock_held", "job") == Some(1.0)
    });
    servers[2].cmd(&["CONFIG", "SET", "maxmemory-policy", "allkeys-random"]);
    servers[2].cmd(&["CONFIG", "SET", "maxmemory", "1"]);
    let _ = servers[2].try_cmd(&["SET", "more", "than fits"]);
    assert_eq!(servers[2].number(&["DBSIZE"]), 0);
    servers[2].cmd(&["CONFIG", "SET", "maxmemory", "0"]);
    exporter.wait_for(families, SOON, |m| {
        votes(m, "job") == Some(2.0)
            && of(m, "dlock_lock_held", "job") == Some(0.0)
            && of(m, "dlock_contested", "job") == Some(0.0)
            && of(m, "dlock_quorum_degraded", "job") == Some(0.0)
    });

    // Another owner gets what is free: three of five.
    assert_eq!(acquire(&servers, "redlock:job", "other"), 3);
    exporter.wait_for("dlock_contested dlock_contention dlock_quorum", SOON, |m| {
        of(m, "dlock_contested", "job") == Some(1.0)
            && proofs(m, "job") == 1.0
            && of(m, "dlock_lock_held", "job") == Some(1.0)
            && votes(m, "job") == Some(3.0)
            && of(m, "dlock_quorum_degraded", "job") == Some(1.0)
    });
    assert_eq!(of(&exporter.metrics(), "dlock_contested", "calm"), Some(0.0));

    // One that is let go of and taken by another is no second owner, also while a server restarts.
    assert_eq!(acquire(&servers, "lock:calm", "c-1"), 5);
    exporter.wait_for(families, SOON, |m| {
        votes(m, "calm") == Some(5.0) && of(m, "dlock_lock_held", "calm") == Some(1.0)
    });
    servers[4].restart();
    release(&servers, "lock:calm", "c-1");
    assert_eq!(acquire(&servers, "lock:calm", "c-2"), 5);
    exporter.wait_for("dlock_lock_acquisitions_total dlock_quorum", SOON, |m| {
        of(m, "dlock_lock_acquisitions_total", "calm") == Some(2.0)
            && votes(m, "calm") == Some(5.0)
            && of(m, "dlock_contested", "calm") == Some(0.0)
    });

    // Two of five answer: that is too few to say anything of a lock.
    servers[..3].iter().for_each(RedisServer::pause);
    exporter.wait_for("dlock_coverage_lost dlock_lock_held", SOON, |m| {
        let quorum = [("lock", "calm"), ("aspect", "quorum"), ("reason", "unreachable")];
        m.is("dlock_coverage_lost", &quorum, 1.0)
            && of(m, "dlock_lock_held", "calm").is_none()
            && votes(m, "calm").is_none()
            && m.is("dlock_store_up", &[("addr", &addr(&servers[4]))], 1.0)
    });
    servers[..3].iter().for_each(RedisServer::resume);
    exporter.wait_for(families, SOON, |m| {
        votes(m, "calm") == Some(5.0) && of(m, "dlock_lock_held", "calm") == Some(1.0)
    });
    release(&servers, "redlock:job", "other");
    // The first client finds out as it lets go.
    drop(holder);
    let m = exporter.metrics();
    assert_eq!((proofs(&m, "job"), proofs(&m, "calm")), (1.0, 0.0));
    let calm = [("lock", "calm"), ("signal", "contested")];
    assert_eq!(m.sum("dlock_signal_rises_total", &calm), 0.0);
    steady.finish();
}

#[test]
fn a_client_of_redlock_takes_and_lets_go_and_nothing_is_raised() {
    let servers: Vec<RedisServer> = (0..3).map(|_| server()).collect();
    let urls: Vec<String> = servers.iter().map(RedisServer::url).collect();
    let mut exporter = Exporter::start(&format!(
        "poll_interval: 100ms
stores:
  main:
    topology: quorum
    urls: {urls:?}
    username: dlock
    locks: [{{ name: job, key: 'redlock:job' }}]
"
    ));
    exporter.wait_for("dlock_quorum", SOON, |m| votes(m, "job") == Some(0.0));
    // On a busy machine a poll may come too late to tell that a lock was let go; then once more.
    let released = [("lock", "job"), ("evidence", "released")];
    for n in 1..=6 {
        let holder = Holder::start(&servers);
        exporter.wait_for("dlock_quorum dlock_lock_held", SOON, |m| {
            votes(m, "job") == Some(3.0) && of(m, "dlock_lock_held", "job") == Some(1.0)
        });
        holder.let_go();
        exporter.wait_for("dlock_lock_held dlock_lease_ends_total", SOON, |m| {
            of(m, "dlock_lock_held", "job") == Some(0.0)
                && m.sum("dlock_lease_ends_total", &[("lock", "job")]) == f64::from(n)
        });
        if exporter.metrics().sum("dlock_lease_ends_total", &released) >= 2.0 {
            break;
        }
    }
    let m = exporter.metrics();
    let ends = |evidence| m.sum("dlock_lease_ends_total", &[("evidence", evidence)]);
    assert!(ends("released") >= 2.0, "{}", m.lines("dlock_lease_ends_total"));
    assert_eq!(ends("lapsed") + ends("overwritten"), 0.0);
    assert_eq!(raised(&m), None);
}
