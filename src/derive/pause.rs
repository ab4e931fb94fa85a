//! Whether a step of several lock servers' clocks was no step at all: when servers on different hosts seem to jump
//! forward together, this host stood still (a virtual machine was paused). A lone server cannot be told from a pause; its
//! step counts.

use std::collections::BTreeMap;
use std::time::Duration;

use super::clock::{NodeClock, Step};
use super::node::Node;
use super::store::Store;
use super::wanted::{Effects, Notice, Weight};
use crate::observe::{Mono, StoreId};

/// How long the other servers may take to show the same, in polls.
const WAIT: u32 = 2;
/// Jumps that differ by less were one pause: the servers were asked one after the other.
const SAME_MICROS: i64 = 50_000;

/// Decides on forward steps of which it was open whose they were.
pub fn settle_steps(
    stores: &mut BTreeMap<StoreId, Store>,
    now: Mono,
    poll: Duration,
    fx: &mut Effects,
) {
    let open: Vec<(StoreId, String, Step)> = stores
        .values()
        .flat_map(|s| s.nodes.values().map(|n| (s.id, n)))
        .filter_map(|(id, n)| Some((id, host_of(&n.addr).to_owned(), n.clock.undecided?)))
        .collect();
    let Some((_, host, first)) = open.first() else { return };
    let since = open.iter().map(|(_, _, step)| step.at).min().unwrap_or(now);
    let is_known = |n: &&Node| n.is_up && n.clock.last_asked().is_some();
    let shares = |n: &Node| n.clock.undecided.is_some_and(|step| is_same(step, *first));
    let has_others = nodes(stores).filter(is_known).any(|n| host_of(&n.addr) != host);
    // Asked after the step was seen, and nothing: it was the server's own.
    let is_denied =
        nodes(stores).filter(is_known).any(|n| !shares(n) && n.clock.last_asked() >= Some(since));
    let is_awaited = nodes(stores).filter(is_known).any(|n| !shares(n));
    let is_late = now.since(since) > poll * WAIT;
    if !has_others || is_denied || is_late {
        each_open(stores, NodeClock::step_is_theirs);
    } else if !is_awaited {
        each_open(stores, NodeClock::step_is_our_pause);
        for (id, _, _) in &open {
            if let Some(store) = stores.get_mut(id) {
                store.we_stood_still();
            }
        }
        fx.notices.push(Notice {
            weight: Weight::Change,
            store: "".into(),
            subject: "".into(),
            what: "exporter_paused",
            detail: format!(
                "the clocks of all lock servers seem to have jumped forward by {:.3} s: this host stood still for so long",
                first.micros as f64 / 1e6
            ),
        });
    }
}

fn nodes(stores: &BTreeMap<StoreId, Store>) -> impl Iterator<Item = &Node> {
    stores.values().flat_map(|s| s.nodes.values())
}

fn each_open(stores: &mut BTreeMap<StoreId, Store>, decide: impl Fn(&mut NodeClock)) {
    for node in stores.values_mut().flat_map(|s| s.nodes.values_mut()) {
        if node.clock.undecided.is_some() {
            decide(&mut node.clock);
        }
    }
}

fn is_same(a: Step, b: Step) -> bool {
    let error = a.error.saturating_add(b.error).max(SAME_MICROS);
    a.micros.saturating_sub(b.micros).saturating_abs() <= error
}

/// The host part of an address; servers behind a socket are on this host.
fn host_of(addr: &str) -> &str {
    match addr.rsplit_once(':') {
        Some((host, _)) if !addr.starts_with('/') => host,
        _ => "localhost",
    }
}
