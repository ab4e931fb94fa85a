//! Asks the kernel for the Unix sockets that are connected through a path, by sock_diag over netlink: `/proc/net/unix` does
//! not say which two ends belong together. It tells only of the network namespace of who asks. Needs no privilege.

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{connect, recv, send, socket_with};

use crate::poll::netlink::{DONE, ERROR, HEAD, attributes, errno, messages, u32_at};

/// Sockets of any kind that are kept.
const MOST: usize = 32_768;
/// The kernel answers in pieces of up to as much as there is room for, and no longer ones.
const DATAGRAM: usize = 32 << 10;
/// Pieces that are read: each socket takes some 60 bytes at least.
const MOST_PIECES: usize = 1024;

const BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const FAMILY: u8 = 1;
const STREAM: u8 = 1;
const ESTABLISHED: u8 = 1;
const SHOW_NAME_AND_PEER: u32 = 1 | 4;
const NAME: u16 = 0;
const PEER: u16 = 2;
/// Length of what stands before the attributes.
const FIXED: usize = 16;
const SEQUENCE: u32 = 1;

/// The end of a connection that bears a path: the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Its inode.
    pub inode: u64,
    /// That of the other end.
    pub peer: u64,
    /// The path, as the server gave it.
    pub path: Vec<u8>,
}

/// The Unix sockets that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The servers' ends.
    pub list: Vec<End>,
    /// There are more.
    pub is_cut: bool,
}

/// All that are connected through a path, in our own network namespace.
pub fn ends() -> Result<Ends, String> {
    ask().map_err(|e| match e {
        Errno::AFNOSUPPORT => {
            format!("{e}: a sandbox forbids AF_NETLINK (RestrictAddressFamilies)")
        }
        Errno::NOENT | Errno::PROTONOSUPPORT => format!("{e}: this kernel has no unix_diag"),
        e => e.to_string(),
    })
}

fn ask() -> Result<Ends, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    // Connected to the kernel: nobody else's messages get in.
    connect(&socket, &SocketAddrNetlink::new(0, 0))?;
    send(&socket, &request(), SendFlags::empty())?;
    let mut ends = Ends::default();
    let mut buffer = vec![0; DATAGRAM];
    for _ in 0..MOST_PIECES {
        let length = match recv(&socket, &mut buffer[..], RecvFlags::TRUNC) {
            Ok((_, length)) => length,
            Err(Errno::INTR) => continue,
            // The kernel makes each piece within the call that fetches one, so that none comes later.
            Err(Errno::AGAIN | Errno::NOBUFS) => break,
            Err(e) => return Err(e),
        };
        let Some(datagram) = buffer.get(..length) else { break };
        if take(datagram, &mut ends)? {
            return Ok(ends);
        }
    }
    ends.is_cut = true;
    Ok(ends)
}

fn request() -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD + 24);
    out.extend(((HEAD + 24) as u32).to_ne_bytes());
    out.extend(BY_FAMILY.to_ne_bytes());
    out.extend(REQUEST_DUMP.to_ne_bytes());
    out.extend(SEQUENCE.to_ne_bytes());
    out.extend([0; 4]);
    out.extend([FAMILY, 0, 0, 0]);
    out.extend((1_u32 << ESTABLISHED).to_ne_bytes());
    out.extend([0; 4]);
    out.extend(SHOW_NAME_AND_PEER.to_ne_bytes());
    out.extend([0; 8]);
    out
}

/// Takes one piece of the answer; returns whether it was the last.
pub fn take(datagram: &[u8], ends: &mut Ends) -> Result<bool, Errno> {
    for message in messages(datagram).filter(|m| m.sequence == SEQUENCE) {
        match message.kind {
            DONE => return Ok(true),
            ERROR => {
                return match errno(message.payload) {
                    Some(e) => Err(Errno::from_raw_os_error(e)),
                    None => Ok(true),
                };
            }
            BY_FAMILY => {
                let Some(end) = end(message.payload) else { continue };
                if ends.list.len() >= MOST {
                    ends.is_cut = true;
                    return Ok(true);
                }
                ends.list.push(end);
            }
            _ => {}
        }
    }
    Ok(false)
}

fn end(payload: &[u8]) -> Option<End> {
    if !payload.starts_with(&[FAMILY, STREAM, ESTABLISHED]) {
        return None;
    }
    // Nobody has accepted one without a number yet.
    let inode = u32_at(payload, 4).filter(|inode| *inode != 0)?;
    let (mut peer, mut path) = (None, None);
    for (kind, value) in attributes(payload.get(FIXED..)?) {
        match kind {
            PEER => peer = u32_at(value, 0),
            // It ends with a NUL; one that begins with it is no path.
            NAME if value.starts_with(b"/") => path = value.split(|b| *b == 0).next(),
            _ => {}
        }
    }
    let peer = peer.filter(|peer| *peer != 0)?;
    Some(End { inode: inode.into(), peer: peer.into(), path: path?.to_vec() })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn inode(end: &impl AsRawFd) -> u64 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", end.as_raw_fd())).unwrap();
        let number = link.to_str().unwrap().strip_prefix("socket:[").unwrap();
        number.strip_suffix(']').unwrap().parse().unwrap()
    }

    #[test]
    fn the_kernel_tells_which_two_ends_belong_together() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a socket");
        let listener = UnixListener::bind(&path).unwrap();
        let pairs: Vec<_> = (0..600)
            .map(|_| (UnixStream::connect(&path).unwrap(), listener.accept().unwrap().0))
            .collect();
        let found = ends().unwrap();
        assert!(!found.is_cut);
        let ours: Vec<&End> =
            found.list.iter().filter(|e| e.path == path.as_os_str().as_bytes()).collect();
        assert_eq!(ours.len(), pairs.len());
        for (near, far) in &pairs {
            let end = ours.iter().find(|e| e.inode == inode(far)).unwrap();
            assert_eq!(end.peer, inode(near));
        }
    }

    fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut out = ((HEAD + payload.len()) as u32).to_ne_bytes().to_vec();
        out.extend(kind.to_ne_bytes());
        out.extend([0; 2]);
        out.extend(SEQUENCE.to_ne_bytes());
        out.extend([0; 4]);
        out.extend(payload);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn socket(kind: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut out = vec![FAMILY, kind, ESTABLISHED, 0];
        out.extend(77_u32.to_ne_bytes());
        out.extend([0; 8]);
        for (kind, value) in attributes {
            out.extend(((4 + value.len()) as u16).to_ne_bytes());
            out.extend(kind.to_ne_bytes());
            out.extend(*value);
            out.resize(out.len().next_multiple_of(4), 0);
        }
        message(BY_FAMILY, &out)
    }

    #[test]
    fn what_is_no_end_with_a_path_and_a_peer_is_left_out() {
        let peer = 78_u32.to_ne_bytes();
        let good = socket(STREAM, &[(NAME, b"/run/x\0"), (PEER, &peer)]);
        let datagram = [
            socket(2, &[(NAME, b"/run/x\0"), (PEER, &peer)]),
            socket(STREAM, &[(NAME, b"\0abstract"), (PEER, &peer)]),
            socket(STREAM, &[(NAME, b"/run/x\0")]),
            socket(STREAM, &[(NAME, b"/run/x\0"), (PEER, &[0; 4])]),
            good.clone(),
        ]
        .concat();
        let mut found = Ends::default();
        assert_eq!(take(&datagram, &mut found), Ok(false));
        assert_eq!(found.list, [End { inode: 77, peer: 78, path: b"/run/x".to_vec() }]);
        assert_eq!(take(&message(DONE, &[0; 4]), &mut found), Ok(true));
        assert_eq!(take(&message(ERROR, &(-2_i32).to_ne_bytes()), &mut found), Err(Errno::NOENT));
        for length in 0..good.len() {
            let mut cut = Ends::default();
            assert_eq!(take(&good[..length], &mut cut), Ok(false));
            assert_eq!(cut, Ends::default(), "{length}");
        }
    }
}
