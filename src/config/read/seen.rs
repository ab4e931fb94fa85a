//! Where the names, keys and patterns of a store's locks were seen first. Two entries for one lock would write the same
//! series twice. Keeps paths only, and compares nothing that was not readable.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::super::cursor::{Cursor, Item};
use super::super::mistake::quoted;
use super::super::model::Pattern;

/// What the entries before this one have.
#[derive(Default)]
pub(super) struct Seen {
    names: BTreeMap<String, String>,
    keys: BTreeMap<Vec<u8>, String>,
    patterns: BTreeMap<(Vec<u8>, Option<String>), String>,
    groups: BTreeMap<String, String>,
}

impl Seen {
    /// The name of a single lock.
    pub(super) fn name(&mut self, at: &Cursor<'_>, name: &str) {
        once(at, "name", self.names.entry(name.to_owned()));
    }

    /// A single lock's key.
    pub(super) fn key(&mut self, at: &Cursor<'_>, key: &[u8]) {
        once(at, "key", self.keys.entry(key.to_vec()));
    }

    /// One of a single lock's keys.
    pub(super) fn one_of_keys(&mut self, item: &Item<'_>, key: &[u8]) {
        match self.keys.entry(key.to_vec()) {
            Entry::Vacant(free) => {
                free.insert(item.path.clone());
            }
            Entry::Occupied(first) => {
                let reason = format!("is the same as that of `{}`", first.get());
                item.wrong(reason, "change or remove one of them");
            }
        }
    }

    /// A group's name, which comes from the entry's.
    pub(super) fn group(&mut self, at: &Cursor<'_>, name: &str) {
        let entry = self.groups.entry(name.to_owned());
        if let Entry::Occupied(first) = &entry {
            let reason = format!("would be called {}, as that of `{}`", quoted(name), first.get());
            at.wrong("group", reason, "give one of the entries another `name`");
        }
        entry.or_insert_with(|| at.path.clone());
    }

    /// A pattern and what it captures; one pattern may serve two entries that tell its keys apart by `capture`.
    pub(super) fn pattern(&mut self, at: &Cursor<'_>, pattern: &[u8], capture: Option<&Pattern>) {
        let capture = capture.map(|c| c.0.as_str().to_owned());
        once(at, "match", self.patterns.entry((pattern.to_vec(), capture)));
    }
}

fn once<K: Ord>(at: &Cursor<'_>, key: &str, entry: Entry<'_, K, String>) {
    match entry {
        Entry::Vacant(free) => {
            free.insert(at.path.clone());
        }
        Entry::Occupied(first) => {
            let reason = format!("is the same as that of `{}`", first.get());
            at.wrong(key, reason, "change or remove one of them");
        }
    }
}
