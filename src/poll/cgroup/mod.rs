//! Reads the cgroups of workers' processes: v2, v1 and both at once. Blocking; a number that cannot be read is absent
//! with a reason, never zero.

pub mod cpu;
pub mod file;
pub mod freezer;
pub mod locate;
mod members;
pub mod memory;
pub mod parse;
pub mod pressure;
pub mod reason;
mod round;

use std::time::Duration;

use super::mounts::Mounts;
use super::process::Paths;
use super::residents::Resident;
use crate::clock;
use crate::observe::stall::HostUnknown;
use crate::observe::{CgroupRead, Mono, Span};
use locate::Trees;
use members::Members;
use round::Round;

pub use freezer::Freezer;

/// Cgroup trees are mounted at boot; looking for them now and then is enough.
const FIND_EVERY: Duration = Duration::from_secs(60);

/// Reads cgroups; what processes share is read once in a round.
#[derive(Debug)]
pub struct Cgroups {
    paths: Paths,
    trees: Option<(Mono, Trees)>,
    members: Members,
}

impl Cgroups {
    /// Nothing is known yet.
    pub fn new(paths: Paths) -> Self {
        Self { paths, trees: None, members: Members::default() }
    }

    /// Looks at the cgroup of each of these processes; one answer for each, in their order.
    pub fn read(&mut self, residents: &[Resident]) -> Vec<CgroupRead> {
        if residents.is_empty() {
            return Vec::new();
        }
        match self.trees() {
            Ok(trees) => {
                let present = residents.iter().map(|r| r.process).collect();
                self.members.keep(&present);
                let mut round = Round::new(&self.paths.procfs, trees, &mut self.members);
                residents.iter().map(|r| round.read(r)).collect()
            }
            Err(detail) => {
                let at = clock::mono();
                let failed = |r: &Resident| CgroupRead {
                    worker: r.worker.clone(),
                    process: r.process,
                    span: Span { sent: at, done: at },
                    seen: Err(HostUnknown::Failed),
                    detail: detail.clone(),
                };
                residents.iter().map(failed).collect()
            }
        }
    }

    /// Looks once more at the cgroups of processes that ended: the kernel counts a kill for want of memory before it
    /// kills, so that it is to be seen there while the cgroup is.
    pub fn read_last(&mut self, ended: &[Resident]) -> Vec<CgroupRead> {
        let Some((_, trees)) = self.trees.as_ref().filter(|_| !ended.is_empty()) else {
            return Vec::new();
        };
        let mut round = Round::new(&self.paths.procfs, trees.clone(), &mut self.members);
        let reads = ended.iter().filter_map(|r| round.last(r)).collect();
        ended.iter().for_each(|r| self.members.forget(r.process));
        reads
    }

    fn trees(&mut self) -> Result<Trees, String> {
        let now = clock::mono();
        if let Some((found, trees)) = &self.trees
            && now.since(*found) < FIND_EVERY
        {
            return Ok(trees.clone());
        }
        let mounts = Mounts::of_self().map_err(|e| format!("/proc/self/mountinfo: {e}"))?;
        let prefix = self.paths.cgroupfs.as_deref();
        let trees = Trees::find(&mounts, prefix, &["memory", "cpu", "freezer"]);
        // Where processes were found stays true while the trees are the same, and is needed when they end.
        if self.trees.as_ref().is_none_or(|(_, before)| *before != trees) {
            self.members = Members::default();
        }
        self.trees = Some((now, trees.clone()));
        Ok(trees)
    }
}

#[cfg(test)]
mod cage;
#[cfg(test)]
mod real_tests;
#[cfg(test)]
mod tests;
