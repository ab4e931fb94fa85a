//! The lines of a store: which node begins each, and which node is its primary.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tracing::info;

use super::{FORGOTTEN_AFTER, Node, Rank, Supervisor};
use crate::clock;
use crate::config::{RedisAddr, Store, Topology};
use crate::observe::Line;
use crate::poll::redis::links::{LineLink, Links};

/// Where each line begins.
pub(super) fn beginnings(store: &Store) -> Vec<(Line, RedisAddr)> {
    match store.topology {
        // The map of its slots tells.
        Topology::Cluster => Vec::new(),
        Topology::Standalone | Topology::Auto => vec![(Line::default(), store.url.addr.clone())],
    }
}

impl Supervisor {
    /// Lines of which a node is known.
    pub(super) fn lines(&self) -> BTreeSet<Line> {
        self.nodes.values().map(|n| n.line).collect()
    }

    fn of(&self, line: Line) -> impl Iterator<Item = (&Arc<str>, &Node)> {
        self.nodes.iter().filter(move |(_, n)| n.line == line)
    }

    /// Lets nodes go that nobody announces any more. Not while no primary of their line could announce them, and never a
    /// primary: in a failover nobody announces the promoted replica for a while.
    pub(super) fn drop_forgotten(&mut self) {
        let now = clock::mono();
        let patience = self.context.settings.poll_interval * FORGOTTEN_AFTER;
        let forgotten: Vec<Arc<str>> = self
            .nodes
            .iter()
            .filter(|(_, n)| n.rank == Rank::Announced && now.since(n.announced) > patience)
            .filter(|(a, n)| {
                let has_left = self.cluster.as_ref().is_some_and(|c| !c.shards.has(n.line));
                has_left || (!n.is_master() && self.has_other_master(a, n.line))
            })
            .map(|(a, _)| a.clone())
            .collect();
        for addr in forgotten {
            info!(store = %self.context.store.name, node = %addr, "not announced any more");
            self.remove(&addr);
        }
        self.choose_primaries();
    }

    fn has_other_master(&self, addr: &Arc<str>, line: Line) -> bool {
        self.of(line).any(|(a, n)| a != addr && n.is_master())
    }

    /// Says of each line who is its primary, to its nodes and to those who ask them.
    pub(super) fn choose_primaries(&mut self) {
        let lines = self.lines();
        self.primaries = lines
            .iter()
            .filter_map(|line| self.primary_of(*line).map(|primary| (*line, primary)))
            .collect();
        for (addr, node) in &self.nodes {
            let is_primary = self.primaries.get(&node.line) == Some(addr);
            node.scans.store(is_primary, Ordering::Relaxed);
        }
        let mut links = Links {
            lines: lines.into_iter().map(|line| (line, self.link(line))).collect(),
            all: self.nodes.values().map(|n| n.requests.clone()).collect(),
            by_slot: self.cluster.as_ref().map(|c| c.shards.by_slot()),
        };
        if let Some(why) = self.cluster.as_ref().and_then(|c| c.why) {
            links.lines.entry(Line::default()).or_default().why = Some(why);
        }
        self.links.send_replace(links);
    }

    /// The primary stays who it was while it says so: an old one that comes back does not take over by that.
    fn primary_of(&self, line: Line) -> Option<Arc<str>> {
        let is_master = |a: &&Arc<str>| self.nodes.get(*a).is_some_and(Node::is_master);
        let stays = self.primaries.get(&line).filter(is_master);
        let first = || {
            let masters = self.of(line).filter(|(_, n)| n.is_master());
            masters.min_by_key(|(_, n)| n.rank).map(|(a, _)| a)
        };
        stays.or_else(first).cloned()
    }

    fn link(&self, line: Line) -> LineLink {
        let primary = self.primaries.get(&line);
        let primary =
            primary.and_then(|a| self.nodes.get(a).map(|n| (n.requests.clone(), a.clone())));
        let why = self.of(line).min_by_key(|(_, n)| n.rank).and_then(|(_, n)| n.why);
        LineLink { primary, why }
    }
}
