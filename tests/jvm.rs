//! Workers that are JVMs: their collections, pauses and what cannot be read of them, as the exporter's metrics say it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;

use crate::processes::{SOON, config, hold};
use crate::support::{
    Exporter, ExporterSetup, Metrics, RedisServer, not_tested, repository, wait_until,
};

const WORKER: [(&str, &str); 1] = [("worker", "jvm-1")];
/// A young JVM without counters may still be starting, and is given five seconds for it.
const STARTING: Duration = Duration::from_secs(5);

/// Where the compiled program is; `None` without a JDK.
fn classes() -> Option<PathBuf> {
    static COMPILED: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| {
        let dir = TempDir::new().unwrap();
        let source = repository("tests/fixtures/Tested.java");
        let done = Command::new("javac").arg("-d").arg(dir.path()).arg(source).status();
        let path = dir.path().to_owned();
        done.is_ok_and(|s| s.success()).then_some((dir, path))
    });
    if compiled.is_none() {
        not_tested("there is no JDK: javac does not run");
    }
    compiled.as_ref().map(|(_, path)| path.clone())
}

/// A JVM that ends with the test.
pub struct Jvm {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Jvm {
    /// Starts one and writes its pid to a file.
    pub fn start(options: &[&str], pid_file: &Path) -> Option<Self> {
        let mut command = Command::new("java");
        command.args(options).args(["-Xms64m", "-Xmx64m", "-cp"]).arg(classes()?).arg("Tested");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut jvm = Self { child, out };
        assert_eq!(jvm.line(), "ready");
        std::fs::write(pid_file, jvm.child.id().to_string()).unwrap();
        Some(jvm)
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("process ids are small")
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    pub fn tell(&mut self, what: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{what}").unwrap();
        assert_eq!(self.line(), "done");
    }

    /// Collections and their seconds, all collectors together, as `jstat -gc` prints them.
    fn jstat(&self) -> (f64, f64) {
        let pid = self.child.id().to_string();
        let out = Command::new("jstat").args(["-gc", &pid]).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap().replace(',', ".");
        let mut lines = text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
        let (head, row) = (lines.next().unwrap(), lines.next().unwrap());
        let cell = |name: &str| {
            let at = head.iter().position(|h| *h == name);
            at.and_then(|at| row[at].parse::<f64>().ok()).unwrap_or(0.0)
        };
        (["YGC", "FGC", "CGC"].iter().map(|c| cell(c)).sum(), cell("GCT"))
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn file(server: &RedisServer, pid_file: &Path) -> String {
    hold(server, "jvm", "", "");
    config(server, &[("jvm", format!("pid_file: '{}'", pid_file.display()))], "")
}

fn collections(m: &Metrics) -> f64 {
    m.sum("dlock_worker_jvm_gc_collections_total", &WORKER)
}

fn seconds(m: &Metrics) -> f64 {
    m.sum("dlock_worker_jvm_gc_pause_seconds_total", &WORKER)
}

fn stall(m: &Metrics, bound: &str) -> f64 {
    let labels = [("worker", "jvm-1"), ("bound", bound)];
    m.value("dlock_worker_worst_stall_seconds", &labels).unwrap_or(0.0)
}

/// Waits until the exporter shows what `jstat` shows of a JVM that is idle, on top of these.
fn agrees(exporter: &mut Exporter, jvm: &Jvm, base: (f64, f64)) -> (f64, f64) {
    let (count, time) = jvm.jstat();
    let wanted = (base.0 + count, base.1 + time);
    // jstat rounds each of three sums to a millisecond.
    let fits =
        move |m: &Metrics| collections(m) == wanted.0 && (seconds(m) - wanted.1).abs() < 0.002;
    exporter.wait_for(&format!("{wanted:?} dlock_worker_jvm_"), SOON, fits);
    let m = exporter.metrics();
    (collections(&m), seconds(&m))
}

#[test]
fn collections_and_pauses_are_those_of_the_jvm_through_a_restart() {
    let dir = TempDir::new().unwrap();
    let pid_file = dir.path().join("pid");
    let log = dir.path().join("log");
    let logging = format!("-Xlog:safepoint:file={}", log.display());
    let server = RedisServer::start();
    let Some(mut jvm) = Jvm::start(&["-XX:+UseSerialGC", &logging], &pid_file) else { return };
    let mut exporter = Exporter::start(&file(&server, &pid_file));
    exporter.wait_for("dlock_worker_jvm_", SOON, |m| {
        m.value("dlock_worker_jvm_safepoint_seconds_total", &WORKER).is_some()
    });
    jvm.tell("keep 30");
    jvm.tell("gc 1");
    let first = agrees(&mut exporter, &jvm, (0.0, 0.0));
    assert!(first.0 > 0.0 && first.1 > 0.0);

    let m = exporter.metrics();
    let longest = m.value("dlock_worker_jvm_gc_longest_pause_seconds", &WORKER).unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let totals = text
        .lines()
        .filter_map(|l| l.rsplit_once("Total:")?.1.trim().split(' ').next()?.parse::<f64>().ok());
    let longest_logged = totals.fold(0.0, f64::max) / 1e9;
    assert!(longest > 0.0 && longest <= longest_logged + 0.001, "{longest} of {longest_logged}");
    assert!(stall(&m, "lower") >= longest - 0.001, "{longest}: {}", m.lines("dlock_worker_worst"));
    assert!(stall(&m, "upper") >= stall(&m, "lower"));
    let age = |m: &Metrics| m.value("dlock_worker_jvm_last_gc_age_seconds", &WORKER).unwrap();
    let before = age(&m);
    exporter
        .wait_for("an age that grows: dlock_worker_jvm_last", SOON, move |m| age(m) > before + 0.5);

    drop(jvm);
    let Some(mut jvm) = Jvm::start(&["-XX:+UseSerialGC"], &pid_file) else { return };
    let at_least = collections(&exporter.metrics());
    exporter.wait_for("the second JVM: dlock_worker_", SOON, move |m| {
        let fell = collections(m) > 0.0 && collections(m) < at_least;
        assert!(!fell, "a total falls: {}", m.lines("dlock_worker_jvm_gc"));
        m.value("dlock_worker_restarts_total", &WORKER) == Some(1.0)
    });
    jvm.tell("gc 2");
    agrees(&mut exporter, &jvm, first);
}

#[test]
fn a_jvm_without_counters_is_said_to_be_unread() {
    let dir = TempDir::new().unwrap();
    let pid_file = dir.path().join("pid");
    let server = RedisServer::start();
    let Some(_jvm) = Jvm::start(&["-XX:-UsePerfData"], &pid_file) else { return };
    let mut exporter = Exporter::start(&file(&server, &pid_file));
    lost(&mut exporter, "unsupported");
}

#[test]
fn a_jvm_of_another_user_is_said_to_be_unread() {
    let dir = TempDir::new().unwrap();
    let pid_file = dir.path().join("pid");
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let may = Command::new("setpriv").args(["--reuid", "65534", "true"]).output();
    if !may.is_ok_and(|done| done.status.success()) {
        return not_tested("this machine does not let us become nobody");
    }
    let server = RedisServer::start();
    let Some(_jvm) = Jvm::start(&[], &pid_file) else { return };
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let setup = ExporterSetup::file(&file(&server, &pid_file)).password();
    let mut exporter = setup.wrapped(&nobody).start();
    lost(&mut exporter, "permission");
    let ((), _) = wait_until("the log says what is missing", SOON, || {
        exporter.log().contains("CAP_SYS_PTRACE").then_some(())
    });
}

fn lost(exporter: &mut Exporter, reason: &str) {
    let reason = reason.to_owned();
    exporter.wait_for("coverage: dlock_worker_", STARTING + SOON, move |m| {
        let labels = [("worker", "jvm-1"), ("aspect", "jvm"), ("reason", reason.as_str())];
        m.is("dlock_worker_coverage_lost", &labels, 1.0)
    });
    let m = exporter.metrics();
    assert_eq!(m.lines("dlock_worker_jvm_"), "", "nothing is said of what is not read");
}
