//! Whether a step of several lock servers' clocks was no step at all: when servers on different hosts seem to jump
//! forward together, this host stood still (a virtual machine was paused). A lone server cannot be told from a pause; its
//! step counts. So does that of a server on this host, which stands still with us, and one that this host's wall clock
//! made as well.
//!
//! Hosts are told apart by their addresses: one host under two names, or under a name and an address, counts as two, and
//! a forward step of its clock as a pause unless a third one denies it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::clock::{NodeClock, Step};
use super::host_clock::HostSteps;
use super::node::Node;
use super::store::Store;
use super::wanted::Effects;
use crate::observe::{Mono, StoreId};

/// How long the other servers may take to show the same, in polls.
const WAIT: u32 = 2;
/// Jumps that differ by less were one pause: the servers were asked one after the other.
const SAME_MICROS: i64 = 50_000;

/// Decides on forward steps of which it was open whose they were.
pub fn settle_steps(
    stores: &mut BTreeMap<StoreId, Store>,
    host: &HostSteps,
    now: Mono,
    poll: Duration,
    fx: &mut Effects,
) {
    each_open(stores, |node| is_here(&node.addr), NodeClock::step_is_theirs);
    let open: Vec<(StoreId, String, Step)> = stores
        .values()
        .flat_map(|s| s.nodes.values().map(|n| (s.id, n)))
        .filter_map(|(id, n)| {
            // Hardly ever is one open: the addresses are read for those only.
            let step = n.clock.undecided?;
            Some((id, host_of(&n.addr)?, step))
        })
        .collect();
    let Some((_, first_host, first)) = open.first() else { return };
    let since = open.iter().map(|(_, _, step)| step.at).min().unwrap_or(now);
    // Servers of this host neither confirm nor deny.
    let witnesses =
        || nodes(stores).filter(|n| n.is_up && n.clock.last_asked().is_some() && !is_here(&n.addr));
    let shares = |n: &Node| n.clock.undecided.is_some_and(|step| is_same(step, *first));
    let has_others = witnesses().any(|n| host_of(&n.addr).as_ref() != Some(first_host));
    // Asked after the step was seen, and nothing: it was the server's own.
    let is_denied = witnesses().any(|n| !shares(n) && n.clock.last_asked() >= Some(since));
    // Without a reading from after the step nobody knows whether this host's wall clock shows it too.
    let is_host_awaited = host.last().is_some_and(|read| read.span.sent < since);
    let is_awaited = is_host_awaited || witnesses().any(|n| !shares(n));
    let is_late = now.since(since) > poll * WAIT;
    if !has_others || is_denied || is_late || was_host_set(host, *first, since, poll) {
        each_open(stores, |_| true, NodeClock::step_is_theirs);
    } else if !is_awaited {
        each_open(stores, |_| true, NodeClock::step_is_our_pause);
        for (id, _, _) in &open {
            if let Some(store) = stores.get_mut(id) {
                store.we_stood_still();
            }
        }
        fx.changed("", "", "exporter_paused", format!(
                "the clocks of all lock servers seem to have jumped forward by {:.3} s: this host stood still for so long",
                first.micros as f64 / 1e6
            ));
    }
}

fn nodes(stores: &BTreeMap<StoreId, Store>) -> impl Iterator<Item = &Node> {
    stores.values().flat_map(|s| s.nodes.values())
}

fn each_open(
    stores: &mut BTreeMap<StoreId, Store>,
    is_meant: impl Fn(&Node) -> bool,
    decide: impl Fn(&mut NodeClock),
) {
    for node in stores.values_mut().flat_map(|s| s.nodes.values_mut()) {
        if node.clock.undecided.is_some() && is_meant(node) {
            decide(&mut node.clock);
        }
    }
}

/// This host's wall clock was set forward by the same, at about the same time: the servers go by it under names that do
/// not tell, or somebody sets all hosts.
fn was_host_set(host: &HostSteps, step: Step, since: Mono, poll: Duration) -> bool {
    host.last_step.is_some_and(|own| {
        let error = step.error.saturating_add((own.error * 1e6) as i64).max(SAME_MICROS);
        let apart = ((own.seconds * 1e6) as i64).saturating_sub(step.micros).saturating_abs();
        apart <= error && own.seen.plus(poll * WAIT) >= since
    })
}

fn is_same(a: Step, b: Step) -> bool {
    let error = a.error.saturating_add(b.error).max(SAME_MICROS);
    a.micros.saturating_sub(b.micros).saturating_abs() <= error
}

fn is_here(addr: &str) -> bool {
    host_of(addr).is_none()
}

/// The host part of an address in one spelling; `None` for this host, which servers behind a socket are on.
fn host_of(addr: &str) -> Option<String> {
    let (host, _) = addr.rsplit_once(':').filter(|_| !addr.starts_with('/'))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(ip) => Some(ip.to_canonical()).filter(|ip| !ip.is_loopback()).map(|ip| ip.to_string()),
        Err(_) => {
            let name = host.trim_end_matches('.').to_ascii_lowercase();
            (name != "localhost" && !name.ends_with(".localhost")).then_some(name)
        }
    }
}
