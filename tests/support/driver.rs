//! A Redis client in a thread of the test: exact sequences of commands at exact times, as some library would send them.
//! It must not be used where a real library or the sample worker can be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use dlock_exporter::clock;

use super::RedisServer;

/// A thread that sends commands until its script ends or the test does.
pub struct Driver {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Driver {
    /// Runs `script` with a connection to that database of the server.
    pub fn start(
        server: &RedisServer,
        database: u32,
        script: impl FnOnce(&mut Client) + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut client = Client::new(server, database, Arc::clone(&stop));
        let thread = std::thread::spawn(move || script(&mut client));
        Self { stop, thread: Some(thread) }
    }

    /// Tells the script to end and waits for it; its panic is the test's.
    pub fn stop(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("stopped once");
        thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The connection of a script.
pub struct Client {
    connection: redis::Connection,
    stop: Arc<AtomicBool>,
}

impl Client {
    fn new(server: &RedisServer, database: u32, stop: Arc<AtomicBool>) -> Self {
        let url = format!("{}/{database}", server.url());
        let client = redis::Client::open(url).expect("a test server's URL is good");
        let connection = client.get_connection().expect("a test server accepts connections");
        Self { connection, stop }
    }

    /// Sends one command; panics on an error reply.
    pub fn cmd<W: AsRef<[u8]>>(&mut self, words: &[W]) -> redis::Value {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word.as_ref());
        }
        let name = || String::from_utf8_lossy(words[0].as_ref()).into_owned();
        command.query(&mut self.connection).unwrap_or_else(|e| panic!("{}: {e}", name()))
    }

    /// Whether the script should go on.
    pub fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Lets time pass; ends at once when the script should end, and says whether it should go on.
    pub fn wait(&self, length: Duration) -> bool {
        let end = clock::mono().plus(length);
        while self.goes_on() {
            match end.since(clock::mono()) {
                Duration::ZERO => return true,
                left => std::thread::sleep(left.min(Duration::from_millis(20))),
            }
        }
        false
    }
}

/// A token as redis-py makes it at this time: a UUID of version 1, whose node is this one.
pub fn redis_py_token(seconds: f64, node: u64) -> String {
    // Units of 100 ns since 1582.
    let ticks = (seconds * 1e7) as u64 + 0x01b2_1dd2_1381_4000;
    let (low, mid, high) = (ticks & 0xffff_ffff, ticks >> 32 & 0xffff, ticks >> 48 & 0xfff);
    format!("{low:08x}{mid:04x}1{high:03x}9304{:012x}", 0x02fc_0000_0000 + node)
}
