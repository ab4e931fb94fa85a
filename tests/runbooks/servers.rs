//! The lock servers of the faults, all well at first, and the holding of locks on them. It must not break anything itself.

use crate::processes::unique;
use crate::support::{Flavor, RedisServer, RedisSetup, SteppedClock, Worker, WorkerSetup};

/// Leases that are not part of a fault; nothing that takes so long ends by itself during the test.
pub const LONG: &str = "3600000";
/// An owner as Redisson writes it.
pub const OWNER: &str = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:57";

/// The lock servers.
pub struct Servers {
    pub main: RedisServer,
    pub replica: RedisServer,
    pub cut_off: RedisServer,
    pub split: RedisServer,
    pub promoted: RedisServer,
    pub away: RedisServer,
    pub jumped: RedisServer,
    pub halted: RedisServer,
    pub several: [RedisServer; 3],
    pub jumping: SteppedClock,
    pub halting: SteppedClock,
}

impl Servers {
    /// Starts them.
    pub fn start() -> Self {
        let main = RedisServer::start();
        let replica = RedisSetup::default()
            .replica_of(&main)
            .arguments(&["--replica-read-only", "no"])
            .start();
        let cut_off = RedisSetup::default().arguments(&["--replicaof", "127.0.0.1", "1"]).start();
        // Without a command that the exporter can do without, and with a limit that reaches locks.
        let line = Flavor::default().acl_line().replace("ACL SETUSER", "user");
        let line = line.replace("PASSWORD", "watch-only").replace(" +pexpiretime", "");
        let limits = ["--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"];
        let split = RedisSetup::default().acl(&line).arguments(&limits).start();
        let promoted = RedisSetup::default().replica_of(&split).start();
        let (jumping, halting) = (SteppedClock::start(), SteppedClock::start());
        let jumped = RedisSetup::default().clock(&jumping).start();
        let halted = RedisSetup::default().clock(&halting).start();
        let away = RedisServer::start();
        let several = std::array::from_fn(|_| RedisServer::start());
        Self {
            main,
            replica,
            cut_off,
            split,
            promoted,
            away,
            jumped,
            halted,
            several,
            jumping,
            halting,
        }
    }
}

/// Holds a lock there for the worker of its name.
pub fn hold(server: &RedisServer, lock: &str, expiry: &[&str]) {
    let (key, token) = (format!("lock:{lock}"), format!("{lock}-1:{}", unique()));
    server.cmd(&[&["SET", &key, &token], expiry].concat());
}

/// A worker that takes the lock of its name there, and keeps it.
pub fn worker(server: &RedisServer, lock: &str, lease: f64, renew: f64, separate: bool) -> Worker {
    let setup = WorkerSetup::new(server, &format!("{lock}-1"), &format!("lock:{lock}"));
    let setup = setup.lease(lease, renew).beat_every(0.2);
    if separate { setup.separate_renewer().start() } else { setup.start() }
}

/// Holds what nobody renews there: locks of one holder each, some of a pattern, and one of Redisson.
pub fn hold_all(server: &RedisServer) {
    let with_expiry =
        ["nightly", "mirror", "jvm", "cold", "far", "spare", "ages", "mixed", "stranger"];
    for name in with_expiry.into_iter().chain(["forever"]) {
        hold(server, name, if name == "forever" { &[] } else { &["PX", LONG] });
    }
    for number in ["1", "2", "3"] {
        server.cmd(&["SET", &format!("lock:job:{number}"), &format!("w-{number}"), "PX", LONG]);
    }
    server.cmd(&["HSET", "lock:hash", OWNER, "1"]);
    server.cmd(&["PEXPIRE", "lock:hash", LONG]);
}
