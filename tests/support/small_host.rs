//! A small host of its own: Debian's systemd as the first process of new namespaces, over the machine's files, with the
//! units of the test and no others. Sandboxes, capabilities, credentials and system call filters are the real ones; the
//! network is the machine's. Nothing of the machine is changed, and all of it is gone with the test.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::{Group, not_tested, repository, wait_until};

const SOON: Duration = Duration::from_secs(20);
/// What units wait for by default.
const TARGETS: [&str; 5] = ["sysinit", "basic", "shutdown", "network-online", "multi-user"];

/// A host that is not started yet.
pub struct SmallHostSetup {
    dir: TempDir,
    wanted: Vec<String>,
    bound: String,
}

impl SmallHostSetup {
    /// With nothing but a systemd.
    pub fn new() -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let setup = Self { dir, wanted: Vec::new(), bound: String::new() };
        TARGETS.iter().fold(setup, |setup, target| {
            setup.file(
                &format!("run/units/{target}.target"),
                "[Unit]\nDefaultDependencies=no\n",
                0o644,
            )
        })
    }

    /// A file of its own, instead of the machine's if there is one.
    pub fn file(self, path: &str, bytes: impl AsRef<[u8]>, mode: u32) -> Self {
        let path = self.dir.path().join("copy").join(path);
        std::fs::create_dir_all(path.parent().expect("it is below the root")).expect("a directory");
        std::fs::write(&path, bytes).expect("a file can be written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&path, mode).expect("an own file's mode can be changed");
        self
    }

    /// A file of the machine's at another place, without a copy.
    pub fn bind(mut self, file: &str, target: &str) -> Self {
        self.bound += &format!("{file} {target}\n");
        self
    }

    /// A unit that it starts.
    pub fn unit(mut self, name: &str, text: &str) -> Self {
        self.wanted.push(name.to_owned());
        self.file(&format!("run/units/{name}"), text, 0o644)
    }

    /// A drop-in of a unit.
    pub fn drop_in(self, unit: &str, name: &str, text: &str) -> Self {
        self.file(&format!("run/units/{unit}.d/{name}"), text, 0o644)
    }

    /// Starts it and waits until its units were started or failed. `None`, and told, where this machine allows no
    /// namespaces.
    pub fn start(self) -> Option<SmallHost> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let allowed = Command::new("unshare").args(["--mount", "--pid", "--fork", "true"]).status();
        if !allowed.is_ok_and(|status| status.success()) {
            not_tested("this machine lets us make no namespaces for a systemd of our own");
            return None;
        }
        let wants = format!("[Unit]\nDefaultDependencies=no\nWants={}\n", self.wanted.join(" "));
        let Self { dir, bound, wanted } = self.file("run/units/test.target", &wants, 0o644);
        std::fs::write(dir.path().join("bind"), bound).expect("a file can be written");
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let cgroup = format!("dlock-test-host-{}-{number}", std::process::id());
        let mut command = Command::new(repository("tests/support/small_host/boot"));
        command.arg(dir.path()).arg(&cgroup);
        let group = Group::start("a small host", &mut command, &dir.path().join("log"));
        let mut host = SmallHost { group, cgroup, init: 0, dir };
        host.wait_for_init();
        for unit in wanted {
            let settled = || {
                let state = host.property(&unit, "ActiveState");
                ["active", "failed"].contains(&state.as_str()).then_some(())
            };
            wait_until(&format!("{unit} is settled"), SOON, settled);
        }
        Some(host)
    }
}

/// A running one.
pub struct SmallHost {
    group: Group,
    cgroup: String,
    /// Its first process, in the machine's numbers.
    init: i32,
    dir: TempDir,
}

impl SmallHost {
    fn wait_for_init(&mut self) {
        let of_unshare = format!("/proc/{0}/task/{0}/children", self.group.pid());
        let (init, _) = wait_until("systemd answers", SOON, || {
            assert!(self.group.ended().is_none(), "it did not boot: {}", self.group.log_tail());
            let children = std::fs::read_to_string(&of_unshare).ok()?;
            self.init = children.split_whitespace().next()?.parse().ok()?;
            let name = std::fs::read_to_string(format!("/proc/{}/comm", self.init)).ok()?;
            let answers = || self.systemctl(&["show", "--property=Version"]).status.success();
            (name.trim() == "systemd" && answers()).then_some(self.init)
        });
        self.init = init;
    }

    /// Runs a program in it, as its root.
    pub fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new("nsenter");
        command.arg("--target").arg(self.init.to_string());
        command.args(["--mount", "--pid", "--uts", "--ipc", "--cgroup", "--root", "--wd"]);
        let done = command.args(["env", "SYSTEMD_UNIT_PATH=/run/units"]).args(words).output();
        done.expect("nsenter runs")
    }

    /// systemctl.
    pub fn systemctl(&self, words: &[&str]) -> Output {
        self.run(&[&["systemctl", "--no-pager"], words].concat())
    }

    /// systemctl, which must succeed.
    pub fn must(&self, words: &[&str]) {
        let done = self.systemctl(words);
        let text = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "systemctl {words:?}: {text}\n{}", self.said());
    }

    /// A property of a unit.
    pub fn property(&self, unit: &str, name: &str) -> String {
        let done = self.systemctl(&["show", "--value", &format!("--property={name}"), unit]);
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// Where a file of it is for us.
    pub fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.init)).join(path)
    }

    /// A file of it; empty if it is not there.
    pub fn read(&self, path: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path(path)).unwrap_or_default()).into_owned()
    }

    /// Writes one.
    pub fn write(&self, path: &str, text: &str) {
        std::fs::write(self.path(path), text).unwrap_or_else(|e| panic!("{path}: {e}"));
    }

    /// The status file of a unit's main process.
    pub fn status(&self, unit: &str) -> String {
        let pid = self.property(unit, "MainPID");
        let status = self.run(&["cat", &format!("/proc/{pid}/status")]);
        String::from_utf8_lossy(&status.stdout).into_owned()
    }

    /// What systemd said.
    pub fn said(&self) -> String {
        let said = std::fs::read(self.dir.path().join("said")).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    }
}

impl Drop for SmallHost {
    fn drop(&mut self) {
        // With its first process, all others in its numbering end.
        self.group.kill();
        let mounted = Command::new("findmnt")
            .args(["--noheadings", "--list", "--types", "cgroup2", "--output", "TARGET"])
            .output();
        let trees = mounted.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
        let Some(tree) = trees.ok().and_then(|t| t.lines().next().map(PathBuf::from)) else {
            return;
        };
        let dir = tree.join(&self.cgroup);
        for _ in 0..100 {
            let _ = Command::new("find")
                .arg(&dir)
                .args(["-depth", "-type", "d", "-exec", "rmdir", "{}", ";"])
                .output();
            if !dir.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        not_tested(&format!("{} could not be removed", dir.display()));
    }
}
