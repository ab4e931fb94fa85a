//! The exporter as a child process: its config file, flags and environment, its HTTP, its log. It must not reach into
//! the library.

use std::fs::Permissions;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use super::redis_server::PASSWORD;
use super::{Answer, Group, Metrics, Place, Sampler, free_port, request, wait_until};

/// A copy of a program that can be run. A descriptor that is open for writing while another thread forks is the child's
/// too until it runs something else, and the copy is busy for as long: `cp` has it written by a process that nobody forks.
pub fn copy_program(program: &str, copy: &Path) {
    let copied = Command::new("cp").arg(program).arg(copy).status();
    assert!(copied.is_ok_and(|status| status.success()), "no copy of {program} can be made");
}

/// How to start the exporter.
#[derive(Default)]
pub struct ExporterSetup {
    yaml: Option<String>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    wrapper: Vec<String>,
    is_own_user: bool,
    host: Option<Ipv4Addr>,
}

impl ExporterSetup {
    /// With this config file.
    pub fn file(yaml: &str) -> Self {
        Self { yaml: Some(yaml.into()), ..Self::default() }
    }

    /// Adds arguments.
    pub fn arguments(mut self, words: &[&str]) -> Self {
        self.arguments.extend(words.iter().map(|w| (*w).to_owned()));
        self
    }

    /// Starts it by another program: these words, then the exporter and its arguments. What runs it may be another user,
    /// so the program and the config are where everybody may read them.
    pub fn wrapped(mut self, words: &[&str]) -> Self {
        self.wrapper = words.iter().map(|w| (*w).to_owned()).collect();
        self
    }

    /// The same by a program that runs it as who we are: nothing has to be copied.
    pub fn beneath(mut self, words: &[&str]) -> Self {
        self.is_own_user = true;
        self.wrapped(words)
    }

    /// Starts it at a place of its own on the network; it listens where only this machine reaches it.
    pub fn at(mut self, place: &Place) -> Self {
        (self.wrapper, self.host) = (place.words(), Some(place.aside));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Gives the password of the test servers' user `dlock` for the store `main`, the way a container would.
    pub fn password(self) -> Self {
        self.env("DLOCK__STORES__MAIN__PASSWORD", PASSWORD)
    }

    /// Starts it; it may end by itself.
    pub fn spawn(self) -> Exporter {
        super::take_share();
        let dir = TempDir::new().expect("a temporary directory can be made");
        let config = dir.path().join("dlock.yml");
        let address = SocketAddr::from((self.host.unwrap_or(Ipv4Addr::LOCALHOST), free_port()));
        let mut command = match self.wrapper.split_first() {
            None => Command::new(env!("CARGO_BIN_EXE_dlock_exporter")),
            Some((program, words)) if self.is_own_user => {
                let mut command = Command::new(program);
                command.args(words).arg(env!("CARGO_BIN_EXE_dlock_exporter"));
                command
            }
            Some((program, words)) => {
                let copy = dir.path().join("dlock_exporter");
                copy_program(env!("CARGO_BIN_EXE_dlock_exporter"), &copy);
                std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755))
                    .expect("an own directory's mode can be changed");
                let mut command = Command::new(program);
                command.args(words).arg(copy);
                command
            }
        };
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("DLOCK__")) {
            command.env_remove(name);
        }
        if let Some(yaml) = &self.yaml {
            std::fs::write(&config, yaml).expect("the config can be written");
            command.arg("--config.file").arg(&config);
        }
        command.args(["--web.listen-address", &address.to_string()]).args(&self.arguments);
        command.envs(self.environment);
        let group = Group::start("dlock_exporter", &mut command, &dir.path().join("log"));
        Exporter { group, address, config, dir }
    }

    /// Starts it and waits until it is ready.
    pub fn start(self) -> Exporter {
        let mut exporter = self.spawn();
        wait_until("the exporter is ready", Duration::from_secs(15), || {
            exporter.must_run();
            exporter.try_get("/-/ready").filter(|answer| answer.status == 200)
        });
        exporter
    }
}

/// A running exporter.
pub struct Exporter {
    group: Group,
    address: SocketAddr,
    config: PathBuf,
    dir: TempDir,
}

impl Exporter {
    /// Starts it with a config file whose store `main` uses the user `dlock`, and waits until it is ready.
    pub fn start(yaml: &str) -> Self {
        ExporterSetup::file(yaml).password().start()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.group.pid()
    }

    /// Its config file.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.group.signal(signal);
    }

    /// SIGSTOP, until it stands.
    pub fn pause(&self) {
        self.group.pause();
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.group.resume();
    }

    /// Writes a new config file; it is not read until a reload.
    pub fn rewrite(&self, yaml: &str) {
        std::fs::write(&self.config, yaml).expect("the config can be written");
    }

    /// Everything it has logged.
    pub fn log(&self) -> String {
        self.group.log()
    }

    /// Sends SIGTERM and gives the exit status.
    pub fn stop(&mut self) -> ExitStatus {
        self.group.signal(Signal::TERM);
        self.wait(Duration::from_secs(15))
    }

    /// Waits until it ends by itself.
    pub fn wait(&mut self, deadline: Duration) -> ExitStatus {
        self.group.wait(deadline)
    }

    /// GET; panics if there is no complete answer.
    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path)
    }

    /// Any method; panics if there is no complete answer.
    pub fn request(&self, method: &str, path: &str) -> Answer {
        request(self.address, method, path, Duration::from_secs(10))
            .unwrap_or_else(|e| panic!("{method} {path}: {e}\n{}", self.group.log_tail()))
    }

    /// GET, `None` if there is no complete answer soon.
    pub fn try_get(&self, path: &str) -> Option<Answer> {
        request(self.address, "GET", path, Duration::from_secs(2)).ok()
    }

    /// What `/metrics` says now; panics if it does not answer with a readable exposition.
    pub fn metrics(&self) -> Metrics {
        let answer = self.get("/metrics");
        assert_eq!(answer.status, 200, "/metrics: {}", answer.body);
        Metrics::parse(&answer.body).unwrap_or_else(|e| panic!("/metrics: {e}"))
    }

    /// Waits until `/metrics` shows what is wanted, and gives the time that took. Panics after `deadline` with the
    /// samples whose names start with a word of `what` and the end of the log.
    pub fn wait_for(
        &mut self,
        what: &str,
        deadline: Duration,
        condition: impl Fn(&Metrics) -> bool,
    ) -> Duration {
        let begun = dlock_exporter::clock::mono();
        let mut last = Metrics::default();
        loop {
            self.must_run();
            let answer = self.try_get("/metrics").filter(|answer| answer.status == 200);
            if let Some(metrics) = answer.and_then(|answer| Metrics::parse(&answer.body).ok()) {
                if condition(&metrics) {
                    return dlock_exporter::clock::mono().since(begun);
                }
                last = metrics;
            }
            if dlock_exporter::clock::mono().since(begun) > deadline {
                let near: String = what
                    .split_whitespace()
                    .filter(|word| word.starts_with("dlock_"))
                    .map(|word| last.lines(word))
                    .collect();
                panic!(
                    "not within {deadline:?}: {what}\nlast seen:\n{near}locks:\n{}\nlog:\n{}",
                    last.lines("dlock_lock_"),
                    self.group.log_tail()
                );
            }
            std::thread::sleep(Duration::from_millis(40));
        }
    }

    /// Looks all the time for as long as given; panics as soon as `/metrics` shows it.
    pub fn never(
        &self,
        what: &str,
        length: Duration,
        condition: impl Fn(&Metrics) -> bool + Send + 'static,
    ) {
        let what_is_wrong = what.to_owned();
        let sampler = Sampler::start(self.address, move |metrics| {
            condition(metrics).then(|| what_is_wrong.clone())
        });
        super::for_a_while(length);
        sampler.finish();
    }

    fn must_run(&mut self) {
        if let Some(status) = self.group.ended() {
            panic!("the exporter ended by itself with {status}:\n{}", self.group.log_tail());
        }
    }
}
