//! How a watched key that a pattern found is forgotten: it has gone from all lines of the store, or gives way to another.

use super::super::asides::Aside;
use super::super::context::Settings;
use super::Keys;
use crate::observe::{KeyId, Line, Mono, Observation};

impl Keys {
    /// A key that SCAN had found was away from a line long enough; it is forgotten once it was from all of these.
    pub fn gone(
        &mut self,
        id: KeyId,
        line: Line,
        lines: impl Iterator<Item = Line>,
        settings: &Settings,
        now: Mono,
    ) -> Option<Observation> {
        let patience = settings.patience(&self.watched.get(&id)?.rules);
        let valid = patience.saturating_mul(2).saturating_add(settings.poll_interval);
        let has_gone = self.away.has_gone(id, line, lines, now, valid);
        has_gone.then(|| self.forget(id)).flatten()
    }

    /// A key that SCAN had found was away long enough.
    pub fn forget(&mut self, id: KeyId) -> Option<Observation> {
        let key = self.watched.get(&id)?;
        if !key.found || self.kept.stays(key.entry, id, self.keeps) {
            return None;
        }
        self.remove(id)
    }

    pub(super) fn remove(&mut self, id: KeyId) -> Option<Observation> {
        let key = self.watched.remove(&id)?;
        self.kept.remove(key.entry, id);
        self.asides.set(key.entry, id, Aside::No);
        self.away.is_there(id);
        self.by_key.remove(&key.key);
        self.names.remove(&key.lock);
        if let Some(n) = self.counts.get_mut(key.entry) {
            *n = n.saturating_sub(1);
        }
        Some(Observation::KeyForgotten { store: self.store, key: id })
    }
}
