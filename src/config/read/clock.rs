//! Reads `clocks`, which of them is this host's, and which of them disciplines which node of a store.

use std::net::IpAddr;
use std::sync::Arc;

use super::super::checks::{self, Wrong};
use super::super::chrony_url;
use super::super::cursor::Cursor;
use super::super::model::{ChronyAddr, Clock, NodeClock};
use super::names::Entries;
use super::noted;

/// The clocks there are, for those who refer to them.
pub(super) struct Clocks {
    names: Entries,
    /// It is certain that none of them is this host's.
    lacks_local: bool,
}

/// Reads all clocks, by name. `None` in place of one that is not right.
pub(super) fn read_all(top: &Cursor<'_>) -> (Vec<Option<Clock>>, Clocks) {
    let clocks = top.map("clocks").iter().map(|(name, at)| read(name, at)).collect();
    (clocks, Clocks { names: Entries::of(top, "clocks", "clock"), lacks_local: false })
}

fn read(name: &str, at: &Cursor<'_>) -> Option<Clock> {
    if let Err((reason, fix)) = checks::section_name(name) {
        at.wrong_here(reason, fix);
    }
    at.require("chrony", "add where its chronyd answers, such as `udp://127.0.0.1:323`");
    let chrony = noted(at, "chrony", chrony_url::parse(at.text("chrony")?))?;
    Some(Clock { name: name.into(), chrony })
}

/// Which clock is this host's: the one that is named, or the only one that is plainly here.
pub(super) fn local(top: &Cursor<'_>, clocks: &[Clock], known: &mut Clocks) -> Option<Arc<str>> {
    if top.has("local_clock") {
        let name = top.text("local_clock")?;
        return noted(top, "local_clock", known.names.known(name)).map(|()| name.into());
    }
    let mut here = clocks.iter().filter(|clock| is_here(&clock.chrony));
    match (here.next(), here.next()) {
        (Some(only), None) => Some(Arc::clone(&only.name)),
        _ => {
            let is_all_read = known.names.count() == Some(clocks.len());
            known.lacks_local = is_all_read && !top.misspelt("local_clock");
            None
        }
    }
}

fn is_here(addr: &ChronyAddr) -> bool {
    match addr {
        ChronyAddr::Unix(_) => true,
        ChronyAddr::Udp { host, .. } => match host.parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical().is_loopback(),
            Err(_) => host.eq_ignore_ascii_case("localhost"),
        },
    }
}

/// Reads the `clocks` of a store: which clock disciplines which of its nodes. `None` if any of it is wrong.
pub(super) fn of_nodes(at: &Cursor<'_>, known: &Clocks) -> Option<Vec<NodeClock>> {
    let mut nodes: Vec<NodeClock> = Vec::new();
    let mut complete = true;
    for below in at.list("clocks") {
        below.require(
            "addr",
            "add the node's `host:port` or its socket's path, as its `addr` label says",
        );
        below.require("clock", "add the name of one of `clocks`");
        let clock = below
            .text("clock")
            .and_then(|name| noted(&below, "clock", known.names.known(name)).map(|()| name.into()));
        let addr =
            below.text("addr").and_then(|addr| noted(&below, "addr", node(addr)).map(|()| addr));
        match (addr, clock) {
            (Some(addr), _) if nodes.iter().any(|node| node.addr == addr) => {
                below.wrong("addr", "is listed twice", "remove one of the two");
                complete = false;
            }
            (Some(addr), Some(clock)) => nodes.push(NodeClock { addr: addr.to_owned(), clock }),
            _ => complete = false,
        }
    }
    if complete && !nodes.is_empty() && known.lacks_local {
        at.wrong(
            "clocks",
            "there is no local clock to compare with",
            "add this host's chronyd to the top-level `clocks`, and set `local_clock` to its name",
        );
        complete = false;
    }
    complete.then_some(nodes)
}

/// A node is where it is asked: an address, or the path of a socket.
fn node(addr: &str) -> Result<(), Wrong> {
    if addr.starts_with('/') { Ok(()) } else { checks::host_port(addr) }
}
