//! The workers of a stage: this program again, as a child.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use super::{Ended, Look, Stage};
use crate::children::{self, Group};
use crate::failure::Failure;
use crate::keys;
use crate::lockserver::{Asked, PASSWORD};

/// Nothing on a stage lasts longer; a renewer that lost its drill ends then.
const AT_MOST: f64 = 600.0;
/// The same in polls of the exporter, which leases here are measured by.
const POLLS_AT_MOST: f64 = 120.0;

/// A worker that is to be started.
pub struct Part {
    name: String,
    words: Vec<String>,
}

impl Part {
    fn with(mut self, flag: &str, value: impl Into<String>) -> Self {
        self.words.extend([flag.to_owned(), value.into()]);
        self
    }

    /// It reaches the lock server at this address.
    pub fn through(mut self, address: &str) -> Self {
        if let Some(at) = self.words.iter().position(|w| w == "--redis")
            && let Some(place) = self.words.get_mut(at + 1)
        {
            address.clone_into(place);
        }
        self
    }

    /// A separate process renews.
    pub fn separate_renewer(self) -> Self {
        self.with("--renewer", "separate")
    }

    /// It does what every tenure before it began with.
    pub fn repeating(self) -> Self {
        self.with("--requests", "repeated")
    }

    /// It writes its token over whatever is there when it is back.
    pub fn restoring_late(self) -> Self {
        self.with("--restore", "late")
    }

    /// It works for so long, so often.
    pub fn cycles(self, count: u32, work: f64, pause: f64) -> Self {
        let part = self.with("--cycles", count.to_string()).with("--work", work.to_string());
        part.with("--pause", pause.to_string())
    }
}

/// A worker that runs.
pub struct Actor {
    name: String,
    group: Group,
    pid_file: PathBuf,
}

impl Actor {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.group.pid()
    }

    /// SIGSTOP to it, not to its renewer, until it stands.
    pub async fn pause(&self) -> Result<(), Failure> {
        self.group.pause().await
    }

    /// SIGCONT.
    pub fn resume(&self) -> Result<(), Failure> {
        self.group.resume()
    }

    /// SIGKILL to it; a separate renewer lives on.
    pub fn kill(&mut self) -> Result<(), Failure> {
        self.group.kill()
    }

    fn renewer(&self) -> Result<Pid, Failure> {
        let file = self.pid_file.with_extension("pid.renewer");
        let text = std::fs::read_to_string(&file);
        let pid = text.ok().and_then(|t| t.trim().parse().ok()).and_then(Pid::from_raw);
        pid.ok_or_else(|| Failure::new(format!("{} names no renewer", file.display())))
    }

    /// SIGSTOP to its separate renewer, until that stands.
    pub async fn pause_renewer(&self) -> Result<(), Failure> {
        children::pause(self.renewer()?).await
    }

    /// SIGCONT to its separate renewer.
    pub fn resume_renewer(&self) -> Result<(), Failure> {
        self.signal_renewer(Signal::CONT)
    }

    /// Any signal to its separate renewer.
    pub fn signal_renewer(&self, signal: Signal) -> Result<(), Failure> {
        let told = |e| Failure::new(format!("no {signal:?} can be sent to the renewer: {e}"));
        kill_process(self.renewer()?, signal).map_err(told)
    }
}

/// Whether the exporter finds the worker's process. By its heartbeat alone a death is seen too late.
fn sees_process(look: &Look, worker: &Actor) -> bool {
    let labels = [("worker", worker.name()), ("source", "process")];
    look.metrics().value("dlock_worker_alive", &labels) == Some(1.0)
}

impl Stage {
    /// The n-th worker of the lock: a correct one, until something else is said.
    pub fn worker(&self, n: u32) -> Part {
        let name = keys::worker_name(self.lock(), n);
        let beat = (self.world().poll.as_secs_f64() / 2.0).clamp(0.1, 1.0);
        let part = Part { name: name.clone(), words: vec!["worker".into()] };
        part.with("--redis", self.world().server.text())
            .with("--name", &name)
            .with("--lock", keys::lock_key(self.lock()))
            .with("--lease", self.lease().to_string())
            .with("--renew-every", self.renew_every().to_string())
            .with("--heartbeat", keys::heartbeat_key(&name))
            .with("--beat-every", beat.to_string())
            .with("--fence", keys::fence_key(self.lock()))
            .with("--resource", self.world().resource.url(self.lock()))
            .with("--effect-every", beat.to_string())
            .with(
                "--at-most",
                (self.world().poll.as_secs_f64() * POLLS_AT_MOST).max(AT_MOST).to_string(),
            )
            .with("--pid-file", self.pid_file(&name).display().to_string())
    }

    /// Where a worker of that name writes its process id.
    pub fn pid_file(&self, worker: &str) -> PathBuf {
        self.world().dir.join(format!("{worker}.pid"))
    }

    /// Starts a worker.
    pub async fn start(&mut self, part: Part) -> Result<Actor, Ended> {
        let program = std::env::current_exe()
            .map_err(|e| Failure::new(format!("this program cannot be found again: {e}")))?;
        let mut command = Command::new(program);
        command.args(&part.words).arg("--with-parent");
        if let Ok(password) = std::env::var(PASSWORD) {
            command.env(PASSWORD, password);
        }
        let group = Group::start(&part.name, &mut command, &self.world().dir)?;
        self.note(&format!("{} starts", part.name));
        let pid_file = self.pid_file(&part.name);
        Ok(Actor { name: part.name, group, pid_file })
    }

    /// What to think of where the exporter says that a lock is free whose key is there.
    async fn is_held_unseen(&self) -> String {
        let (server, key) = (&self.world().server, keys::lock_key(self.lock()));
        let is_there = Asked::new(server).call::<bool>(&["EXISTS", &key]).await.unwrap_or(false);
        if !is_there || !self.look().is_free() {
            return String::new();
        }
        let (store, server) = (&self.world().store, server.text());
        format!(
            ", but its key is there on {server}: is that the server of the exporter's store {store}?"
        )
    }

    /// What to think of where the exporter does not see the process of a worker that runs.
    fn is_unseen(&self, worker: &Actor) -> String {
        let look = self.look();
        if !look.is_held_by(worker.name()) || sees_process(&look, worker) {
            return String::new();
        }
        format!(
            "; it does not see that {} runs: does the exporter read its pid file in {} (--dir, the same as in its config), on this host, and see the \
             same process ids?",
            worker.name(),
            self.world().dir.display()
        )
    }

    /// Waits until the exporter sees the worker hold the lock, alive, with a few renewals, and all signals down. What counters
    /// show then is what they are held against later.
    pub async fn healthy(&mut self, worker: &Actor) -> Result<(), Ended> {
        self.marked = dlock_exporter::clock::mono();
        let renewed = self.look().value("dlock_lease_renewals_total").unwrap_or_default() + 4.0;
        let is_well = |l: &Look| {
            l.is_held_by(worker.name())
                && l.liveness() == "alive"
                && sees_process(l, worker)
                && l.value("dlock_lease_renewals_total").is_some_and(|n| n >= renewed)
                && l.is_down("holder_stale")
                && l.is_down("contested")
                && l.is_down("renewal_overdue")
        };
        let Some((_, look)) = self.until(self.patience(), is_well).await else {
            let (told, log) = (self.look().told(), worker.group.log_tail());
            let elsewhere = self.is_held_unseen().await + &self.is_unseen(worker);
            return Err(Ended::Broken(Failure::new(format!(
                "the exporter does not see {} hold the lock and be well; {told}{elsewhere}; its log ends with: {log}",
                worker.name()
            ))));
        };
        self.base = look.metrics;
        self.base_token = self.world().resource.counts(self.lock()).highest_token;
        self.note("all is well");
        Ok(())
    }
}
