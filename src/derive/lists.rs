//! All lists of live workers, which of them must name the holders of which lock, and the workers that they name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::list::List;
use super::lock::Lock;
use super::loss::Loss;
use super::tenure::Tenure;
use super::wanted::Effects;
use super::words::Liveness;
use super::worker::Worker;
use super::workers::Workers;
use crate::config::{LiveList, Preset};
use crate::observe::{Mono, Span};

/// All lists of live workers.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    rules: Arc<Vec<LiveList>>,
    by_name: BTreeMap<Arc<str>, List>,
}

impl Lists {
    /// Takes a new config; what is known of lists that are made as before stays.
    pub fn reconfigure(&mut self, rules: Arc<Vec<LiveList>>) {
        let mut old = std::mem::take(&mut self.by_name);
        for list in rules.iter() {
            let before = self.rules.iter().find(|b| b.name == list.name);
            let is_same = before.is_some_and(|b| b.store == list.store && b.preset == list.preset);
            let known = old.remove(&list.name).filter(|_| is_same);
            let mut known = known.unwrap_or_default();
            known.set_refresh(list.refresh);
            known.set_needs_name(matches!(list.preset, Preset::BullMq { .. }));
            self.by_name.insert(list.name.clone(), known);
        }
        self.rules = rules;
    }

    /// A list by its name.
    pub fn get(&self, name: &str) -> Option<&List> {
        self.by_name.get(name)
    }

    /// Takes a list out, to be changed and put back.
    pub fn take(&mut self, name: &str) -> Option<(Arc<str>, List)> {
        self.by_name.remove_entry(name)
    }

    /// See `take`.
    pub fn put(&mut self, name: Arc<str>, list: List) {
        self.by_name.insert(name, list);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The list that must name this lock's holders: the one that the config says; else, for a format that has a registry of
    /// its own, the only one of that kind in the lock's store.
    pub fn name_for<'a>(&'a self, lock: &'a Lock) -> Option<&'a Arc<str>> {
        if let Some(name) = &lock.rules.listed_in {
            return Some(name);
        }
        let format = lock.value.as_ref()?.format;
        let fits = |list: &&LiveList| {
            list.store == lock.store_name && is_registry_of(&list.preset, format, &lock.key_text)
        };
        let mut fitting = self.rules.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Some(&only.name),
            _ => None,
        }
    }

    /// Whether the lock's list can only name workers.
    pub fn needs_name(&self, lock: &Lock) -> bool {
        self.name_for(lock)
            .and_then(|name| self.get(name))
            .is_some_and(|list| list.needs_name() && list.has_named())
    }

    /// What the lock's list, if it has one, says of one of its holders.
    pub fn verdict(&self, lock: &Lock, tenure: &Tenure, now: Mono) -> (Liveness, Option<Loss>) {
        let list = self.name_for(lock).and_then(|name| self.by_name.get(name));
        match (list, &tenure.owner) {
            (Some(list), Some(owner)) => list.verdict(owner, tenure.seat.named.as_ref(), now),
            _ => (Liveness::Unknown, None),
        }
    }
}

impl Workers {
    /// Takes the lists of a new config.
    pub fn keep_lists(&mut self, lists: Arc<Vec<LiveList>>) {
        for w in self.by_name.values_mut() {
            w.listed.keep(|name| lists.iter().any(|l| *l.name == *name));
        }
        self.lists.reconfigure(lists);
    }

    /// A list was read completely. Of the names that are new in it, those that a group's pattern fits are workers, as long
    /// as there is room: who holds a lock matters more.
    pub fn listed(
        &mut self,
        name: &Arc<str>,
        list: &List,
        new: &[Arc<str>],
        span: Span,
        fx: &mut Effects,
    ) {
        for worker in new {
            let group = self.groups.iter().position(|g| g.matches.is_some() && g.serves(worker));
            if group.is_some() && self.has_room() && !self.by_name.contains_key(worker) {
                let known = Worker::new(worker.clone(), group, false, span.done);
                self.by_name.insert(worker.clone(), known);
                fx.watch_changed = true;
            }
        }
        for w in self.by_name.values_mut() {
            w.listed.read(name, list.has(&w.name), list.is_broken(), span, list.patience());
        }
    }
}

/// Whether locks of this format are held by what this registry lists.
fn is_registry_of(preset: &Preset, format: &str, key: &str) -> bool {
    match preset {
        Preset::Sidekiq => matches!(format, "sidekiq-unique-jobs" | "sidekiq-enterprise"),
        // Each queue has its own workers.
        Preset::BullMq { queue } => format == "bullmq" && key.contains(&format!(":{queue}:")),
        Preset::Rq | Preset::Resque | Preset::Celery { .. } | Preset::Members { .. } => false,
    }
}
