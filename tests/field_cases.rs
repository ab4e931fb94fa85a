//! The field's incidents and controls, live: one server, real processes and the real commands, one exporter that watches
//! all of them at once by its own rules. Every incident raises what it must and nothing else, every control nothing.
//! That a holder which no list names is stale is in `live_workers`, as it takes a minute.

mod controls;
mod incidents;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use controls::{BESIDE, CONTROLS};
use incidents::INCIDENTS;

use crate::support::{
    Client, Driver, Exporter, ExporterSetup, Metrics, RedisServer, RedisSetup, Worker, WorkerSetup,
    acl_line_of_the_readme, wait_until,
};

/// Until everything was seen; it takes about 25 s.
const LONG: Duration = Duration::from_secs(40);
const SOON: Duration = Duration::from_secs(20);
/// For so many polls after that nothing more may rise.
const WATCHED_POLLS: f64 = 20.0;

const PASSWORD: &str = "watch-only";
const UUID: &str = "0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f10";
const OTHER: &str = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162";
/// redis-py's tokens, of one day: where it matters their format is declared.
const TASK: &str = "86bb5074ebf111f1930402fc00000001";
const WEB: &str = "86bb5075ebf111f1930402fc00000001";
const TOKEN: &str = "86bb5076ebf111f1930402fc00000001";
/// A job of Sidekiq.
const JOB: &str = "b4a577edbccf1d805744efa9";
const READERS: [&str; 2] =
    ["0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f10:1", "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:1"];

/// Owners whose tokens name nobody, and the workers that the owner index names for them.
const INDEX: [(&str, &str); 5] = [
    (JOB, "sidekiq-1"),
    (TASK, "celery-1"),
    (WEB, "web-1"),
    (READERS[0], "reader-1"),
    (READERS[1], "reader-2"),
];

/// One incident or control.
struct Case {
    /// Its number, and what happens.
    name: &'static str,
    /// What the config says of its lock.
    entry: &'static str,
    /// What the holders send.
    play: fn(&mut Client),
    /// What must rise, and nothing else may.
    raises: &'static [&'static str],
    /// What else must be seen of the lock, at the same time at least once.
    shows: fn(&Metrics, &[(&str, &str)]) -> bool,
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Does something at once and after each pause, until the test ends.
fn repeat(c: &mut Client, pause: Duration, mut step: impl FnMut(&mut Client, u64)) {
    for n in 0.. {
        step(c, n);
        if !c.wait(pause) {
            return;
        }
    }
}

/// Ends that a lease ran out, or that on a busy machine were seen too late to tell.
fn lapses(m: &Metrics, lock: &[(&str, &str)]) -> f64 {
    let ends =
        |evidence| m.sum("dlock_lease_ends_total", &[lock, &[("evidence", evidence)]].concat());
    ends("lapsed") + ends("unknown")
}

fn all() -> impl Iterator<Item = &'static Case> {
    INCIDENTS.iter().chain(CONTROLS)
}

fn config(server: &RedisServer, pids: &Path) -> String {
    let mut yaml = format!(
        "poll_interval: 200ms
workers:
  named: {{ match: 'pause-.', process: {{ pid_from_holder: true }} }}
  indexed: {{ match: '[a-z]+-\\d', process: {{ pid_file: '{}/{{worker}}.pid' }} }}
stores:
  five:
    url: {url}/5
    username: dlock
    locks: [{{ name: twice, key: twice }}]
  main:
    url: {url}
    username: dlock
    owner_index: {{ key: owners }}
    locks:
      - {{ match: 'redisson_*' }}
      - {{ match: 'lock-signal:*' }}
      - {{ match: 'semaphore-*' }}
      - {{ match: 'bull:q:*' }}
",
        pids.display(),
        url = server.url()
    );
    for case in all() {
        yaml.push_str(&format!("      - {{ name: '{}', {} }}\n", case.name, case.entry));
    }
    yaml
}

/// The signals of a lock that ever rose.
fn rose(m: &Metrics, lock: &str) -> BTreeSet<String> {
    let all = m.all("dlock_signal_rises_total", &[("store", "main"), ("lock", lock)]);
    all.iter().filter(|s| s.value > 0.0).map(|s| s.label("signal").to_owned()).collect()
}

fn wanted(case: &Case) -> BTreeSet<String> {
    case.raises.iter().map(|s| (*s).to_owned()).collect()
}

/// What rose and should not have.
fn too_much(m: &Metrics) -> Option<String> {
    all().find_map(|case| {
        let more: Vec<String> = rose(m, case.name).difference(&wanted(case)).cloned().collect();
        (!more.is_empty()).then(|| format!("{}: {more:?}", case.name))
    })
}

fn is_judged(m: &Metrics, lock: &str) -> bool {
    !m.all("dlock_signal_rises_total", &[("store", "main"), ("lock", lock)]).is_empty()
}

fn polls(m: &Metrics) -> f64 {
    m.sum("dlock_exporter_polls_total", &[("poller", "redis")])
}

/// A process that is there while its lock is held, and lets its pid be known.
fn process(server: &RedisServer, name: &str, pids: &Path) -> Worker {
    let setup = WorkerSetup::new(server, name, &format!("aside:{name}")).beat_every(0.0);
    setup.pid_file(&pids.join(format!("{name}.pid"))).start()
}

#[test]
fn incidents_raise_what_they_must_and_controls_nothing() {
    let acl = acl_line_of_the_readme().replace("ACL SETUSER", "user");
    let acl = acl.replace("%R~lock:* %R~hb:*", "%R~*").replace("PASSWORD", PASSWORD);
    let server = RedisSetup::default().acl(&acl).start();
    let pids = TempDir::new().expect("a temporary directory can be made");
    for (token, worker) in INDEX {
        server.cmd(&["HSET", "owners", token, worker]);
    }
    for words in BESIDE {
        server.cmd(words);
    }
    let mut processes = INDEX.map(|(_, name)| process(&server, name, pids.path()));
    wait_until("all processes are there", SOON, || {
        INDEX.iter().all(|(_, name)| pids.path().join(format!("{name}.pid")).exists()).then_some(())
    });
    let setup = ExporterSetup::file(&config(&server, pids.path())).password();
    let mut exporter = setup.env("DLOCK__STORES__FIVE__PASSWORD", PASSWORD).start();
    exporter.wait_for("dlock_signal_rises_total of all", SOON, |m| {
        all().all(|case| is_judged(m, case.name))
    });

    let drivers: Vec<Driver> = all().map(|case| Driver::start(&server, 0, case.play)).collect();
    let other = Driver::start(&server, 5, the_other_database);
    let pauses = |name| {
        let setup = WorkerSetup::new(&server, name, "paused").beat_every(0.0).lease(3.0, 2.0);
        setup.start()
    };
    let first = pauses("pause-a");
    wait_until("the first of two has the lock", SOON, || {
        (server.number(&["EXISTS", "paused"]) == 1).then_some(())
    });
    let second = pauses("pause-b");

    let dies = |name: &str| ["5 ", "6 ", "32 "].iter().any(|n| name.starts_with(n));
    exporter.wait_for("all live: dlock_holder_liveness dlock_lease_renewals_total", SOON, |m| {
        let alive =
            |lock| m.is("dlock_holder_liveness", &[("lock", lock), ("state", "alive")], 1.0);
        let paused = name_of("17 ");
        INCIDENTS.iter().filter(|case| dies(case.name)).all(|case| alive(case.name))
            && alive(paused)
            && m.sum("dlock_lease_renewals_total", &[("lock", paused)]) >= 4.0
    });
    for (process, (_, name)) in processes.iter_mut().zip(INDEX) {
        if matches!(name, "sidekiq-1" | "celery-1" | "reader-1") {
            process.kill();
        }
    }
    // Right after a renewal, so that it stands for long enough while it has the lock.
    let renewed = |m: &Metrics| m.sum("dlock_lease_renewals_total", &[("lock", name_of("17 "))]);
    let before = renewed(&exporter.metrics());
    exporter.wait_for("dlock_lease_renewals_total", SOON, |m| renewed(m) > before);
    first.pause();

    let mut last = Metrics::default();
    let mut unseen: Vec<&Case> = all().collect();
    let begun = dlock_exporter::clock::mono();
    while !unseen.is_empty() {
        last = exporter.metrics();
        unseen.retain(|case| {
            let lock = [("store", "main"), ("lock", case.name)];
            rose(&last, case.name) != wanted(case) || !(case.shows)(&last, &lock)
        });
        let late = dlock_exporter::clock::mono().since(begun) > LONG;
        if late || too_much(&last).is_some() {
            break;
        }
        std::thread::sleep(ms(50));
    }
    assert_eq!(too_much(&last), None, "\n{}", timeline(&exporter));
    assert!(unseen.is_empty(), "not seen: {}\n{}", shown(&last, &unseen), timeline(&exporter));

    // What was stopped comes back and finds its lock lost.
    first.resume();
    let before = polls(&last);
    exporter.wait_for("polls: dlock_exporter_polls_total", SOON, |m| {
        polls(m) >= before + 2.0 * WATCHED_POLLS
    });
    let m = exporter.metrics();
    assert_eq!(too_much(&m), None, "\n{}", timeline(&exporter));
    let five = m.all("dlock_signal_rises_total", &[("store", "five")]);
    assert!(!five.is_empty() && five.iter().all(|s| s.value == 0.0), "{five:?}");
    let listed: BTreeSet<&str> =
        m.all("dlock_lock_info", &[("store", "main")]).iter().map(|s| s.label("lock")).collect();
    assert_eq!(listed, all().map(|case| case.name).collect(), "what is beside locks is none");
    for driver in drivers {
        driver.stop();
    }
    other.stop();
    drop((second, processes));
}

/// The lock of that beginning.
fn name_of(begin: &str) -> &'static str {
    all().find(|case| case.name.starts_with(begin)).map_or("", |case| case.name)
}

fn the_other_database(c: &mut Client) {
    repeat(c, ms(200), |c, n| {
        c.cmd(&["SET", "twice", &format!("{n:08x}ebf111f1930402fc00000001"), "NX", "PX", "9000"]);
        c.wait(ms(600));
        c.cmd(&["DEL", "twice"]);
    });
}

/// What the locks of these cases show, for messages.
fn shown(m: &Metrics, cases: &[&Case]) -> String {
    let all = m.lines_of(|s| {
        s.label("store") == "five" || cases.iter().any(|case| s.label("lock") == case.name)
    });
    let names: Vec<&str> = cases.iter().map(|case| case.name).collect();
    format!("{names:?}\n{all}")
}

/// What each lock went through, for messages.
fn timeline(exporter: &Exporter) -> String {
    let mut told = String::new();
    for case in all() {
        let name: String = case.name.bytes().map(|b| format!("%{b:02x}")).collect();
        let api = exporter.get(&format!("/api/v1/locks/main/{name}")).body;
        let json: serde_json::Value = serde_json::from_str(&api).unwrap_or_default();
        let events = json["lock"]["transitions"].as_array().cloned().unwrap_or_default();
        let events: Vec<String> =
            events.iter().map(|e| format!("{}: {}", e["what"], e["detail"])).collect();
        told.push_str(&format!("{}\n    {}\n", case.name, events.join("\n    ")));
    }
    told
}
