//! Finds signals that rose between two snapshots, by their counters, so that one which is down again is found too. One that
//! rises again and again has a document a minute at most; the next one says how many rises have none. Reads views only.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::expose::json::Rise;
use crate::observe::Mono;
use crate::view::{Signal, View};

/// The same signal of the same lock has no second document within this.
pub const SPACING: Duration = Duration::from_secs(60);

/// A signal that rose.
#[derive(Clone, Debug, PartialEq)]
pub struct Risen {
    /// The store's name.
    pub store: Arc<str>,
    /// The lock's name.
    pub lock: Arc<str>,
    /// The signal.
    pub signal: Signal,
    /// More of it.
    pub rise: Rise,
}

/// What was counted of a signal of a lock.
#[derive(Clone, Copy, Default)]
struct Known {
    rises: u64,
    documented: Option<Mono>,
    without: u64,
}

/// A lock with a signal that ever rose.
#[derive(Default)]
struct Lock {
    signals: HashMap<Signal, Known>,
    generation: u64,
}

/// What rose until the last snapshot.
#[derive(Default)]
pub struct Rises {
    stores: HashMap<Arc<str>, HashMap<Arc<str>, Lock>>,
}

impl Rises {
    /// What rose since the last call: `most` at most, the most dangerous first, and how many beyond them.
    pub fn since_last(&mut self, view: &View, most: usize) -> (Vec<Risen>, u64) {
        let mut found = Vec::new();
        for store in &view.stores {
            let locks = self.stores.entry(store.name.clone()).or_default();
            for lock in store.locks.iter().filter(|l| l.rises.iter().any(|(_, n)| *n > 0)) {
                let known = locks.entry(lock.name.clone()).or_default();
                known.generation = view.generation;
                for (signal, rises) in lock.rises.iter().filter(|(_, n)| *n > 0) {
                    let is_up = lock.signals.contains(&(*signal, Some(true)));
                    let known = known.signals.entry(*signal).or_default();
                    let Some(rise) = known.count(*rises, is_up, view.taken) else { continue };
                    found.push(Risen {
                        store: store.name.clone(),
                        lock: lock.name.clone(),
                        signal: *signal,
                        rise,
                    });
                }
            }
            locks.retain(|_, lock| lock.generation == view.generation);
        }
        self.stores.retain(|name, _| view.stores.iter().any(|s| s.name == *name));
        found.sort_by_key(|r| r.signal);
        let beyond = found.len().saturating_sub(most);
        found.truncate(most);
        (found, beyond as u64)
    }
}

impl Known {
    fn count(&mut self, rises: u64, is_up: bool, now: Mono) -> Option<Rise> {
        // Fewer than before: the lock was forgotten and is watched anew.
        let new = rises.checked_sub(self.rises).unwrap_or(rises);
        self.rises = rises;
        if new == 0 {
            return None;
        }
        if self.documented.is_some_and(|at| now.since(at) < SPACING) {
            self.without += new;
            return None;
        }
        let without_document = std::mem::take(&mut self.without) + (new - 1);
        self.documented = Some(now);
        Some(Rise { number: rises, without_document, is_up })
    }
}
