//! Where the names, keys and patterns of a store's locks were seen first. Two entries for one lock would write the same
//! series twice. Keeps paths only, and compares nothing that was not readable.

use std::collections::BTreeMap;

use super::super::cursor::Cursor;
use super::super::model::Pattern;

/// What the entries before this one have.
#[derive(Default)]
pub(super) struct Seen {
    names: BTreeMap<String, String>,
    keys: BTreeMap<Vec<u8>, String>,
    patterns: BTreeMap<(Vec<u8>, Option<String>), String>,
}

impl Seen {
    /// The name of a single lock.
    pub(super) fn name(&mut self, at: &Cursor<'_>, name: &str) {
        twice(at, "name", self.names.insert(name.to_owned(), at.path.clone()));
    }

    /// A single lock's key.
    pub(super) fn key(&mut self, at: &Cursor<'_>, key: &[u8]) {
        twice(at, "key", self.keys.insert(key.to_vec(), at.path.clone()));
    }

    /// A pattern and what it captures; one pattern may serve two entries that tell its keys apart by `capture`.
    pub(super) fn pattern(&mut self, at: &Cursor<'_>, pattern: &[u8], capture: Option<&Pattern>) {
        let capture = capture.map(|c| c.0.as_str().to_owned());
        twice(at, "match", self.patterns.insert((pattern.to_vec(), capture), at.path.clone()));
    }
}

fn twice(at: &Cursor<'_>, key: &str, first: Option<String>) {
    if let Some(first) = first {
        at.wrong(key, format!("is the same as that of `{first}`"), "change or remove one of them");
    }
}
