//! What one word for all locks of groups that did not change means for them. Those at rest are touched by nothing but that
//! word; the others are told one by one as they were, and come to rest once it is known that nothing goes on at them.
//!
//! Where a view of another node would have to be held against each of them, as with replicas, none rests.

use super::Store;
use super::settle::{marks, pool_of};
use crate::derive::host::StallRules;
use crate::derive::lock::{Kept, Learned, Lock, Probe};
use crate::derive::tenure::Seen;
use crate::derive::wanted::{Effects, Wanted};
use crate::derive::words::Signal;
use crate::derive::workers::Workers;
use crate::observe::lock::Unchanged;
use crate::observe::{BatchRead, Found, KeyId, KeyRead};

/// Locks that are asked for at a time because it is not known what they showed last.
const MOST_ASKED: usize = 1000;

impl Store {
    /// Takes that locks of groups did not change.
    pub fn unchanged(
        &mut self,
        word: &Unchanged,
        stalls: StallRules,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let (line, now) = (word.probe.node.line, word.probe.span.done);
        let probe = self.probe(&word.probe, workers, stalls);
        if let Some(probe) = probe.filter(|p| self.locks.goes_on(line, p, stalls.poll)) {
            word.except.iter().for_each(|key| self.locks.wake(*key));
            let pools = &self.pools;
            let learned = |entry| Learned::of(pools.get(&entry), now);
            self.locks.wake_due(line, &probe.seen, stalls.poll, learned);
        } else {
            self.locks.wake_line(line);
        }
        if let Some(probe) = probe {
            self.locks.seen(line, probe);
        }
        let is_told = |lock: &Kept| {
            is_covered(lock)
                && lock.line == line
                && lock.key <= word.last
                && word.except.binary_search(&lock.key).is_err()
        };
        let told = || self.locks.awake().filter(|(_, lock)| is_told(lock));
        let unknown = told().filter(|(_, lock)| lock.shown().is_none()).take(MOST_ASKED);
        let store = self.id;
        fx.wanted.extend(unknown.map(|(key, _)| Wanted::Key { store, key: *key, at: now }));
        // Those that are not there are told by themselves.
        let is_there = |found: &&Found| matches!(found, Found::Present { .. });
        let read = |(key, lock): (&KeyId, &Kept)| {
            Some(KeyRead { key: *key, found: lock.shown().filter(is_there)?.clone() })
        };
        let reads: Vec<KeyRead> = told().filter_map(read).collect();
        let keys: Vec<KeyId> = reads.iter().map(|r| r.key).collect();
        self.batch(&BatchRead { reads, ..word.probe.clone() }, stalls, workers, fx);
        let Some(probe) = probe else { return };
        for key in keys {
            let lock = self.locks.get(&key).filter(|lock| may_rest(lock, &probe));
            if let Some(entry) = lock.map(|lock| pool_of(&lock.rules)) {
                self.locks.rest(key, entry, stalls.poll);
            }
        }
    }

    /// The read that stands for those of all locks at rest; `None` if none may rest.
    fn probe(&self, read: &BatchRead, workers: &Workers, stalls: StallRules) -> Option<Probe> {
        let (node, line) = (self.nodes.get(&read.node.addr)?, self.lines.get(&read.node.line)?);
        let replicated = self.replicated(read.node.line, read.span.done, stalls.poll);
        let may_rest = self.leads(&read.node)
            && self.nodes.len() == 1
            && self.servers.is_none()
            && self.owners.is_empty()
            && workers.lists.is_empty()
            && !node.clock.is_standing()
            && replicated.flatten().is_none();
        let seen = Seen { span: read.span, time: read.time, marks: marks(node, line) };
        let is_alone = replicated.is_some();
        may_rest.then_some(Probe { seen, offset: read.offset, is_alone })
    }
}

/// Whether one word tells it: a lock of a group that a pattern found.
pub(super) fn is_covered(lock: &Lock) -> bool {
    lock.rules.group.is_some() && !lock.rules.by_key && lock.servers.is_none()
}

/// Whether nothing but that word need be known of a lock that was just read, for now.
fn may_rest(lock: &Kept, probe: &Probe) -> bool {
    lock.is_still()
        && lock.seen.is_some_and(|seen| seen.span == probe.seen.span)
        && lock.look.is_none()
        && lock.renewers.is_forgotten()
        && Signal::ALL.iter().all(|s| lock.signals.rises(*s) == 0)
}
