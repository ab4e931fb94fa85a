//! Stores with their nodes, and workers, as the API shows them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Coverage;
use crate::expose::families::worker;
use crate::view::{NodeView, StoreView, WorkerView};

#[derive(Debug, Serialize)]
pub(super) struct Store<'a> {
    name: &'a str,
    fresh: bool,
    ownerless_keys: u64,
    nodes: Vec<Node<'a>>,
}

#[derive(Debug, Serialize)]
struct Node<'a> {
    addr: &'a str,
    up: bool,
    failure: Option<Failure<'a>>,
    role: Option<&'static str>,
    version: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Failure<'a> {
    reason: &'static str,
    detail: &'a str,
    seconds: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Worker<'a> {
    name: &'a str,
    sources: BTreeMap<&'static str, WorkerSource>,
    heartbeat_age_seconds: Option<f64>,
    heartbeat_frozen_after_seconds: Option<f64>,
    process_state: Option<&'static str>,
    coverage_lost: Vec<Coverage>,
}

#[derive(Debug, Serialize)]
struct WorkerSource {
    alive: bool,
    lost_seconds: Option<f64>,
}

pub(super) fn describe_store(store: &StoreView) -> Store<'_> {
    Store {
        name: &store.name,
        fresh: store.fresh,
        ownerless_keys: store.ownerless,
        nodes: store.nodes.iter().map(describe_node).collect(),
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
    }
}

pub(super) fn describe_worker(view: &WorkerView) -> Worker<'_> {
    Worker {
        name: &view.name,
        sources: view
            .sources
            .iter()
            .map(|(source, alive, lost)| {
                (source.as_str(), WorkerSource { alive: *alive, lost_seconds: *lost })
            })
            .collect(),
        heartbeat_age_seconds: view.heartbeat_age_seconds,
        heartbeat_frozen_after_seconds: view.frozen_after_seconds,
        process_state: worker::state(view),
        coverage_lost: view
            .coverage_lost
            .iter()
            .map(|(aspect, reason)| Coverage { aspect, reason })
            .collect(),
    }
}
