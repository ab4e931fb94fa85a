//! Finds the process behind a connection. A server tells where a connection comes from and where it came to; a process of
//! this host has it if its socket has these two ends. Addresses that every host has (loopback, networks of containers) mean
//! a process of this host only where the server's own end is seen here as well.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::{Origin, Window};
use crate::observe::SocketsRead;
use crate::observe::client::Client;
use crate::observe::socket::{OpenSocket, Sockets};

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
    looked: crate::observe::Span,
    /// The network namespace in which the server's end of our own connection is seen, if it is on this host.
    server: Option<u64>,
}

impl<'a> Host<'a> {
    /// `None` if nothing was seen.
    pub fn of(read: &'a SocketsRead, clients: &[Client]) -> Option<Self> {
        let sockets = read.seen.as_deref().ok()?;
        let is_own = |c: &&Client| {
            let near = ends(c).map(|(near, _)| near);
            near.is_some_and(|near| {
                from(sockets, near).any(|(_, s)| s.pids.iter().any(|p| Some(*p) == sockets.own))
            })
        };
        let own = clients.iter().filter(is_own).filter_map(ends);
        let server = own
            .filter_map(|(near, to)| sockets.tcp.get(&(to, near)))
            .flatten()
            .map(|s| s.namespace)
            .next();
        Some(Self { sockets, looked: read.span, server })
    }

    /// Who has a connection that began then.
    pub fn origin(&self, client: &Client, began: Window) -> Origin {
        if client.is_unix() || began.until > self.looked.sent {
            return Origin::Unknown;
        }
        let Some((near, to)) = ends(client) else { return Origin::Elsewhere };
        let is_loopback = near.ip().is_loopback();
        let fits = |s: &OpenSocket| match self.server {
            Some(namespace) => !is_loopback || s.namespace == namespace,
            // Two ends that are both here belong to another server.
            None => !is_loopback && !self.sockets.tcp.contains_key(&(to, near)),
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
        match self.sockets.own {
            Some(own) if found.pids.contains(&own) => Origin::Own,
            _ if found.pids.is_empty() => Origin::Hidden,
            _ => Origin::Here(found.pids.clone()),
        }
    }
}

/// All sockets with this near end.
fn from(sockets: &Sockets, near: SocketAddr) -> impl Iterator<Item = (SocketAddr, &OpenSocket)> {
    // The least of all addresses.
    let least = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let range = sockets.tcp.range((near, least)..).take_while(move |((n, _), _)| *n == near);
    range.flat_map(|((_, far), list)| list.iter().map(|s| (*far, s)))
}
