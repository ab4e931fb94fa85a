//! Child processes in process groups of their own, which end with the test however it ends. Signals go to the one
//! process unless a function says group.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::wait_until;

/// A child and everything it starts.
pub struct Group {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Group {
    /// Starts `command` in its own process group, with its output in `log`.
    pub fn start(name: &str, command: &mut Command, log: &Path) -> Self {
        let file = open(log);
        let output = file.try_clone().expect("a file handle can be cloned");
        Self::spawn(name, command.stdin(Stdio::null()).stdout(output).stderr(file), log)
    }

    /// The same, with its input and output for the caller and only its errors in `log`.
    pub fn talking(
        name: &str,
        command: &mut Command,
        log: &Path,
    ) -> (Self, ChildStdin, ChildStdout) {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(open(log));
        let mut group = Self::spawn(name, pipes, log);
        let input = group.child.stdin.take().expect("its input is a pipe");
        let output = group.child.stdout.take().expect("its output is a pipe");
        (group, input, output)
    }

    fn spawn(name: &str, command: &mut Command, log: &Path) -> Self {
        let child = command.process_group(0).spawn();
        let child = child.unwrap_or_else(|e| panic!("cannot start {name} ({command:?}): {e}"));
        Self { child, name: name.into(), log: log.into() }
    }

    /// The process id of the child.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("process ids are small")
    }

    fn id(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends a signal to the child, not to what it started.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.id(), signal)
            .unwrap_or_else(|e| panic!("cannot send {signal:?} to {}: {e}", self.name));
    }

    /// SIGSTOP, and waits until the kernel shows the process stopped.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.pid());
        wait_until(&format!("{} is stopped", self.name), Duration::from_secs(5), || {
            let stat = std::fs::read_to_string(&stat).ok()?;
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')).then_some(())
        });
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// SIGKILL without reaping: it stays a zombie.
    pub fn kill_unreaped(&self) {
        self.signal(Signal::KILL);
    }

    /// SIGKILL to the child only; what it started lives on. Reaps it.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.child.wait().expect("a killed child can be waited for");
    }

    /// The exit status if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// Waits for its end.
    pub fn wait(&mut self, deadline: Duration) -> ExitStatus {
        let what = format!("{} ends; its log ends with:\n{}", self.name, self.log_tail());
        wait_until(&what, deadline, || self.ended()).0
    }

    /// Everything it has printed.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// The last lines it has printed.
    pub fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }
}

fn open(log: &Path) -> File {
    File::options().create(true).append(true).open(log).expect("the log opens")
}

/// The first process that this one started and that is still there.
pub fn first_child(pid: i32) -> Option<i32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

impl Drop for Group {
    fn drop(&mut self) {
        // The group may outlive its leader; a group that is gone is what we want.
        let _ = kill_process_group(self.id(), Signal::KILL);
        let _ = self.child.wait();
    }
}
