//! What configured sources and lists of live workers change: tokens and effects of locks, claims of workers, and whether
//! holders are listed.

use std::collections::HashSet;
use std::sync::Arc;

use super::State;
use super::falls::Fallen;
use crate::derive::claims::Claim;
use crate::derive::fencing::Look;
use crate::derive::list::List;
use crate::derive::lock::{Beats, Lock};
use crate::derive::resources::News;
use crate::derive::wanted::Effects;
use crate::derive::words::LivenessSource;
use crate::observe::lock::{CompanionRead, CompanionValue, Tells};
use crate::observe::source::{ListRead, SourceRead, SourceRef, SourceValue};
use crate::observe::{Mono, Span};

impl State {
    pub(super) fn source(&mut self, read: &SourceRead, fx: &mut Effects) {
        if let SourceRef::Claim { worker } = &read.source {
            self.claim(worker, read, fx);
            return;
        }
        let poll = self.rules.poll_interval;
        let Some((store, lock, news)) = self.resources.read(read, poll) else { return };
        match news {
            News::Regressed(detail) => self.regressed(&store, &lock, &detail, read.span.done, fx),
            News::Fell { resource, fall, detail } => {
                self.regressed(&store, &lock, &detail, read.span.done, fx);
                self.token_fell(Fallen { store, lock, resource, fall }, fx);
            }
            News::Duplicated(detail) => {
                if let Some(lock) = self.lock_named(&store, &lock) {
                    lock.effects_duplicated(read.span.done, &detail, fx);
                }
            }
            News::Unreadable(detail) => fx.changed(store, lock, "source_unreadable", detail),
            News::Empty(detail) => self.source_empty(&read.source, store, lock, detail, fx),
            News::Readable(detail) => fx.changed(store, lock, "source_readable", detail),
        }
    }

    /// A library's own counter of fencing tokens, unless the config says where they are issued.
    pub(super) fn own_counter(&mut self, read: &CompanionRead, fx: &mut Effects) {
        let token = match read.told.iter().find(|(tells, _)| *tells == Tells::FencingToken) {
            Some((_, CompanionValue::Missing)) => None,
            Some((_, CompanionValue::Number(n))) => u64::try_from(*n).ok(),
            // What is no number is no counter.
            _ => return,
        };
        let Some(lock) = self.stores.get(&read.store).and_then(|s| s.locks.get(&read.key)) else {
            return;
        };
        if lock.rules.fencing.as_ref().is_some_and(|f| f.issued.is_some()) {
            return;
        }
        let (store, lock, at) = (lock.store_name.clone(), lock.name.clone(), read.span.done);
        if let Some(detail) = self.resources.counter(&store, &lock, token, at) {
            self.regressed(&store, &lock, &detail, at, fx);
        }
    }

    fn regressed(&mut self, store: &str, lock: &str, detail: &str, at: Mono, fx: &mut Effects) {
        if let Some(lock) = self.lock_named(store, lock) {
            lock.token_regressed(at, detail, fx);
        }
    }

    pub(super) fn lock_named(&mut self, store: &str, lock: &str) -> Option<&mut Lock> {
        for store in self.stores.values_mut().filter(|s| *s.name == *store) {
            let key = store.locks.values().find(|l| *l.name == *lock).map(|l| l.key);
            if let Some(key) = key {
                return store.locks.get_mut(&key).map(|l| &mut **l);
            }
        }
        None
    }

    fn claim(&mut self, worker: &Arc<str>, read: &SourceRead, fx: &mut Effects) {
        let is_asked = self.workers.with_group(worker).is_some_and(|(_, g, _)| g.claim.is_some());
        let Some(w) = self.workers.by_name.get_mut(worker).filter(|_| is_asked) else { return };
        let at = read.span.done;
        let was_failing = w.claims.reads.failure.is_some();
        let claims: &[_] = match &read.value {
            Ok(Some(SourceValue::Claims(claims))) => claims,
            Ok(_) => &[],
            Err(failed) => {
                if w.claims.failed(failed.reason) {
                    let detail = format!("{} ({})", failed.detail, failed.reason.as_str());
                    fx.changed("", worker.clone(), "claim_unreadable", detail);
                }
                return;
            }
        };
        let gone = w.claims.read(claims, w.heartbeat.advances, at);
        let is_there = matches!(read.value, Ok(Some(_)));
        match w.claims.reads.looked(is_there, was_failing) {
            Some(Look::Empty) => self.claim_empty(worker, fx),
            Some(Look::Appeared) => {}
            Some(Look::Back) => {
                let detail = "what it claims can be read again".to_owned();
                fx.changed("", worker.clone(), "claim_readable", detail);
            }
            None => {}
        }
        for claim in gone {
            if let Some(lock) = self.lock_named(&claim.store, &claim.lock) {
                lock.unclaimed_by(worker);
            }
        }
        self.hold_claims_against_locks(worker, read.span, fx);
    }

    /// Who else holds what a worker claims and does not hold, as far as is known.
    fn hold_claims_against_locks(&mut self, worker: &Arc<str>, span: Span, fx: &mut Effects) {
        let Some(w) = self.workers.by_name.get(worker) else { return };
        let is_held = |claim: &Claim| {
            w.holds.keys().any(|(store, key)| {
                let lock = self.stores.get(store).and_then(|s| s.locks.get(key));
                lock.is_some_and(|l| l.name == claim.lock && l.store_name == claim.store)
            })
        };
        let others: Vec<Claim> = w.claims.list.iter().filter(|c| !is_held(c)).cloned().collect();
        let beats = Beats { count: w.heartbeat.advances, last: w.heartbeat.last_advance() };
        let poll = self.rules.poll_interval;
        for claim in others {
            if let Some(lock) = self.lock_named(&claim.store, &claim.lock) {
                lock.claimed_by(worker, &claim, beats, (span, poll), fx);
            }
        }
    }

    pub(super) fn list(&mut self, read: &ListRead, fx: &mut Effects) {
        let Some((name, mut list)) = self.workers.lists.take(&read.list) else { return };
        let was_failing = list.reads.failure.is_some();
        match &read.members {
            Err(failed) => {
                list.trouble.clone_from(&failed.detail);
                if list.reads.failed(failed.reason) {
                    let detail = format!("{} ({})", failed.detail, failed.reason.as_str());
                    fx.changed("", name.clone(), "list_unreadable", detail);
                }
                self.workers.lists.put(name, list);
            }
            Ok(members) => {
                if was_failing {
                    let detail = "the list can be read again".to_owned();
                    fx.changed("", name.clone(), "list_readable", detail);
                }
                let new = list.take(members, read.span);
                self.hold_against(&name, &mut list);
                self.workers.listed(&name, &list, &new, read.span, fx);
                self.workers.lists.put(name, list);
                self.look_at_list(&read.list, read.span, fx);
            }
        }
    }

    fn hold_against(&self, name: &str, list: &mut List) {
        let locks = self.stores.values().flat_map(|s| s.locks.values());
        let listed = locks.filter(|l| self.workers.lists.name_for(l).is_some_and(|n| **n == *name));
        let holders = listed
            .flat_map(|l| l.tenures())
            .filter_map(|t| Some((&**t.owner.as_ref()?, t.seat.named.as_ref(), t.first.span.done)));
        list.hold_against(holders);
    }

    /// Judges the locks whose holders the list must name.
    fn look_at_list(&mut self, name: &str, span: Span, fx: &mut Effects) {
        let workers = &self.workers;
        for lock in self.stores.values_mut().flat_map(|s| s.locks.values_mut()) {
            if workers.lists.name_for(lock).is_some_and(|n| **n == *name) {
                lock.looked_by_all(LivenessSource::List, span, workers, fx);
            }
        }
    }

    /// Forgets what sources told of locks that are not there any more.
    pub(super) fn forget_resources(&mut self) {
        if self.resources.is_empty() {
            return;
        }
        let stores = self.stores.values();
        let there: HashSet<(&str, &str)> =
            stores.flat_map(|s| s.lock_names().map(|lock| (&*s.name, lock))).collect();
        self.resources.keep(|store, lock| there.contains(&(store, lock)));
    }
}
