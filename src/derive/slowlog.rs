//! What a node's slow log told, each entry once: ids rise within a server's process and begin at 0 in the next. What was in
//! the log before it was first looked at is shown and not counted; what the log lost between two looks is counted as lost.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::lock::SlowEntry;
use super::store::Store;
use super::wanted::Effects;
use crate::observe::slowlog::{Entries, Found, SlowlogRead, Touch, Why};

/// Told ids that are remembered: more than any look shows.
const REMEMBERED: usize = 256;

/// What is known of a node's slow log.
#[derive(Clone, Debug, Default)]
pub struct NodeSlowlog {
    /// Whether it can be read; `None` until it was looked at.
    pub standing: Option<Result<(), Why>>,
    /// The config asks for it.
    pub is_asked: bool,
    /// Entries that touched watched keys; `None` until the log was read.
    pub entries: Option<u64>,
    /// Entries that showed no watched key and were cut where one may have stood.
    pub cut: u64,
    /// Entries that came and went between two looks.
    pub lost: u64,
    process: Option<Arc<str>>,
    newest: Option<u64>,
    /// Ids from here on are counted.
    counts_from: Option<u64>,
    told: BTreeSet<u64>,
}

impl NodeSlowlog {
    /// A look showed these.
    fn begin(&mut self, process: Option<&Arc<str>>, all: &Entries) {
        let is_other = matches!((&self.process, process), (Some(a), Some(b)) if a != b);
        // Without a process to go by: ids never fall within one.
        let has_fallen = matches!((self.newest, all.newest), (Some(a), Some(b)) if b < a);
        if is_other || has_fallen {
            (self.newest, self.counts_from) = (None, Some(0));
            self.told.clear();
        }
        self.process = process.cloned().or(self.process.take());
        let after_newest = all.newest.map_or(0, |n| n.saturating_add(1));
        self.counts_from.get_or_insert(after_newest);
        if let (Some(newest), Some(oldest)) = (self.newest, all.oldest) {
            self.lost += oldest.saturating_sub(newest.saturating_add(1));
        }
        self.newest = all.newest.or(self.newest);
        self.entries.get_or_insert(0);
        self.standing = Some(Ok(()));
    }

    /// Whether an entry was not told before.
    fn is_new(&mut self, id: u64) -> bool {
        let is_new = self.told.insert(id);
        if self.told.len() > REMEMBERED {
            self.told.pop_first();
        }
        is_new
    }

    fn counts(&self, id: u64) -> bool {
        self.counts_from.is_some_and(|from| from <= id)
    }
}

impl Store {
    /// Takes a look at a node's slow log.
    pub fn slowlog(&mut self, read: &SlowlogRead, fx: &mut Effects) {
        let leads = self.leads(&read.node);
        let Self { nodes, locks, further, .. } = self;
        let Some(node) = nodes.get_mut(&read.node.addr) else { return };
        let log = &mut node.slowlog;
        log.is_asked = read.is_asked;
        let all = match &read.found {
            Found::Off(why) => {
                log.standing = Some(Err(*why));
                return;
            }
            Found::Read(all) => all,
        };
        log.begin(read.process.as_ref(), all);
        for id in &all.cut {
            if log.is_new(*id) && log.counts(*id) {
                log.cut += 1;
            }
        }
        for slow in &all.slow {
            if !log.is_new(slow.id) {
                continue;
            }
            let is_counted = log.counts(slow.id);
            if is_counted && slow.keys.iter().any(|(_, touch)| *touch == Touch::Key) {
                *log.entries.get_or_insert(0) += 1;
            }
            let mut told = BTreeSet::new();
            for (key, touch) in &slow.keys {
                let first = further.get(key).unwrap_or(key);
                let Some(lock) = locks.get_mut(first).filter(|_| told.insert(*first)) else {
                    continue;
                };
                let by = slow.acquires.as_ref().filter(|(k, _)| k == key && is_counted && leads);
                let entry = SlowEntry {
                    addr: read.node.addr.clone(),
                    command: slow.clone(),
                    touch: *touch,
                };
                lock.slow_command(entry, by.map(|(_, owner)| owner), read.at, fx);
            }
        }
    }
}
