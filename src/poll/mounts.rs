//! Where kernel file systems are mounted, from `/proc/self/mountinfo`. Only reads that text: whether a file exists
//! under a mount is the asker's business.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Hosts with thousands of containers have some 100 KiB of mounts.
const MAX_BYTES: u64 = 4 << 20;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// What of the file system is mounted, `/` for all of it.
    pub root: PathBuf,
    /// Where.
    pub point: PathBuf,
    /// `proc`, `cgroup2`, ...
    pub fs: String,
    /// The file system's own options, such as `hidepid=invisible` or `freezer`.
    pub options: Vec<String>,
}

/// All mounts that this process sees.
#[derive(Clone, Debug, Default)]
pub struct Mounts(Vec<Mount>);

impl Mounts {
    /// Those of this process.
    pub fn of_self() -> io::Result<Self> {
        let mut text = Vec::new();
        File::open("/proc/self/mountinfo")?.take(MAX_BYTES).read_to_end(&mut text)?;
        Ok(Self::parse(&text))
    }

    /// From the text of a mountinfo file; lines that are none are left out.
    pub fn parse(text: &[u8]) -> Self {
        Self(text.split(|b| *b == b'\n').filter_map(line).collect())
    }

    /// The mount that a path is the mount point of; the last one covers earlier ones.
    pub fn at(&self, point: &Path) -> Option<&Mount> {
        self.0.iter().rev().find(|m| m.point == point)
    }

    /// The cgroup v2 tree, preferably all of it.
    pub fn cgroup2(&self) -> Option<&Mount> {
        self.widest(|m| m.fs == "cgroup2")
    }

    /// The cgroup v1 tree of a controller, preferably all of it.
    pub fn cgroup1(&self, controller: &str) -> Option<&Mount> {
        self.widest(|m| m.fs == "cgroup" && m.options.iter().any(|o| o == controller))
    }

    fn widest(&self, fits: impl Fn(&Mount) -> bool) -> Option<&Mount> {
        let whole = self.0.iter().find(|m| m.root == Path::new("/") && fits(m));
        whole.or_else(|| self.0.iter().find(|m| fits(m)))
    }
}

/// `36 35 98:0 /root /point opts [fields] - fs source superopts`; see proc_pid_mountinfo(5).
fn line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|b| *b == b' ');
    let root = path(fields.nth(3)?);
    let point = path(fields.next()?);
    fields.by_ref().find(|f| *f == b"-")?;
    let fs = String::from_utf8_lossy(fields.next()?).into_owned();
    let options = String::from_utf8_lossy(fields.nth(1)?).split(',').map(str::to_owned).collect();
    Some(Mount { root, point, fs, options })
}

/// Undoes the kernel's octal escapes of blank, tab, newline and backslash.
fn path(text: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail
            .get(..3)
            .filter(|d| *first == b'\\' && d.iter().all(|b| (b'0'..=b'7').contains(b)));
        if let Some(digits) = octal {
            out.push(digits.iter().fold(0u8, |n, b| n.wrapping_mul(8).wrapping_add(b - b'0')));
            rest = tail.get(3..).unwrap_or_default();
        } else {
            out.push(*first);
            rest = tail;
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw\n\
        31 22 0:26 /../.. /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
        33 22 0:26 / /host/cgroup rw shared:9 master:2 - cgroup2 none rw,nsdelegate\n\
        35 22 0:30 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n\
        40 22 0:40 / /my\\040proc rw - proc proc rw,hidepid=invisible,gid=7\n\
        garbage\n\n";

    #[test]
    fn finds_mounts_by_type_and_place() {
        let mounts = Mounts::parse(TEXT);
        assert_eq!(mounts.cgroup2().unwrap().point, Path::new("/host/cgroup"));
        assert_eq!(mounts.cgroup1("freezer").unwrap().point, Path::new("/sys/fs/cgroup/freezer"));
        assert!(mounts.cgroup1("memory").is_none());
        let hidden = mounts.at(Path::new("/my proc")).unwrap();
        assert_eq!(hidden.options, ["rw", "hidepid=invisible", "gid=7"]);
    }

    #[test]
    fn reads_our_own() {
        let mounts = Mounts::of_self().unwrap();
        assert_eq!(mounts.at(Path::new("/proc")).unwrap().fs, "proc");
    }
}
