//! The socket of our own: where it is made, who may write to it, and that nothing of it stays.

use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;

use crate::observe::node::FailReason;
use crate::poll::chrony::leftovers;
use crate::poll::chrony::own_socket::{OwnSocket, open};

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect()
}

/// A daemon's socket in a directory with this mode.
fn daemon(dir_mode: u32) -> (TempDir, PathBuf, UnixDatagram) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("chronyd.sock");
    let socket = UnixDatagram::bind(&path).unwrap();
    set(dir.path(), dir_mode);
    (dir, path, socket)
}

fn own_address(own: &OwnSocket) -> PathBuf {
    own.socket.local_addr().unwrap().as_pathname().unwrap().to_owned()
}

#[test]
fn in_a_directory_of_chronyds_it_is_right_beside_its_socket() {
    let (dir, path, daemon) = daemon(0o750);
    let own = open(&path, None).unwrap();
    let address = own_address(&own);
    assert_eq!(address.parent(), Some(dir.path()));
    assert_eq!(mode(&address), 0o666);
    // It can be answered, and nobody but the daemon is heard.
    own.socket.send(b"x").unwrap();
    let mut room = [0; 8];
    let (_, from) = daemon.recv_from(&mut room).unwrap();
    assert_eq!(from.as_pathname(), Some(address.as_path()));
    let other = UnixDatagram::unbound().unwrap();
    let refused = other.send_to(b"y", &address).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
    drop(own);
    assert_eq!(entries(dir.path()), [path]);
}

#[test]
fn where_others_come_in_it_has_a_directory_that_they_cannot_list() {
    let (dir, path, _daemon) = daemon(0o755);
    let own = open(&path, None).unwrap();
    let address = own_address(&own);
    let between = address.parent().unwrap();
    assert_eq!(between.parent(), Some(dir.path()));
    assert_eq!((mode(between), mode(&address)), (0o711, 0o666));
    assert_ne!(between.file_name(), address.file_stem().map(AsRef::as_ref));
    drop(own);
    assert_eq!(entries(dir.path()), [path]);
}

/// Names do not collide, whoever else is there, and what a predecessor left is no obstacle.
#[test]
fn many_at_once_have_their_own() {
    let (dir, path, _daemon) = daemon(0o750);
    std::fs::write(dir.path().join(format!("dlock_exporter.{}.sock", std::process::id())), "")
        .unwrap();
    let many: Vec<OwnSocket> = (0..50).map(|_| open(&path, None).unwrap()).collect();
    let mut addresses: Vec<_> = many.iter().map(own_address).collect();
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 50);
    drop(many);
    assert_eq!(entries(dir.path()).len(), 2);
}

/// chronyd's directory is gone when its service stops; ours in it goes with it, and that is no error.
#[test]
fn a_directory_that_is_emptied_is_no_trouble() {
    let (dir, path, _daemon) = daemon(0o750);
    let own = open(&path, None).unwrap();
    std::fs::remove_dir_all(dir.path()).unwrap();
    drop(own);
    let failed = open(&path, None).unwrap_err();
    assert_eq!(failed.reason, FailReason::Missing);
    assert!(failed.detail.contains("is chronyd running"), "{failed:?}");
}

#[test]
fn the_runtime_directory_is_next_where_chronyds_takes_nothing() {
    let runtime = TempDir::new().unwrap();
    set(runtime.path(), 0o755);
    let (_dir, path, daemon) = daemon(0o750);
    // A directory that takes nothing from anyone, root included, and has a way to the socket all the same.
    let handle = rustix::fs::open(&path, OFlags::PATH, Mode::empty()).unwrap();
    let linked = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
    let own = open(&linked, Some(runtime.path())).unwrap();
    let address = own_address(&own);
    assert_eq!(address.parent().and_then(Path::parent), Some(runtime.path()));
    own.socket.send(b"x").unwrap();
    let (_, from) = daemon.recv_from(&mut [0; 8]).unwrap();
    assert_eq!(from.as_pathname(), Some(address.as_path()));
    drop(own);
    assert!(entries(runtime.path()).is_empty());
    // Without one, it is a directory where everybody may make some.
    let own = open(&linked, None).unwrap();
    let place = own_address(&own).parent().unwrap().to_owned();
    assert_eq!(mode(&place), 0o711);
    drop(own);
    assert!(!place.exists());
}

#[test]
fn what_is_no_socket_of_chronyds_says_so() {
    let dir = TempDir::new().unwrap();
    set(dir.path(), 0o750);
    let at = |name: &str| dir.path().join(name);
    let stream = std::os::unix::net::UnixListener::bind(at("stream")).unwrap();
    drop(UnixDatagram::bind(at("stale")).unwrap());
    std::fs::write(at("file"), "").unwrap();
    for (name, reason, words) in [
        ("none", FailReason::Missing, "is chronyd running"),
        ("stale", FailReason::Refused, "left it behind"),
        ("file", FailReason::Refused, "left it behind"),
        ("stream", FailReason::Protocol, "not chronyd's datagram socket"),
    ] {
        let failed = open(&at(name), None).unwrap_err();
        assert_eq!(failed.reason, reason, "{failed:?}");
        assert!(failed.detail.contains(words), "{failed:?}");
        assert!(failed.detail.contains(&at(name).display().to_string()), "{failed:?}");
    }
    drop(stream);
    assert_eq!(entries(dir.path()).len(), 3);
}

#[test]
fn what_a_killed_exporter_left_is_removed_and_nothing_else() {
    for dir_mode in [0o750, 0o755] {
        let (dir, path, _daemon) = daemon(dir_mode);
        // Killed: nothing of it is dropped.
        let OwnSocket { socket, made } = open(&path, None).unwrap();
        let base = made.base().unwrap().to_owned();
        assert_eq!(base, dir.path());
        std::mem::forget(made);
        let left = entries(dir.path()).into_iter().find(|e| *e != path).unwrap();
        leftovers::remove(&base);
        assert!(left.exists(), "it is heard as long as the process lives");
        drop(socket);
        // What only looks like it: another name, a plain file, an empty directory that may get its socket yet.
        let name = "dlock_exporter.1.0123456789abcdef";
        let other = dir.path().join("dlock_exporter.1.0123456789abcdef.sock.old");
        drop(UnixDatagram::bind(&other).unwrap());
        let file = dir.path().join(format!("{name}.sock"));
        std::fs::write(&file, "").unwrap();
        let young = dir.path().join(name);
        std::fs::create_dir(&young).unwrap();
        let alive = open(&path, None).unwrap();
        leftovers::remove(&base);
        assert!(!left.exists(), "{left:?}");
        assert!([&other, &file, &young, &path, &own_address(&alive)].iter().all(|p| p.exists()));
        std::fs::File::open(&young)
            .unwrap()
            .set_modified(std::time::SystemTime::UNIX_EPOCH)
            .unwrap();
        leftovers::remove(&base);
        assert!(!young.exists());
    }
}
