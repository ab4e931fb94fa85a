//! Long enough for what leaks to show: locks, tokens and workers that come and go without end, and everything else restarted
//! again and again in random order. What the exporter uses stays flat, its series are those of what is there, no counter
//! falls. An hour, in a long run only.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dlock_exporter::clock;

use crate::support::{
    Chronyd, ChronydSetup, Driver, Endpoint, Exporter, Metrics, RedisServer, RedisSetup, Reply,
    Steady, beside, for_a_while, long, not_tested, wait_until,
};

const SOON: Duration = Duration::from_secs(20);
/// Between two looks, and between two polls.
const LOOK: Duration = Duration::from_secs(2);
/// Locks that are gone keep their series for as long.
const RETAIN: u64 = 10;
/// New locks in a second, each held for a second.
const RATE: u64 = 2;
/// What counts as noise: the allocator's, and that of the machine's own pages.
const NOISE: f64 = 4e6;

fn config(server: &RedisServer, endpoint: &Endpoint, chronyd: &Chronyd) -> String {
    format!(
        "poll_interval: 2s
retain: {RETAIN}s
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: orders, key: 'lock:orders', lease: 30s, holder: '^(?P<worker>[^:]+):' }}
      - {{ name: '{{1}}', match: 'lock:job:*', capture: '^lock:job:(.+)$', holder: '^(?P<worker>[^:]+):' }}
workers:
  fixed: {{ names: [fixed-1], heartbeat: {{ http: {{ url: '{}', json: /beat }} }} }}
  jobs: {{ match: '^w\\d+$', heartbeat: {{ redis: {{ store: main, key: 'hb:{{worker}}' }} }} }}
clocks: {{ local: {{ chrony: '{}' }} }}
",
        server.url(),
        endpoint.url("/"),
        chronyd.url()
    )
}

/// Locks that come and go, each with a name, a token and a worker of its own.
fn churn(server: &RedisServer, count: &Arc<AtomicU64>) -> Driver {
    let count = Arc::clone(count);
    Driver::start(server, 0, move |c| {
        loop {
            let n = count.fetch_add(1, Ordering::Relaxed);
            let (job, worker) = (format!("lock:job:{n}"), format!("w{n}"));
            let token = format!("{worker}:{n}");
            c.cmd(&["SET", &format!("hb:{worker}"), &n.to_string(), "PX", "3000"]);
            c.cmd(&["SET", &job, &token, "PX", "3000"]);
            c.cmd(&["SET", "lock:orders", &format!("fixed-1:{n}"), "PX", "30000"]);
            if let Some(old) = n.checked_sub(RATE) {
                c.cmd(&["DEL", &format!("lock:job:{old}"), "lock:orders"]);
            }
            if !c.wait(Duration::from_millis(1000 / RATE)) {
                return;
            }
        }
    })
}

/// One look: memory, files, threads, series.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: f64,
    memory: f64,
    files: f64,
    threads: f64,
    series: f64,
}

impl Seen {
    fn of(m: &Metrics, at: f64) -> Self {
        let value = |name| m.value(name, &[]).unwrap_or(f64::NAN);
        Self {
            at,
            memory: value("process_resident_memory_bytes"),
            files: value("process_open_fds"),
            threads: value("process_threads"),
            series: m.samples().len() as f64,
        }
    }
}

/// What a line through all of them grows by over their whole length (least squares).
fn growth(seen: &[Seen], of: impl Fn(&Seen) -> f64) -> f64 {
    let n = seen.len() as f64;
    let mean = |f: &dyn Fn(&Seen) -> f64| seen.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(&|s| s.at), mean(&of));
    let over: f64 = seen.iter().map(|s| (s.at - x) * (of(s) - y)).sum();
    let under: f64 = seen.iter().map(|s| (s.at - x).powi(2)).sum();
    let length = seen[seen.len() - 1].at - seen[0].at;
    over / under * length
}

#[test]
fn nothing_grows_however_long_it_runs() {
    if !long() {
        return not_tested(
            "the soak: beside all other tests on two processors its scrapes wait for them",
        );
    }
    beside();
    let length = Duration::from_secs(3600);
    let mut server = RedisServer::start();
    let mut replica = RedisSetup::default().replica_of(&server).start();
    let mut chronyd = ChronydSetup::local(5).start();
    let mut endpoint = Some(Endpoint::start(Reply::Answer(200, "{\"beat\": 0}".into())));
    let yaml = config(&server, endpoint.as_ref().expect("it was started"), &chronyd);
    let mut exporter = Exporter::start(&yaml);
    let count = Arc::new(AtomicU64::new(0));
    let mut locks = churn(&server, &count);
    exporter.wait_for("jobs: dlock_lock_held", SOON, |m| m.all("dlock_lock_held", &[]).len() > 2);
    let steady = Steady::watch_each(exporter.address(), LOOK, |_| None);
    let (begun, seed) = (clock::mono(), u64::from(std::process::id()));
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut seen, mut restarts, mut beat) = (Vec::new(), Vec::new(), 0);
    let mut next = Duration::from_secs(15);
    while clock::mono().since(begun) < length {
        let at = clock::mono().since(begun);
        seen.push(Seen::of(&exporter.metrics(), at.as_secs_f64()));
        beat += 1;
        if let Some(endpoint) = &endpoint {
            endpoint.set(Reply::Answer(200, format!("{{\"beat\": {beat}}}")));
        }
        if at >= next {
            next = at + Duration::from_secs(10);
            let what = random.usize(..5);
            restarts.push(what);
            match what {
                0 => {
                    locks.stop();
                    server.restart();
                    locks = churn(&server, &count);
                }
                1 => replica.restart(),
                2 => chronyd.restart(),
                3 => endpoint.as_ref().expect("it is there").set(Reply::Close),
                _ => {
                    server.pause();
                    for_a_while(LOOK);
                    server.resume();
                }
            }
        }
        for_a_while(LOOK);
    }
    let used = exporter.metrics().value("process_cpu_seconds_total", &[]).unwrap_or(0.0);
    let told = format!("seed {seed}, restarts {restarts:?}, CPU {used:.1} s");
    drop(endpoint.take());
    steady.outcome().unwrap_or_else(|wrong| panic!("{wrong}; {told}"));

    // The first quarter fills what is kept for as long as `retain`, and the allocator's pools.
    let rest = &seen[seen.len() / 4..];
    let (first, last) = (rest[0], rest[rest.len() - 1]);
    let grown = growth(rest, |s| s.memory);
    let told = format!("{told}; memory grows by {:.1} MB from {first:?} to {last:?}", grown / 1e6);
    assert!(grown < NOISE, "{told}");
    assert!(growth(rest, |s| s.files).abs() < 3.0 && last.files <= first.files + 6.0, "{told}");
    assert!(last.threads <= first.threads + 2.0, "{told}");
    // Locks live for a second and stay for `retain`: so many at most, and what is always there.
    let most = (RATE * (RETAIN + 5)) as f64 * 40.0 + 600.0;
    assert!(rest.iter().all(|s| s.series < most), "more than {most} series; {told}");
    locks.stop();
    let settled = Duration::from_secs(RETAIN * 3);
    wait_until("the series of locks that are gone go too", SOON + settled, || {
        (exporter.metrics().all("dlock_lock_held", &[]).len() <= 1).then_some(())
    });
    eprintln!("{told}");
    assert!(exporter.stop().success());
}

#[test]
fn a_leak_shows_in_the_slope_and_noise_does_not() {
    let seen = |leak: f64| -> Vec<Seen> {
        let of = |n: u32| {
            let at = f64::from(n) * 2.0;
            let noise = f64::from(n % 7) * 2e5;
            Seen { at, memory: 35e6 + noise + leak * at, files: 24.0, threads: 9.0, series: 900.0 }
        };
        (0..45).map(of).collect()
    };
    assert!(growth(&seen(0.0), |s| s.memory) < NOISE / 4.0);
    // What is left of each lock shows from 22 kB on in two minutes, and from 0.7 kB on in an hour.
    assert!(growth(&seen(60e3), |s| s.memory) > NOISE);
}
