//! A JSON value in which the lock's `owner_json` finds no owner: most likely a slip in the pointer. What the value says goes
//! nowhere from here.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Lock;
use crate::derive::wanted::Effects;
use crate::observe::Found;
use crate::observe::lock::Shape;

impl Lock {
    /// Takes what a read found.
    pub(super) fn look_for_owner(&mut self, found: &Found) {
        self.finds_no_owner = match found {
            Found::Present { value, .. } => {
                let is_json = value.shape == Shape::Json && !value.misfit;
                self.rules.owner_json.is_some() && is_json && value.holders.is_empty()
            }
            _ => false,
        };
    }

    /// The pointer that finds nothing.
    pub fn missed_pointer(&self) -> Option<Arc<str>> {
        let pointer = self.rules.owner_json.as_deref().filter(|_| self.finds_no_owner)?;
        Some(pointer.into())
    }
}

/// Where a pointer found no owner, as far as that was told.
#[derive(Clone, Debug, Default)]
pub struct Missed(BTreeSet<Arc<str>>);

impl Missed {
    /// Tells it once of a lock of the config, and once of all that a pattern finds.
    pub(in crate::derive) fn tell(&mut self, lock: &Lock, fx: &mut Effects) {
        let Some(pointer) = lock.missed_pointer() else { return };
        let once = if lock.rules.by_key { lock.name.clone() } else { pointer.clone() };
        if self.0.insert(once) {
            let detail = format!(
                "`owner_json: {pointer}` finds no owner in the value, which is JSON: nobody is known to hold it"
            );
            fx.changed(lock.store_name.clone(), lock.name.clone(), "owner_not_found", detail);
        }
    }
}
