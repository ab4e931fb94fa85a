//! Reads of nodes that are not the primary: replicas, and others that say master. They are only ever compared with the primary's.

use super::Store;
use crate::derive::lock::held_of;
use crate::derive::node::{Node, is_kin};
use crate::derive::replica::{Compared, Sight};
use crate::observe::{BatchRead, NodeFacts, Role};

impl Store {
    /// Takes the reads of another node that says master too, if it is of the primary's history.
    pub(super) fn read_rival(&mut self, batch: &BatchRead) {
        let facts = |node: Option<&Node>| node.and_then(|n| n.facts.clone());
        let ours = facts(self.primary.as_ref().and_then(|p| self.nodes.get(p)));
        let theirs = facts(self.nodes.get(&batch.node.addr));
        let are_two = |(a, b): (NodeFacts, NodeFacts)| {
            a.role == Role::Master && b.role == Role::Master && is_kin(&a, &b)
        };
        if !ours.zip(theirs).is_some_and(are_two) {
            return;
        }
        for read in &batch.reads {
            let Some(lock) = self.locks.get_mut(&read.key) else { continue };
            if matches!(read.found, crate::observe::Found::Unreadable(_)) {
                continue;
            }
            let (span, time, offset) = (batch.span, batch.time, batch.offset);
            lock.read_rival(
                &batch.node.addr,
                Sight { span, time, offset, held: held_of(&read.found) },
            );
        }
    }

    pub(super) fn read_replica(&mut self, batch: &BatchRead) {
        let (mut tried, mut undecided) = (0, 0);
        for read in &batch.reads {
            let Some(lock) = self.locks.get_mut(&read.key) else { continue };
            // Replicas show keys one by one: what they show of a lock over several is not compared.
            let is_part = lock.spread.is_some();
            if is_part || matches!(read.found, crate::observe::Found::Unreadable(_)) {
                continue;
            }
            let sight = Sight {
                span: batch.span,
                time: batch.time,
                offset: batch.offset,
                held: held_of(&read.found),
            };
            tried += 1;
            undecided +=
                u64::from(lock.read_replica(&batch.node.addr, sight) == Some(Compared::Undecided));
        }
        let node = self.node(&batch.node.addr);
        node.confirmations.0 += tried;
        node.confirmations.1 += undecided;
    }
}
