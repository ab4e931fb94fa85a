//! What proves of a lock, or hints, that two owners were valid at once. Tokens are shown as fingerprints only.

use std::sync::Arc;

use super::holder::can_see_holder;
use super::slowlog;
use crate::derive::lock::Lock;
use crate::derive::lock::proof::{Basis, Party, Proof};
use crate::derive::{ContentionKind, State};
use crate::observe::{Expiry, Mono};

/// A proof or a hint.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentionView {
    /// Of what kind.
    pub kind: ContentionKind,
    /// Seconds before the snapshot.
    pub age_seconds: f64,
    /// Who may believe in the lock, the first owner first.
    pub owners: Vec<PartyView>,
    /// What else it rests on.
    pub basis: Basis,
    /// All of it for a person; no secrets.
    pub detail: String,
}

/// One of the owners.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartyView {
    /// The worker's name, if something named one.
    pub worker: Option<Arc<str>>,
    /// The fingerprint of its token, if it is known.
    pub fingerprint: Option<String>,
    /// The last E that it was seen with, on its server's clock; none where it never ends.
    pub expiry_timestamp: Option<f64>,
    /// The node that shows it, where two do.
    pub node: Option<Arc<str>>,
}

impl From<&Party> for PartyView {
    fn from(party: &Party) -> Self {
        Self {
            worker: party.worker.clone(),
            fingerprint: party.fingerprint(),
            expiry_timestamp: match party.expiry {
                Some(Expiry::At(e)) => Some(e.as_secs_f64()),
                _ => None,
            },
            node: party.node.clone(),
        }
    }
}

pub(super) fn proofs(lock: &Lock, now: Mono) -> Vec<ContentionView> {
    let view = |p: &Proof| ContentionView {
        kind: p.kind,
        age_seconds: now.secs_since(p.at).max(0.0),
        owners: p.owners.iter().map(PartyView::from).collect(),
        basis: p.basis.clone(),
        detail: p.in_words(),
    };
    lock.contested.proofs.iter().map(view).collect()
}

/// How often each kind was proven, of those that can be judged.
pub(super) fn counts(state: &State, lock: &Lock) -> Vec<(ContentionKind, u64)> {
    if !lock.is_exclusive() {
        return Vec::new();
    }
    let has_several = state.stores.get(&lock.store).is_some_and(|s| s.nodes.len() > 1);
    let line = state.stores.get(&lock.store).and_then(|s| s.lines.get(&lock.line));
    let hears = line.is_some_and(|l| l.hears_overwrites());
    let is_single = lock.servers.is_none();
    let is_judged = |kind| match kind {
        ContentionKind::Primaries => has_several && is_single,
        ContentionKind::Quorum => !is_single,
        ContentionKind::Overwrite => hears && is_single,
        ContentionKind::Lost => is_single,
        ContentionKind::TokenReturned => lock.tells_returns(),
        ContentionKind::Claim => {
            state.rules.groups.iter().any(|g| g.claim.is_some() && g.heartbeat.is_some())
        }
        ContentionKind::Fencing => {
            lock.rules.fencing.as_ref().is_some_and(|f| !f.accepted.is_empty())
        }
        ContentionKind::Slowlog => is_single && slowlog::is_read(state, lock),
        ContentionKind::Resumed => can_see_holder(state, lock) && !lock.ends_by_expiry(),
    };
    let kinds = ContentionKind::ALL.iter().copied().zip(lock.contested.events);
    kinds.filter(|(kind, n)| is_judged(*kind) || *n > 0).collect()
}
