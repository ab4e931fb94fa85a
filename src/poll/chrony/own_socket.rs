//! The pathname socket that chronyd answers to: it needs a return address that its own user may write to. Made for one
//! request and removed after it, so that neither a crash of ours nor a restart of chronyd, which empties its directory,
//! leaves anything that matters; [`super::leftovers`] clears it away. Every call here may block.

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use super::failure::{failed, unix_error};
use crate::observe::clock::ClockFailed;
use crate::observe::node::FailReason;

/// How all names begin that are made here.
pub const PREFIX: &str = "dlock_exporter.";
/// Where a directory of our own can usually be made, most private first.
const PRIVATE: [&str; 2] = ["/run", "/tmp"];
/// Bits of a directory's mode that let others in.
const OTHERS: u32 = 0o007;

/// A socket that is connected to chronyd, and what is to be removed with it.
#[derive(Debug)]
pub struct OwnSocket {
    /// The socket; does not block.
    pub socket: UnixDatagram,
    /// Where it is.
    pub made: Made,
}

/// What was made in the file system; removed when it is dropped.
#[derive(Debug, Default)]
pub struct Made {
    socket: Option<PathBuf>,
    dir: Option<PathBuf>,
}

impl Made {
    /// The directory it is in, in words.
    pub fn place(&self) -> String {
        let place = self.socket.as_deref().and_then(Path::parent);
        place.map_or_else(String::new, |dir| dir.display().to_string())
    }

    /// The directory that it was made in, which is not ours.
    pub fn base(&self) -> Option<&Path> {
        self.dir.as_deref().or(self.socket.as_deref())?.parent()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // Gone already where chronyd was stopped meanwhile.
        if let Some(path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
        if let Some(path) = &self.dir {
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// Makes one. `runtime` is the directory that the service manager made for us, if it did.
pub fn open(daemon: &Path, runtime: Option<&Path>) -> Result<OwnSocket, ClockFailed> {
    let at = daemon.display().to_string();
    // What is wrong with chronyd's own socket says more than where ours could not be made.
    std::fs::symlink_metadata(daemon).map_err(|error| unix_error(&at, &error))?;
    let beside = daemon.parent();
    let mut tried: Vec<String> = Vec::new();
    for dir in beside.into_iter().chain(runtime).chain(PRIVATE.map(Path::new)) {
        match bound(dir) {
            Ok((socket, made)) => {
                socket.connect(daemon).map_err(|error| unix_error(&at, &error))?;
                return Ok(OwnSocket { socket, made });
            }
            Err(error) => tried.push(format!("{}: {error}", dir.display())),
        }
    }
    let detail = format!(
        "no directory for the socket that {at} is to answer to ({}); give the service a RuntimeDirectory, or use udp://127.0.0.1",
        tried.join("; ")
    );
    Err(failed(FailReason::Permission, detail))
}

/// A socket somewhere below `dir` that everybody may write to who can reach it. Only chronyd is heard once the socket is
/// connected, and before that only who knows its name, which is random and in a directory that others cannot list.
fn bound(dir: &Path) -> io::Result<(UnixDatagram, Made)> {
    let mut made = Made::default();
    let others_come_in = std::fs::metadata(dir)?.mode() & OTHERS != 0;
    let place = if others_come_in {
        let own = dir.join(name(""));
        std::fs::DirBuilder::new().mode(0o711).create(&own)?;
        made.dir = Some(own.clone());
        set_mode(&own, FileType::Directory, 0o711)?;
        own
    } else {
        // chronyd's own directory: a socket right in it is what chronyd's AppArmor profiles allow.
        dir.to_owned()
    };
    let path = place.join(name(".sock"));
    let socket = UnixDatagram::bind(&path)?;
    made.socket = Some(path.clone());
    set_mode(&path, FileType::Socket, 0o666)?;
    socket.set_nonblocking(true)?;
    Ok((socket, made))
}

/// A name that no other poll and no other exporter has, also not one with the same pid in another container.
fn name(end: &str) -> OsString {
    let random = RandomState::new().build_hasher().finish();
    format!("{PREFIX}{}.{random:016x}{end}", std::process::id()).into()
}

/// Sets the mode whatever the umask was. By a handle on what we just made and never by its path: the owner of the
/// directory could have put something else in its place by then.
fn set_mode(path: &Path, kind: FileType, mode: u32) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(CWD, path, flags, Mode::empty())?;
    let found = fstat(&handle)?;
    let ours = found.st_uid == rustix::process::geteuid().as_raw();
    if FileType::from_raw_mode(found.st_mode) != kind || !ours {
        return Err(io::Error::other("what was made there was replaced by somebody"));
    }
    let by_handle = format!("/proc/self/fd/{}", handle.as_raw_fd());
    std::fs::set_permissions(by_handle, std::fs::Permissions::from_mode(mode))
}
