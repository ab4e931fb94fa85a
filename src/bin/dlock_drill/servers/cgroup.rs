//! A cgroup whose memory is limited, for the rehearsal of memory pressure: of the second version where that has the memory
//! controller, else the pressure of a second version and the limit of a first. It is removed at the end, and what is in it
//! is put back before. It must not change a cgroup that it did not make.

use std::fs;
use std::path::{Path, PathBuf};

use super::wait::at;
use crate::failure::Failure;

/// One or two directories for the same processes.
pub struct Cramped {
    dirs: Vec<Made>,
    limit: PathBuf,
    /// How it is done, in words.
    pub way: &'static str,
    /// Whether the limit cannot be overstepped.
    pub is_hard: bool,
}

struct Made {
    dir: PathBuf,
    /// Where what is in it goes at the end.
    back: PathBuf,
}

impl Cramped {
    /// Below this process's own cgroup, or one above that. The error says why this machine cannot.
    pub fn make(name: &str) -> Result<Self, Failure> {
        let (v2, v1) = (Tree::v2(), Tree::v1("memory"));
        let Some(v2) = v2 else {
            return Err(Failure::new("no cgroup v2 is mounted, so that nothing tells of pressure"));
        };
        if let Some(above) = v2.with_memory() {
            let made = Made::new(&v2, &above, name)?;
            let limit = made.dir.join("memory.high");
            let pressure = made.dir.join("memory.pressure");
            is_there(&limit, "the memory controller is not on for groups below it")?;
            is_there(&pressure, "this kernel does not tell of pressure (PSI)")?;
            return Ok(Self {
                dirs: vec![made],
                limit,
                way: "memory.high of cgroup v2",
                is_hard: false,
            });
        }
        let Some(v1) = v1 else {
            return Err(Failure::new("neither version of cgroups has the memory controller"));
        };
        let pressed = Made::new(&v2, &v2.own, name)?;
        is_there(&pressed.dir.join("memory.pressure"), "this kernel does not tell of pressure")?;
        let made = Made::new(&v1, &v1.own, name)?;
        let limit = made.dir.join("memory.limit_in_bytes");
        is_there(&limit, "it has no limit")?;
        let way = "memory.limit_in_bytes of cgroup v1, with the pressure of v2";
        Ok(Self { dirs: vec![pressed, made], limit, way, is_hard: true })
    }

    /// Moves a process into it.
    pub fn add(&self, pid: u32) -> Result<(), Failure> {
        let into = self.dirs.iter().map(|made| made.dir.join("cgroup.procs"));
        into.into_iter().try_for_each(|procs| write(&procs, &pid.to_string()))
    }

    /// How much memory it may have.
    pub fn limit(&self, bytes: u64) -> Result<(), Failure> {
        write(&self.limit, &bytes.to_string())
    }

    /// As much as it wants again.
    pub fn lift(&self) -> Result<(), Failure> {
        let is_v2 = self.limit.ends_with("memory.high");
        write(&self.limit, if is_v2 { "max" } else { "-1" })
    }
}

impl Made {
    fn new(tree: &Tree, above: &Path, name: &str) -> Result<Self, Failure> {
        let dir = above.join(name);
        fs::create_dir(&dir).map_err(|e| {
            let hint = "run it as root, or in a cgroup that is delegated to you";
            Failure::new(format!("{} cannot be made: {e}; {hint}", dir.display()))
        })?;
        Ok(Self { dir, back: tree.own.join("cgroup.procs") })
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let procs = fs::read_to_string(self.dir.join("cgroup.procs")).unwrap_or_default();
        for pid in procs.lines() {
            let _ = fs::write(&self.back, pid);
        }
        // One that has just ended may be in it for a moment.
        for _ in 0..100 {
            if fs::remove_dir(&self.dir).is_ok() || !self.dir.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// This process's place in one hierarchy, and where that is mounted.
struct Tree {
    root: PathBuf,
    own: PathBuf,
}

impl Tree {
    fn v2() -> Option<Self> {
        Self::find("cgroup2", "", "")
    }

    fn v1(controller: &str) -> Option<Self> {
        Self::find("cgroup", controller, controller)
    }

    fn find(kind: &str, option: &str, controller: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/mounts").ok()?;
        let root = mount_point(&mounts, kind, option)?;
        let lines = fs::read_to_string("/proc/self/cgroup").ok()?;
        let inside = own_path(&lines, controller)?;
        let own = root.join(inside.trim_start_matches('/'));
        own.is_dir().then_some(Self { root, own })
    }

    /// The nearest group that gives those below it the memory controller. One with processes in it, as this process's own,
    /// cannot, so it is one above.
    fn with_memory(&self) -> Option<PathBuf> {
        let above = self.own.ancestors().take_while(|dir| dir.starts_with(&self.root));
        let gives = |dir: &&Path| {
            let on = fs::read_to_string(dir.join("cgroup.subtree_control")).unwrap_or_default();
            on.split_whitespace().any(|word| word == "memory")
        };
        above.into_iter().find(gives).map(Path::to_owned)
    }
}

fn mount_point(mounts: &str, kind: &str, option: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (point, fs, options) = (words.next()?, words.next()?, words.next()?);
        let fits = option.is_empty() || options.split(',').any(|o| o == option);
        (fs == kind && fits).then(|| PathBuf::from(point))
    })
}

/// Where this process is in the hierarchy with that controller; the second version's line names none.
fn own_path<'a>(lines: &'a str, controller: &str) -> Option<&'a str> {
    lines.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|c| c == controller).then_some(path)
    })
}

fn is_there(file: &Path, otherwise: &str) -> Result<(), Failure> {
    if file.exists() {
        return Ok(());
    }
    Err(Failure::new(format!("{} is not there: {otherwise}", file.display())))
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|e| at(file, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_process_is_found_in_either_hierarchy() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
            cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n\
            cgroup /sys/fs/cgroup/memory cgroup rw,nosuid,memory 0 0\n\
            cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let lines = "4:memory:/a/b\n3:cpu,cpuacct:/c\n1:name=systemd:/d\n0::/user.slice/x\n";
        let at = |kind, option| mount_point(mounts, kind, option);
        assert_eq!(at("cgroup2", ""), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(at("cgroup", "memory"), Some("/sys/fs/cgroup/memory".into()));
        assert_eq!(at("cgroup", "cpuacct"), Some("/sys/fs/cgroup/cpu,cpuacct".into()));
        assert_eq!(at("cgroup", "pids"), None);
        assert_eq!(own_path(lines, "memory"), Some("/a/b"));
        assert_eq!(own_path(lines, "cpuacct"), Some("/c"));
        assert_eq!(own_path(lines, ""), Some("/user.slice/x"));
        assert_eq!(own_path(lines, "pids"), None);
    }
}
