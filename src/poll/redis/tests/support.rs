//! Servers of our own, and a store poller whose observations a test can wait for.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::clock;
use crate::config::Store;
use crate::observe::{BatchRead, Found, KeyId, Mono, NodeFacts, Observation, StoreId};
use crate::poll::redis::{Settings, StoreHandle, spawn};

/// How long anything may take; a loaded machine is slow.
const PATIENCE: Duration = Duration::from_secs(20);

pub use super::stores::{many, one, store};

pub const ID: StoreId = StoreId(7);

/// A redis-server that dies with the test.
pub struct Server {
    child: Child,
    pub port: u16,
    pub dir: tempfile::TempDir,
    args: Vec<String>,
}

impl Server {
    pub fn start(args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let port = free_port();
        let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
        let child = launch(&dir, port, &args);
        let server = Self { child, port, dir, args };
        server.ready();
        server
    }

    pub fn restart(&mut self) {
        self.restart_without_waiting();
        self.ready();
    }

    pub fn restart_without_waiting(&mut self) {
        self.kill();
        self.child = launch(&self.dir, self.port, &self.args);
    }

    /// An empty one on the same port.
    pub fn replace(&mut self, args: &[&str]) {
        self.kill();
        // A replica keeps what its primary sent it.
        let _ = std::fs::remove_file(self.dir.path().join("dump.rdb"));
        self.args = args.iter().map(|a| a.to_string()).collect();
        self.restart();
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id() as i32).unwrap(), signal).unwrap();
    }

    /// An unwatched connection of the test itself.
    pub fn client(&self) -> redis::Connection {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        client.get_connection().unwrap()
    }

    pub fn run<T: redis::FromRedisValue>(&self, args: &[&str]) -> T {
        let mut cmd = redis::Cmd::new();
        args.iter().for_each(|a| {
            cmd.arg(*a);
        });
        cmd.query(&mut self.client()).unwrap()
    }

    /// A field of INFO.
    pub fn info(&self, section: &str, field: &str) -> String {
        let text: String = self.run(&["INFO", section]);
        let line = text.lines().find_map(|l| l.strip_prefix(&format!("{field}:")));
        line.unwrap_or_default().to_owned()
    }

    /// Valkey's own version where it has one.
    pub fn version(&self) -> String {
        let valkey = self.info("server", "valkey_version");
        if valkey.is_empty() { self.info("server", "redis_version") } else { valkey }
    }

    /// `(command, calls, rejected + failed)` of everything that ran.
    pub fn commands(&self) -> Vec<(String, u64, u64)> {
        let text: String = self.run(&["INFO", "commandstats"]);
        let mut all = Vec::new();
        for line in text.lines() {
            let Some((name, rest)) = line.strip_prefix("cmdstat_").and_then(|l| l.split_once(':'))
            else {
                continue;
            };
            let part = |p: &str| -> u64 {
                let v = rest.split(',').find_map(|f| f.strip_prefix(p));
                v.and_then(|v| v.parse().ok()).unwrap_or(0)
            };
            let bad = part("rejected_calls=") + part("failed_calls=");
            all.push((name.to_owned(), part("calls="), bad));
        }
        all
    }

    fn ready(&self) {
        let begun = clock::mono();
        loop {
            if let Ok(client) = redis::Client::open(format!("redis://127.0.0.1:{}", self.port))
                && client.get_connection_with_timeout(Duration::from_secs(1)).is_ok()
            {
                return;
            }
            // A server with a password answers NOAUTH, which is an answer.
            if std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok()
                && self.args.iter().any(|a| a == "--requirepass" || a == "--tls-port")
            {
                return;
            }
            assert!(clock::mono().since(begun) < PATIENCE, "redis-server does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn launch(dir: &tempfile::TempDir, port: u16, args: &[String]) -> Child {
    // Another version or fork can be tried by hand.
    let program = std::env::var("DLOCK_TEST_REDIS_SERVER");
    Command::new(program.as_deref().unwrap_or("redis-server"))
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
        .arg(dir.path())
        .args(args)
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A running poller.
pub struct Watch {
    pub handle: StoreHandle,
    observations: mpsc::Receiver<Observation>,
    pub keys: Vec<(String, KeyId)>,
    last_failure: String,
}

impl Watch {
    pub fn start(store: Store) -> Self {
        Self::with(store, Duration::from_millis(100), Duration::from_secs(3600))
    }

    pub fn with(store: Store, poll_interval: Duration, retain: Duration) -> Self {
        let (out, observations) = mpsc::channel(1024);
        let sweep_interval = Duration::from_secs(300);
        let settings =
            Settings { poll_interval, sweep_interval, retain, shard: Default::default() };
        let handle = spawn(Arc::new(store), ID, settings, out);
        Self { handle, observations, keys: Vec::new(), last_failure: String::new() }
    }

    pub async fn next(&mut self) -> Observation {
        let next = timeout(PATIENCE, self.observations.recv()).await;
        let next = next.expect("nothing observed for too long").expect("the poller ended");
        if let Observation::KeyWatched(w) = &next {
            self.keys.push((w.lock.to_string(), w.key));
        }
        if let Observation::NodeFailed(f) = &next {
            self.last_failure.clone_from(&f.detail);
        }
        next
    }

    /// Waits for an observation that `pick` takes.
    pub async fn until<T>(
        &mut self,
        what: &str,
        mut pick: impl FnMut(&Self, &Observation) -> Option<T>,
    ) -> T {
        let begun = clock::mono();
        loop {
            let next = self.next().await;
            if let Some(found) = pick(self, &next) {
                return found;
            }
            let late = clock::mono().since(begun) >= PATIENCE;
            assert!(!late, "never saw {what}; last failure: {}", self.last_failure);
        }
    }

    /// Waits until a read of the lock is as wanted.
    pub async fn found<T>(
        &mut self,
        lock: &str,
        mut pick: impl FnMut(&BatchRead, &Found) -> Option<T>,
    ) -> T {
        self.until(lock, |w, o| match o {
            Observation::Batch(batch) => {
                let mine = |r: &&crate::observe::KeyRead| w.key(lock) == Some(r.key);
                batch.reads.iter().filter(mine).find_map(|r| pick(batch, &r.found))
            }
            _ => None,
        })
        .await
    }

    pub async fn facts(&mut self) -> NodeFacts {
        self.until("facts", |_, o| match o {
            Observation::Node(f) => Some((**f).clone()),
            _ => None,
        })
        .await
    }

    /// Waits for the end of a sweep that began after this call.
    pub async fn sweep(&mut self) {
        let now = clock::mono();
        self.until("a sweep", |_, o| match o {
            Observation::SweepDone(s) if s.span.sent > now => Some(()),
            _ => None,
        })
        .await;
    }

    pub fn key(&self, lock: &str) -> Option<KeyId> {
        self.keys.iter().rev().find(|(name, _)| name == lock).map(|(_, id)| *id)
    }

    pub fn now() -> Mono {
        clock::mono()
    }
}

/// The token of the one holder.
pub fn token(found: &Found) -> Option<Vec<u8>> {
    match found {
        Found::Present { value, .. } => {
            value.holders.first().map(|h| h.owner.token.bytes().to_vec())
        }
        _ => None,
    }
}

pub fn write(dir: &tempfile::TempDir, name: &str, content: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}
