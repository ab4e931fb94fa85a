//! Watched keys by their bytes, which is how a feed names them. Shares them with the list, and copies none.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::super::keys::{KeyList, WatchedKey};
use crate::observe::KeyId;

struct ByKey(Arc<WatchedKey>);

impl Borrow<[u8]> for ByKey {
    fn borrow(&self) -> &[u8] {
        &self.0.key
    }
}

impl Hash for ByKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key.as_slice().hash(state);
    }
}

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for ByKey {}

/// See the module.
#[derive(Default)]
pub struct Known {
    keys: HashMap<ByKey, KeyId>,
    /// The newest of them.
    last: Option<KeyId>,
}

impl Known {
    /// The number of a key.
    pub fn get(&self, key: &[u8]) -> Option<KeyId> {
        self.keys.get(key).copied()
    }

    /// The newest of them.
    pub fn last(&self) -> Option<KeyId> {
        self.last
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = KeyId> {
        self.keys.values().copied()
    }

    /// Takes over the list, and gives those that were not known before. Numbers rise, so that new ones are at its end.
    pub fn sync(&mut self, list: &KeyList) -> Vec<KeyId> {
        let from = list.partition_point(|w| self.last.is_some_and(|last| w.id <= last));
        let new = list.get(from..).unwrap_or_default();
        let mut learned: Vec<KeyId> = new.iter().map(|w| w.id).collect();
        for watched in new {
            // One that went and came again has a new number.
            self.keys.remove(watched.key.as_slice());
            self.keys.insert(ByKey(watched.clone()), watched.id);
            self.last = Some(watched.id);
        }
        if self.keys.len() > list.len() {
            self.keys.retain(|_, id| list.binary_search_by_key(id, |w| w.id).is_ok());
        }
        // Where a cluster moved a slot here, keys of any number came.
        if self.keys.len() < list.len() {
            for watched in list.iter() {
                self.keys.entry(ByKey(watched.clone())).or_insert_with(|| {
                    learned.push(watched.id);
                    watched.id
                });
            }
        }
        learned
    }
}
