//! Finds and opens the counters file of a running JVM, inside whatever container it runs. Everything below the process's
//! root is in that process's hands: no name leads out of it, and nothing but a small regular file of its own is opened.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::maps::{self, CountersFile};
use crate::observe::label;
use crate::observe::stall::HostUnknown;
use crate::poll::process::dir::{ProcDir, SMALL, is_gone};

/// The largest counters file; it has 32 KiB unless the JVM was told otherwise.
pub const MAX_FILE: u64 = 1 << 20;

/// What a look for counters gave.
#[derive(Debug)]
pub enum Found {
    /// They are in this file.
    Counters(Opened),
    /// This is no JVM.
    NoJvm,
    /// It is one without counters.
    Without(String),
    /// It has counters, but nobody can open their file any more.
    Removed(String),
}

/// An open counters file.
#[derive(Debug)]
pub struct Opened {
    /// The file.
    pub file: File,
    /// Its size in bytes.
    pub size: u64,
}

/// Why there is no answer.
pub type Trouble = (HostUnknown, String);

/// Looks for the counters of a process, whose open directory is `path`.
pub fn locate(process: &ProcDir, path: &str) -> Result<Found, Trouble> {
    let failed = |part: &str, e: &io::Error| trouble(path, part, e);
    let status = process.file("status", SMALL).map_err(|e| failed("status", &e))?;
    let Some((inner_pid, uid)) = identity(&status) else {
        return Err((HostUnknown::Malformed, format!("{path}/status names no pid or no user")));
    };
    let maps = process.open_part("maps", OFlags::RDONLY).map_err(|e| failed("maps", &e))?;
    let mapped = maps::read(File::from(maps), inner_pid).map_err(|e| failed("maps", &e))?;
    let Some(counters) = mapped.counters else {
        return Ok(if mapped.is_jvm { Found::Without(without(path)) } else { Found::NoJvm });
    };
    if counters.is_removed {
        return Ok(Found::Removed(format!(
            "{path}: the counters file of this JVM was removed while it runs; keep cleaners of /tmp away from \
             hsperfdata_*, and restart the JVM"
        )));
    }
    let root = process
        .open_part("root", OFlags::PATH | OFlags::DIRECTORY)
        .map_err(|e| failed("root", &e))?;
    open(&root, &counters, inner_pid, uid).map(Found::Counters).map_err(|(why, what)| {
        let directory = label::text(counters.directory.as_bytes());
        (why, format!("{path}/root/tmp/{directory}/{inner_pid}: {what}"))
    })
}

fn without(path: &str) -> String {
    format!(
        "{path}: this JVM keeps no counters file: it runs with -XX:-UsePerfData or -XX:+PerfDisableSharedMem, or its \
         user has no passwd entry, or it is no HotSpot; set jvm: never if that is meant"
    )
}

/// A process's pid as it sees it itself, and its user, from its `status`.
pub fn identity(status: &[u8]) -> Option<(i32, u32)> {
    let field = |key: &str| {
        let mut lines = status.split(|b| *b == b'\n').filter_map(|l| std::str::from_utf8(l).ok());
        lines.find_map(|l| l.strip_prefix(key)?.strip_prefix(':'))
    };
    // The last pid is the innermost; kernels before 4.1 have one numbering in this file.
    let pid = field("NSpid").or_else(|| field("Pid"))?.split_ascii_whitespace().next_back()?;
    // Real, effective: the effective one owns what it creates.
    let uid = field("Uid")?.split_ascii_whitespace().nth(1)?;
    Some((pid.parse().ok()?, uid.parse().ok()?))
}

pub(super) fn open(
    root: &OwnedFd,
    named: &CountersFile,
    pid: i32,
    uid: u32,
) -> Result<Opened, Trouble> {
    let failed = |e: Errno| match e {
        Errno::ACCESS | Errno::PERM => (HostUnknown::Permission, format!("{e}; {CAPABILITIES}")),
        e => (HostUnknown::Failed, e.to_string()),
    };
    // Only looked at first: opening a device or a queue may do something.
    let place = inside(root, &["tmp", &named.directory, &pid.to_string()]).map_err(failed)?;
    let stat = rustix::fs::fstat(&place).map_err(failed)?;
    check(&stat, uid).map_err(|what| (HostUnknown::Malformed, what))?;
    let own = format!("/proc/self/fd/{}", place.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(own, flags, Mode::empty()).map_err(failed)?);
    Ok(Opened { file, size: u64::try_from(stat.st_size).unwrap_or(0) })
}

fn check(stat: &Stat, uid: u32) -> Result<(), String> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("this is no regular file".to_owned());
    }
    if stat.st_uid != uid {
        return Err(format!("it belongs to user {} and the process to {uid}", stat.st_uid));
    }
    match u64::try_from(stat.st_size) {
        Ok(1..=MAX_FILE) => Ok(()),
        _ => Err(format!("it has {} bytes, and at most {MAX_FILE} are read", stat.st_size)),
    }
}

/// Opens a place below a root as the process itself would find it, so that a link in it does not lead into our own root.
fn inside(root: &OwnedFd, path: &[&str; 3]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(root, path.join("/"), flags, Mode::empty(), within) {
        // Kernels before 5.6, and sandboxes that know no newer ones: no link at all is followed.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(root, path),
        opened => opened,
    }
}

pub(super) fn step_by_step(root: &OwnedFd, path: &[&str; 3]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let [tmp, directory, file] = path;
    let tmp = rustix::fs::openat(root, *tmp, flags | OFlags::DIRECTORY, Mode::empty())?;
    let directory = rustix::fs::openat(&tmp, *directory, flags | OFlags::DIRECTORY, Mode::empty())?;
    rustix::fs::openat(&directory, *file, flags, Mode::empty())
}

const CAPABILITIES: &str =
    "run as the JVM's user, or with both CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH";

/// What an error at a part of a process's directory means.
pub fn trouble(path: &str, part: &str, e: &io::Error) -> Trouble {
    if is_gone(e) {
        (HostUnknown::Gone, format!("{path}/{part}: {e}"))
    } else if e.kind() == io::ErrorKind::PermissionDenied {
        (HostUnknown::Permission, format!("{path}/{part}: {e}; {CAPABILITIES}"))
    } else {
        (HostUnknown::Failed, format!("{path}/{part}: {e}"))
    }
}
