//! What the kernel shows of processes and sockets: against the procfs crate where that reads it too.

use procfs::FromRead;

use crate::observe::worker::ProcessState;
use crate::poll::jvm::locate;
use crate::poll::process::host::{self, Named};
use crate::poll::process::privilege::Privilege;
use crate::poll::process::{inner, scan, stat};
use crate::poll::sockets::diag::{self, Ends};
use crate::poll::sockets::tables;

/// Any bytes as a file of `/proc`, an `/etc/hosts`, or a datagram of sock_diag.
pub fn proc(bytes: &[u8]) {
    line(bytes);
    status(bytes);
    assert!(inner::ids(bytes).all(|id| id.len() == 64 && id.iter().all(u8::is_ascii_hexdigit)));
    if let Ok(hosts) = std::str::from_utf8(bytes)
        && let Some(full) = host::full(hosts, "host-a")
    {
        assert!(full.contains('.') && hosts.contains(full));
        assert_eq!(host::names(Some("host-a"), full), Named::Here);
    }
    let mut ends = Ends::default();
    let _ = diag::take(bytes, &mut ends);
    assert!(ends.list.len() <= bytes.len() / 16, "each has a head of 16 bytes");
    assert!(ends.list.iter().all(|e| e.inode != 0 && e.peer != 0 && e.path.starts_with(b"/")));
    if let Ok(connected) = tables::connected(bytes) {
        assert!(connected.len() <= bytes.split(|b| *b == b'\n').count());
        assert!(connected.iter().all(|(inode, ..)| *inode != 0));
    }
}

/// `/proc/<pid>/stat`. The crate's parser falls over what no kernel writes; it gets only what begins and ends as it should.
fn line(bytes: &[u8]) {
    let own = stat::parse(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let text = text.trim();
    let is_line = text.find(" (").is_some_and(|at| at > 0 && Some(at + 1) == text.find('('))
        && text.rfind(") ").is_some_and(|at| Some(at) == text.rfind(')'))
        && text.find('(') < text.rfind(')')
        && text.rsplit(") ").next().is_some_and(|rest| rest.find(' ') == Some(1));
    if !is_line {
        return;
    }
    let Ok(reference) = procfs::process::Stat::from_read(text.as_bytes()) else { return };
    let Some(own) = own else {
        let known = "RWSIPKDTtZXx".contains(reference.state);
        assert!(!known || reference.num_threads < 0, "{reference:?}");
        return;
    };
    assert_eq!(own.cpu_ticks, reference.utime.saturating_add(reference.stime));
    assert_eq!((own.start_ticks, own.resident_pages), (reference.starttime, reference.rss));
    assert_eq!(i64::try_from(own.threads), Ok(reference.num_threads));
    assert_eq!(own.state == ProcessState::Running, "RW".contains(reference.state));
}

/// `/proc/<pid>/status`, as three parts of the program read it: they see the same process.
fn status(bytes: &[u8]) {
    let privilege = Privilege::parse(bytes);
    assert!(privilege.groups.len() <= bytes.len());
    if let (Some(inner), Some((pid, _))) = (scan::inner_pid(bytes), locate::identity(bytes)) {
        assert_eq!(inner, pid, "the innermost pid is one");
    }
}
