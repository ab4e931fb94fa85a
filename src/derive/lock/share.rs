//! What one holder has of a lock in one read: who, and until when. Decides which holders of a value count: one whose own
//! expiry is past holds nothing any more, whatever the key still says.

use std::sync::Arc;

use super::{Lock, Phase};
use crate::observe::lock::{Decoded, Holding, Sharing};
use crate::observe::{Expiry, Owner, ServerTime};

/// What one holder has of a lock in one read.
#[derive(Clone, Debug)]
pub(super) struct Share {
    /// Who; `None` where the value of a lock configured by key names nobody.
    pub holding: Option<Holding>,
    /// The value.
    pub value: Arc<Decoded>,
    /// When it ends.
    pub expiry: Expiry,
    /// That is its own end, and a change of it its own write; not so where several share the key's.
    pub is_own: bool,
}

impl Share {
    /// The owner.
    pub fn owner(&self) -> Option<&Arc<Owner>> {
        self.holding.as_ref().map(|h| &h.owner)
    }

    /// Hold count.
    pub fn count(&self) -> u64 {
        self.holding.as_ref().map_or(1, |h| h.count)
    }
}

/// Whether more than one may hold it.
pub(super) fn is_shared(value: &Decoded) -> bool {
    value.sharing != Sharing::Exclusive
}

/// Whether a holder's own expiry, if it has one, is ahead.
pub(super) fn is_ahead(holding: &Holding, now: ServerTime) -> bool {
    holding.until.is_none_or(|until| until > now)
}

impl Lock {
    /// The holder of an exclusive lock; `None` if its lease is over though the key is there. Should a value name several,
    /// the one that was seen before stays.
    pub(super) fn only_share(
        &self,
        value: &Arc<Decoded>,
        key: Expiry,
        now: ServerTime,
    ) -> Option<Share> {
        let expiry = match (value.expiry_inside, key) {
            (Some(inside), Expiry::At(e)) => Expiry::At(inside.min(e)),
            (Some(inside), Expiry::Never) => Expiry::At(inside),
            (None, key) => key,
        };
        if value.expiry_inside.is_some_and(|inside| inside <= now) {
            return None;
        }
        let share = |holding: Option<Holding>| {
            let own = holding.as_ref().and_then(|h| h.until).map(Expiry::At);
            Share { holding, value: value.clone(), expiry: own.unwrap_or(expiry), is_own: true }
        };
        if value.holders.is_empty() {
            // Who only waits does not hold.
            return value.waiters.is_none().then(|| share(None));
        }
        let live = || value.holders.iter().filter(|h| is_ahead(h, now));
        let known = match &self.phase {
            Phase::Held(t) => live().find(|h| t.is_owner(Some(&h.owner))),
            _ => None,
        };
        known.or_else(|| live().next()).map(|h| share(Some(h.clone())))
    }
}
