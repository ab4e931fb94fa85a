//! What the supervisor does where the store is a cluster: nodes and lines come from the map of its slots, and each line reads
//! the keys of its own slots.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tracing::{info, warn};

use super::{Closed, Rank, Supervisor};
use crate::clock;
use crate::config::{RedisAddr, Topology};
use crate::observe::node::{FailReason, NodeFailed};
use crate::observe::poll::PollDone;
use crate::observe::{KeyId, Line, NodeRef, Observation, Span};
use crate::poll::redis::cluster::key_slot::slot_of;
use crate::poll::redis::cluster::map::SlotMap;
use crate::poll::redis::cluster::redirect::Redirect;
use crate::poll::redis::cluster::shards::Shards;
use crate::poll::redis::cluster::watch::MapWatch;
use crate::poll::redis::dial::addr_text;
use crate::poll::redis::failure::Failure;
use crate::poll::redis::keys::KeyList;
use crate::poll::redis::messages::Seen;

/// A store that is a cluster.
pub(super) struct Cluster {
    pub(super) shards: Shards,
    /// Wakes the task that asks for the map.
    doubt: Arc<Notify>,
    /// Ends it when it is dropped.
    _asks: watch::Sender<()>,
    /// Why there is no map at all.
    pub(super) why: Option<FailReason>,
    unassigned: usize,
}

impl Supervisor {
    /// From now on the store is a cluster.
    pub(super) fn begin_cluster(&mut self) {
        let doubt = Arc::new(Notify::new());
        let (asks, ended) = watch::channel(());
        let watch = MapWatch::new(self.context.clone(), doubt.clone());
        self.tasks.spawn(watch.run(ended));
        let shards = Shards::default();
        self.cluster = Some(Cluster { shards, doubt, _asks: asks, why: None, unassigned: 0 });
    }

    /// A server that was taken for one of a primary with its replicas says that it is one of a cluster.
    pub(super) fn is_found_to_be_cluster(&mut self, seen: &Seen) -> bool {
        let is_auto = self.context.store.topology == Topology::Auto && self.cluster.is_none();
        if !is_auto || !seen.is_cluster {
            return false;
        }
        info!(store = %self.context.store.name, "the server is one of a cluster; its shards are read");
        if !self.context.store.replicas.is_empty() {
            warn!(store = %self.context.store.name, "`replicas` is of no use in a cluster, which tells of all its nodes");
        }
        let all: Vec<Arc<str>> = self.nodes.keys().cloned().collect();
        all.iter().for_each(|addr| self.remove(addr));
        self.begin_cluster();
        true
    }

    /// A node told which shard has which slots.
    pub(super) fn slots(&mut self, map: SlotMap) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.why = None;
        let is_new = cluster.shards.take(map);
        let unassigned = cluster.shards.unassigned();
        if std::mem::replace(&mut cluster.unassigned, unassigned) == 0 && unassigned > 0 {
            warn!(store = %self.context.store.name, slots = unassigned,
                "no shard has some of the cluster's slots; locks in those can be neither taken nor read");
        }
        let members: Vec<(Line, RedisAddr, bool)> = cluster
            .shards
            .all()
            .flat_map(|(line, shard)| {
                let is_primary = |addr: &RedisAddr| *addr == shard.primary.addr;
                shard.members().map(move |m| (line, m.addr.clone(), is_primary(&m.addr)))
            })
            .collect();
        let mut named = BTreeSet::new();
        for (line, addr, is_primary) in members {
            let name = addr_text(&addr);
            // A replica that went to another shard is polled there from now on, as a new one.
            if self.nodes.get(&name).is_some_and(|n| n.line != line) {
                self.remove(&name);
            }
            self.add(addr, Rank::Announced, line);
            if let Some(node) = self.nodes.get_mut(&name) {
                // Who leads by the word of the others is the first choice among those that say so themselves.
                node.rank = if is_primary { Rank::Named } else { Rank::Announced };
            }
            named.insert(name);
        }
        for (name, node) in &mut self.nodes {
            if !named.contains(name) {
                node.rank = Rank::Announced;
            }
        }
        let nodes = &self.nodes;
        self.agendas.retain(|line, _| nodes.values().any(|n| n.line == *line));
        if is_new {
            self.publish();
            self.choose_primaries();
        }
    }

    /// No node told.
    pub(super) async fn no_slots(
        &mut self,
        addr: RedisAddr,
        failure: Failure,
    ) -> Result<(), Closed> {
        let Some(cluster) = self.cluster.as_mut().filter(|c| c.shards.all().next().is_none())
        else {
            // The nodes themselves say how they are.
            return Ok(());
        };
        cluster.why = Some(failure.reason);
        let (at, reason) = (clock::mono(), failure.reason);
        let addr = addr_text(&addr);
        let node = NodeRef { store: self.context.id, line: Line::default(), addr: addr.clone() };
        self.send(Observation::NodeFailed(NodeFailed { node, at, reason, detail: failure.detail }))
            .await?;
        let poll = PollDone {
            poller: "redis",
            target: format!("{}/{addr}", self.context.store.name).into(),
            interval: self.context.settings.poll_interval,
            span: Span { sent: at, done: at },
            busy: Default::default(),
            failure: Some(reason),
        };
        self.send(Observation::Poll(poll)).await?;
        self.choose_primaries();
        Ok(())
    }

    /// A node is not the one to ask for some keys.
    pub(super) fn strays(&mut self, addr: &Arc<str>, strays: Vec<(KeyId, Redirect)>) {
        let line = self.nodes.get(addr).map(|n| n.line);
        let Some((line, cluster)) = line.zip(self.cluster.as_mut()) else { return };
        let is_primary = self.primaries.get(&line) == Some(addr);
        let mut is_changed = false;
        for (id, to) in strays.into_iter().filter(|_| is_primary) {
            is_changed |= match to {
                Redirect::Ask(Some(target)) => {
                    let target = self.aliases.get(&target).map_or(&target, |(kept, _)| kept);
                    let target = self.nodes.get(target).map(|n| n.line).filter(|l| *l != line);
                    target.is_some_and(|target| cluster.shards.ask(id, target))
                }
                Redirect::Moved => cluster.shards.not_there(id, line),
                Redirect::Ask(None) | Redirect::Nobody => false,
            };
        }
        cluster.doubt.notify_one();
        if is_changed {
            self.publish();
        }
    }

    /// A node failed: another may lead its shard soon.
    pub(super) fn doubt_map(&self) {
        if let Some(cluster) = &self.cluster {
            cluster.doubt.notify_one();
        }
    }

    /// Only keys of a line's own slots are taken from its scan: what a node still has of others is not looked at by anybody.
    pub(super) fn own(&self, line: Line, mut found: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        if let Some(cluster) = &self.cluster {
            found.retain(|key| cluster.shards.owner(slot_of(key)) == Some(line));
        }
        found
    }

    /// Gives each line the keys that it reads, and the patterns that it looks for.
    pub(super) fn publish(&mut self) {
        let all = self.keys.list();
        let Some(cluster) = &mut self.cluster else {
            self.agendas.values().for_each(|agenda| drop(agenda.keys.send_replace(all.clone())));
            return;
        };
        cluster.shards.settle(|id| {
            let at = all.binary_search_by_key(&id, |w| w.id).ok()?;
            all.get(at).map(|w| w.slot)
        });
        for (line, agenda) in &self.agendas {
            let is_here = |slot, id| cluster.shards.line_of(id, slot) == Some(*line);
            let keys = all.iter().filter(|w| is_here(w.slot, w.id)).cloned().collect();
            agenda.keys.send_if_modified(|old| is_other(old, keys));
            let patterns = cluster.shards.patterns(*line, &self.context.patterns);
            agenda.patterns.send_if_modified(|old| {
                let is_other = **old != patterns;
                if is_other {
                    *old = patterns.into();
                }
                is_other
            });
        }
    }
}

fn is_other(old: &mut KeyList, new: Vec<Arc<crate::poll::redis::keys::WatchedKey>>) -> bool {
    let is_same = old.len() == new.len() && old.iter().zip(&new).all(|(a, b)| Arc::ptr_eq(a, b));
    if !is_same {
        *old = Arc::new(new);
    }
    !is_same
}
