//! Keys that patterns found and that take no lock's place: those that name no owner, and those that may not be read. They
//! are watched all the same, because they may become locks. Pure and bounded: only keys that are watched are in here.

use std::collections::HashMap;

use super::context::Settings;
use super::keys::WatchedKey;
use super::slot::Slot;
use crate::observe::{Decoded, Found, KeyId, Span};

/// Whole rounds over all keys after which a refused key that none of them met has gone.
const ROUNDS: u64 = 2;

/// Why a key that a pattern found takes no lock's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aside {
    /// It does.
    #[default]
    No,
    /// It has never shown an owner.
    Ownerless,
    /// It may not be read.
    Refused,
}

/// Whether a value makes a key that a pattern found a lock.
fn is_lock(value: &Decoded, watched: &WatchedKey) -> bool {
    !value.holders.is_empty()
        || value.waiters.is_some()
        || (watched.rules.format.is_some() && value.expiry_inside.is_some())
}

impl Slot {
    /// Notes whether the key is there. True each time a found key was away for as long as it may.
    pub fn note_absence(&mut self, read: &Found, span: Span, settings: &Settings) -> bool {
        self.is_there = matches!(read, Found::Present { .. });
        // What it was once it stays, so that an unchanged value need not be looked into.
        self.has_owned = self.has_owned
            || matches!(read, Found::Present { value, .. } if is_lock(value, &self.watched));
        match (read, self.absent_since) {
            (Found::Absent, None) => self.absent_since = Some(span.done),
            (Found::Absent, Some(since)) => {
                let retain = || settings.patience(&self.watched.rules);
                if self.watched.found && span.sent.since(since) >= retain() {
                    self.absent_since = Some(span.done);
                    return true;
                }
            }
            _ => self.absent_since = None,
        }
        false
    }

    /// Whether it takes no lock's place at present.
    pub fn aside(&self) -> Aside {
        match self.denied {
            _ if !self.watched.found => Aside::No,
            // A lock that was seen may be there again; those of a group are short-lived.
            Some(_) if self.has_owned && self.watched.rules.group.is_none() => Aside::No,
            Some(_) => Aside::Refused,
            None if self.is_there && !self.has_owned => Aside::Ownerless,
            None => Aside::No,
        }
    }
}

/// All of them.
pub struct Asides {
    keys: HashMap<KeyId, Key>,
    counts: Vec<usize>,
    round: u64,
}

struct Key {
    why: Aside,
    /// The last round that met it.
    met: u64,
}

impl Asides {
    /// None, of so many entries.
    pub fn new(entries: usize) -> Self {
        Self { keys: HashMap::new(), counts: vec![0; entries], round: 0 }
    }

    /// How many there are of an entry.
    pub fn count(&self, entry: usize) -> usize {
        self.counts.get(entry).copied().unwrap_or(0)
    }

    /// What a key of an entry is from now on.
    pub fn set(&mut self, entry: usize, id: KeyId, why: Aside) {
        let known = match why {
            Aside::No => self.keys.remove(&id),
            why => self.keys.insert(id, Key { why, met: self.round }),
        };
        if let Some(n) = self.counts.get_mut(entry) {
            *n = (*n + usize::from(why != Aside::No)).saturating_sub(usize::from(known.is_some()));
        }
    }

    /// A scan met a key.
    pub fn is_there(&mut self, id: KeyId) {
        if let Some(key) = self.keys.get_mut(&id) {
            key.met = self.round;
        }
    }

    /// A round over all keys is over: which refused ones have gone.
    pub fn turn(&mut self) -> Vec<KeyId> {
        self.round += 1;
        let has_gone = |k: &Key| k.why == Aside::Refused && k.met + ROUNDS < self.round;
        let mut gone: Vec<KeyId> =
            self.keys.iter().filter(|(_, k)| has_gone(k)).map(|(id, _)| *id).collect();
        gone.sort_unstable();
        gone
    }
}
