//! What is good in every row, and has to stay so whatever happens to the row's own part: a store with a lock that is
//! renewed, and a worker whose heartbeat beats. And the heart that beats for all.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tempfile::TempDir;

use super::cell::POLL;
use crate::support::{ExporterSetup, Metrics, PASSWORD, RedisServer, SLACK};

/// Done again and again, with a number that grows.
type Beat = Box<dyn FnMut(u64) + Send>;

/// The good part of the world.
pub struct World {
    pub server: RedisServer,
    pub dir: TempDir,
    beats: Arc<Mutex<Vec<Beat>>>,
    stop: Arc<AtomicBool>,
    heart: Option<JoinHandle<()>>,
}

impl World {
    pub fn start() -> Self {
        let server = RedisServer::start();
        server.cmd(&["SET", "lock:orders", "good-1:x", "PX", "600000"]);
        let dir = TempDir::new().expect("a temporary directory can be made");
        let (beats, stop) = (Arc::new(Mutex::new(Vec::<Beat>::new())), Arc::default());
        let (all, stopped): (_, Arc<AtomicBool>) = (Arc::clone(&beats), Arc::clone(&stop));
        let heart = std::thread::spawn(move || {
            for n in 0.. {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                all.lock().expect("no beat panics").iter_mut().for_each(|beat| beat(n));
                std::thread::sleep(POLL / 2);
            }
        });
        let world = Self { server, dir, beats, stop, heart: Some(heart) };
        let client = redis::Client::open(world.server.url()).expect("a URL");
        let mut connection = client.get_connection().expect("the server answers");
        world.beat(move |_| {
            let command = redis::cmd("PEXPIRE").arg("lock:orders").arg(600_000).to_owned();
            let _ = command.query::<i64>(&mut connection);
        });
        let file = world.dir.path().join("good-1");
        world.beat(move |n| drop(std::fs::write(&file, n.to_string())));
        world
    }

    /// Done with every beat from now on.
    pub fn beat(&self, beat: impl FnMut(u64) + Send + 'static) {
        self.beats.lock().expect("no beat panics").push(Box::new(beat));
    }

    /// How an exporter of a row starts: what is good, with these stores, workers and other lines of the row's.
    pub fn setup(&self, stores: &str, workers: &str, more: &str) -> ExporterSetup {
        let setup = ExporterSetup::file(&self.yaml(stores, workers, more));
        ["GOOD__PASSWORD", "PART__PASSWORD", "PART__SENTINEL__PASSWORD"]
            .iter()
            .filter(|name| name.starts_with("GOOD") || stores.contains("  part:"))
            .filter(|name| !name.contains("SENTINEL") || stores.contains("sentinel:"))
            .fold(setup, |setup, name| setup.env(&format!("DLOCK__STORES__{name}"), PASSWORD))
    }

    /// The file alone.
    pub fn yaml(&self, stores: &str, workers: &str, more: &str) -> String {
        format!(
            "poll_interval: 400ms
stall_poll: 1s
stores:
  good:
    url: {}
    username: dlock
    locks: [{{ name: orders, key: 'lock:orders', lease: 10m, holder: '^(?P<worker>[^:]+):' }}]
{stores}workers:
  good: {{ names: [good-1], heartbeat: {{ file: '{}/{{worker}}', content: true, frozen_after: 5s }} }}
{workers}{more}",
            self.server.url(),
            self.dir.path().display()
        )
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(heart) = self.heart.take() {
            let _ = heart.join();
        }
    }
}

/// What is wrong with what must be good, if anything is. `is_own` tells the targets of the row's part.
pub fn wrong(m: &Metrics, is_own: fn(&str) -> bool) -> Option<String> {
    let now = m.value("dlock_exporter_snapshot_timestamp_seconds", &[])?;
    if !m.is("dlock_lock_held", &[("store", "good"), ("lock", "orders")], 1.0) {
        return Some(format!("the good lock is not held: {}", m.lines("dlock_lock_held")));
    }
    if !m.is("dlock_worker_alive", &[("worker", "good-1"), ("source", "heartbeat")], 1.0) {
        return Some(format!("the good worker does not live: {}", m.lines("dlock_worker_alive")));
    }
    let polls = m.all("dlock_exporter_poll_last_success_timestamp_seconds", &[]);
    let limit = (POLL * 3 + SLACK).as_secs_f64();
    let late = polls.iter().find(|s| !is_own(s.label("target")) && now - s.value > limit);
    if let Some(s) = late {
        return Some(format!("{} was read {:.1} s ago", s.label("target"), now - s.value));
    }
    let failures = m.all("dlock_exporter_poll_failures_total", &[]);
    let failed = failures.iter().find(|s| !is_own(s.label("target")) && s.value > 0.0);
    failed.map(|s| format!("a poll of {} failed: {}", s.label("target"), s.label("reason")))
}
