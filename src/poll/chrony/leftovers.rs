//! What an exporter that was killed left behind of its sockets. Removes only what has a name that we give, belongs to our
//! user and is heard by nobody; what another exporter is just making is not touched.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::own_socket::PREFIX;
use crate::clock;

/// Entries of a directory that are looked at.
const MOST: usize = 10_000;
/// An empty directory that is younger may be about to get its socket.
const YOUNG: Duration = Duration::from_secs(60);

/// Removes what there is in a directory. What cannot be removed stays.
pub fn remove(dir: &Path) {
    for path in named(dir) {
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if found.uid() != rustix::process::geteuid().as_raw() {
            continue;
        }
        if found.file_type().is_socket() {
            remove_if_dead(&path);
        } else if found.is_dir() {
            let removed = named(&path).iter().filter(|inner| remove_if_dead(inner)).count();
            let age = clock::wall_secs() - found.mtime() as f64;
            if removed > 0 || age > YOUNG.as_secs_f64() {
                // Fails where something else is in it.
                let _ = fs::remove_dir(&path);
            }
        }
    }
}

fn named(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let entries = entries.take(MOST).flatten();
    entries.filter(|e| is_ours(&e.file_name())).map(|e| e.path()).collect()
}

/// Whether [`super::own_socket`] gives such names: prefix, pid, sixteen hexadecimal digits.
fn is_ours(name: &OsStr) -> bool {
    let Some(rest) = name.to_str().and_then(|n| n.strip_prefix(PREFIX)) else { return false };
    let Some((pid, random)) = rest.strip_suffix(".sock").unwrap_or(rest).split_once('.') else {
        return false;
    };
    pid.parse::<u32>().is_ok()
        && random.len() == 16
        && random.bytes().all(|b| b.is_ascii_hexdigit())
}

fn remove_if_dead(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let refuses = |socket: UnixDatagram| {
        let outcome = socket.connect(path);
        outcome.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
    };
    is_socket && UnixDatagram::unbound().is_ok_and(refuses) && fs::remove_file(path).is_ok()
}
