//! Which keys of one store are watched, and under which lock name. Pure: configured keys are there from the start, keys
//! that SCAN found come and go. Must stay bounded whatever the server holds: each pattern has its `max_locks`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::asides::{Aside, Asides};
use super::away::Away;
use super::cluster::key_slot::slot_of;
use super::dropped::{Dropped, Reason};
use super::full::Full;
use super::glob;
use super::kept::Kept;
use super::naming::{lock_name, origin};
use super::share::Share;
use crate::config::{LockConfig, LockKeys, LockRules};
use crate::format;
use crate::observe::lock::KeyWatched;
use crate::observe::{KeyId, Observation, StoreId, label};

/// Longest key that a pattern may bring; keys travel in every request.
const MAX_KEY: usize = 4096;

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
    pub entry: usize,
    /// That entry's pattern or key as it may be printed.
    pub origin: Arc<str>,
    /// The slot that it has in a cluster.
    pub slot: u16,
    /// The lock's name.
    lock: Arc<str>,
}

#[cfg(test)]
impl WatchedKey {
    /// A configured key with no rules of its own.
    pub fn plain(id: KeyId, key: &[u8]) -> Self {
        Self {
            id,
            key: key.to_vec(),
            rules: Arc::default(),
            found: false,
            entry: 0,
            origin: "".into(),
            slot: slot_of(key),
            lock: label::text(key).into(),
        }
    }
}

/// All watched keys at one time, by rising number.
pub type KeyList = Arc<Vec<Arc<WatchedKey>>>;

/// The registry.
pub struct Keys {
    store: StoreId,
    share: Share,
    entries: Vec<LockConfig>,
    origins: Vec<Arc<str>>,
    watched: BTreeMap<KeyId, Arc<WatchedKey>>,
    by_key: HashMap<Vec<u8>, KeyId>,
    names: HashSet<Arc<str>>,
    /// Watched keys of each entry.
    counts: Vec<usize>,
    /// Keys that take no lock's place.
    asides: Asides,
    /// Keys that have gone in some lines.
    away: Away,
    next: u64,
    /// What is to be said of entries with more keys than they may have.
    pub full: Full,
    dropped: Dropped,
    /// The last round over all patterns left no line out, so that what is found now is new.
    has_scanned: bool,
    kept: Kept,
    /// Told to have gone so often in a row, a kept key is forgotten all the same.
    keeps: u32,
    /// Keys that gave way to others, until that is told.
    gave_way: Vec<Observation>,
    /// Some had no place, and are watched only if they are offered again.
    pub has_turned_away: bool,
}

impl Keys {
    /// The configured keys of a store, and what is to be told of them.
    pub fn new(
        store: StoreId,
        share: Share,
        entries: &[LockConfig],
        keeps: u32,
    ) -> (Self, Vec<Observation>) {
        let mut keys = Self {
            store,
            share,
            entries: entries.to_vec(),
            origins: entries.iter().map(origin).collect(),
            asides: Asides::new(entries.len()),
            away: Away::default(),
            watched: BTreeMap::new(),
            by_key: HashMap::new(),
            names: HashSet::new(),
            counts: vec![0; entries.len()],
            next: 0,
            full: Full::default(),
            dropped: Dropped::new(),
            has_scanned: false,
            kept: Kept::default(),
            keeps,
            gave_way: Vec::new(),
            has_turned_away: false,
        };
        let mut told = Vec::new();
        for (entry, config) in entries.iter().enumerate() {
            let (name, own) = match &config.keys {
                LockKeys::One { name, key } => (name, std::slice::from_ref(key)),
                LockKeys::Several { name, keys } => (name, keys.as_slice()),
                LockKeys::Matching { .. } => continue,
            };
            let is_new = !own.iter().any(|k| keys.by_key.contains_key(k) || keys.share.is_left(k));
            if !keys.share.has(name) {
                if is_new {
                    keys.share.leave(own);
                }
                continue;
            }
            if is_new && !keys.names.contains(name) {
                told.extend(keys.watch_all(entry, own, name));
            } else {
                own.iter().for_each(|key| keys.dropped.add(key, Reason::DuplicateName));
            }
        }
        told.extend(keys.tell_dropped());
        (keys, told)
    }

    /// A key that SCAN saw; watched from now on if it is new, is a lock of some entry and fits.
    pub fn offer(&mut self, key: &[u8]) -> Option<Observation> {
        // What a library keeps beside a lock is no lock, and is not missed; who names its key wants it all the same.
        if let Some(id) = self.by_key.get(key) {
            if let Some(known) = self.watched.get(id) {
                self.kept.is_there(known.entry, *id);
                self.asides.is_there(*id);
                self.away.is_there(*id);
            }
            return None;
        }
        if format::is_companion(key) || self.share.is_left(key) {
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
        if !self.share.has(&name) {
            return None;
        }
        // First, because a higher limit would not help it; and else the reason would change once the limit is reached.
        if self.names.contains(name.as_str()) {
            self.dropped.add(key, Reason::DuplicateName);
            return None;
        }
        if key.len() > MAX_KEY {
            self.dropped.add(key, Reason::MaxLocks);
            return None;
        }
        if !self.make_room(entry, max_locks) {
            self.dropped.add(key, Reason::MaxLocks);
            self.full.left_out(entry);
            self.has_turned_away = true;
            return None;
        }
        self.watch(entry, key, name.into(), true, None)
    }

    /// Whether an entry may have one more key; if need be, one that has gone and was kept is forgotten for it. Keys that
    /// take no lock's place are bounded by the same number once more.
    fn make_room(&mut self, entry: usize, max_locks: usize) -> bool {
        let is_full = |keys: &Self| {
            let aside = keys.asides.count(entry).min(max_locks);
            keys.counts.get(entry).is_none_or(|n| n.saturating_sub(aside) >= max_locks)
        };
        if is_full(self)
            && let Some(id) = self.kept.give_way(entry)
        {
            let forgotten = self.remove(id);
            self.gave_way.extend(forgotten);
        }
        !is_full(self)
    }

    /// Whether a key takes a lock's place, as its reads show it.
    pub fn set_aside(&mut self, id: KeyId, aside: Aside) {
        if let Some(key) = self.watched.get(&id) {
            self.asides.set(key.entry, id, aside);
        }
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

    /// All patterns were scanned once, in all lines if it `is_whole`; tells how many keys that brought beyond the watched, if
    /// the numbers changed. A refused key does not show that it went; once two rounds have not met it, it is forgotten.
    pub fn cycle_done(&mut self, is_whole: bool) -> Vec<Observation> {
        let mut told: Vec<Observation> = self.tell_dropped().into_iter().collect();
        self.has_scanned = is_whole;
        self.dropped.turn();
        self.full.turn(&self.entries);
        for id in self.asides.turn() {
            told.extend(self.remove(id));
        }
        told
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
            origin: self.origins.get(entry).cloned().unwrap_or_default(),
            slot: slot_of(key),
            lock: lock.clone(),
        };
        self.watched.insert(id, Arc::new(watched));
        let key_text = label::text(key).into();
        // What was left out before may have been there for long.
        let has_appeared = found && self.has_scanned && !self.dropped.has(key);
        Some(Observation::KeyWatched(KeyWatched {
            store: self.store,
            key: id,
            key_text,
            lock,
            rules,
            with,
            has_appeared,
        }))
    }

    fn tell_dropped(&mut self) -> Option<Observation> {
        let counts = self.dropped.news()?;
        Some(Observation::KeysDropped { store: self.store, counts })
    }
}

mod leaving;
mod listing;
#[cfg(test)]
mod tests;
