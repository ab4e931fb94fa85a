//! Finds the process behind a connection. A server tells where a connection comes from and where it came to; a process of
//! this host has it if its socket has these two ends. Addresses that every host has (loopback, networks of containers) mean
//! a process of this host only where the server's own end is seen here as well. Connections through a Unix socket all have
//! the same address; `unix` tells them apart.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeSet;

use super::{Origin, Window, unix};
use crate::observe::client::{Client, ClientsRead};
use crate::observe::socket::{OpenSocket, Sockets};
use crate::observe::{SocketsRead, Span};

/// The two ends of a client's connection as the server sees them.
fn ends(client: &Client) -> Option<(SocketAddr, SocketAddr)> {
    let parse = |text: &str| {
        let addr: SocketAddr = text.parse().ok()?;
        Some(SocketAddr::new(addr.ip().to_canonical(), addr.port()))
    };
    Some((parse(&client.addr)?, parse(&client.to)?))
}

/// What a look at this host's sockets says of the clients of one server.
pub struct Host<'a> {
    sockets: &'a Sockets,
    looked: Span,
    listed: Span,
    clients: &'a [Client],
    /// The network namespace in which the server's end of our own connection is seen, if it is on this host.
    server: Option<u64>,
    /// The processes that have the server's end of our own connection, if it is on this host; none if they may not be seen.
    servers: Option<BTreeSet<i32>>,
}

impl<'a> Host<'a> {
    /// `None` if nothing was seen.
    pub fn of(read: &'a SocketsRead, list: &'a ClientsRead) -> Option<Self> {
        let sockets = read.seen.as_deref().ok()?;
        let clients = list.seen.as_deref().ok()?;
        let (server, servers) = match list.node.addr.starts_with('/') {
            true => {
                let servers = unix::servers(sockets, clients);
                let is_its = |s: &&OpenSocket| {
                    servers.as_ref().is_some_and(|servers| !s.pids.is_disjoint(servers))
                };
                let its = clients.iter().filter_map(ends).filter_map(|(n, to)| far(sockets, n, to));
                (its.flatten().find(is_its).map(|s| s.namespace), servers)
            }
            false => {
                let is_ours = |near| {
                    let mut from = from(sockets, near);
                    from.any(|(_, s)| s.pids.iter().any(|p| Some(*p) == sockets.own))
                };
                let own = clients.iter().filter_map(ends).filter(|(near, _)| is_ours(*near));
                let end = own.filter_map(|(n, to)| far(sockets, n, to)).flatten().next();
                (end.map(|s| s.namespace), end.map(|s| s.pids.clone()))
            }
        };
        Some(Self { sockets, looked: read.span, listed: list.span, clients, server, servers })
    }

    /// Who has a connection that began then.
    pub fn origin(&self, client: &Client, began: Window) -> Origin {
        if began.until > self.looked.sent {
            return Origin::Unknown;
        }
        if client.is_unix() {
            return self.through_path(client);
        }
        let Some((near, to)) = ends(client) else { return Origin::Elsewhere };
        let is_loopback = near.ip().is_loopback();
        let has_both_here = self.sockets.tcp.contains_key(&(to, near));
        // Its server is on this host, and which of those with this address it is is not known.
        if self.server.is_none() && self.servers.is_some() && (is_loopback || has_both_here) {
            return Origin::Unknown;
        }
        let fits = |s: &OpenSocket| match self.server {
            Some(namespace) => !is_loopback || s.namespace == namespace,
            // Two ends that are both here belong to another server.
            None => !is_loopback && !has_both_here,
        };
        let all: Vec<(SocketAddr, &OpenSocket)> =
            from(self.sockets, near).filter(|(_, s)| fits(s)).collect();
        let exact: Vec<&OpenSocket> =
            all.iter().filter(|(far, _)| *far == to).map(|(_, s)| *s).collect();
        let found = match (exact.as_slice(), all.as_slice()) {
            ([one], _) => one,
            // The address that it went to was translated on its way.
            ([], [(_, one)]) if !is_loopback => one,
            ([], []) => return Origin::Elsewhere,
            ([], _) if is_loopback => return Origin::Elsewhere,
            _ => return Origin::Unknown,
        };
        who(&found.pids, self.sockets.own)
    }

    fn through_path(&self, client: &Client) -> Origin {
        let Some(servers) = &self.servers else { return Origin::Unknown };
        // Descriptors are used again at once: a later look may show the next connection.
        if self.looked.done > self.listed.sent {
            return Origin::Unknown;
        }
        unix::origin(self.sockets, self.clients, servers, client)
    }
}

/// Of those who have a socket open.
pub(super) fn who(pids: &BTreeSet<i32>, own: Option<i32>) -> Origin {
    match own {
        Some(own) if pids.contains(&own) => Origin::Own,
        _ if pids.is_empty() => Origin::Hidden,
        _ => Origin::Here(pids.clone()),
    }
}

/// The server's ends of such a connection.
fn far(sockets: &Sockets, near: SocketAddr, to: SocketAddr) -> Option<&Vec<OpenSocket>> {
    sockets.tcp.get(&(to, near))
}

/// All sockets with this near end.
fn from(sockets: &Sockets, near: SocketAddr) -> impl Iterator<Item = (SocketAddr, &OpenSocket)> {
    // The least of all addresses.
    let least = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let range = sockets.tcp.range((near, least)..).take_while(move |((n, _), _)| *n == near);
    range.flat_map(|((_, far), list)| list.iter().map(|s| (*far, s)))
}
