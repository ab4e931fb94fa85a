//! Reads of nodes that are not the primary: replicas, and others that say master. They are only ever compared with the primary's.

use super::Store;
use crate::derive::lock::held_of;
use crate::derive::node::is_kin;
use crate::derive::replica::{Compared, Sight};
use crate::observe::{BatchRead, Found, KeyId, Role};

impl Store {
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
            if let Some(lock) = self.locks.get_mut(&key) {
                lock.read_rival(&batch.node.addr, sight);
            }
        }
    }

    pub(super) fn read_replica(&mut self, batch: &BatchRead) {
        let (mut tried, mut undecided) = (0, 0);
        for (key, sight) in sights(batch) {
            // Replicas show keys one by one: what they show of a lock over several is not compared.
            let lock = self.locks.get_mut(&key).filter(|l| l.spread.is_none());
            let Some(lock) = lock else { continue };
            tried += 1;
            undecided +=
                u64::from(lock.read_replica(&batch.node.addr, sight) == Some(Compared::Undecided));
        }
        let node = self.node(&batch.node);
        node.confirmations.0 += tried;
        node.confirmations.1 += undecided;
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
