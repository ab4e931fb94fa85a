//! The process behind a connection through a Unix socket. All have the socket's path as their address; what tells them apart
//! is the server's descriptor of each, which a server lists, and which is seen where the server's descriptors may be read.

use std::collections::BTreeSet;

use super::Origin;
use super::origin::who;
use crate::observe::client::Client;
use crate::observe::socket::{Sockets, UnixLink};

/// The path through which it came, if it came through one.
fn path(client: &Client) -> Option<&str> {
    client.is_unix().then(|| client.addr.strip_suffix(":0"))?
}

fn links<'a>(sockets: &'a Sockets, path: &str) -> &'a [UnixLink] {
    let known = sockets.unix.as_ref().and_then(|all| all.get(path));
    known.map_or(&[], |links| links.as_slice())
}

/// The processes that have the server's ends of our own connections to the server with these clients; none if they may not
/// be seen, `None` if there is no such connection, or there are servers of that path in several places.
pub fn servers(sockets: &Sockets, clients: &[Client]) -> Option<BTreeSet<i32>> {
    let own = sockets.own?;
    let paths: BTreeSet<&str> = clients.iter().filter_map(path).collect();
    let ours = paths.iter().flat_map(|p| links(sockets, p)).filter(|l| l.pids.contains(&own));
    let mut common: Option<BTreeSet<i32>> = None;
    for link in ours {
        let pids: BTreeSet<i32> = link.server.iter().map(|(pid, _)| *pid).collect();
        common = Some(match common {
            None => pids,
            Some(before) if before.is_empty() && pids.is_empty() => before,
            // A child that saves has what was connected when it began.
            Some(before) => {
                let both: BTreeSet<i32> = before.intersection(&pids).copied().collect();
                (!both.is_empty()).then_some(both)?
            }
        });
    }
    common
}

/// Who has a connection that was there at the look and at the list after it.
pub fn origin(
    sockets: &Sockets,
    clients: &[Client],
    servers: &BTreeSet<i32>,
    client: &Client,
) -> Origin {
    let Some(its_path) = path(client).filter(|_| sockets.unix.is_some()) else {
        return Origin::Unknown;
    };
    let links = links(sockets, its_path);
    if servers.is_empty() {
        // Which is which cannot be told, and need not be where none of them may be seen.
        let listed = clients.iter().filter(|c| path(c) == Some(its_path)).count();
        let is_unseen = |l: &UnixLink| l.pids.iter().all(|p| Some(*p) == sockets.own);
        let are_all_unseen = links.len() >= listed && links.iter().all(is_unseen);
        return if are_all_unseen { Origin::Hidden } else { Origin::Unknown };
    }
    let Some(descriptor) = client.descriptor else { return Origin::Unknown };
    let is_it = |l: &&UnixLink| {
        l.server.iter().any(|(pid, number)| *number == descriptor && servers.contains(pid))
    };
    let mut found = links.iter().filter(is_it);
    match (found.next(), found.next()) {
        (Some(one), None) => who(&one.pids, sockets.own),
        // It began in another network namespace, or there are several servers of this path.
        _ => Origin::Unknown,
    }
}
