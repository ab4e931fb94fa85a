//! Which configured sources there are to read now: those of workers and of locks, both of which come and go.

use std::sync::Arc;

use super::state::State;
use crate::config::{LockRules, Place, Source};
use crate::observe::source::SourceRef;

/// A source that pollers should read.
#[derive(Clone, Debug, PartialEq)]
pub struct ToRead {
    /// What it tells.
    pub what: SourceRef,
    /// Where it is.
    pub source: Source,
    /// What its templates leave open, and the name for that.
    pub place: Place,
    /// See `place`.
    pub name: Arc<str>,
    /// The poll that it is counted in: which poller, and which target.
    pub poll: (&'static str, Arc<str>),
}

/// Whether an entry's locks have any source of their own.
pub(super) fn has_sources(rules: &LockRules) -> bool {
    rules.fencing.is_some() || !rules.effects.is_empty()
}

impl State {
    /// The sources to read.
    pub fn to_read(&self) -> Vec<ToRead> {
        let mut list = Vec::new();
        for worker in self.workers.by_name.values() {
            let Some(group) = self.workers.group(worker) else { continue };
            let Some(source) = &group.claim else { continue };
            list.push(ToRead {
                what: SourceRef::Claim { worker: worker.name.clone() },
                source: source.clone(),
                place: Place::Worker,
                name: worker.name.clone(),
                poll: ("claim", group.name.as_str().into()),
            });
        }
        for store in self.stores.values() {
            for lock in store.locks.values().filter(|l| has_sources(&l.rules)) {
                of_lock(&lock.rules, &store.name, &lock.name, &mut list);
            }
        }
        list
    }
}

fn of_lock(rules: &LockRules, store: &Arc<str>, lock: &Arc<str>, list: &mut Vec<ToRead>) {
    let at = || (store.clone(), lock.clone());
    let mut add = |what: SourceRef, source: &Source, poller: &'static str| {
        list.push(ToRead {
            what,
            source: source.clone(),
            place: Place::Lock,
            name: lock.clone(),
            poll: (poller, store.clone()),
        });
    };
    if let Some(fencing) = &rules.fencing {
        if let Some(source) = &fencing.issued {
            let (store, lock) = at();
            add(SourceRef::FencingIssued { store, lock }, source, "fencing");
        }
        for r in &fencing.accepted {
            let ((store, lock), resource) = (at(), r.name.clone());
            add(SourceRef::FencingAccepted { store, lock, resource }, &r.source, "fencing");
        }
        for r in &fencing.rejected {
            let ((store, lock), resource) = (at(), r.name.clone());
            add(SourceRef::FencingRejected { store, lock, resource }, &r.source, "fencing");
        }
    }
    for effects in &rules.effects {
        let ((store, lock), resource) = (at(), effects.name.clone());
        add(SourceRef::EffectsTotal { store, lock, resource }, &effects.total, "effects");
        if let Some(distinct) = &effects.distinct {
            let ((store, lock), resource) = (at(), effects.name.clone());
            add(SourceRef::EffectsDistinct { store, lock, resource }, distinct, "effects");
        }
    }
}
