//! Which keys of one store are watched, and under which lock name. Pure: configured keys are there from the start, keys
//! that SCAN found come and go. Must stay bounded whatever the server holds: each pattern has its `max_locks`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::glob;
use super::kept::Kept;
use super::naming::lock_name;
use crate::config::{LockConfig, LockKeys, LockRules};
use crate::format;
use crate::observe::lock::KeyWatched;
use crate::observe::{KeyId, Observation, StoreId, label};

/// Longest key that a pattern may bring; keys travel in every request.
const MAX_KEY: usize = 4096;
/// Dropped keys that are told apart; beyond it each sighting counts.
const MAX_TOLD_APART: usize = 1 << 16;

/// A watched key, as the pollers of all nodes share it.
#[derive(Debug)]
pub struct WatchedKey {
    /// Its number.
    pub id: KeyId,
    /// The key itself.
    pub key: Vec<u8>,
    /// What the config says of its lock.
    pub rules: Arc<LockRules>,
    /// Found by a pattern, and forgotten again when it stays away.
    pub found: bool,
    /// Which entry of the store's locks it belongs to.
    entry: usize,
    /// The lock's name.
    lock: Arc<str>,
}

/// All watched keys at one time, by rising number.
pub type KeyList = Arc<Vec<Arc<WatchedKey>>>;

/// Why a key is not watched.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Reason {
    MaxLocks,
    DuplicateName,
}

/// The registry.
pub struct Keys {
    store: StoreId,
    entries: Vec<LockConfig>,
    watched: BTreeMap<KeyId, Arc<WatchedKey>>,
    by_key: HashMap<Vec<u8>, KeyId>,
    names: HashSet<Arc<str>>,
    /// Watched keys of each entry.
    counts: Vec<usize>,
    next: u64,
    hasher: RandomState,
    dropped: HashSet<(u64, Reason)>,
    /// Those of the last round.
    dropped_before: HashSet<(u64, Reason)>,
    overflow: u64,
    told: Option<Vec<(&'static str, u64)>>,
    /// All patterns were scanned once.
    has_scanned: bool,
    kept: Kept,
    /// Told to have gone so often in a row, a kept key is forgotten all the same.
    keeps: u32,
    /// Keys that gave way to others, until that is told.
    gave_way: Vec<Observation>,
}

impl Keys {
    /// The configured keys of a store, and what is to be told of them.
    pub fn new(store: StoreId, entries: &[LockConfig], keeps: u32) -> (Self, Vec<Observation>) {
        let mut keys = Self {
            store,
            entries: entries.to_vec(),
            watched: BTreeMap::new(),
            by_key: HashMap::new(),
            names: HashSet::new(),
            counts: vec![0; entries.len()],
            next: 0,
            hasher: RandomState::new(),
            dropped: HashSet::new(),
            dropped_before: HashSet::new(),
            overflow: 0,
            told: None,
            has_scanned: false,
            kept: Kept::default(),
            keeps,
            gave_way: Vec::new(),
        };
        let mut told = Vec::new();
        for (entry, config) in entries.iter().enumerate() {
            if let LockKeys::One { name, key } = &config.keys {
                let fresh = !keys.by_key.contains_key(key) && !keys.names.contains(name);
                if fresh {
                    told.extend(keys.watch(entry, key, name.clone(), false));
                } else {
                    keys.drop_key(key, Reason::DuplicateName);
                }
            }
        }
        told.extend(keys.tell_dropped());
        (keys, told)
    }

    /// Patterns for SCAN.
    pub fn patterns(&self) -> Vec<Vec<u8>> {
        let pattern = |e: &LockConfig| match &e.keys {
            LockKeys::Matching { pattern, .. } => Some(pattern.clone()),
            LockKeys::One { .. } => None,
        };
        self.entries.iter().filter_map(pattern).collect()
    }

    /// A key that SCAN saw; watched from now on if it is new, is a lock of some entry and fits.
    pub fn offer(&mut self, key: &[u8]) -> Option<Observation> {
        // What a library keeps beside a lock is no lock, and is not missed; who names its key wants it all the same.
        if let Some(id) = self.by_key.get(key) {
            if let Some(known) = self.watched.get(id) {
                self.kept.is_there(known.entry, *id);
            }
            return None;
        }
        if format::is_companion(key) {
            return None;
        }
        let (entry, name, max_locks) = self.entries.iter().enumerate().find_map(|(i, e)| {
            let LockKeys::Matching { name, pattern, capture, max_locks } = &e.keys else {
                return None;
            };
            let fits = glob::matches(pattern, key);
            fits.then(|| lock_name(name, capture.as_ref(), key))
                .flatten()
                .map(|n| (i, n, *max_locks))
        })?;
        // First, because a higher limit would not help it; and else the reason would change once the limit is reached.
        if self.names.contains(name.as_str()) {
            self.drop_key(key, Reason::DuplicateName);
            return None;
        }
        if key.len() > MAX_KEY || !self.make_room(entry, max_locks) {
            self.drop_key(key, Reason::MaxLocks);
            return None;
        }
        self.watch(entry, key, name.into(), true)
    }

    /// Whether an entry may have one more key; if need be, one that has gone and was kept is forgotten for it.
    fn make_room(&mut self, entry: usize, max_locks: usize) -> bool {
        let is_full = |counts: &[usize]| counts.get(entry).is_none_or(|n| *n >= max_locks);
        if is_full(&self.counts)
            && let Some(id) = self.kept.give_way(entry)
        {
            let forgotten = self.remove(id);
            self.gave_way.extend(forgotten);
        }
        !is_full(&self.counts)
    }

    /// What has to be told of keys that gave way to those that were offered since the last call.
    pub fn take_gave_way(&mut self) -> Vec<Observation> {
        std::mem::take(&mut self.gave_way)
    }

    /// A key of a group is to stay watched for a while should it go.
    pub fn keep(&mut self, id: KeyId) {
        if let Some(key) = self.watched.get(&id)
            && let Some(group) = key.rules.group.as_ref().filter(|_| key.found)
        {
            self.kept.keep(key.entry, id, group.top);
        }
    }

    /// All patterns were scanned once; tells how many keys that brought beyond the watched, if the numbers changed.
    pub fn cycle_done(&mut self) -> Option<Observation> {
        let told = self.tell_dropped();
        self.has_scanned = true;
        self.dropped_before = std::mem::take(&mut self.dropped);
        self.overflow = 0;
        told
    }

    /// A key that SCAN had found was away long enough.
    pub fn forget(&mut self, id: KeyId) -> Option<Observation> {
        let key = self.watched.get(&id)?;
        if !key.found || self.kept.stays(key.entry, id, self.keeps) {
            return None;
        }
        self.remove(id)
    }

    fn remove(&mut self, id: KeyId) -> Option<Observation> {
        let key = self.watched.remove(&id)?;
        self.kept.remove(key.entry, id);
        self.by_key.remove(&key.key);
        self.names.remove(&key.lock);
        if let Some(n) = self.counts.get_mut(key.entry) {
            *n = n.saturating_sub(1);
        }
        Some(Observation::KeyForgotten { store: self.store, key: id })
    }

    /// All that is watched now.
    pub fn list(&self) -> KeyList {
        Arc::new(self.watched.values().cloned().collect())
    }

    fn watch(
        &mut self,
        entry: usize,
        key: &[u8],
        lock: Arc<str>,
        found: bool,
    ) -> Option<Observation> {
        let rules = self.entries.get(entry)?.rules.clone();
        let id = KeyId(self.next);
        self.next = self.next.checked_add(1)?;
        if let Some(n) = self.counts.get_mut(entry) {
            *n += 1;
        }
        self.by_key.insert(key.to_vec(), id);
        self.names.insert(lock.clone());
        let watched = WatchedKey {
            id,
            key: key.to_vec(),
            rules: rules.clone(),
            found,
            entry,
            lock: lock.clone(),
        };
        self.watched.insert(id, Arc::new(watched));
        let key_text = label::text(key).into();
        // What was left out before may have been there for long.
        let has_appeared = found && self.has_scanned && !self.was_left_out(key);
        Some(Observation::KeyWatched(KeyWatched {
            store: self.store,
            key: id,
            key_text,
            lock,
            rules,
            has_appeared,
        }))
    }

    /// Whether a key was left out in the last round or is in this one, as far as they can be told apart.
    fn was_left_out(&self, key: &[u8]) -> bool {
        let mark = self.hasher.hash_one(key);
        let rounds = [&self.dropped, &self.dropped_before];
        let is_among = |round: &HashSet<(u64, Reason)>| {
            round.len() >= MAX_TOLD_APART
                || [Reason::MaxLocks, Reason::DuplicateName]
                    .iter()
                    .any(|why| round.contains(&(mark, *why)))
        };
        rounds.into_iter().any(is_among)
    }

    fn drop_key(&mut self, key: &[u8], why: Reason) {
        if self.dropped.len() < MAX_TOLD_APART {
            self.dropped.insert((self.hasher.hash_one(key), why));
        } else if why == Reason::MaxLocks {
            self.overflow = self.overflow.saturating_add(1);
        }
    }

    fn tell_dropped(&mut self) -> Option<Observation> {
        let count = |why| self.dropped.iter().filter(|(_, w)| *w == why).count() as u64;
        let counts = vec![
            ("duplicate_name", count(Reason::DuplicateName)),
            ("max_locks", count(Reason::MaxLocks).saturating_add(self.overflow)),
        ];
        if self.told.as_ref() == Some(&counts) {
            return None;
        }
        self.told = Some(counts.clone());
        Some(Observation::KeysDropped { store: self.store, counts })
    }
}

#[cfg(test)]
mod tests;
