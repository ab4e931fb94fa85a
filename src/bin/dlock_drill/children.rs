//! Child processes in process groups of their own, which end with the drill however it ends. Signals go to the one process unless
//! a function says group.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::failure::Failure;

/// A child and everything it starts.
pub struct Group {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Group {
    /// Starts `command` with its output in a log under `dir`.
    pub fn start(name: &str, command: &mut Command, dir: &Path) -> Result<Self, Failure> {
        let log = dir.join(format!("{name}.log"));
        let told = |e| Failure::new(format!("{} cannot be written: {e}", log.display()));
        let file = std::fs::File::create(&log).map_err(told)?;
        let output = file.try_clone().map_err(told)?;
        command.stdin(Stdio::null()).stdout(output).stderr(file).process_group(0);
        let child = command.spawn().map_err(|e| {
            Failure::new(format!("{} cannot be started: {e}", command.get_program().display()))
        })?;
        Ok(Self { child, name: name.into(), log })
    }

    /// The same, with its input and output for the caller, and only its errors in the log.
    pub fn talking(
        name: &str,
        command: &mut Command,
        dir: &Path,
    ) -> Result<(Self, ChildStdin, ChildStdout), Failure> {
        let log = dir.join(format!("{name}.log"));
        let file = std::fs::File::create(&log)
            .map_err(|e| Failure::new(format!("{} cannot be written: {e}", log.display())))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file).process_group(0);
        let mut child = command.spawn().map_err(|e| {
            Failure::new(format!("{} cannot be started: {e}", command.get_program().display()))
        })?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let group = Self { child, name: name.into(), log };
        match pipes {
            (Some(input), Some(output)) => Ok((group, input, output)),
            _ => Err(Failure::new(format!("{name} has no pipes"))),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn id(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends a signal to the child, not to what it started.
    pub fn signal(&self, signal: Signal) -> Result<(), Failure> {
        kill_process(self.id(), signal)
            .map_err(|e| Failure::new(format!("no {signal:?} can be sent to {}: {e}", self.name)))
    }

    /// SIGSTOP, until the kernel shows it stopped.
    pub async fn pause(&self) -> Result<(), Failure> {
        pause(self.id()).await
    }

    /// SIGCONT.
    pub fn resume(&self) -> Result<(), Failure> {
        self.signal(Signal::CONT)
    }

    /// SIGKILL to the child only; what it started lives on. Reaps it.
    pub fn kill(&mut self) -> Result<(), Failure> {
        self.signal(Signal::KILL)?;
        let _ = self.child.wait();
        Ok(())
    }

    /// Whether it has.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// The last lines it has printed.
    pub fn log_tail(&self) -> String {
        let log =
            String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        lines.iter().skip(lines.len().saturating_sub(5)).copied().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The group may outlive its leader; a group that is gone is what we want.
        let _ = kill_process_group(self.id(), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// SIGSTOP to any process, until the kernel shows it stopped.
pub async fn pause(id: Pid) -> Result<(), Failure> {
    let pid = id.as_raw_nonzero();
    kill_process(id, Signal::STOP)
        .map_err(|e| Failure::new(format!("process {pid} cannot be stopped: {e}")))?;
    let stat = format!("/proc/{pid}/stat");
    for _ in 0..500 {
        let text = std::fs::read_to_string(&stat).unwrap_or_default();
        if text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err(Failure::new(format!("process {pid} does not stop")))
}
