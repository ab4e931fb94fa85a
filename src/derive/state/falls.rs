//! Tokens that fell at a resource which keeps them in a watched store. Whether its server lost them itself, because it was
//! restarted, another one took its place or its databases were emptied, is known after the next sweep over it: until then a
//! fall waits, and then it counts for a proof or is dropped. One that is kept elsewhere needs no waiting.

use std::sync::Arc;

use super::State;
use crate::config::Source;
use crate::derive::fencing::Fall;
use crate::derive::wanted::Effects;
use crate::observe::StoreId;
use crate::observe::node::SweepDone;

/// Falls that may wait at once.
const MOST: usize = 256;

/// A token that fell.
#[derive(Clone, Debug)]
pub(super) struct Fallen {
    /// The store of the lock.
    pub(super) store: Arc<str>,
    /// The lock.
    pub(super) lock: Arc<str>,
    /// The resource that accepted it.
    pub(super) resource: Arc<str>,
    /// From what to what.
    pub(super) fall: Fall,
}

/// Those that wait, each with the name of the store that keeps the token.
#[derive(Clone, Debug, Default)]
pub(super) struct Falls(Vec<(Arc<str>, Fallen)>);

impl State {
    /// The token that a resource accepted fell.
    pub(super) fn token_fell(&mut self, fallen: Fallen, fx: &mut Effects) {
        if !fallen.fall.is_whole {
            return;
        }
        let Some(lock) = self.lock_named(&fallen.store, &fallen.lock) else { return };
        let accepted = lock.rules.fencing.iter().flat_map(|f| &f.accepted);
        let source = accepted.filter(|r| r.name == fallen.resource).map(|r| &r.source).next();
        match source {
            Some(Source::Redis { store, .. }) => {
                let kept_in = store.clone();
                if self.falls.0.len() < MOST {
                    self.falls.0.push((kept_in, fallen));
                }
            }
            Some(_) => lock.token_fell(&fallen.resource, fallen.fall, fx),
            None => {}
        }
    }

    /// A sweep over a store's primary ended.
    pub(super) fn settle_falls(&mut self, swept: StoreId, done: &SweepDone, fx: &mut Effects) {
        if self.falls.0.is_empty() {
            return;
        }
        let Some(store) = self.stores.get(&swept) else { return };
        let (name, lost) = (store.name.clone(), store.restarted.max(store.emptied));
        let is_settled = |(kept_in, fallen): &(Arc<str>, Fallen)| {
            *kept_in == name && done.span.sent >= fallen.fall.at
        };
        let (settled, waiting) =
            std::mem::take(&mut self.falls.0).into_iter().partition(is_settled);
        self.falls.0 = waiting;
        for (_, fallen) in settled {
            if lost.is_some_and(|at| at >= fallen.fall.since) {
                continue;
            }
            if let Some(lock) = self.lock_named(&fallen.store, &fallen.lock) {
                lock.token_fell(&fallen.resource, fallen.fall, fx);
            }
        }
    }
}
