//! What one holder has of a lock in one read: who, and until when. Decides which holders of a value count: one whose own
//! expiry is past holds nothing any more, whatever the key still says.

use std::sync::Arc;

use super::crowd::Shown;
use super::{Lock, Phase, ReadContext};
use crate::observe::lock::{Decoded, Holding, Mode, Sharing, Tells};
use crate::observe::{Expiry, Owner, ServerTime, Token};

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

/// When a holder that tells nothing else of its end last refreshed its share, and when that ends.
#[derive(Clone, Debug)]
pub(super) struct Refreshed {
    token: Token,
    at_ms: i64,
    end: ServerTime,
}

/// Whether more than one may hold it.
pub(super) fn is_shared(value: &Decoded) -> bool {
    value.sharing != Sharing::Exclusive
}

/// Whether keys beside the lock tell until when single holders hold.
pub(super) fn tells_ends(value: &Decoded) -> bool {
    value.companions.iter().any(|c| matches!(c.tells, Tells::HolderExpiry(_)))
}

/// Whether a holder's own expiry, if it has one, is ahead.
fn is_ahead(until: Option<ServerTime>, now: ServerTime) -> bool {
    until.is_none_or(|until| until > now)
}

impl Lock {
    /// What each holder has of a lock that several may hold. Where a holder's expiry is read beside the key, that has to
    /// come first; if it does not come, all that is known is the key's, which they share.
    pub(super) fn all_shares(
        &mut self,
        value: &Arc<Decoded>,
        key: Expiry,
        c: &ReadContext<'_>,
    ) -> Vec<Shown> {
        let now = c.seen.span.done;
        let has_beside = tells_ends(value);
        let mut is_late = false;
        if has_beside {
            let asked = *self.beside.asked.get_or_insert(now);
            is_late = now.since(asked) > c.poll * 3 / 2;
            self.beside.awaited = Some((value.clone(), key));
        }
        let ends = self.own_ends(value, key);
        let own = value.holders.iter().zip(ends);
        let live = own.filter(|(_, until)| is_ahead(*until, c.seen.time));
        live.map(|(holding, until)| {
            let token = holding.owner.token.clone();
            let is_untold = is_late || self.beside.untold.contains(&token);
            let is_beside = has_beside && matches!(holding.mode, Mode::Read);
            if until.is_none() && is_beside && !is_untold {
                return (token, None);
            }
            // A writer is alone, and the key's expiry its own.
            let is_own = until.is_some() || matches!(holding.mode, Mode::Write);
            let expiry = until.map_or(key, Expiry::At);
            let holding = Some(holding.clone());
            (token, Some(Share { holding, value: value.clone(), expiry, is_own }))
        })
        .collect()
    }

    /// When each holder's own share ends, where it has its own. One that is known only by when it was refreshed ends as much
    /// before the key as it was refreshed before the last one was, and keeps that end until it is refreshed again: what the
    /// others do to the key meanwhile is not its own.
    fn own_ends(&mut self, value: &Decoded, key: Expiry) -> Vec<Option<ServerTime>> {
        let Some(last) = value.holders.iter().filter_map(|h| h.refreshed_ms).max() else {
            return value.holders.iter().map(|h| h.until).collect();
        };
        let known = std::mem::take(&mut self.refreshed);
        let end = |holding: &Holding| {
            let (Some(at_ms), Expiry::At(key)) = (holding.refreshed_ms, key) else {
                return holding.until;
            };
            let token = holding.owner.token.clone();
            let before = known.iter().find(|r| r.at_ms == at_ms && r.token == token);
            let end = before.map_or_else(
                || key.plus_micros(last.saturating_sub(at_ms).saturating_mul(-1000)),
                |r| r.end.min(key),
            );
            self.refreshed.push(Refreshed { token, at_ms, end });
            Some(end)
        };
        value.holders.iter().map(end).collect()
    }

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
        let live = || value.holders.iter().filter(|h| is_ahead(h.until, now));
        let known = match &self.phase {
            Phase::Held(t) => live().find(|h| t.is_owner(Some(&h.owner))),
            _ => None,
        };
        known.or_else(|| live().next()).map(|h| share(Some(h.clone())))
    }
}
