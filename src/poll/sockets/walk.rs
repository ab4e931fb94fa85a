//! One walk over the processes of a procfs: which network namespaces they are in, which sockets are connected there, and who
//! has them open. Bounded in everything; what may not be read is hidden, not absent.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Dir, OFlags, readlinkat};
use rustix::io::Errno;

use super::diag::Ends;
use super::tables;
use crate::clock;
use crate::observe::label;
use crate::observe::socket::{OpenSocket, SocketUser, Sockets, UnixLink};
use crate::poll::process::dir::{ProcDir, SMALL, is_gone};
use crate::poll::process::stat;

/// What one walk may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Processes looked at.
    pub processes: usize,
    /// Network namespaces whose tables are read.
    pub namespaces: usize,
    /// Connected sockets kept.
    pub sockets: usize,
    /// Descriptors looked at.
    pub descriptors: usize,
    /// Time after which it ends where it is.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            processes: 32_768,
            namespaces: 256,
            sockets: 32_768,
            descriptors: 131_072,
            time: Duration::from_secs(2),
        }
    }
}

/// A network namespace's inode.
type Namespace = u64;

/// Looks at all sockets; `unix` are those that are connected through a path.
pub fn walk(root: &Path, limits: Limits, unix: Option<Ends>) -> Result<Sockets, String> {
    let begun = clock::mono();
    let is_late = || clock::mono().since(begun) > limits.time;
    let mut found = Sockets { own: own(root), ..Sockets::default() };
    let pids = pids(root, limits.processes, &mut found)?;
    let open: Vec<(i32, ProcDir)> =
        pids.into_iter().filter_map(|pid| Some((pid, ProcDir::open(root, pid).ok()?))).collect();
    let mut sockets: HashMap<u64, Vec<(tables::Tcp, Namespace)>> = HashMap::new();
    let mut kept = 0;
    for (namespace, net) in namespaces(root, &open, limits.namespaces, &mut found) {
        let is_ours = net == root.join("self/net");
        let (table, is_cut) = match tables::tcp(&net) {
            Ok(read) => read,
            Err(e) if is_ours => return Err(e),
            // Its process has gone meanwhile, or the sandbox does not show it.
            Err(_) => continue,
        };
        found.is_cut |= is_cut;
        for tcp in table {
            if kept >= limits.sockets {
                found.is_cut = true;
                break;
            }
            kept += 1;
            sockets.entry(tcp.0).or_default().push((tcp, namespace));
        }
    }
    let through_paths =
        unix.iter().flat_map(|u| &u.list).take(limits.sockets).flat_map(|e| [e.inode, e.peer]);
    let wanted: HashSet<u64> = sockets.keys().copied().chain(through_paths).collect();
    let mut users = Users::new();
    let mut left = limits.descriptors;
    for (pid, dir) in &open {
        if left == 0 || is_late() {
            found.is_cut = true;
            break;
        }
        let mut has_some = false;
        let looked = descriptors(dir, &mut left, |inode, descriptor| {
            if wanted.contains(&inode) {
                has_some = true;
                users.entry(inode).or_default().insert((*pid, descriptor));
            }
        });
        let is_hidden = match looked {
            Ok(()) => false,
            Err(e) if is_gone(&e) => continue,
            Err(_) => true,
        };
        if (has_some || is_hidden)
            && let Some(user) = user(dir, is_hidden)
        {
            found.processes.insert(*pid, user);
        }
    }
    for ((inode, near, far), namespace) in sockets.into_values().flatten() {
        let pids = pids_of(&users, inode);
        found.tcp.entry((near, far)).or_default().push(OpenSocket { namespace, pids });
    }
    found.is_cut |= unix.as_ref().is_some_and(|u| u.is_cut || u.list.len() > limits.sockets);
    found.unix = unix.map(|u| by_path(u, limits.sockets, &users));
    Ok(found)
}

/// Who has a socket open, and by which descriptors.
type Users = HashMap<u64, BTreeSet<(i32, u32)>>;

fn pids_of(users: &Users, inode: u64) -> BTreeSet<i32> {
    users.get(&inode).into_iter().flatten().map(|(pid, _)| *pid).collect()
}

fn by_path(ends: Ends, most: usize, users: &Users) -> BTreeMap<Arc<str>, Vec<UnixLink>> {
    let mut all: BTreeMap<Arc<str>, Vec<UnixLink>> = BTreeMap::new();
    for end in ends.list.into_iter().take(most) {
        let server = users.get(&end.inode).cloned().unwrap_or_default();
        let link = UnixLink { server, pids: pids_of(users, end.peer) };
        all.entry(label::text(&end.path).into()).or_default().push(link);
    }
    all
}

/// Our own pid, in the numbers of this procfs.
fn own(root: &Path) -> Option<i32> {
    fs::read_link(root.join("self")).ok()?.to_str()?.parse().ok()
}

fn pids(root: &Path, most: usize, found: &mut Sockets) -> Result<Vec<i32>, String> {
    let entries = fs::read_dir(root).map_err(|e| format!("{}: {e}", root.display()))?;
    let mut pids: Vec<i32> =
        entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect();
    // The newest last: in a walk that is cut short, long-lived ones matter more.
    pids.sort_unstable();
    found.is_cut |= pids.len() > most;
    pids.truncate(most);
    Ok(pids)
}

/// The directory of tables of each network namespace: ours, and that of one process of each other.
fn namespaces(
    root: &Path,
    open: &[(i32, ProcDir)],
    most: usize,
    found: &mut Sockets,
) -> BTreeMap<Namespace, PathBuf> {
    let mut all = BTreeMap::new();
    let ours = fs::read_link(root.join("self/ns/net"));
    let ours = ours.ok().and_then(|l| bracketed(l.as_os_str(), b"net:[")).unwrap_or(0);
    all.insert(ours, root.join("self/net"));
    for (pid, dir) in open {
        let link = dir.link("ns/net");
        match link.map(|l| bracketed(OsStr::from_bytes(&l), b"net:[")) {
            Ok(Some(namespace)) if all.len() < most || all.contains_key(&namespace) => {
                all.entry(namespace).or_insert_with(|| root.join(format!("{pid}/net")));
            }
            Ok(Some(_)) => found.is_cut = true,
            // A kernel thread, a zombie, or one that has gone.
            Err(e) if is_gone(&e) => {}
            Ok(None) | Err(_) => found.hidden_namespaces += 1,
        }
    }
    all
}

/// The number in `socket:[4711]`.
fn bracketed(text: &OsStr, kind: &[u8]) -> Option<u64> {
    let number = text.as_bytes().strip_prefix(kind)?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Tells the inode of each socket that a process has open, and by which descriptor.
fn descriptors(dir: &ProcDir, left: &mut usize, mut tell: impl FnMut(u64, u32)) -> io::Result<()> {
    let fds = dir.open_part("fd", OFlags::RDONLY | OFlags::DIRECTORY)?;
    for entry in Dir::read_from(&fds)? {
        if *left == 0 {
            break;
        }
        let Ok(entry) = entry else { continue };
        if entry.file_name().to_bytes().starts_with(b".") {
            continue;
        }
        *left -= 1;
        let link = match readlinkat(&fds, entry.file_name(), Vec::with_capacity(64)) {
            Ok(link) => link,
            // Who may list descriptors may not therefore see what is behind them: with CAP_DAC_READ_SEARCH alone they
            // would look like none that is a socket.
            Err(e @ (Errno::ACCESS | Errno::PERM)) => return Err(e.into()),
            // Closed meanwhile.
            Err(_) => continue,
        };
        let inode = bracketed(OsStr::from_bytes(link.as_bytes()), b"socket:[");
        let number = entry.file_name().to_str().ok().and_then(|n| n.parse().ok());
        if let (Some(inode), Some(number)) = (inode, number) {
            tell(inode, number);
        }
    }
    Ok(())
}

fn user(dir: &ProcDir, is_hidden: bool) -> Option<SocketUser> {
    let stat = stat::parse(&dir.file("stat", SMALL).ok()?)?;
    if stat.kernel_thread {
        return None;
    }
    let comm = dir.file("comm", 64).unwrap_or_default();
    let comm: Arc<str> = label::text(comm.trim_ascii_end()).into();
    Some(SocketUser { start_ticks: stat.start_ticks, comm, is_hidden })
}
