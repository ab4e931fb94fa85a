//! Stores with their nodes as the API shows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::view::{NodeView, StoreView};

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
