//! Which worker holds: by the token, else by what is read beside the lock, else by the store's owner index.

use std::sync::Arc;

use super::share::Share;
use super::{Lock, Phase, ReadContext, Transition};
use crate::derive::wanted::{Effects, Notice, Weight};
use crate::derive::workers::Workers;
use crate::observe::{Mono, Owner};

/// A holder that nothing names (yet).
pub(super) const UNATTRIBUTED: &str = "an unattributed holder";

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
        let Some(worker) = tenure.seat.worker.clone() else { return };
        let begun = tenure.first.span.done;
        self.was_named = true;
        self.name_begin(begun, &worker, fx);
    }

    /// Who began a tenure is known only now: what keys beside the lock tell is read after it.
    fn name_begin(&mut self, begun: Mono, worker: &str, fx: &mut Effects) {
        let unnamed = format!("by {UNATTRIBUTED}");
        let is_begin =
            |t: &&mut Transition| t.at == begun && matches!(t.what, "acquired" | "found_held");
        let begins = self.timeline.iter_mut().rev().filter(is_begin);
        for begin in begins.filter(|t| t.detail == unnamed).take(1) {
            begin.detail = format!("by {worker}");
            fx.notices.push(Notice {
                weight: Weight::Routine,
                store: self.store_name.clone(),
                subject: self.name.clone(),
                what: "attributed",
                detail: format!("the holder is {worker}"),
            });
        }
    }
}
