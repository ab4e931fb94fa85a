//! Where a process's cgroup is: from the lines of `/proc/<pid>/cgroup` and the mounts of this process to directories. A
//! place that cannot be told is named as such; it must never fall back to a directory that might be another's.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::poll::mounts::{Mount, Mounts};

/// Levels that are walked up at most; real trees have fewer than ten.
const MAX_LEVELS: usize = 128;
/// What the kernel appends to the path of a removed v2 cgroup.
const DELETED: &[u8] = b" (deleted)";

/// A line of `/proc/<pid>/cgroup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Hierarchy number; 0 is cgroup v2.
    pub id: &'a [u8],
    /// Controllers, comma-separated; empty for v2.
    pub controllers: &'a [u8],
    /// Path in the hierarchy; it may contain colons.
    pub path: &'a [u8],
}

impl Line<'_> {
    fn is_v2(&self) -> bool {
        self.id == b"0" && self.controllers.is_empty()
    }

    fn has(&self, controller: &str) -> bool {
        self.controllers.split(|b| *b == b',').any(|c| c == controller.as_bytes())
    }
}

/// The lines of a `/proc/<pid>/cgroup`.
pub fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    text.split(|b| *b == b'\n').filter_map(|line| {
        let mut fields = line.splitn(3, |b| *b == b':');
        Some(Line { id: fields.next()?, controllers: fields.next()?, path: fields.next()? })
    })
}

/// A mounted cgroup tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    point: PathBuf,
    root: PathBuf,
    /// Its top is the hierarchy's own root, so that nothing is above it.
    is_whole: bool,
}

/// Where a process is in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the hierarchy's own root, which is the whole host's.
    Root,
    /// In this cgroup.
    In(Levels),
    /// In a cgroup that was removed.
    Removed,
    /// Outside this process's cgroup namespace.
    Foreign,
    /// The hierarchy, or the part with the cgroup, is not mounted where this process sees it.
    Unmounted,
}

/// The directory of a cgroup, and those above it as far as they can be seen; without the hierarchy's own root.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Levels {
    /// The cgroup's own.
    pub dir: PathBuf,
    /// Whether there is nothing more above them.
    pub is_whole: bool,
    depth: usize,
}

impl Levels {
    /// From the cgroup's own upwards.
    pub fn up(&self) -> impl Iterator<Item = &Path> {
        self.dir.ancestors().take(self.depth)
    }
}

impl Tree {
    /// A tree as it is mounted.
    pub fn mounted(mount: &Mount) -> Self {
        Self::new(mount.point.clone(), mount.root.clone(), mount.fs == "cgroup2")
    }

    /// The tree at a place that need not be a mount; if it is one, what of the hierarchy is mounted counts. That shows
    /// a host's tree in a container with a cgroup namespace of its own, where no path fits it.
    fn at(point: PathBuf, mounts: &Mounts, is_v2: bool) -> Self {
        let real = point.canonicalize().unwrap_or_else(|_| point.clone());
        let mount = mounts.at(&real).filter(|m| m.fs == "cgroup" || m.fs == "cgroup2");
        let root = mount.map_or_else(|| PathBuf::from("/"), |m| m.root.clone());
        Self::new(point, root, is_v2)
    }

    fn new(point: PathBuf, root: PathBuf, is_v2: bool) -> Self {
        // In a cgroup namespace the root is `/` as well, but what is there is an ordinary cgroup. `cgroup.events` never
        // is in the real root of v2; `release_agent` only is in the real root of v1.
        let looks_whole = match is_v2 {
            true => !point.join("cgroup.events").exists(),
            false => point.join("release_agent").exists(),
        };
        let is_whole = root == Path::new("/") && looks_whole;
        Self { point, root, is_whole }
    }

    /// Where the cgroup with this path is.
    pub fn place(&self, path: &[u8]) -> Place {
        let path = Path::new(OsStr::from_bytes(path));
        // The kernel writes `/../..` for what is outside the namespace of the reader.
        if path.components().chain(self.root.components()).any(|c| c == Component::ParentDir) {
            return Place::Foreign;
        }
        // The kernel writes no other than absolute paths: a `.` of a relative one would count as a level of its own.
        if !path.is_absolute() || !self.root.is_absolute() {
            return Place::Unmounted;
        }
        // What is left of a path is below the mount; an absolute rest would lead out of it.
        let inside = path.strip_prefix(&self.root).ok().filter(|p| p.is_relative());
        let Some(inside) = inside else { return Place::Unmounted };
        let below = inside.components().count();
        if below == 0 && self.is_whole {
            return Place::Root;
        }
        let dir = if below == 0 { self.point.clone() } else { self.point.join(inside) };
        if path.as_os_str().as_bytes().ends_with(DELETED) && !dir.exists() {
            return Place::Removed;
        }
        let depth = below + usize::from(!self.is_whole);
        let is_whole = self.is_whole && depth <= MAX_LEVELS;
        Place::In(Levels { dir, is_whole, depth: depth.min(MAX_LEVELS) })
    }
}

/// The cgroup trees that this process sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trees {
    v2: Option<Tree>,
    v1: Vec<(&'static str, Tree)>,
}

impl Trees {
    /// Finds the v2 tree and those of some v1 controllers: by the mounts, or under `prefix` (`--path.cgroupfs`) as a
    /// host's `/sys/fs/cgroup` mounted there.
    pub fn find(mounts: &Mounts, prefix: Option<&Path>, controllers: &[&'static str]) -> Self {
        let Some(prefix) = prefix else {
            let v1 = controllers.iter().filter_map(|c| Some((*c, mounts.cgroup1(c)?)));
            return Self {
                v2: mounts.cgroup2().map(Tree::mounted),
                v1: v1.map(|(c, m)| (c, Tree::mounted(m))).collect(),
            };
        };
        let v2 = [prefix.to_owned(), prefix.join("unified")];
        let v2 = v2.into_iter().find(|p| p.join("cgroup.controllers").exists());
        let v1 = controllers.iter().filter_map(|c| {
            // Hosts link `cpu` to the directory of both.
            let names: &[&str] =
                if *c == "cpu" { &["cpu", "cpu,cpuacct", "cpuacct,cpu"] } else { &[*c] };
            let dir = names.iter().map(|n| prefix.join(n)).find(|p| p.is_dir())?;
            Some((*c, Tree::at(dir, mounts, false)))
        });
        Self { v1: v1.collect(), v2: v2.map(|p| Tree::at(p, mounts, true)) }
    }

    fn v1(&self, controller: &str) -> Option<&Tree> {
        self.v1.iter().find(|(c, _)| *c == controller).map(|(_, tree)| tree)
    }

    /// Where the process with this `/proc/<pid>/cgroup` is in every hierarchy that matters.
    pub fn homes(&self, cgroup: &[u8]) -> Homes {
        let place = |tree: Option<&Tree>, path: &[u8]| Home {
            place: tree.map_or(Place::Unmounted, |t| t.place(path)),
            path: path.to_vec(),
        };
        let mut homes = Homes::default();
        for line in lines(cgroup) {
            if line.is_v2() {
                // Every kernel since 4.5 writes this line, also where v2 is not used at all.
                if self.v2.is_some() || line.path != b"/" {
                    homes.v2 = Some(place(self.v2.as_ref(), line.path));
                }
                continue;
            }
            let of = [
                ("memory", &mut homes.memory),
                ("cpu", &mut homes.cpu),
                ("freezer", &mut homes.freezer),
            ];
            for (controller, home) in of {
                if line.has(controller) {
                    *home = Some(place(self.v1(controller), line.path));
                }
            }
        }
        homes
    }
}

/// A process's place in one hierarchy, with its path as the kernel writes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Home {
    /// Where that is.
    pub place: Place,
    /// The path in the hierarchy.
    pub path: Vec<u8>,
}

/// Where a process is in each hierarchy. A controller without a v1 hierarchy is, if anywhere, on v2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Homes {
    /// v2; pressure comes from here.
    pub v2: Option<Home>,
    /// The memory controller's v1 hierarchy.
    pub memory: Option<Home>,
    /// The cpu controller's v1 hierarchy.
    pub cpu: Option<Home>,
    /// The freezer's v1 hierarchy.
    pub freezer: Option<Home>,
}

#[cfg(test)]
#[path = "locate_tests.rs"]
mod tests;
