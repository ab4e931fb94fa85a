//! Reads one file of a cgroup, bounded, and says in words why it cannot be read and what to do about it. The words are the
//! same each time the reason is, since they are logged when they change.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::parse::Malformed;
use crate::observe::label;
use crate::observe::stall::HostUnknown;

/// The largest file here, v1's `memory.stat`, has some 4 KiB.
const MAX_BYTES: usize = 64 << 10;

/// Why a number could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The closed reason.
    pub why: HostUnknown,
    /// In words, with what to do about it.
    pub what: String,
}

impl Fault {
    /// A reason and its words.
    pub fn new(why: HostUnknown, what: impl Into<String>) -> Self {
        Self { why, what: what.into() }
    }
}

/// A file that is missing in a cgroup that is there, or its text.
pub type Found = Option<Vec<u8>>;

/// The text of a cgroup's file; `None` if the cgroup is there and has no such file.
pub fn find(dir: &Path, name: &str) -> Result<Found, Fault> {
    match bytes(&dir.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound && dir.exists() => Ok(None),
        Err(e) => Err(fault(dir, name, &e)),
    }
}

/// What is read of a cgroup's file by `parse`; `missing` says why a kernel may have no such file.
pub fn read<T>(
    dir: &Path,
    name: &str,
    missing: &str,
    parse: impl FnOnce(&[u8]) -> Result<T, Malformed>,
) -> Result<T, Fault> {
    match find(dir, name)? {
        Some(text) => parsed(dir, name, parse(&text)),
        None => Err(unsupported(dir, missing)),
    }
}

/// Names the file that is not what it should be.
pub fn parsed<T>(dir: &Path, name: &str, result: Result<T, Malformed>) -> Result<T, Fault> {
    result.map_err(|Malformed| {
        let what = format!("{} is not what the kernel's manual says", shown(&dir.join(name)));
        Fault::new(HostUnknown::Malformed, what)
    })
}

/// Something that this kernel does not have for this cgroup.
pub fn unsupported(dir: &Path, why: &str) -> Fault {
    Fault::new(HostUnknown::Unsupported, format!("{}: {why}", shown(dir)))
}

/// A path for a message.
pub fn shown(path: &Path) -> String {
    label::text(path.as_os_str().as_encoded_bytes())
}

/// What an error means for a file of this cgroup.
pub fn fault(dir: &Path, name: &str, e: &io::Error) -> Fault {
    let dir = shown(dir);
    match Errno::from_io_error(e) {
        Some(Errno::OPNOTSUPP) => Fault::new(
            HostUnknown::Unsupported,
            format!("{dir}: the kernel has pressure off; boot it with psi=1 on its command line"),
        ),
        // From a file that was open, and by its path.
        Some(Errno::NODEV | Errno::NOENT) => {
            Fault::new(HostUnknown::Gone, format!("{dir}: the cgroup was removed"))
        }
        Some(Errno::ACCESS | Errno::PERM) => Fault::new(
            HostUnknown::Permission,
            format!("{dir}: {e}; let the exporter's user read this directory"),
        ),
        _ => Fault::new(HostUnknown::Failed, format!("{dir}/{name}: {e}")),
    }
}

/// A whole file. Never waits, whatever it is.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let mut text = Vec::new();
    let mut part = [0; 4096];
    loop {
        let n = match file.read(&mut part) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            n => n?,
        };
        text.extend_from_slice(part.get(..n).unwrap_or_default());
        // The kernel gives these files in one piece: a short read that ends a line is the end, and saves asking for it.
        if n == 0 || (n < part.len() && text.ends_with(b"\n")) {
            return Ok(text);
        }
        if text.len() > MAX_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("longer than {MAX_BYTES} bytes"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_reason_and_names_what_to_do() {
        let of = |e: Errno| fault(Path::new("/cg/a"), "memory.pressure", &e.into());
        for (errno, why, words) in [
            (Errno::OPNOTSUPP, HostUnknown::Unsupported, "psi=1"),
            (Errno::NODEV, HostUnknown::Gone, "removed"),
            (Errno::NOENT, HostUnknown::Gone, "removed"),
            (Errno::ACCESS, HostUnknown::Permission, "exporter's user"),
            (Errno::PERM, HostUnknown::Permission, "exporter's user"),
            (Errno::IO, HostUnknown::Failed, "/cg/a/memory.pressure"),
        ] {
            let fault = of(errno);
            assert_eq!(fault.why, why, "{fault:?}");
            assert!(fault.what.contains(words) && fault.what.contains("/cg/a"), "{fault:?}");
        }
    }

    #[test]
    fn long_files_pipes_and_directories_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("long"), vec![b'x'; MAX_BYTES + 5000]).unwrap();
        std::fs::write(dir.path().join("some"), vec![b'\n'; 9000]).unwrap();
        std::fs::write(dir.path().join("cut"), "4711").unwrap();
        std::fs::create_dir(dir.path().join("dir")).unwrap();
        for name in ["long", "dir"] {
            assert_eq!(find(dir.path(), name).unwrap_err().why, HostUnknown::Failed, "{name}");
        }
        assert_eq!(find(dir.path(), "some").unwrap().unwrap().len(), 9000);
        assert_eq!(find(dir.path(), "cut").unwrap().unwrap(), b"4711");
        assert_eq!(find(dir.path(), "none"), Ok(None));
        assert_eq!(find(&dir.path().join("no"), "none").unwrap_err().why, HostUnknown::Gone);
    }
}
