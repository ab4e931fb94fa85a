//! Entries of the config that have more keys than they may: what is to be said of each, once. Pure; knows no key.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::naming::origin;
use crate::config::{LockConfig, LockKeys};

/// All of them.
#[derive(Default)]
pub struct Full {
    /// Of each entry that left something out: how many keys in the present round, and whether that was said before.
    entries: BTreeMap<usize, (u64, bool)>,
    news: Vec<News>,
}

/// An entry that has become full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Its pattern as it may be printed.
    pub pattern: Arc<str>,
    /// What it may have.
    pub max_locks: usize,
    /// About how many more were found.
    pub left_out: u64,
}

impl Full {
    /// An entry has as many keys as it may, and one more was found.
    pub fn left_out(&mut self, entry: usize) {
        let (n, _) = self.entries.entry(entry).or_default();
        *n = n.saturating_add(1);
    }

    /// The round over all keys is over.
    pub fn turn(&mut self, configs: &[LockConfig]) {
        for (entry, (n, is_said)) in &mut self.entries {
            let left_out = std::mem::take(n);
            let Some(config) = configs.get(*entry) else { continue };
            let LockKeys::Matching { max_locks, .. } = config.keys else { continue };
            if left_out > 0 && !std::mem::replace(is_said, true) {
                self.news.push(News { pattern: origin(config), max_locks, left_out });
            }
        }
    }

    /// What is to be said.
    pub fn take(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }
}
