//! A Java program that collects when it is told to, and what JDK there is to run it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;

use crate::clock;
use crate::config::JvmMode;
use crate::observe::{JvmRead, ProcessId};
use crate::poll::jvm::Jvms;
use crate::poll::process::{Paths, dir::ProcDir, stat};
use crate::poll::residents::Resident;

/// A program that collects when its standard input says so; its head says how.
const PROGRAM: &str = include_str!("../../../../tests/fixtures/Tested.java");

/// Says that something is not tested here, past the capture of output.
pub fn not_tested(why: &str) {
    let _ = writeln!(std::io::stderr(), "not tested: {why}");
}

/// Where the compiled program is; `None` without a JDK.
pub fn classes() -> Option<PathBuf> {
    static COMPILED: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| {
        let dir = TempDir::new().unwrap();
        // Other users run it too.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(dir.path(), mode).unwrap();
        fs::write(dir.path().join("Tested.java"), PROGRAM).unwrap();
        let done = Command::new("javac").arg("Tested.java").current_dir(dir.path()).status();
        let path = dir.path().to_owned();
        done.is_ok_and(|s| s.success()).then_some((dir, path))
    });
    if compiled.is_none() {
        not_tested("there is no JDK: javac does not run");
    }
    compiled.as_ref().map(|(_, path)| path.clone())
}

/// Whether the JVM has this option.
pub fn has(option: &str) -> bool {
    Command::new("java").args([option, "-version"]).output().is_ok_and(|o| o.status.success())
}

/// A running JVM, which ends with the test.
pub struct Jvm {
    child: Child,
    out: BufReader<ChildStdout>,
    /// The JVM, which need not be the child itself.
    pub pid: i32,
}

/// A command line for the program; `wrapper` runs `java`, and `{}` in it stands for the rest.
pub fn command(wrapper: &[&str], options: &[&str]) -> Command {
    let mut words: Vec<&str> = wrapper.to_vec();
    words.push("java");
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(options).args(["-Xms64m", "-Xmx64m"]);
    command.arg("-cp").arg(classes().unwrap()).arg("Tested");
    command
}

impl Jvm {
    /// Starts one; `None` without a JDK.
    pub fn start(options: &[&str]) -> Option<Self> {
        classes()?;
        let mut jvm = Self::spawn(command(&[], options));
        assert_eq!(jvm.line(), "ready");
        Some(jvm)
    }

    /// Starts a command whose process is the JVM, without waiting for it.
    pub fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let pid = i32::try_from(child.id()).unwrap();
        Self { child, out, pid }
    }

    /// The next line that it says; empty if it has ended.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Lets it begin something.
    pub fn begin(&mut self, what: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{what}").unwrap();
    }

    /// Lets it do something.
    pub fn tell(&mut self, what: &str) {
        self.begin(what);
        assert_eq!(self.line(), "done");
    }

    /// Sends it a signal, such as `-STOP`.
    pub fn signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.pid.to_string()]).status();
        assert!(done.unwrap().success());
    }

    /// Ends it, and takes the leftovers of the child.
    pub fn kill(&mut self) {
        self.signal("-KILL");
        self.child.wait().unwrap();
    }

    /// How the sampler names it.
    pub fn resident(&self, jvm: JvmMode) -> Resident {
        resident(self.pid, jvm)
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How the sampler names a process.
pub fn resident(pid: i32, jvm: JvmMode) -> Resident {
    let dir = ProcDir::open("/proc".as_ref(), pid).unwrap();
    let start_ticks = stat::parse(&dir.file("stat", 4096).unwrap()).unwrap().start_ticks;
    Resident { worker: "w".into(), process: ProcessId { pid, start_ticks }, jvm }
}

/// A reader that knows nothing yet.
pub fn reader() -> Jvms {
    Jvms::new(Paths { procfs: "/proc".into(), cgroupfs: None })
}

/// Reads until it fits, for at most twenty seconds.
pub fn read_until(
    jvms: &mut Jvms,
    resident: &Resident,
    fits: impl Fn(Option<&JvmRead>) -> bool,
) -> Option<JvmRead> {
    let until = clock::mono().plus(Duration::from_secs(20));
    loop {
        let read = jvms.read(resident);
        if fits(read.as_ref()) {
            return read;
        }
        assert!(clock::mono() < until, "last read: {read:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Reads until there are counters.
pub fn counters(jvms: &mut Jvms, resident: &Resident) -> crate::observe::jvm::Jvm {
    let read = read_until(jvms, resident, |r| r.is_some_and(|r| r.seen.is_ok()));
    read.unwrap().seen.unwrap()
}
