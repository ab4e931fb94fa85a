//! Stores with their nodes and lists of live workers as the API shows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::view::{ListView, NodeView, StoreView};

#[derive(Debug, Serialize)]
pub(super) struct Store<'a> {
    name: &'a str,
    fresh: bool,
    ownerless_keys: u64,
    ownerless_examples: &'a [Arc<str>],
    refused_keys: u64,
    refused_examples: &'a [Arc<str>],
    dropped: BTreeMap<&'static str, u64>,
    nodes: Vec<Node<'a>>,
    lists: Vec<List<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct List<'a> {
    name: &'a str,
    preset: &'static str,
    fresh: bool,
    members: Option<u64>,
    age_seconds: Option<f64>,
    has_named: bool,
    failure: Option<Unread<'a>>,
}

#[derive(Debug, Serialize)]
struct Unread<'a> {
    reason: &'static str,
    detail: &'a str,
}

#[derive(Debug, Serialize)]
struct Node<'a> {
    addr: &'a str,
    up: bool,
    failure: Option<Failure<'a>>,
    role: Option<&'static str>,
    version: Option<&'a str>,
    slow_log: Option<SlowLog>,
}

#[derive(Debug, Serialize)]
struct SlowLog {
    lost: Option<&'static str>,
    lock_entries: Option<u64>,
    cut_entries: u64,
    missed_entries: u64,
}

#[derive(Debug, Serialize)]
struct Failure<'a> {
    reason: &'static str,
    detail: &'a str,
    seconds: f64,
}

/// A node with what tells one server, and one life of it, from another.
#[derive(Debug, Serialize)]
pub(super) struct Server<'a> {
    #[serde(flatten)]
    node: Node<'a>,
    flavor: Option<&'a str>,
    run_id: Option<&'a str>,
    restarts: u64,
    replica_lag_bytes: Option<u64>,
    replica_link_up: Option<bool>,
    connected_replicas: Option<u64>,
}

pub(super) fn describe_servers(store: &StoreView) -> Vec<Server<'_>> {
    let describe = |node| {
        let NodeView { facts, restarts, .. }: &NodeView = node;
        let facts = facts.as_ref();
        Server {
            node: describe_node(node),
            flavor: facts.map(|f| &*f.flavor),
            run_id: facts.and_then(|f| f.run_id.as_deref()),
            restarts: *restarts,
            replica_lag_bytes: facts.and_then(|f| f.lag_bytes),
            replica_link_up: facts.and_then(|f| f.link_up),
            connected_replicas: facts.and_then(|f| f.connected_replicas),
        }
    };
    store.nodes.iter().map(describe).collect()
}

pub(super) fn describe_lists(store: &StoreView) -> Vec<List<'_>> {
    store.lists.iter().map(describe_list).collect()
}

pub(super) fn describe_store(store: &StoreView) -> Store<'_> {
    Store {
        name: &store.name,
        fresh: store.fresh,
        ownerless_keys: store.ownerless.count,
        ownerless_examples: &store.ownerless.examples,
        refused_keys: store.refused.count,
        refused_examples: &store.refused.examples,
        dropped: store.dropped.iter().copied().collect(),
        nodes: store.nodes.iter().map(describe_node).collect(),
        lists: store.lists.iter().map(describe_list).collect(),
    }
}

fn describe_list(list: &ListView) -> List<'_> {
    List {
        name: &list.name,
        preset: list.preset,
        fresh: list.fresh,
        members: list.read.map(|(n, _)| n),
        age_seconds: list.read.map(|(_, age)| age),
        has_named: list.has_named,
        failure: list
            .failure
            .as_ref()
            .map(|(reason, detail)| Unread { reason: reason.as_str(), detail }),
    }
}

fn describe_node(node: &NodeView) -> Node<'_> {
    let facts = node.facts.as_ref();
    Node {
        addr: &node.addr,
        up: node.up,
        failure: node.failure.as_ref().map(|(reason, detail, seconds)| Failure {
            reason: reason.as_str(),
            detail,
            seconds: *seconds,
        }),
        role: facts.map(|f| f.role),
        version: facts.map(|f| &*f.version),
        slow_log: node.slowlog.as_ref().map(|log| SlowLog {
            lost: log.lost.map(|reason| reason.as_str()),
            lock_entries: log.entries,
            cut_entries: log.cut,
            missed_entries: log.missed,
        }),
    }
}
