//! The part of a store's locks that this exporter watches, where several exporters share them. It decides by names alone
//! and asks nobody.

use std::collections::HashSet;
use std::sync::Arc;

use crate::config::Shard;

/// The locks of one store that are watched here.
#[derive(Clone, Default)]
pub struct Share {
    store: Arc<str>,
    shard: Shard,
    /// Keys of configured locks that another exporter watches: a pattern must not find them here under another name.
    elsewhere: HashSet<Vec<u8>>,
}

impl Share {
    /// This share of the store's locks.
    pub fn new(store: Arc<str>, shard: Shard) -> Self {
        Self { store, shard, elsewhere: HashSet::new() }
    }

    /// Whether the lock of this name is watched here.
    pub fn has(&self, lock: &str) -> bool {
        self.shard.has(&self.store, lock)
    }

    /// Another exporter watches the lock that has these keys.
    pub fn leave(&mut self, keys: &[Vec<u8>]) {
        self.elsewhere.extend(keys.iter().cloned());
    }

    /// Whether the key is one of a configured lock that another exporter watches.
    pub fn is_left(&self, key: &[u8]) -> bool {
        self.elsewhere.contains(key)
    }
}
