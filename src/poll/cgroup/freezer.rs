//! Whether a process's cgroup is frozen. Effective state: an ancestor's freeze counts, which is why it is read from
//! `cgroup.events` (v2) and `freezer.state` (v1), never from `cgroup.freeze`. What cannot be read is `None`, not false.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::poll::mounts::{Mount, Mounts};

/// The cgroup trees that can freeze, and what was read of them in one pass over the processes.
#[derive(Debug, Default)]
pub struct Freezer {
    v2: Option<Tree>,
    v1: Option<Tree>,
    /// Processes of one cgroup share its answer within a pass.
    read: HashMap<PathBuf, Option<bool>>,
}

/// A mounted cgroup tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    point: PathBuf,
    root: PathBuf,
}

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

/// The lines of a `/proc/<pid>/cgroup`.
pub fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    text.split(|b| *b == b'\n').filter_map(|line| {
        let mut fields = line.splitn(3, |b| *b == b':');
        Some(Line { id: fields.next()?, controllers: fields.next()?, path: fields.next()? })
    })
}

impl Tree {
    /// A tree as it is mounted.
    pub fn mounted(mount: &Mount) -> Self {
        Self { point: mount.point.clone(), root: mount.root.clone() }
    }

    /// A whole tree at a given place.
    pub fn at(point: PathBuf) -> Self {
        Self { point, root: PathBuf::from("/") }
    }

    /// The directory of a cgroup. `None` if it lies outside what is mounted or outside this process's cgroup namespace
    /// (the kernel then writes `/../..`).
    pub fn dir(&self, path: &[u8]) -> Option<PathBuf> {
        let path = Path::new(OsStr::from_bytes(path));
        let inside = path.strip_prefix(&self.root).ok()?;
        if path.components().chain(self.root.components()).any(|c| c == Component::ParentDir) {
            return None;
        }
        Some(self.point.join(inside))
    }
}

impl Freezer {
    /// Finds the trees: by the mounts, or under `prefix` (`--path.cgroupfs`) as a host's `/sys/fs/cgroup` mounted there.
    pub fn find(mounts: &Mounts, prefix: Option<&Path>) -> Self {
        let Some(prefix) = prefix else {
            let v2 = mounts.cgroup2().map(Tree::mounted);
            let v1 = mounts.cgroup1("freezer").map(Tree::mounted);
            return Self { v2, v1, read: HashMap::new() };
        };
        let v2 = [prefix.to_owned(), prefix.join("unified")];
        let v2 = v2.into_iter().find(|p| p.join("cgroup.controllers").exists()).map(Tree::at);
        let v1 = Some(prefix.join("freezer")).filter(|p| p.is_dir()).map(Tree::at);
        Self { v2, v1, read: HashMap::new() }
    }

    /// Begins another pass over the processes with the same trees.
    pub fn begin_pass(&mut self) {
        self.read.clear();
    }

    /// Whether a process with this `/proc/<pid>/cgroup` is frozen. True if any tree says so, false only if every tree
    /// that it is in could be read.
    pub fn frozen(&mut self, cgroup: &[u8]) -> Option<bool> {
        let mut all = None;
        for line in lines(cgroup) {
            let (tree, file) = if line.id == b"0" && line.controllers.is_empty() {
                (&self.v2, "cgroup.events")
            } else if line.controllers.split(|b| *b == b',').any(|c| c == b"freezer") {
                (&self.v1, "freezer.state")
            } else {
                continue;
            };
            let Some(tree) = tree else { continue };
            let one = match tree.dir(line.path) {
                Some(dir) => {
                    let path = dir.join(file);
                    *self.read.entry(path).or_insert_with_key(|p| state(p, line.path == b"/"))
                }
                None => None,
            };
            match one {
                Some(true) => return Some(true),
                Some(false) if all.is_none() => all = Some(Some(false)),
                Some(false) => {}
                None => all = Some(None),
            }
        }
        all.flatten()
    }
}

/// Reads one state file. A root cgroup has none and cannot be frozen.
fn state(path: &Path, is_root: bool) -> Option<bool> {
    let mut text = String::new();
    match File::open(path).and_then(|f| f.take(4096).read_to_string(&mut text)) {
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound && is_root => return Some(false),
        Err(_) => return None,
    }
    // FREEZING is not yet proof: some of its tasks still run.
    match text.trim_end() {
        "FROZEN" => return Some(true),
        "THAWED" | "FREEZING" => return Some(false),
        _ => {}
    }
    let frozen = text.lines().find_map(|l| l.strip_prefix("frozen "))?;
    Some(frozen.trim() == "1")
}

#[cfg(test)]
#[path = "freezer_tests.rs"]
mod tests;
