//! Against the sockets of this process and of a child.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use super::diag;
use super::walk::{Limits, walk};

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let far = listener.accept().unwrap().0;
    (near, far)
}

fn ends(stream: &TcpStream) -> (SocketAddr, SocketAddr) {
    (stream.local_addr().unwrap(), stream.peer_addr().unwrap())
}

#[test]
fn finds_who_has_a_socket_open() {
    let (near, _far) = pair();
    let sockets = walk(Path::new("/proc"), Limits::default(), None).unwrap();
    let own = i32::try_from(std::process::id()).unwrap();
    assert_eq!(sockets.own, Some(own));
    let found = &sockets.tcp[&ends(&near)];
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].pids.iter().copied().collect::<Vec<_>>(), [own]);
    assert!(!sockets.processes[&own].is_hidden && !sockets.processes[&own].comm.is_empty());
    let before = ends(&near);
    drop(near);
    let sockets = walk(Path::new("/proc"), Limits::default(), None).unwrap();
    assert!(!sockets.tcp.contains_key(&before));
}

#[test]
fn finds_who_is_connected_through_a_path_and_by_which_descriptor() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("redis.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let near = UnixStream::connect(&path).unwrap();
    let far = listener.accept().unwrap().0;
    let sockets = walk(Path::new("/proc"), Limits::default(), diag::ends().ok()).unwrap();
    let own = i32::try_from(std::process::id()).unwrap();
    let links = &sockets.unix.unwrap()[path.to_str().unwrap()];
    assert_eq!(links.len(), 1);
    let descriptor = u32::try_from(far.as_raw_fd()).unwrap();
    assert_eq!(links[0].server.iter().copied().collect::<Vec<_>>(), [(own, descriptor)]);
    assert_eq!(links[0].pids.iter().copied().collect::<Vec<_>>(), [own]);
    drop(near);
    let sockets = walk(Path::new("/proc"), Limits::default(), diag::ends().ok()).unwrap();
    assert!(!sockets.unix.unwrap().contains_key(path.to_str().unwrap()));
}

#[test]
fn what_is_beyond_a_limit_is_said() {
    let (near, _far) = pair();
    let limits = Limits { descriptors: 0, ..Limits::default() };
    let sockets = walk(Path::new("/proc"), limits, None).unwrap();
    assert!(sockets.is_cut && sockets.tcp[&ends(&near)][0].pids.is_empty());
    let sockets =
        walk(Path::new("/proc"), Limits { sockets: 0, ..Limits::default() }, None).unwrap();
    assert!(sockets.is_cut && sockets.tcp.is_empty());
    assert!(walk(Path::new("/nowhere"), Limits::default(), None).unwrap_err().contains("/nowhere"));
}
