//! What a store watches as the config and its scans change: keys and nodes come, wait through a reload, and go. Knows
//! nothing of what is read.

use std::time::Duration;

use super::lock::{Kept, Lock};
use super::spread::Spread;
use super::store::Store;
use super::words::Evidence;
use super::workers::Workers;
use crate::observe::lock::KeyWatched;
use crate::observe::{KeyId, Mono, StoreId};

/// A node that is polled tells something at least this often, however long it is down.
const LEAST_PATIENCE: Duration = Duration::from_secs(120);

/// Through a reload a lock of a group waits for so long to be found again: it is short-lived, and most are not.
const BRIEF: Duration = Duration::from_secs(60);

impl Store {
    /// The same store under a new id: a reload changed it. What is known of locks waits to be claimed by name.
    pub fn renumber(&mut self, id: StoreId) {
        self.id = id;
        self.break_all();
        // Pools are of the earlier config's entries.
        self.pools.clear();
        self.missed = Default::default();
        // Reloads may come faster than scans: what an earlier one parked is still waiting.
        self.further.clear();
        let locks = self.locks.take_all();
        self.parked.extend(locks.map(|l| (l.name.clone(), l)));
        self.parked_since = None;
        // Another address may be configured, or the same one may lead elsewhere: who is the primary is to be seen anew.
        for line in self.lines.values_mut() {
            (line.primary, line.led_by, line.feed) = (None, None, None);
        }
        self.sentinels = Default::default();
        for n in self.nodes.values_mut() {
            (n.connection, n.heard, n.is_up, n.slowlog.standing) = (None, None, false, None);
        }
    }

    /// A key is watched from now on.
    pub fn watch(&mut self, watched: &KeyWatched, workers: &mut Workers) {
        if let Some(first) = watched.with {
            let Some(lock) = self.locks.get_mut(&first) else { return };
            let spread = lock.spread.get_or_insert_with(|| {
                let mut all = Box::<Spread>::default();
                all.add(first);
                all
            });
            spread.add(watched.key);
            self.further.insert(watched.key, first);
            return;
        }
        self.servers = watched.rules.servers;
        let lock = match self.parked.remove(&watched.lock) {
            // One that comes from another group would take its counts along.
            Some(mut lock)
                if lock.key_text == watched.key_text && lock.rules.group == watched.rules.group =>
            {
                let old = (lock.store, lock.key);
                (lock.store, lock.key) = (self.id, watched.key);
                lock.rules = watched.rules.clone();
                lock.spread = None;
                lock.servers = Lock::new(watched, self.name.clone()).servers;
                workers.renumber(old, (lock.store, lock.key));
                lock
            }
            other => {
                if let Some(lock) = other {
                    self.let_go(&lock, None, workers);
                }
                Kept::new(Lock::new(watched, self.name.clone()))
            }
        };
        if let Some(before) = self.locks.remove(&watched.key) {
            self.let_go(&before, None, workers);
        }
        self.locks.insert(watched.key, lock);
    }

    /// The names of its locks, those that wait through a reload among them.
    pub fn lock_names(&self) -> impl Iterator<Item = &str> {
        self.locks.values().map(|l| &*l.name).chain(self.parked.keys().map(|name| &**name))
    }

    /// A pattern's key was absent for long.
    pub fn forget(&mut self, key: KeyId, workers: &mut Workers) {
        if let Some(lock) = self.locks.remove(&key) {
            self.let_go(&lock, None, workers);
        }
    }

    /// Nodes that neither answer nor fail are polled no more: announced once and gone, or of an earlier config.
    pub(super) fn drop_silent_nodes(&mut self, poll: Duration, now: Mono) {
        let patience = (poll * 20).max(LEAST_PATIENCE);
        self.nodes.retain(|_, n| n.heard.is_some_and(|at| now.since(at) <= patience));
        self.drop_empty_lines();
    }

    /// Once the first sweep under a new id ended, a key of the config that was not announced again is no longer
    /// configured. A pattern's key may have to be found yet, or be free: it is kept as long as any vanished one.
    pub(super) fn drop_parked(&mut self, workers: &mut Workers, at: Mono, retain: Duration) {
        let since = *self.parked_since.get_or_insert(at);
        let waited = at.since(since);
        let is_over = |l: &Lock| {
            let patience = if l.rules.group.is_some() { retain.min(BRIEF) } else { retain };
            l.rules.by_key || waited >= patience
        };
        let over: Vec<Kept> =
            self.parked.extract_if(|_, l| is_over(l)).map(|(_, lock)| lock).collect();
        for lock in over {
            self.let_go(&lock, Some(at), workers);
        }
    }

    /// A lock is not known any more: its holder does not hold it as far as anyone here can tell. What it has counted stays
    /// with its group, and ends that wait for evidence are counted without.
    fn let_go(&mut self, lock: &Lock, at: Option<Mono>, workers: &mut Workers) {
        let at = at.or(lock.seen.map(|s| s.span.done)).unwrap_or(Mono(0));
        for tenure in lock.tenures() {
            workers.release(&tenure.seat, (lock.store, lock.key), at);
        }
        self.gone.add(lock);
        if let Some(unknown) = self.lease_ends.get_mut(Evidence::Unknown as usize) {
            *unknown += lock.pending.len() as u64;
        }
    }
}
