//! A cgroup of the test, where this machine lets it make one: to find processes by, and to freeze. Thawed and removed at
//! the end. It must come after the processes in it are declared, since a frozen one can be hard to kill.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::not_tested;

/// A cgroup in one of the machine's trees.
pub struct Cgroup {
    dir: PathBuf,
    freezer: (&'static str, &'static str, &'static str),
}

impl Cgroup {
    /// Below the root of the v2 tree; `None`, and told, where that cannot be.
    pub fn v2(name: &str) -> Option<Self> {
        let freezer = ("cgroup.freeze", "1", "0");
        Self::make(mounted("cgroup2", "")?.join(name), freezer)
    }

    /// Below the root of the v1 freezer's tree.
    pub fn v1(name: &str) -> Option<Self> {
        let freezer = ("freezer.state", "FROZEN", "THAWED");
        Self::make(mounted("cgroup", "freezer")?.join(name), freezer)
    }

    /// Below the root of another v1 controller's tree; it cannot be frozen.
    pub fn v1_of(controller: &str, name: &str) -> Option<Self> {
        Self::make(mounted("cgroup", controller)?.join(name), ("freezer.state", "", ""))
    }

    fn make(dir: PathBuf, freezer: (&'static str, &'static str, &'static str)) -> Option<Self> {
        match std::fs::create_dir(&dir) {
            Ok(()) => Some(Self { dir, freezer }),
            Err(e) => {
                not_tested(&format!("{} cannot be made: {e}", dir.display()));
                None
            }
        }
    }

    /// One below it.
    pub fn below(&self, name: &str) -> Self {
        Self::make(self.dir.join(name), self.freezer).expect("one was made here already")
    }

    /// Moves a process into it.
    pub fn add(&self, pid: i32) {
        self.write("cgroup.procs", &pid.to_string());
    }

    /// Freezes all in it and below it.
    pub fn freeze(&self) {
        self.write(self.freezer.0, self.freezer.1);
    }

    /// Lets them run again.
    pub fn thaw(&self) {
        self.write(self.freezer.0, self.freezer.2);
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Whether it has such a file.
    pub fn has(&self, file: &str) -> bool {
        self.dir.join(file).exists()
    }

    /// Writes one of its files.
    pub fn write(&self, file: &str, text: &str) {
        let file = self.dir.join(file);
        std::fs::write(&file, text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = std::fs::write(self.dir.join(self.freezer.0), self.freezer.2);
        let procs = std::fs::read_to_string(self.dir.join("cgroup.procs")).unwrap_or_default();
        let above = self.dir.parent().unwrap_or(Path::new("/")).join("cgroup.procs");
        for pid in procs.lines() {
            let _ = std::fs::write(&above, pid);
        }
        for _ in 0..100 {
            if std::fs::remove_dir(&self.dir).is_ok() || !self.dir.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        not_tested(&format!("{} could not be removed", self.dir.display()));
    }
}

/// Where the whole of a cgroup file system is mounted.
fn mounted(kind: &str, option: &str) -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let found = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (point, fs, options) = (words.next()?, words.next()?, words.next()?);
        let fits = option.is_empty() || options.split(',').any(|o| o == option);
        (fs == kind && fits).then(|| PathBuf::from(point))
    });
    if found.is_none() {
        not_tested(&format!("no {kind} {option} is mounted"));
    }
    found
}
