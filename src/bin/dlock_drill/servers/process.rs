//! A child process in a process group of its own, which ends with its owner however that ends. It must not judge what the
//! process does, and it signals nothing that it did not start.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::failure::Failure;

/// A child and everything that it starts.
pub struct Process {
    child: Child,
    name: String,
    log: PathBuf,
    is_reaped: bool,
}

impl Process {
    /// Starts a command with what it says in `log`; a program that is missing is told by its name.
    pub fn start(name: &str, command: &mut Command, log: &Path) -> Result<Self, Failure> {
        let file = open(log)?;
        let other =
            file.try_clone().map_err(|e| Failure::new(format!("{}: {e}", log.display())))?;
        Self::spawn(name, command.stdin(Stdio::null()).stdout(other).stderr(file), log)
    }

    /// The same, with its input and output for the caller and only its errors in `log`.
    pub fn talking(
        name: &str,
        command: &mut Command,
        log: &Path,
    ) -> Result<(Self, ChildStdin, ChildStdout), Failure> {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(open(log)?);
        let mut process = Self::spawn(name, pipes, log)?;
        match (process.child.stdin.take(), process.child.stdout.take()) {
            (Some(input), Some(output)) => Ok((process, input, output)),
            _ => Err(Failure::new(format!("{name} has no pipes"))),
        }
    }

    fn spawn(name: &str, command: &mut Command, log: &Path) -> Result<Self, Failure> {
        let program = command.get_program().to_string_lossy().into_owned();
        // A group of its own: a Ctrl-C reaches the drill alone, which then ends what it started in the right order.
        let child = command.process_group(0).spawn();
        let child =
            child.map_err(|e| Failure::new(format!("{name} does not start ({program}): {e}")))?;
        Ok(Self { child, name: name.into(), log: log.into(), is_reaped: false })
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        Pid::from_child(&self.child).as_raw_nonzero().get()
    }

    /// Sends a signal to the child, not to what it started.
    pub fn signal(&self, signal: Signal) -> Result<(), Failure> {
        if self.is_reaped {
            return Err(Failure::new(format!("{} has ended", self.name)));
        }
        let sent = kill_process(Pid::from_child(&self.child), signal);
        sent.map_err(|e| Failure::new(format!("{} takes no {signal:?}: {e}", self.name)))
    }

    /// SIGSTOP: what it has open stays open.
    pub fn pause(&self) -> Result<(), Failure> {
        self.signal(Signal::STOP)
    }

    /// SIGCONT.
    pub fn resume(&self) -> Result<(), Failure> {
        self.signal(Signal::CONT)
    }

    /// SIGKILL for it and all that it started; reaps it.
    pub fn kill(&mut self) {
        if !self.is_reaped {
            // The group may outlive its leader; a group that is gone is what we want.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
            self.is_reaped = true;
        }
    }

    /// How it ended, with the last of what it said, if it has.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        let said = std::fs::read(&self.log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().rev().take(5).collect();
        let last: Vec<&str> = lines.into_iter().rev().collect();
        Some(format!("{} ended with {status}: {}", self.name, last.join(" / ")))
    }
}

fn open(log: &Path) -> Result<File, Failure> {
    let file = File::options().create(true).append(true).open(log);
    file.map_err(|e| Failure::new(format!("{}: {e}", log.display())))
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
