//! Which worker holds: by the token, else by what is read beside the lock, else by the store's owner index.

use std::sync::Arc;

use super::share::Share;
use super::{Lock, Phase, ReadContext};
use crate::derive::wanted::Effects;
use crate::derive::workers::Workers;
use crate::observe::Owner;

impl Lock {
    /// The worker that something names as this owner.
    pub(super) fn name_of(&self, owner: &Owner, c: &ReadContext<'_>) -> Option<Arc<str>> {
        let beside = || self.beside.worker.as_ref().filter(|(t, _)| *t == owner.token);
        owner
            .worker
            .clone()
            .or_else(|| beside().map(|(_, name)| name.clone()))
            .or_else(|| c.owners.name(&owner.token).cloned())
    }

    /// The same token may say more of its owner after a reload, somebody may have named it by now, and a holder that had no
    /// place may get one.
    pub(super) fn attribute(
        &mut self,
        share: &Share,
        c: &ReadContext<'_>,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let Some(owner) = share.owner() else { return };
        let name = self.name_of(owner, c);
        let lock = (self.store, self.key);
        let Phase::Held(tenure) = &mut self.phase else { return };
        let is_same = tenure.owner.as_ref().is_some_and(|o| Arc::ptr_eq(o, owner) || o == owner);
        // An index that forgets a token takes nothing back.
        let name = name.or_else(|| tenure.seat.named.clone().filter(|_| is_same));
        let has_place = !tenure.seat.is_missing() || !workers.has_room();
        if is_same && has_place && name == tenure.seat.named {
            return;
        }
        workers.release(&tenure.seat, lock, c.seen.span.done);
        tenure.seat = workers.attach(owner, name, lock, c.seen.span.done, fx);
        tenure.owner = Some(owner.clone());
        self.was_named |= tenure.seat.worker.is_some();
    }
}
