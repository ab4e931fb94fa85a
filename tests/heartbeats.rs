//! Every kind of heartbeat source, live: it beats and is counted, it stands still and the worker is frozen, it beats again
//! and the worker is alive.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::support::{Driver, Endpoint, Exporter, Metrics, RedisServer, Reply, SLACK, for_a_while};

pub const POLL: Duration = Duration::from_millis(200);
pub const FROZEN_AFTER: Duration = Duration::from_millis(1200);
pub const SOON: Duration = Duration::from_secs(15);

/// One worker of each kind, `KIND-1`, which holds `lock:KIND`. A kind's source is YAML.
pub type Kinds = BTreeMap<&'static str, String>;

/// A file with these kinds, every worker frozen after the same time.
pub fn config(server: &RedisServer, kinds: &Kinds) -> String {
    let workers: String = kinds
        .iter()
        .map(|(kind, source)| {
            format!(
                "  {kind}: {{ names: [{kind}-1], heartbeat: {{ {source}, frozen_after: 1200ms }} }}\n"
            )
        })
        .collect();
    format!(
        "poll_interval: 200ms
stores:
  main:
    url: {}
    username: dlock
    locks:
      - {{ name: '{{1}}', match: 'lock:*', capture: '^lock:(.+)$', series: full, holder: '^(?P<worker>[^:]+):' }}
workers:
{workers}",
        server.url()
    )
}

/// Every worker holds its lock for long.
pub fn hold(server: &RedisServer, kinds: &Kinds) {
    for kind in kinds.keys() {
        server.cmd(&["SET", &format!("lock:{kind}"), &format!("{kind}-1:x"), "PX", "600000"]);
    }
}

fn beats(m: &Metrics, kind: &str) -> f64 {
    m.sum("dlock_worker_heartbeats_total", &[("worker", &format!("{kind}-1"))])
}

/// What is said of a worker: liveness, the signal, and what is blind.
pub fn said(m: &Metrics, kind: &str) -> String {
    let live = m.all("dlock_holder_liveness", &[("lock", kind)]);
    let state: Vec<_> = live.iter().filter(|s| s.value == 1.0).map(|s| s.label("state")).collect();
    let stale = m.value("dlock_holder_stale", &[("lock", kind)]);
    let worker = format!("{kind}-1");
    let alive = [("worker", worker.as_str()), ("source", "heartbeat")];
    let alive = m.value("dlock_worker_alive", &alive);
    format!("{} stale {stale:?} alive {alive:?}", state.join("+"))
}

pub const ALIVE: &str = "alive stale Some(0.0) alive Some(1.0)";
pub const FROZEN: &str = "frozen stale Some(1.0) alive Some(0.0)";

/// Waits until all these kinds are said to be so.
pub fn all(
    exporter: &mut Exporter,
    kinds: &[&'static str],
    what: &'static str,
    deadline: Duration,
) -> Duration {
    let kinds = kinds.to_vec();
    exporter.wait_for(
        &format!("{what} of {kinds:?}: dlock_holder_liveness dlock_worker_"),
        deadline,
        move |m| kinds.iter().all(|kind| said(m, kind) == what),
    )
}

/// Something that beats in every way at once while it is told to.
struct Heart {
    on: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
    _driver: Driver,
}

impl Heart {
    fn start(server: &RedisServer, files: &Path, http: [(&'static str, Arc<Endpoint>); 3]) -> Self {
        let (on, count) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
        let (told, counted, files) = (Arc::clone(&on), Arc::clone(&count), files.to_owned());
        let driver = Driver::start(server, 0, move |c| {
            while c.wait(Duration::from_millis(150)) {
                if !told.load(Ordering::Relaxed) {
                    for (kind, endpoint) in &http {
                        if *kind == "answer" {
                            endpoint.set(Reply::Answer(503, String::new()));
                        }
                    }
                    continue;
                }
                let n = counted.fetch_add(1, Ordering::Relaxed).to_string();
                let json = format!("{{\"at\": {{\"beat\": {n}}}, \"noise\": \"{n}{n}\"}}");
                c.cmd(&["SET", "hb:string", &n]);
                c.cmd(&["HSET", "hb:hash", "hash-1", &n, "other-1", "0"]);
                c.cmd(&["ZADD", "hb:score", &n, "score-1", "17", "other-1"]);
                c.cmd(&["SET", "hb:session", "constant", "PX", "600"]);
                c.cmd(&["SET", "hb:setex", "constant", "PX", "30000"]);
                c.cmd(&["SET", "hb:json", &json]);
                c.cmd(&["HSET", "hb:field", "field-1", &json]);
                std::fs::write(files.join("mtime-1"), "constant").unwrap();
                std::fs::write(files.join("content-1"), &n).unwrap();
                for (kind, endpoint) in &http {
                    let body = match *kind {
                        "document" => json.clone(),
                        "metric" => {
                            format!("# TYPE beat counter\nbeat{{w=\"a\"}} {n}\nbeat{{w=\"b\"}} 7\n")
                        }
                        _ => "fine".to_owned(),
                    };
                    endpoint.set(Reply::Answer(200, body));
                }
            }
        });
        Self { on, count, _driver: driver }
    }

    fn beat(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    fn count(&self) -> f64 {
        self.count.load(Ordering::Relaxed) as f64
    }
}

#[test]
fn every_kind_of_source_beats_stands_still_and_beats_again() {
    let server = RedisServer::start();
    let dir = TempDir::new().unwrap();
    let endpoints = ["answer", "document", "metric"]
        .map(|kind| (kind, Arc::new(Endpoint::start(Reply::Answer(503, String::new())))));
    let url = |at: usize| endpoints[at].1.url("/beat?x=1");
    let redis = |more: &str| format!("redis: {{ store: main, {more} }}");
    let files = dir.path().display();
    let kinds: Kinds = [
        ("string", redis("key: 'hb:string'")),
        ("hash", redis("key: 'hb:hash', field: '{worker}'")),
        ("score", redis("key: 'hb:score', member: '{worker}'")),
        ("session", redis("key: 'hb:session', exists: true")),
        ("setex", redis("key: 'hb:setex'")),
        ("json", redis("key: 'hb:json', json: /at/beat")),
        ("field", redis("key: 'hb:field', field: '{worker}', json: /at/beat")),
        ("mtime", format!("file: '{files}/{{worker}}'")),
        ("content", format!("file: '{files}/{{worker}}', content: true")),
        ("answer", format!("http: {{ url: '{}' }}", url(0))),
        ("document", format!("http: {{ url: '{}', json: /at/beat }}", url(1))),
        ("metric", format!("http: {{ url: '{}', metric: 'beat{{w=\"a\"}}' }}", url(2))),
    ]
    .into();
    hold(&server, &kinds);
    let names: Vec<&str> = kinds.keys().copied().collect();
    let heart = Heart::start(&server, dir.path(), endpoints);
    let mut exporter = Exporter::start(&config(&server, &kinds));
    all(&mut exporter, &names, ALIVE, SOON);
    let counted = names.clone();
    exporter.wait_for("dlock_worker_heartbeats_total", SOON, move |m| {
        counted.iter().all(|kind| beats(m, kind) >= 6.0)
    });

    heart.beat(false);
    // The session key lives on for a while; the others' last beat was read at most a poll after it was made.
    let worst = FROZEN_AFTER + POLL * 2 + Duration::from_millis(600 + 150);
    let after = all(&mut exporter, &names, FROZEN, worst + SLACK * 4);
    assert!(after <= worst + SLACK, "frozen after {after:?}, worst case {worst:?}");
    assert!(after >= FROZEN_AFTER - POLL, "frozen after {after:?}, before the threshold");
    let m = exporter.metrics();
    for kind in &names {
        let worker = format!("{kind}-1");
        let age = m.value("dlock_worker_heartbeat_age_seconds", &[("worker", &worker)]);
        assert!(age.is_some_and(|age| age >= 1.2), "{kind} is {age:?} old");
        if !["session", "answer"].contains(kind) {
            assert!(beats(&m, kind) <= heart.count(), "{kind}: {} beats", beats(&m, kind));
        }
    }
    for_a_while(POLL * 4);
    let later = exporter.metrics();
    for kind in &names {
        assert_eq!(beats(&later, kind), beats(&m, kind), "{kind} stands still");
    }

    heart.beat(true);
    all(&mut exporter, &names, ALIVE, SOON);
    let m = exporter.metrics();
    for kind in &names {
        let stale = [("lock", *kind), ("signal", "holder_stale")];
        assert_eq!(m.value("dlock_signal_rises_total", &stale), Some(1.0), "{kind}");
    }
    let blind = m.all("dlock_worker_coverage_lost", &[]);
    assert!(blind.is_empty(), "{blind:?}");
}
