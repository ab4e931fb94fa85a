//! For tests: real cgroups with a process in them, where this machine lets us make some.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::*;
use crate::config::JvmMode;
use crate::observe::ProcessId;
use crate::poll::process::stat;

/// Cgroups with one process in them; all go when it is dropped.
pub struct Cage {
    dirs: Vec<PathBuf>,
    /// The process.
    pub child: Child,
}

impl Cage {
    /// A process in cgroups of its own in these hierarchies (`""` is v2), each two levels deep; `None` and told where
    /// that cannot be.
    pub fn with(hierarchies: &[&str], command: &mut Command) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("dlock_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mounts = Mounts::of_self().unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let mut cage = Self { dirs: Vec::new(), child };
        for hierarchy in hierarchies {
            let mount = match *hierarchy {
                "" => mounts.cgroup2(),
                controller => mounts.cgroup1(controller),
            };
            let Some(mount) = mount else {
                println!("skipped: no hierarchy {hierarchy:?}");
                return None;
            };
            for dir in [mount.point.join(&name), mount.point.join(&name).join("app")] {
                if let Err(e) = fs::create_dir(&dir) {
                    println!("skipped: cannot make {}: {e}", dir.display());
                    return None;
                }
                cage.dirs.push(dir);
            }
        }
        Some(cage)
    }

    /// A process that sleeps, in them.
    pub fn sleeper(hierarchies: &[&str]) -> Option<Self> {
        let cage = Self::with(hierarchies, Command::new("sleep").arg("600"))?;
        (0..hierarchies.len()).for_each(|n| cage.enter(n));
        Some(cage)
    }

    /// The nth hierarchy's directory: the process's, and the one above.
    pub fn dir(&self, n: usize) -> (&Path, &Path) {
        (&self.dirs[2 * n + 1], &self.dirs[2 * n])
    }

    /// Moves the process into the nth.
    pub fn enter(&self, n: usize) {
        put(self.dir(n).0, "cgroup.procs", &self.child.id().to_string());
    }

    /// The process as a worker's.
    pub fn resident(&self) -> Resident {
        resident(self.child.id())
    }

    /// Reads its cgroup.
    pub fn read(&self, cgroups: &mut Cgroups) -> CgroupRead {
        cgroups.read(&[self.resident()]).remove(0)
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        for dir in &self.dirs {
            let _ = fs::write(dir.join("cgroup.freeze"), "0");
            let _ = fs::write(dir.join("freezer.state"), "THAWED");
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        for dir in self.dirs.iter().rev() {
            let until = clock::mono().plus(Duration::from_secs(5));
            while dir.exists() && fs::remove_dir(dir).is_err() && clock::mono() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// Writes one of its files.
pub fn put(dir: &Path, name: &str, text: &str) {
    fs::write(dir.join(name), text).unwrap_or_else(|e| panic!("{}/{name}: {e}", dir.display()));
}

/// A process as a worker's.
pub fn resident(pid: u32) -> Resident {
    let text = fs::read(format!("/proc/{pid}/stat")).unwrap();
    let start_ticks = stat::parse(&text).unwrap().start_ticks;
    let process = ProcessId { pid: i32::try_from(pid).unwrap(), start_ticks };
    Resident { worker: Arc::from("orders-1"), process, jvm: JvmMode::Auto }
}
