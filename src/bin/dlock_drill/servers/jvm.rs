//! A worker on a JVM, for the rehearsal of a collector's storm: its source is in this program and is compiled where there is
//! a JDK. It must not collect before it is told to.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command};
use std::time::Duration;

use tempfile::TempDir;

use super::wait::{at, private_dir};
use crate::bound;
use crate::children::Group;
use crate::failure::Failure;

const SOURCE: &str = include_str!("Storm.java");

/// What the worker does with its lock.
pub struct Job<'a> {
    /// Port of the server on the loopback.
    pub port: u16,
    /// The server's password.
    pub password: &'a str,
    /// The lock's key.
    pub key: &'a str,
    /// Its token.
    pub token: &'a str,
    /// The key of its heartbeat.
    pub heartbeat: &'a str,
    /// Its lease.
    pub lease: Duration,
    /// How often it renews and beats.
    pub period: Duration,
}

/// A running worker.
pub struct Jvm {
    group: Group,
    input: ChildStdin,
    /// Not there while a thread waits for an answer.
    output: Option<BufReader<ChildStdout>>,
    _dir: TempDir,
}

impl Jvm {
    /// Compiles and starts it. It holds nothing yet.
    pub async fn start(job: &Job<'_>) -> Result<Self, Failure> {
        let dir = private_dir()?;
        let source = dir.path().join("Storm.java");
        std::fs::write(&source, SOURCE).map_err(|e| at(&source, e))?;
        let into = dir.path().to_owned();
        let compiled = tokio::task::spawn_blocking(move || compile(&source, &into)).await;
        compiled.map_err(|e| Failure::new(e.to_string()))??;
        let mut command = bound::command(Path::new("java"))?;
        // One collector with one thread, whose full collections stop the world on every machine for as long as they take.
        command.args(["-XX:+UseSerialGC", "-Xms800m", "-Xmx800m", "-cp"]).arg(dir.path());
        command.args(["Storm", "127.0.0.1", &job.port.to_string(), job.key, job.token]);
        command.args([job.heartbeat, &job.lease.as_millis().to_string()]);
        command.arg(job.period.as_millis().to_string());
        command.env("DLOCK_DRILL_PASSWORD", job.password);
        let (group, input, output) = Group::talking("jvm", &mut command, dir.path())?;
        let output = Some(BufReader::new(output));
        let mut jvm = Self { group, input, output, _dir: dir };
        match jvm.line().await?.as_str() {
            "ready" => Ok(jvm),
            _ => Err(jvm.gone()),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.group.pid()
    }

    /// Gives it a command and gives its answer.
    pub async fn tell(&mut self, what: &str) -> Result<String, Failure> {
        let told = writeln!(self.input, "{what}");
        told.map_err(|_| self.gone())?;
        self.line().await
    }

    async fn line(&mut self) -> Result<String, Failure> {
        let Some(mut output) = self.output.take() else { return Err(self.gone()) };
        let read = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            let read = output.read_line(&mut line);
            (read, line, output)
        });
        let (read, line, output) = read.await.map_err(|e| Failure::new(e.to_string()))?;
        self.output = Some(output);
        match read {
            Ok(n) if n > 0 => Ok(line.trim().to_owned()),
            _ => Err(self.gone()),
        }
    }

    fn gone(&self) -> Failure {
        Failure::new(format!("the JVM does not answer: {}", self.group.log_tail()))
    }
}

fn compile(source: &Path, into: &Path) -> Result<(), Failure> {
    let done = Command::new("javac").arg("-d").arg(into).arg(source).output();
    let done = done.map_err(|e| Failure::new(format!("javac does not run: {e}")))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(Failure::new(format!(
        "javac does not compile the worker: {}",
        said.lines().next().unwrap_or_default()
    )))
}

/// Why there can be no such worker on this machine.
pub fn is_missing() -> Option<String> {
    ["javac", "java"].into_iter().find_map(|program| {
        let ran = Command::new(program).arg("-version").output();
        let runs = ran.is_ok_and(|done| done.status.success());
        (!runs).then(|| format!("{program} does not run; install a JDK (Java 11 or later)"))
    })
}
