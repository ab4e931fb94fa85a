//! Series of a store and of its nodes. What rests on the locks' reads is withheld while those are old; counters of what
//! the exporter itself saw stay.

use crate::expose::catalogue::{lock, store as cat};
use crate::expose::sheet::{Sheet, flag};
use crate::view::{Evidence, NodeFactsView, NodeView, StoreView};

const ROLES: [&str; 4] = ["master", "replica", "sentinel", "unknown"];

/// Adds the store's series and those of its nodes.
pub fn add(sheet: &mut Sheet, store: &StoreView) {
    let name = &*store.name;
    for node in &store.nodes {
        add_node(sheet, name, node);
    }
    sheet.add_some(&cat::PRIMARIES, [name], store.primaries.map(|n| n as f64));
    sheet.add_some(&cat::SENTINELS_DISAGREE, [name], store.sentinels_disagree.map(flag));
    sheet.add(&cat::FAILOVERS, [name], store.failovers as f64);
    sheet.add(&cat::LOST_BYTES, [name], store.failover_lost_bytes as f64);
    for evidence in Evidence::ALL {
        let ends = store.lease_ends.iter().find(|(e, _)| e == evidence).map_or(0, |(_, n)| *n);
        sheet.add(&cat::LEASE_ENDS, [name, evidence.as_str()], ends as f64);
    }
    for (reason, n) in &store.dropped {
        sheet.add(&cat::LOCKS_DROPPED, [name, reason], *n as f64);
    }
    sheet.add(&cat::WORKERS_DROPPED, [name], store.workers_dropped as f64);
    if !store.fresh {
        return;
    }
    // None is known, and what keys there are may not be read: that is not none.
    if store.counted && (store.held + store.free > 0 || store.refused.count == 0) {
        sheet.add(&cat::LOCKS, [name, "held"], store.held as f64);
        sheet.add(&cat::LOCKS, [name, "free"], store.free as f64);
    }
    for (signal, n) in &store.flagged {
        sheet.add(&cat::LOCKS_FLAGGED, [name, signal.as_str()], *n as f64);
    }
    for (aspect, reason, n) in &store.blind {
        sheet.add(&cat::LOCKS_BLIND, [name, aspect.as_str(), reason.as_str()], *n as f64);
    }
}

fn add_node(sheet: &mut Sheet, store: &str, node: &NodeView) {
    let addr = &*node.addr;
    let at = [store, addr];
    sheet.add(&cat::UP, at, flag(node.up));
    sheet.add(&cat::RESTARTS, at, node.restarts as f64);
    for (command, refused) in &node.permissions {
        sheet.add(&cat::PERMISSION_DENIED, [store, addr, command], flag(*refused));
    }
    sheet.add_some(&cat::EVENT_GAP, at, node.event_gap_seconds);
    let slow = node.slowlog.as_ref().and_then(|log| log.entries);
    sheet.add_some(&cat::SLOWLOG_ENTRIES, at, slow.map(|n| n as f64));
    let Some(facts) = &node.facts else { return };
    add_facts(sheet, store, addr, facts);
    // A sentinel tells no time.
    if facts.role != "sentinel" {
        sheet.add(&cat::CLOCK_STEPS, [store, addr, "forward"], node.clock_steps.0 as f64);
        sheet.add(&cat::CLOCK_STEPS, [store, addr, "backward"], node.clock_steps.1 as f64);
    }
    sheet.add_some(&cat::CLOCK_STEP, at, node.clock_step_seconds);
    if let Some((tried, undecided)) = node.confirmations {
        sheet.add(&lock::CONFIRMATIONS, at, tried as f64);
        sheet.add(&lock::CONFIRM_UNKNOWN, at, undecided as f64);
    }
}

fn add_facts(sheet: &mut Sheet, store: &str, addr: &str, facts: &NodeFactsView) {
    let at = [store, addr];
    let NodeFactsView { version, flavor, mode, maxmemory_policy, .. } = facts;
    sheet.add(&cat::INFO, [store, addr, version, flavor, mode, maxmemory_policy], 1.0);
    let role = if ROLES.contains(&facts.role) { facts.role } else { "unknown" };
    for each in ROLES {
        sheet.add(&cat::ROLE, [store, addr, each], flag(each == role));
    }
    let count = |n: Option<u64>| n.map(|n| n as f64);
    sheet.add_some(&cat::LAG, at, count(facts.lag_bytes));
    sheet.add_some(&cat::LINK_UP, at, facts.link_up.map(flag));
    sheet.add_some(&cat::CONNECTED_REPLICAS, at, count(facts.connected_replicas));
    sheet.add_some(&cat::MIN_REPLICAS, at, count(facts.min_replicas_to_write));
    sheet.add_some(&cat::DURABLE, at, facts.durable.map(flag));
    sheet.add_some(&cat::EVICTS, at, facts.evicts_locks.map(flag));
    sheet.add_some(&cat::RTT, at, facts.rtt_seconds);
    // An offset without its error says nothing, so both must be numbers.
    if let Some((offset, error)) = facts.clock_offset
        && offset.is_finite()
        && error.is_finite()
    {
        sheet.add(&cat::CLOCK_OFFSET, at, offset);
        sheet.add(&cat::CLOCK_OFFSET_ERROR, at, error);
    }
    sheet.add_some(&cat::SKEW_BOUND, at, facts.skew_bound_seconds);
    sheet.add_some(&cat::CLOCK_FROZEN, at, facts.clock_frozen.map(flag));
    sheet.add_some(&cat::RESTART_UNSAFE, at, facts.restart_unsafe.map(flag));
    sheet.add_some(&cat::EVICTED_KEYS, at, count(facts.evicted_keys));
    sheet.add_some(&cat::EXPIRED_KEYS, at, count(facts.expired_keys));
    sheet.add_some(&cat::CONNECTIONS_RECEIVED, at, count(facts.connections_received));
    for (library, version, n) in facts.clients.iter().flatten() {
        sheet.add(&cat::CLIENTS, [store, addr, library, version], *n as f64);
    }
    sheet.add_some(&cat::REJECTED_CONNECTIONS, at, count(facts.rejected_connections));
}
