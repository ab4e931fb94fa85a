//! Healthy behaviour of real libraries, as exact sequences of commands at a faster clock: it must raise nothing. So that
//! silence proves something, each rhythm is broken once at the end of its test, and that must be seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::support::{
    Client, Driver, Exporter, Metrics, RedisServer, Sampler, for_a_while, long, raised,
};

pub const SOON: Duration = Duration::from_secs(20);
const UUID: &str = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162";

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// How long a scenario is watched.
fn watched() -> Duration {
    if long() { Duration::from_secs(120) } else { Duration::from_secs(17) }
}

/// A file that watches `lock:*`, with holders such as `NAME-1:HOST:PID:...` seen by their process.
pub fn config(url: &str, poll: &str) -> String {
    format!(
        "poll_interval: {poll}
stores:
  main:
    url: {url}
    username: dlock
    connect_timeout: 3s
    response_timeout: 3s
    locks:
      - {{ name: '{{1}}', match: 'lock:*', capture: '^lock:(.+)$', series: full,
          holder: '^(?P<worker>[a-z]+-1):(?P<host>[^:]*):(?P<pid>\\d+):' }}
workers:
  any: {{ match: '.*', process: {{ pid_from_holder: true }} }}
"
    )
}

/// A token that names this very process, new for each acquire.
pub fn token(name: &str, n: u64) -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{name}-1:{host}:{}:{n}", std::process::id())
}

/// Looks all the time that nothing is raised while `scenario` runs.
pub fn raises_nothing(exporter: &mut Exporter, scenario: impl FnOnce(&mut Exporter)) {
    let sampler = Sampler::start(exporter.address(), |m| {
        (!m.all("dlock_signal_rises_total", &[]).is_empty()).then(|| raised(m)).flatten()
    });
    scenario(exporter);
    sampler.finish();
    assert_eq!(raised(&exporter.metrics()), None);
}

/// A library's way to keep a lock, in milliseconds.
#[derive(Clone, Copy)]
pub struct Rhythm {
    pub name: &'static str,
    pub lease: u64,
    /// From acquire to the first renewal, and from each to the next; the last one repeats.
    pub gaps: &'static [u64],
    /// How a renewal is written.
    pub write: Write,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Write {
    /// `PEXPIRE` after a comparison.
    Expire,
    /// `SET` of the same value.
    Set,
    /// `EXPIRE` in a Redisson hash.
    Hash,
}

const RHYTHMS: [Rhythm; 8] = [
    // Renewed with a fifth left.
    Rhythm { name: "semaphore", lease: 2500, gaps: &[2000], write: Write::Expire },
    // Renewed with 500 ms left, whatever the lease.
    Rhythm { name: "redlock", lease: 2000, gaps: &[1500], write: Write::Set },
    Rhythm { name: "redlocktwo", lease: 1200, gaps: &[700], write: Write::Set },
    // Renewed by a loop that never sleeps the same twice.
    Rhythm {
        name: "redbeat",
        lease: 4000,
        gaps: &[900, 350, 700, 1000, 120, 800, 990, 600, 1000, 950, 300, 1000],
        write: Write::Expire,
    },
    // The tick is shared by all locks of a process: the first renewal comes at any time.
    Rhythm { name: "redisson", lease: 3000, gaps: &[300, 1000], write: Write::Hash },
    // Half of the lease at first, then a quarter.
    Rhythm { name: "bullmq", lease: 3000, gaps: &[1500, 750], write: Write::Set },
    // Two thirds, in whole seconds.
    Rhythm { name: "autorenewal", lease: 3000, gaps: &[2000], write: Write::Expire },
    Rhythm { name: "keepalive", lease: 2000, gaps: &[1000], write: Write::Set },
];

/// Tenures of six renewals or so, until told to miss one; then the lease runs out.
pub fn keep(c: &mut Client, rhythm: Rhythm, miss: &AtomicBool) {
    let key = format!("lock:{}", rhythm.name);
    let lease = rhythm.lease.to_string();
    for tenure in 0.. {
        let own = match rhythm.write {
            Write::Hash => format!("{UUID}:{}", 47 + tenure),
            _ => token(rhythm.name, tenure),
        };
        if rhythm.write == Write::Hash {
            c.cmd(&["EVAL", "redis.call('HINCRBY', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], ARGV[2])", "1", &key, &own, &lease]);
        } else {
            c.cmd(&["SET", &key, &own, "NX", "PX", &lease]);
        }
        for renewal in 0..7 + tenure as usize % 3 {
            let gap = rhythm.gaps[renewal.min(rhythm.gaps.len() - 1)];
            if !c.wait(ms(gap)) {
                return;
            }
            if miss.load(Ordering::Relaxed) && renewal >= 2 {
                while c.wait(ms(50)) {}
                return;
            }
            match rhythm.write {
                Write::Set => c.cmd(&["SET", &key, &own, "PX", &lease]),
                _ => c.cmd(&["PEXPIRE", &key, &lease]),
            };
        }
        if !c.wait(ms(150)) {
            return;
        }
        c.cmd(&["DEL", &key]);
        if !c.wait(ms(350)) {
            return;
        }
    }
}

#[test]
fn each_library_renews_in_its_own_rhythm() {
    let server = RedisServer::start();
    let miss = Arc::new(AtomicBool::new(false));
    let drivers = RHYTHMS.map(|rhythm| {
        let miss = Arc::clone(&miss);
        Driver::start(&server, 0, move |c| keep(c, rhythm, &miss))
    });
    let mut exporter = Exporter::start(&config(&server.url(), "100ms"));
    raises_nothing(&mut exporter, |exporter| {
        for_a_while(watched());
        let m = exporter.metrics();
        for Rhythm { name, .. } in RHYTHMS {
            let renewals = m.value("dlock_lease_renewals_total", &[("lock", name)]);
            assert!(renewals.is_some_and(|n| n >= 5.0), "{name} renewed {renewals:?} times");
        }
        exporter.wait_for("dlock_renewal_overdue judged", SOON, |m| {
            RHYTHMS.iter().all(|r| m.is("dlock_renewal_overdue", &[("lock", r.name)], 0.0))
        });
    });
    // The same eyes see the first renewal that does not come.
    miss.store(true, Ordering::Relaxed);
    let overdue = |m: &Metrics, name| {
        m.value("dlock_signal_rises_total", &[("lock", name), ("signal", "renewal_overdue")])
    };
    exporter.wait_for("dlock_signal_rises_total renewal_overdue of all", SOON * 2, |m| {
        RHYTHMS.iter().all(|r| overdue(m, r.name) == Some(1.0))
    });
    drop(drivers);
    let m = exporter.metrics();
    let others = m.sum("dlock_signal_rises_total", &[]) - RHYTHMS.len() as f64;
    assert_eq!(others, 0.0, "nothing else: {}", m.lines("dlock_signal_rises_total"));
}

#[test]
fn thousands_of_short_locks() {
    let server = RedisServer::start();
    let taken = Arc::new(AtomicU64::new(0));
    let _drivers = [1, 2, 3, 4].map(|n| {
        let taken = Arc::clone(&taken);
        Driver::start(&server, 0, move |c| {
            let key = format!("lock:short{n}");
            for tenure in 0.. {
                c.cmd(&["SET", &key, &token("short", tenure), "NX", "PX", "10000"]);
                taken.fetch_add(1, Ordering::Relaxed);
                if !c.wait(ms(5 + tenure * 7 % 46)) {
                    break;
                }
                c.cmd(&["DEL", &key]);
            }
        })
    });
    let mut exporter = Exporter::start(&config(&server.url(), "50ms"));
    raises_nothing(&mut exporter, |_| for_a_while(watched() / 2));
    let m = exporter.metrics();
    let acquired = m.sum("dlock_lock_acquisitions_total", &[]);
    let taken = taken.load(Ordering::Relaxed) as f64;
    assert!(acquired >= 100.0 && acquired <= taken, "{acquired} acquisitions seen of {taken}");
    assert_eq!(m.sum("dlock_lease_ends_total", &[("evidence", "lapsed")]), 0.0);
    assert_eq!(m.sum("dlock_lease_ends_total", &[("evidence", "overwritten")]), 0.0);
    assert_eq!(m.sum("dlock_lease_renewals_total", &[]), 0.0, "a new owner is no renewal");
}

#[test]
fn redisson_with_a_lease_time_and_hand_over_between_threads() {
    let server = RedisServer::start();
    let explicit = Driver::start(&server, 0, |c| {
        while c.goes_on() {
            c.cmd(&["HSET", "lock:explicit", &format!("{UUID}:47"), "1"]);
            c.cmd(&["PEXPIRE", "lock:explicit", "2000"]);
            c.wait(ms(600));
            c.cmd(&["DEL", "lock:explicit"]);
            c.wait(ms(250));
        }
    });
    let handover = Driver::start(&server, 0, |c| {
        let script = "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], ARGV[1], 1) \
                      redis.call('PEXPIRE', KEYS[1], 3000)";
        for n in 0u64.. {
            let own = format!("{UUID}:{}", [47, 51][(n % 2) as usize]);
            c.cmd(&["EVAL", script, "1", "lock:handover", &own]);
            // Taken again by the same thread, and let go once.
            c.cmd(&["HINCRBY", "lock:handover", &own, "1"]);
            c.cmd(&["PEXPIRE", "lock:handover", "3000"]);
            c.wait(ms(200));
            c.cmd(&["HINCRBY", "lock:handover", &own, "-1"]);
            if !c.wait(ms(230)) {
                break;
            }
        }
    });
    let mut exporter = Exporter::start(&config(&server.url(), "100ms"));
    raises_nothing(&mut exporter, |exporter| {
        for_a_while(watched() / 2);
        exporter.wait_for("dlock_lock_acquisitions_total", SOON, |m| {
            let taken = |lock| m.sum("dlock_lock_acquisitions_total", &[("lock", lock)]);
            taken("explicit") >= 4.0 && taken("handover") >= 4.0
        });
    });
    let m = exporter.metrics();
    for lock in ["explicit", "handover"] {
        assert!(m.is("dlock_lease_without_ttl", &[("lock", lock)], 0.0), "{lock}");
    }
    assert_eq!(m.sum("dlock_lease_renewals_total", &[("lock", "explicit")]), 0.0);
    explicit.stop();
    handover.stop();
}
