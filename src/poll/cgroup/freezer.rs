//! Whether a process's cgroup is frozen. Effective state: an ancestor's freeze counts, which is why it is read from
//! `cgroup.events` (v2) and `freezer.state` (v1), never from `cgroup.freeze`. What cannot be read is no answer, not false.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file::{self, Fault};
use super::locate::{Homes, Levels, Place, Trees};
use super::{parse, reason};
use crate::observe::stall::HostUnknown;
use crate::poll::mounts::Mounts;

/// What was read of state files, so that processes of one cgroup share its answer.
pub type States = HashMap<PathBuf, Result<bool, Fault>>;

/// The cgroup trees that can freeze, and what was read of them in one pass over the processes.
#[derive(Debug, Default)]
pub struct Freezer {
    trees: Trees,
    read: States,
}

impl Freezer {
    /// Finds the trees: by the mounts, or under `prefix` (`--path.cgroupfs`) as a host's `/sys/fs/cgroup` mounted there.
    pub fn find(mounts: &Mounts, prefix: Option<&Path>) -> Self {
        Self { trees: Trees::find(mounts, prefix, &["freezer"]), read: States::new() }
    }

    /// Begins another pass over the processes with the same trees.
    pub fn begin_pass(&mut self) {
        self.read.clear();
    }

    /// Whether a process with this `/proc/<pid>/cgroup` is frozen. True if any tree says so, false only if every tree
    /// that it is in could be read.
    pub fn frozen(&mut self, cgroup: &[u8]) -> Option<bool> {
        state(&self.trees.homes(cgroup), &mut self.read).ok()
    }

    /// The same, and false too where nothing can freeze it: in no such cgroup, or the kernel cannot.
    pub fn effective(&mut self, cgroup: &[u8]) -> Option<bool> {
        match state(&self.trees.homes(cgroup), &mut self.read) {
            Ok(frozen) => Some(frozen),
            Err(fault) => (fault.why == HostUnknown::Unsupported).then_some(false),
        }
    }
}

/// Whether a process in these places is frozen, by the same rule.
pub fn state(homes: &Homes, read: &mut States) -> Result<bool, Fault> {
    let mut all: Option<Result<bool, Fault>> = None;
    let trees = [("cgroup.events", homes.v2.as_ref()), ("freezer.state", homes.freezer.as_ref())];
    for (file, home) in trees {
        let Some(home) = home else { continue };
        let one = match &home.place {
            // It cannot be frozen, and has no file.
            Place::Root => Ok(false),
            Place::In(levels) => {
                let read = read.entry(levels.dir.join(file));
                read.or_insert_with(|| one(&levels.dir, file, home.path == b"/")).clone()
            }
            place => Err(reason::elsewhere(place, &home.path)),
        };
        match one {
            Ok(true) => return Ok(true),
            Ok(false) => drop(all.get_or_insert(Ok(false))),
            // A tree that cannot freeze says nothing of one that could not be read.
            Err(fault) if fault.why == HostUnknown::Unsupported && matches!(all, Some(Err(_))) => {}
            Err(fault) => all = Some(Err(fault)),
        }
    }
    let none = "the process is in no cgroup that can be frozen: neither v2 nor v1's freezer";
    all.unwrap_or_else(|| Err(Fault::new(HostUnknown::Unsupported, none)))
}

fn one(dir: &Path, file: &str, may_be_root: bool) -> Result<bool, Fault> {
    let missing = "it has no state of a freeze; kernels before 5.2 cannot freeze v2 cgroups";
    match file::find(dir, file)? {
        Some(text) => match file::parsed(dir, file, parse::frozen(&text))? {
            Some(frozen) => Ok(frozen),
            None => Err(file::unsupported(dir, missing)),
        },
        // Only a root has no such file.
        None if may_be_root => Ok(false),
        None => Err(file::unsupported(dir, missing)),
    }
}

/// How long this v2 cgroup has been frozen in all, where the kernel says so.
pub fn total(levels: &Levels) -> Option<Duration> {
    let text = file::find(&levels.dir, "cgroup.stat.local").ok()??;
    parse::micros(parse::value(&text, "frozen_usec").ok()??).ok()
}

#[cfg(test)]
#[path = "freezer_tests.rs"]
mod tests;
