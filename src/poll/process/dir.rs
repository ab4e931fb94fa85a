//! One process from its directory. The directory is held open while its files are read, so that they are all of one
//! process even if its pid is reused meanwhile.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;

use super::stat::{self, Stat};
use crate::observe::Mono;
use crate::observe::worker::{Process, ProcessState};
use crate::poll::cgroup::Freezer;

/// Enough for every file but a command line.
pub const SMALL: u64 = 64 << 10;
/// Threads looked at when the leader has exited.
const MAX_THREADS: usize = 512;

/// What reading one pid gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// This process.
    There(Process),
    /// A kernel thread has that pid.
    KernelThread,
    /// No such pid, as far as this procfs shows.
    NotThere,
    /// Not for us.
    Denied(String),
    /// Anything else.
    Failed(String),
}

/// An open `/proc/<pid>`.
#[derive(Debug)]
pub struct ProcDir(OwnedFd);

impl ProcDir {
    /// Opens it.
    pub fn open(root: &Path, pid: i32) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(root.join(pid.to_string()), flags, Mode::empty())?))
    }

    /// One file of it, at most `cap` bytes.
    pub fn file(&self, name: &str, cap: u64) -> io::Result<Vec<u8>> {
        let fd =
            rustix::fs::openat(&self.0, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        // Room for most files at once: each step of growth is another read.
        let mut bytes = Vec::with_capacity(1024);
        File::from(fd).take(cap).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Opens something of it.
    pub fn open_part(&self, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.0, name, flags | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Where a link of it leads.
    pub fn link(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::with_capacity(64))?.into_bytes())
    }

    /// The ids of its threads, bounded.
    pub fn threads(&self) -> io::Result<Vec<u32>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.0, "task", flags, Mode::empty())?;
        let names = Dir::new(fd)?.filter_map(|e| e.ok()?.file_name().to_str().ok()?.parse().ok());
        Ok(names.take(MAX_THREADS).collect())
    }
}

/// Whether an error means that there is no such process: `ESRCH` once it has gone under our hands.
pub fn is_gone(e: &io::Error) -> bool {
    e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// Reads one process.
pub fn read(root: &Path, pid: i32, freezer: &mut Freezer) -> Reading {
    match try_read(root, pid, freezer) {
        Ok(reading) => reading,
        Err(e) if is_gone(&e) => Reading::NotThere,
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Reading::Denied(e.to_string()),
        Err(e) => Reading::Failed(e.to_string()),
    }
}

fn try_read(root: &Path, pid: i32, freezer: &mut Freezer) -> io::Result<Reading> {
    let dir = ProcDir::open(root, pid)?;
    let Some(stat) = stat::parse(&dir.file("stat", SMALL)?) else {
        return Ok(Reading::Failed("stat is not what the kernel's manual says".to_owned()));
    };
    if stat.kernel_thread {
        return Ok(Reading::KernelThread);
    }
    let mut state = stat.state;
    let mut pages = stat.resident_pages;
    if state == ProcessState::Zombie
        && let Some(thread) = best_thread(&dir)
    {
        // Only the leader has exited; the process works on in its threads, which still have its memory.
        state = thread.state;
        pages = pages.max(thread.resident_pages);
    }
    let frozen = dir.file("cgroup", SMALL).ok().and_then(|text| freezer.frozen(&text));
    Ok(Reading::There(Process {
        pid,
        start_ticks: stat.start_ticks,
        started: Mono(ticks(stat.start_ticks).as_nanos().try_into().unwrap_or(u64::MAX)),
        state,
        frozen,
        threads: stat.threads,
        cpu: ticks(stat.cpu_ticks),
        resident_bytes: pages.saturating_mul(procfs::page_size()),
    }))
}

/// The thread that says most that the process lives.
fn best_thread(dir: &ProcDir) -> Option<Stat> {
    let threads = dir.threads().ok().filter(|t| t.len() > 1)?;
    let stats = threads
        .iter()
        .filter_map(|tid| stat::parse(&dir.file(&format!("task/{tid}/stat"), SMALL).ok()?));
    stats.filter(|s| s.state != ProcessState::Zombie).max_by_key(|s| stat::rank(s.state))
}

/// Clock ticks as time, to the nanosecond at any uptime.
pub fn ticks(ticks: u64) -> Duration {
    let per_second = procfs::ticks_per_second().max(1);
    let nanos = (ticks % per_second).saturating_mul(1_000_000_000) / per_second;
    Duration::new(ticks / per_second, u32::try_from(nanos).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stay_exact_after_a_year() {
        let year = 365 * 86_400 * procfs::ticks_per_second();
        assert_eq!(ticks(year + 1) - ticks(year), ticks(1));
    }
}
