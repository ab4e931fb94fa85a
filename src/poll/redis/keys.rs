//! Which keys of one store are watched, and under which lock name. Pure: configured keys are there from the start, keys
//! that SCAN found come and go. Must stay bounded whatever the server holds: each pattern has its `max_locks`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::glob;
use crate::config::{LockConfig, LockKeys, LockRules, NameTemplate, Pattern};
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
    next: u32,
    hasher: RandomState,
    dropped: HashSet<(u64, Reason)>,
    overflow: u64,
    told: Option<Vec<(&'static str, u64)>>,
}

impl Keys {
    /// The configured keys of a store, and what is to be told of them.
    pub fn new(store: StoreId, entries: &[LockConfig]) -> (Self, Vec<Observation>) {
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
            overflow: 0,
            told: None,
        };
        let mut told = Vec::new();
        for (entry, config) in entries.iter().enumerate() {
            let (name, own) = match &config.keys {
                LockKeys::One { name, key } => (name, std::slice::from_ref(key)),
                LockKeys::Several { name, keys } => (name, keys.as_slice()),
                LockKeys::Matching { .. } => continue,
            };
            let is_new = !own.iter().any(|key| keys.by_key.contains_key(key));
            if is_new && !keys.names.contains(name) {
                told.extend(keys.watch_all(entry, own, name));
            } else {
                own.iter().for_each(|key| keys.drop_key(key, Reason::DuplicateName));
            }
        }
        told.extend(keys.tell_dropped());
        (keys, told)
    }

    /// Patterns for SCAN.
    pub fn patterns(&self) -> Vec<Vec<u8>> {
        let pattern = |e: &LockConfig| match &e.keys {
            LockKeys::Matching { pattern, .. } => Some(pattern.clone()),
            LockKeys::One { .. } | LockKeys::Several { .. } => None,
        };
        self.entries.iter().filter_map(pattern).collect()
    }

    /// A key that SCAN saw; watched from now on if it is new, is a lock of some entry and fits.
    pub fn offer(&mut self, key: &[u8]) -> Option<Observation> {
        // What a library keeps beside a lock is no lock, and is not missed; who names its key wants it all the same.
        if self.by_key.contains_key(key) || format::is_companion(key) {
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
        if key.len() > MAX_KEY || self.counts.get(entry).is_none_or(|n| *n >= max_locks) {
            self.drop_key(key, Reason::MaxLocks);
            return None;
        }
        self.watch(entry, key, name.into(), true, None)
    }

    /// All patterns were scanned once; tells how many keys that brought beyond the watched, if the numbers changed.
    pub fn cycle_done(&mut self) -> Option<Observation> {
        let told = self.tell_dropped();
        self.dropped.clear();
        self.overflow = 0;
        told
    }

    /// A key that SCAN had found was away long enough.
    pub fn forget(&mut self, id: KeyId) -> Option<Observation> {
        if !self.watched.get(&id)?.found {
            return None;
        }
        let key = self.watched.remove(&id)?;
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

    /// All keys of one lock; the first is told as all of them.
    fn watch_all(&mut self, entry: usize, keys: &[Vec<u8>], name: &Arc<str>) -> Vec<Observation> {
        let first = KeyId(self.next);
        let mut told = Vec::new();
        for (i, key) in keys.iter().enumerate() {
            let with = (i > 0).then_some(first);
            let mut observation = self.watch(entry, key, name.clone(), false, with);
            if let (0, Some(Observation::KeyWatched(w))) = (i, &mut observation) {
                w.key_text = label::text(&keys.join(b", ".as_slice())).into();
            }
            told.extend(observation);
        }
        told
    }

    fn watch(
        &mut self,
        entry: usize,
        key: &[u8],
        lock: Arc<str>,
        found: bool,
        with: Option<KeyId>,
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
        Some(Observation::KeyWatched(KeyWatched {
            store: self.store,
            key: id,
            key_text,
            lock,
            rules,
            with,
        }))
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

/// The lock's name for a key: the template with what was captured, each piece made printable. `None` if the key does not
/// match the capture.
fn lock_name(template: &NameTemplate, capture: Option<&Pattern>, key: &[u8]) -> Option<String> {
    let found = match capture {
        Some(pattern) => Some(pattern.0.captures(key)?),
        None => None,
    };
    let group = |name: &str| -> Option<&[u8]> {
        let found = found.as_ref();
        match name.parse::<usize>() {
            Ok(0) => Some(key),
            Ok(n) => found?.get(n).map(|m| m.as_bytes()),
            Err(_) => found?.name(name).map(|m| m.as_bytes()),
        }
    };
    let mut name = String::new();
    let mut rest = template.0.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        name.push_str(before);
        match after.split_once('}') {
            Some((place, after)) => {
                name.push_str(&label::text(group(place).unwrap_or_default()));
                rest = after;
            }
            None => {
                name.push('{');
                rest = after;
            }
        }
    }
    name.push_str(rest);
    Some(if name.is_empty() { label::text(key) } else { name })
}

#[cfg(test)]
mod tests;
