//! What the pollers of a store's nodes are given: patterns to look for, and the keys to read.

use std::sync::Arc;

use super::{KeyList, Keys};
use crate::config::{LockConfig, LockKeys};

impl Keys {
    /// Patterns for SCAN.
    pub fn patterns(&self) -> Vec<Vec<u8>> {
        let pattern = |e: &LockConfig| match &e.keys {
            LockKeys::Matching { pattern, .. } => Some(pattern.clone()),
            LockKeys::One { .. } | LockKeys::Several { .. } => None,
        };
        self.entries.iter().filter_map(pattern).collect()
    }

    /// How many are watched now.
    pub fn len(&self) -> usize {
        self.watched.len()
    }

    /// All that is watched now.
    pub fn list(&self) -> KeyList {
        Arc::new(self.watched.values().cloned().collect())
    }
}
