//! Nodes of a line's history that nobody announces any more and that do not answer. A primary that a partition cut off from
//! its replica stops announcing it after a while, and that replica may be promoted on its side: forgotten for good, it would
//! never be seen as the second primary that it is. So it is asked in silence for as long as the config's `retain`, and shown
//! again once it answers with a history that is the line's; what else answers at its address is not. Bounded in count.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracing::info;

use super::{MAX_ALL, MAX_NODES, Supervisor};
use crate::clock;
use crate::observe::node::FailReason;
use crate::observe::{Line, Mono, Role};
use crate::poll::redis::member::Node;
use crate::poll::redis::messages::{History, Seen};

/// Missed nodes of a line at most; those that were missed first go first.
const MOST: usize = 8;

impl Supervisor {
    /// What is remembered of a node's history: what it says, if that is its line's.
    pub(super) fn history(
        &self,
        addr: &Arc<str>,
        line: Line,
        seen: &Seen,
        is_ours: bool,
    ) -> History {
        let Some(primary) = self.primaries.get(&line) else {
            // Whose history the line's is shows when it has a primary again.
            return self.nodes.get(addr).map(|n| n.history.clone()).unwrap_or_default();
        };
        let of_primary = self.nodes.get(primary).and_then(|n| n.seen.as_ref());
        match is_ours || primary == addr || of_primary.is_some_and(|p| seen.is_kin(&p.history)) {
            true => seen.history.clone(),
            false => History::default(),
        }
    }

    /// From now on a node is asked in silence; `false` if it is nothing to this line.
    pub(super) fn miss(&mut self, addr: &Arc<str>, now: Mono) -> bool {
        let shards = self.cluster.as_ref().map(|c| &c.shards);
        let Some(node) = self.nodes.get_mut(addr) else { return false };
        let is_of_history = node.history.iter().any(Option::is_some);
        let has_shard = shards.is_none_or(|shards| shards.has(node.line));
        let is_missed = node.seen.is_none() && is_of_history && has_shard;
        if is_missed {
            node.is_missed_since(now);
        }
        is_missed
    }

    /// Whether a node that connected may stay: one that was missed only if it goes on from the history it had, or from the
    /// primary's.
    pub(super) fn is_welcome(&mut self, addr: &Arc<str>, seen: &Seen) -> bool {
        let Some(node) = self.nodes.get(addr) else { return false };
        if node.missed.is_none() {
            return true;
        }
        let primary = self.primaries.get(&node.line).and_then(|p| self.nodes.get(p)?.seen.as_ref());
        let is_kin = seen.is_kin(&node.history) || primary.is_some_and(|p| seen.is_kin(&p.history));
        let is_server = matches!(seen.role, Role::Master | Role::Replica { .. });
        let store = &self.context.store.name;
        if !is_kin || !is_server {
            info!(%store, node = %addr, "another server answers there; it is let go");
            self.remove(addr);
            return false;
        }
        info!(%store, node = %addr, role = seen.role.as_str(), "answers again, though nobody announces it");
        let now = clock::mono();
        if let Some(node) = self.nodes.get_mut(addr) {
            node.announced = now;
            node.is_missed_no_more();
        }
        true
    }

    /// A node does not answer, any more or still.
    pub(super) fn down(&mut self, addr: &Arc<str>, why: FailReason) {
        if let Some(node) = self.nodes.get_mut(addr) {
            let was_up = node.seen.take().is_some();
            if was_up && node.history.iter().any(Option::is_some) {
                // Until now it spoke for itself.
                node.announced = clock::mono();
            }
            node.why = Some(why);
            // One that was missed and does not let us in is another server.
            let is_strange = matches!(why, FailReason::Auth | FailReason::Permission);
            if node.missed.is_some() && is_strange {
                self.remove(addr);
            }
            if was_up {
                self.doubt_map();
            }
        }
        self.choose_primaries();
    }

    /// Whether a second primary is one no more: made a server of its own for good, it was announced by nobody for as long as
    /// `retain`, and has none of the locks.
    pub(super) fn is_detached(&self, addr: &Arc<str>, node: &Node, now: Mono) -> bool {
        now.since(node.announced) > self.context.settings.retain
            && self.primaries.get(&node.line) != Some(addr)
            && self.has_other_master(addr, node.line)
            && node.seen.as_ref().is_some_and(|s| s.role == Role::Master && s.shows_no_lock)
    }

    /// Lets those go that were missed for too long, and the first ones where there are too many.
    pub(super) fn drop_missed(&mut self, now: Mono) {
        let retain = self.context.settings.retain;
        let mut missed = self.missed_since();
        missed.reverse();
        let mut of_line = BTreeMap::<Line, usize>::new();
        for (since, line, addr) in missed {
            let count = of_line.entry(line).or_default();
            *count += 1;
            if *count > MOST || now.since(since) > retain {
                info!(store = %self.context.store.name, node = %addr, "did not come back");
                self.remove(&addr);
            }
        }
    }

    /// Those that were missed make room for what is announced.
    pub(super) fn make_room(&mut self, line: Line) {
        let of_line = self.nodes.values().filter(|n| n.line == line).count();
        if of_line < MAX_NODES && self.nodes.len() < MAX_ALL {
            return;
        }
        let is_full = self.nodes.len() >= MAX_ALL;
        let first = self.missed_since().into_iter().find(|(_, of, _)| is_full || *of == line);
        if let Some((_, _, addr)) = first {
            self.remove(&addr);
        }
    }

    /// All that are missed, the longest first.
    fn missed_since(&self) -> Vec<(Mono, Line, Arc<str>)> {
        let missed = |(a, n): (&Arc<str>, &Node)| Some((n.missed?, n.line, a.clone()));
        let mut missed: Vec<_> = self.nodes.iter().filter_map(missed).collect();
        missed.sort();
        missed
    }
}
