//! The threads of one process from `/proc/<pid>/task`: their ids, states and, where taskstats are not to be had, their
//! counters. Reads only.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags, fstat, open};

use super::files::{Held, Pool};
use super::threads::{Counters, Seen};
use crate::poll::process::dir::is_gone;
use crate::poll::process::stat::{self, Stat};

/// Threads of a process that are looked at.
pub const MAX_THREADS: usize = 512;

/// The files of a process's threads.
#[derive(Debug)]
pub struct Tasks {
    pid: i32,
    dir: PathBuf,
    leader: Held,
    files: HashMap<u32, Files>,
}

#[derive(Debug, Default)]
struct Files {
    stat: Held,
    schedstat: Held,
}

/// The ids of a process's threads.
#[derive(Debug, Default)]
pub struct Ids {
    /// The oldest ones, up to the cap.
    pub listed: Vec<u32>,
    /// How many more there are.
    pub beyond_cap: u64,
}

impl Tasks {
    /// Those of a process under this procfs; nothing is opened yet.
    pub fn of(procfs: &Path, pid: i32) -> Self {
        let dir = procfs.join(pid.to_string()).join("task");
        Self { pid, dir, leader: Held::default(), files: HashMap::new() }
    }

    /// The leader's own `stat`: who the process is and, most cheaply, in which state.
    pub fn leader(&mut self, pool: &Pool) -> io::Result<Stat> {
        let path = self.dir.join(format!("{}/stat", self.pid));
        parsed(self.leader.read(pool, &path)?.bytes())
    }

    /// Lists the threads and forgets those that have ended.
    pub fn ids(&mut self) -> io::Result<Ids> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = open(&self.dir, flags, Mode::empty())?;
        // The kernel counts a link for each thread, and two more.
        let links = fstat(&dir)?.st_nlink;
        let names = Dir::new(dir)?.filter_map(|e| e.ok()?.file_name().to_str().ok()?.parse().ok());
        let listed: Vec<u32> = names.take(MAX_THREADS).collect();
        #[allow(clippy::useless_conversion, reason = "the width differs between machines")]
        let all = u64::from(links).saturating_sub(2);
        let beyond_cap = match listed.len() {
            MAX_THREADS => all.saturating_sub(MAX_THREADS as u64),
            _ => 0,
        };
        if self.files.len() > listed.len() {
            let mut sorted = listed.clone();
            sorted.sort_unstable();
            self.files.retain(|tid, _| sorted.binary_search(tid).is_ok());
        }
        Ok(Ids { listed, beyond_cap })
    }

    /// A thread's state and start; `None` if it has ended.
    pub fn stat(&mut self, pool: &Pool, tid: u32) -> io::Result<Option<Stat>> {
        let path = self.dir.join(format!("{tid}/stat"));
        let files = self.files.entry(tid).or_default();
        let line = there(files.stat.read(pool, &path))?;
        line.map(|line| parsed(line.bytes())).transpose()
    }

    /// A thread with its counters from `schedstat`; `None` if it has ended.
    pub fn seen(&mut self, pool: &Pool, tid: u32) -> io::Result<Option<Seen>> {
        let path = self.dir.join(format!("{tid}/schedstat"));
        let files = self.files.entry(tid).or_default();
        let Some(line) = there(files.schedstat.read(pool, &path))? else { return Ok(None) };
        let counters = schedstat(line.bytes()).ok_or_else(|| malformed("schedstat"))?;
        let stat = self.stat(pool, tid)?;
        Ok(stat.map(|s| Seen { tid, start_ticks: s.start_ticks, state: s.state, counters }))
    }

    /// `/proc/<pid>`.
    pub fn process_dir(&self) -> &Path {
        self.dir.parent().unwrap_or(&self.dir)
    }
}

/// An ended thread is no error.
fn there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(e) if is_gone(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

fn parsed(text: &[u8]) -> io::Result<Stat> {
    stat::parse(text).ok_or_else(|| malformed("stat"))
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{what} is not what the kernel's manual says"),
    )
}

/// `on_cpu waited slices`.
pub fn schedstat(text: &[u8]) -> Option<Counters> {
    let mut fields = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let mut next = || fields.next()?.parse().ok();
    Some(Counters { on_cpu: next()?, waited: next()?, slices: next()?, longest_wait: None })
}
