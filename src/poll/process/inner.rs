//! Processes of nested pid namespaces, as containers have them: which process here has a given pid inside. A number
//! alone proves nothing, as every container counts from 1, so that whoever asks must also know the container's name or
//! when the number was written.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::dir::{ProcDir, SMALL, ticks};
use super::host::{self, Named};
use super::stat;
use crate::observe::Mono;

/// The shortest part of a container id that runtimes use as its host name.
const SHORTEST_ID: usize = 12;
/// How long before its pid was written a process may have started.
const STARTED_BEFORE: std::time::Duration = std::time::Duration::from_secs(600);
/// A start time is known to a tick, and a file's time to what its file system keeps.
const SLACK: std::time::Duration = std::time::Duration::from_secs(2);

/// Processes of nested pid namespaces: the pid here, and the one inside.
#[derive(Debug, Default)]
pub struct Inner(pub(super) Vec<(i32, i32)>);

impl Inner {
    /// Whether some process has this pid inside.
    pub fn has(&self, inner: i32) -> bool {
        self.with(inner).next().is_some()
    }

    fn with(&self, inner: i32) -> impl Iterator<Item = i32> {
        self.0.iter().filter(move |(_, i)| *i == inner).map(|(pid, _)| *pid)
    }

    /// The one process that has this pid inside, in a container of that host name.
    pub fn named(&self, root: &Path, inner: i32, name: &str) -> Option<i32> {
        only(self.with(inner).filter(|pid| is_named(root, *pid, name)))
    }

    /// The one process that has this pid inside and had started not long before it was written down.
    pub fn written(&self, root: &Path, inner: i32, at: Mono) -> Option<i32> {
        let is_of_then = |pid: &i32| {
            let stat = ProcDir::open(root, *pid).and_then(|dir| dir.file("stat", SMALL)).ok();
            stat.and_then(|text| stat::parse(&text)).is_some_and(|s| {
                let started = Mono::default().plus(ticks(s.start_ticks));
                started <= at.plus(SLACK) && at.since(started) <= STARTED_BEFORE
            })
        };
        only(self.with(inner).filter(is_of_then))
    }
}

fn only(mut found: impl Iterator<Item = i32>) -> Option<i32> {
    found.next().filter(|_| found.next().is_none())
}

/// Whether the container of a process goes by this host name: by the id in its cgroup's path, of which runtimes take the
/// beginning, or by its `/etc/hostname`.
fn is_named(root: &Path, pid: i32, name: &str) -> bool {
    let Ok(dir) = ProcDir::open(root, pid) else { return false };
    let is_id = name.len() >= SHORTEST_ID && name.bytes().all(|b| b.is_ascii_hexdigit());
    if is_id
        && let Ok(text) = dir.file("cgroup", SMALL)
        && ids(&text).any(|id| id.starts_with(name.as_bytes()))
    {
        return true;
    }
    hostname(&dir).is_some_and(|own| host::names(Some(name), &own) == Named::Here)
}

/// Container ids in a `/proc/<pid>/cgroup`: runs of 64 hexadecimal digits.
pub fn ids(cgroup: &[u8]) -> impl Iterator<Item = &[u8]> {
    cgroup.split(|b| !b.is_ascii_hexdigit()).filter(|run| run.len() == 64)
}

/// What a container calls its host. The file is in the container's hands: no link leads out of it.
fn hostname(dir: &ProcDir) -> Option<String> {
    let inside = dir.open_part("root", OFlags::PATH | OFlags::DIRECTORY).ok()?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT;
    let fd = rustix::fs::openat2(&inside, "etc/hostname", flags, Mode::empty(), resolve).ok()?;
    let file = File::from(fd);
    let mut text = String::new();
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    file.take(256).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
#[path = "inner_tests.rs"]
mod tests;
