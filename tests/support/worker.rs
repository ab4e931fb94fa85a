//! The sample worker of `dlock_drill` as a child process, or any other program that holds a lock.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use tempfile::TempDir;

use super::{Group, RedisServer, repository};

/// How to start a sample worker.
pub struct WorkerSetup {
    name: String,
    words: Vec<String>,
}

impl WorkerSetup {
    /// A worker that takes `lock` on that server and keeps it until it is stopped.
    pub fn new(server: &RedisServer, name: &str, lock: &str) -> Self {
        let redis = server.address().to_string();
        let words = ["--redis", &redis, "--name", name, "--lock", lock].map(str::to_owned);
        Self { name: name.into(), words: words.into() }
    }

    /// It reaches the server through this Unix socket.
    pub fn through(mut self, socket: &Path) -> Self {
        let redis = self.words.iter().position(|w| w == "--redis").expect("where to find it");
        self.words[redis + 1] = socket.display().to_string();
        self
    }

    fn with(mut self, flag: &str, value: &str) -> Self {
        self.words.extend([flag.to_owned(), value.to_owned()]);
        self
    }

    /// Lease length and time between renewals (0: never) in seconds.
    pub fn lease(self, lease: f64, renew_every: f64) -> Self {
        self.with("--lease", &lease.to_string()).with("--renew-every", &renew_every.to_string())
    }

    /// A separate process renews.
    pub fn separate_renewer(self) -> Self {
        self.with("--renewer", "separate")
    }

    /// Seconds between beats, 0 for none.
    pub fn beat_every(self, seconds: f64) -> Self {
        self.with("--beat-every", &seconds.to_string())
    }

    /// Seconds of work in each of so many tenures, and the pause between them.
    pub fn cycles(self, count: u32, work: f64, pause: f64) -> Self {
        self.with("--cycles", &count.to_string())
            .with("--work", &work.to_string())
            .with("--pause", &pause.to_string())
    }

    /// It writes its process id there.
    pub fn pid_file(self, file: &Path) -> Self {
        self.with("--pid-file", &file.display().to_string())
    }

    /// Starts it.
    pub fn start(self) -> Worker {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dlock_drill"));
        command.arg("worker").args(&self.words);
        Worker::command(&self.name, &mut command)
    }
}

/// A running worker.
pub struct Worker {
    group: Group,
    _dir: TempDir,
}

impl Worker {
    /// Any program as a worker.
    pub fn command(name: &str, command: &mut Command) -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let group = Group::start(name, command, &dir.path().join("log"));
        Self { group, _dir: dir }
    }

    /// A Python script that may use the client libraries of `tests/requirements.txt`.
    pub fn script(name: &str, script: &Path, arguments: &[&str]) -> Self {
        let python = repository("tests/.venv/bin/python");
        assert!(python.exists(), "{} is missing; tests/run makes it", python.display());
        Self::command(name, Command::new(python).arg(script).args(arguments))
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.group.pid()
    }

    /// SIGSTOP to the worker, not to its renewer, until it stands.
    pub fn pause(&self) {
        self.group.pause();
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.group.resume();
    }

    /// SIGKILL to the worker; a separate renewer lives on.
    pub fn kill(&mut self) {
        self.group.kill();
    }

    /// SIGTERM, and waits: it releases its lock and ends.
    pub fn stop(&mut self) -> ExitStatus {
        self.group.signal(rustix::process::Signal::TERM);
        self.wait(Duration::from_secs(10))
    }

    /// Waits until it ends by itself.
    pub fn wait(&mut self, deadline: Duration) -> ExitStatus {
        self.group.wait(deadline)
    }

    /// A number that a stopped worker printed at its end, such as `longest_gap_ms`.
    pub fn told(&self, name: &str) -> u64 {
        let log = self.group.log();
        let value =
            log.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        value.and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("no {name} in:\n{log}"))
    }
}
