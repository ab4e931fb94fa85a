//! The lines of a store: which node begins each, and which node is its primary.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tracing::{info, warn};

use super::{FORGOTTEN_AFTER, Node, Rank, Supervisor};
use crate::clock;
use crate::config::{RedisAddr, Store, Topology};
use crate::observe::{Line, Role};
use crate::poll::redis::links::{LineLink, Links};
use crate::poll::redis::messages::Seen;

/// Where each line begins.
pub(super) fn beginnings(store: &Store) -> Vec<(Line, RedisAddr)> {
    match store.topology {
        // Behind sentinels, what they name begins it; in a cluster, what the map of its slots tells.
        Topology::Sentinel(_) | Topology::Cluster => Vec::new(),
        Topology::Standalone | Topology::Auto => vec![(Line::default(), store.url.addr.clone())],
        Topology::Quorum => {
            let urls = std::iter::once(&store.url).chain(&store.further_urls);
            urls.zip(0..).map(|(url, n)| (Line(n), url.addr.clone())).collect()
        }
    }
}

/// Says so when an address of several servers of their own is a replica, or in a cluster: it votes for nothing.
pub(super) fn mistaken(store: &Store, addr: &str, node: &Node, was: Option<&Seen>) {
    let is_wrong = |s: &Seen| s.is_cluster || matches!(s.role, Role::Replica { .. });
    let is_listed = store.topology == Topology::Quorum && node.rank == Rank::Url;
    if is_listed && node.seen.as_ref().is_some_and(is_wrong) && !was.is_some_and(is_wrong) {
        warn!(store = %store.name, node = addr, "it is a replica or in a cluster, and `topology: quorum` wants primaries that \
            share nothing; list each of them once in `urls`, or use another topology");
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

    /// Lets nodes go that nobody announces any more. Not while no primary of their line could announce them, and not a
    /// primary or a replica of its history that answers: in a failover nobody announces the promoted replica for a while.
    /// Those that do not answer are missed. Sentinels name all that they know all the time.
    pub(super) fn drop_forgotten(&mut self) {
        let now = clock::mono();
        let patience = self.context.settings.poll_interval * FORGOTTEN_AFTER;
        let are_named = self.sentinels_verdict().is_some();
        let has_left = |n: &Node| self.cluster.as_ref().is_some_and(|c| !c.shards.has(n.line));
        let is_out = |a: &Arc<str>, n: &Node| match are_named {
            _ if has_left(n) => true,
            true => self.primaries.get(&n.line) != Some(a),
            false => !n.speaks_for_itself() && self.has_other_master(a, n.line),
        };
        let forgotten: Vec<Arc<str>> = self
            .nodes
            .iter()
            .filter(|(_, n)| n.rank >= Rank::Named && now.since(n.announced) > patience)
            .filter(|(_, n)| n.missed.is_none())
            .filter(|(a, n)| is_out(a, n) || self.is_detached(a, n, now))
            .map(|(a, _)| a.clone())
            .collect();
        for addr in forgotten {
            info!(store = %self.context.store.name, node = %addr, "not announced any more");
            if are_named || !self.miss(&addr, now) {
                self.remove(&addr);
            }
        }
        self.drop_missed(now);
        self.choose_primaries();
    }

    pub(super) fn has_other_master(&self, addr: &Arc<str>, line: Line) -> bool {
        self.of(line).any(|(a, n)| a != addr && n.is_master())
    }

    /// Says of each line who is its primary, to its nodes and to those who ask them.
    pub(super) fn choose_primaries(&mut self) {
        let mut lines = self.lines();
        if lines.is_empty() {
            // There is a line before its servers are known.
            lines.insert(Line::default());
        }
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
            all: {
                let nodes = self.nodes.values().map(|n| n.requests.clone());
                nodes.chain(self.sentinels.queues()).collect()
            },
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
        if let Some(verdict) = self.sentinels_verdict() {
            return self.primary_by(&verdict, stays.cloned());
        }
        let first = || {
            let masters = self.of(line).filter(|(_, n)| n.is_master());
            masters.min_by_key(|(_, n)| n.rank).map(|(a, _)| a)
        };
        stays.or_else(first).cloned()
    }

    fn link(&self, line: Line) -> LineLink {
        let primary = self.primaries.get(&line);
        let evicts = primary.and_then(|a| self.nodes.get(a)?.seen.as_ref()?.evicts);
        let primary =
            primary.and_then(|a| self.nodes.get(a).map(|n| (n.requests.clone(), a.clone())));
        let first = self.of(line).min_by_key(|(_, n)| n.rank);
        let why = first.map_or_else(|| self.sentinels.why(), |(_, n)| n.why);
        LineLink { primary, evicts, why }
    }
}
