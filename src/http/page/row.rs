//! A lock as the pages take it: with its store, whether it was read lately, and the signals that are up.

use super::ask::Ask;
use super::resources;
use crate::expose::standing;
use crate::view::{LockView, Signal, StoreView, View};

/// A lock to show.
pub struct Row<'a> {
    /// Its store.
    pub store: &'a StoreView,
    /// The lock.
    pub lock: &'a LockView,
    /// Whether what the view says of it is about now.
    pub fresh: bool,
    /// Signals that are up, the most dangerous first.
    pub raised: Vec<Signal>,
    /// What happened lately that no signal tells, in sentences of markup.
    pub notes: Vec<String>,
    /// What links to other pages end with.
    pub tail: &'static str,
}

impl<'a> Row<'a> {
    /// A lock of a store.
    pub fn new(store: &'a StoreView, lock: &'a LockView, ask: &Ask) -> Self {
        let raised = standing::raised(store, lock).collect();
        let notes = resources::notes(lock);
        Self {
            store,
            lock,
            fresh: standing::is_fresh(store, lock),
            raised,
            notes,
            tail: ask.tail(),
        }
    }

    /// Whether somebody should look at it: a signal is up, or something happened lately that none tells.
    pub fn needs_a_look(&self) -> bool {
        !self.raised.is_empty() || !self.notes.is_empty()
    }

    /// Whether its name, its key or a holder's name has this, which is in lower case.
    pub fn has(&self, text: &str) -> bool {
        let names = [format!("{}/{}", self.store.name, self.lock.name), self.lock.key.to_string()];
        let holders = self.lock.holders.iter().map(|h| h.worker.to_string());
        names.into_iter().chain(holders).any(|name| name.to_lowercase().contains(text))
    }

    /// A value that is about now; not known when the lock was not read lately.
    pub fn now<T>(&self, value: Option<T>) -> Option<T> {
        value.filter(|_| self.fresh)
    }

    /// Whether it is held now, as far as it is known.
    pub fn is_held(&self) -> bool {
        self.fresh && self.lock.held == Some(true)
    }
}

/// All locks, in the view's order.
pub fn all<'a>(view: &'a View, ask: &Ask) -> Vec<Row<'a>> {
    let of = |store| move |lock| Row::new(store, lock, ask);
    view.stores.iter().flat_map(|s| s.locks.iter().map(of(s))).collect()
}

/// One lock by name.
pub fn find<'a>(view: &'a View, store: &str, lock: &str, ask: &Ask) -> Option<Row<'a>> {
    let store = view.stores.iter().find(|s| &*s.name == store)?;
    let lock = store.locks.iter().find(|l| &*l.name == lock)?;
    Some(Row::new(store, lock, ask))
}
