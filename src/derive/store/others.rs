//! Reads of nodes that are not the primary: replicas, and others that say master. They are only ever compared with the primary's.

use std::time::Duration;

use super::Store;
use crate::derive::fresh::is_fresh;
use crate::derive::lock::{Lock, Replicated, held_of};
use crate::derive::node::{Node, is_kin};
use crate::derive::replica::Compared;
use crate::derive::sight::Sight;
use crate::observe::{BatchRead, Found, KeyId, Line, Mono, NodeFacts, Role};

impl Store {
    /// Remembers what a node that says master shows, so that an owner that lets go there is known to have done so.
    pub(super) fn note_owners(&mut self, batch: &BatchRead) {
        for (key, sight) in sights(batch) {
            let lock = self.locks.get_mut(&key).filter(|l| l.line == batch.node.line);
            if let Some(lock) = lock.filter(|l| l.is_exclusive() && l.servers.is_none()) {
                lock.let_go.saw(&batch.node.addr, batch.connection, &sight);
            }
        }
    }

    /// Takes the reads of another node that says master too, if it is of the primary's history.
    pub(super) fn read_rival(&mut self, batch: &BatchRead) {
        let master = |addr| {
            let facts = self.nodes.get(addr)?.facts.as_ref();
            facts.filter(|f| f.role == Role::Master)
        };
        let line = self.lines.get(&batch.node.line);
        let ours = line.and_then(|l| l.primary.as_ref()).and_then(master);
        let theirs = master(&batch.node.addr);
        if !ours.zip(theirs).is_some_and(|(a, b)| is_kin(a, b)) {
            return;
        }
        for (key, sight) in sights(batch) {
            let lock = self.locks.get_mut(&key).filter(|l| l.line == batch.node.line);
            if let Some(lock) = lock {
                lock.read_rival(&batch.node.addr, sight);
            }
        }
    }

    /// Takes the reads of a replica. One that is cut off shows what was, and keeps what it has.
    pub(super) fn read_replica(&mut self, batch: &BatchRead, is_linked: bool) {
        let has = self.nodes.get(&batch.node.addr).and_then(|n| self.offset_of(n));
        if let Some((offset, at)) = has {
            for read in &batch.reads {
                let lock = self.locks.get_mut(&read.key);
                if let Some(unreplicated) = lock.and_then(|l| l.unreplicated.as_mut()) {
                    unreplicated.reached(offset, at);
                }
            }
        }
        // An offset of another history says nothing.
        let is_foreign = self.nodes.get(&batch.node.addr).is_some_and(|n| self.is_foreign(n));
        if !is_linked || is_foreign {
            return;
        }
        // It is the primary that writes the stream.
        let primary = self.primary(batch.node.line).and_then(|n| n.facts.as_ref());
        let is_relative = !primary.is_some_and(NodeFacts::replicates_instants);
        let (mut tried, mut undecided) = (0, 0);
        for (key, sight) in sights(batch) {
            // Replicas show keys one by one: what they show of a lock over several, or over several servers, is not compared.
            let is_compared =
                |l: &Lock| l.spread.is_none() && l.servers.is_none() && l.line == batch.node.line;
            let lock = self.locks.get_mut(&key).filter(|l| is_compared(l));
            let Some(lock) = lock else { continue };
            tried += 1;
            let compared = lock.read_replica(&batch.node.addr, sight, is_relative);
            undecided += u64::from(compared == Some(Compared::Undecided));
        }
        let node = self.node(&batch.node);
        node.confirmations.0 += tried;
        node.confirmations.1 += undecided;
    }
}

impl Store {
    /// How far a replica has the primary's stream, and as of when; `None` where it is not known to follow this history.
    fn offset_of(&self, replica: &Node) -> Option<(u64, Mono)> {
        let ours = self.history(replica.line)?.replid.as_ref()?;
        let is_replica = matches!(replica.role, Role::Replica { .. });
        let is_ours = replica.facts.as_ref().and_then(|f| f.replid.as_ref()) == Some(ours);
        replica.offset.filter(|_| is_replica && is_ours)
    }

    /// Whether a replica is known to follow another history than the primary's last.
    fn is_foreign(&self, replica: &Node) -> bool {
        let replid = |n: &Node| n.facts.as_ref().and_then(|f| f.replid.clone());
        self.primary(replica.line)
            .and_then(replid)
            .zip(replid(replica))
            .is_some_and(|(ours, own)| ours != own)
    }

    /// The primary's facts, if nothing happened since that may have begun another history.
    fn history(&self, line: Line) -> Option<&NodeFacts> {
        let facts = self.primary(line)?.facts.as_ref()?;
        let is_unbroken = self.lines.get(&line).is_some_and(|l| l.facts_breaks == l.breaks);
        Some(facts).filter(|f| f.role == Role::Master && is_unbroken)
    }

    /// The largest offset that any replica is known to have, by its own word or by what it acknowledged to the primary.
    pub(super) fn replicated(&self, line: Line, now: Mono, poll: Duration) -> Replicated {
        let facts = self.history(line)?;
        let told = self.nodes.values().filter(|n| n.line == line).filter_map(|n| self.offset_of(n));
        let told = told.filter(|(_, at)| is_fresh(Some(*at), now, poll)).map(|(offset, _)| offset);
        let is_recent = is_fresh(Some(facts.span.done), now, poll);
        let acknowledged = facts.replicas.iter().filter(|_| is_recent).filter_map(|(_, o)| *o);
        Some(told.chain(acknowledged).max())
    }
}

/// What a batch shows of each key that could be read.
fn sights(batch: &BatchRead) -> impl Iterator<Item = (KeyId, Sight)> {
    let readable = batch.reads.iter().filter(|r| !matches!(r.found, Found::Unreadable(_)));
    readable.map(|read| {
        let held = held_of(&read.found);
        let (span, time, offset) = (batch.span, batch.time, batch.offset);
        (read.key, Sight { span, time, offset, held })
    })
}
