//! Whether anything leans on a list of live workers. One that nothing does is read for nobody, and is most likely a
//! `listed_in` that was forgotten.

use std::collections::BTreeSet;

use super::super::cursor::Cursor;
use super::super::model::{LiveList, Preset};

/// What of the config leans on lists.
#[derive(Default)]
pub(super) struct ListUses {
    named: BTreeSet<String>,
    /// Stores with locks that may be of a format with this registry.
    own: BTreeSet<(String, Registry)>,
    /// Something could not be read that may lean on any of them. That is reported, and nothing is to follow from it.
    is_doubtful: bool,
}

/// A registry that belongs to formats, whose locks are held against it without being told so.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Registry {
    Sidekiq,
    BullMq,
}

impl ListUses {
    /// Something could not be read.
    pub(super) fn doubt(&mut self) {
        self.is_doubtful = true;
    }

    /// Takes a lock's entry.
    pub(super) fn lock(&mut self, at: &Cursor<'_>, store: &str, is_known: bool) {
        if at.has("listed_in") || at.misspelt("listed_in") {
            self.is_doubtful |= !is_known;
            self.named.extend(at.word("listed_in").map(str::to_owned));
            return;
        }
        let format = at.word("format").unwrap_or("auto");
        let own: &[Registry] = match format {
            _ if at.has("owner_json") => &[],
            "sidekiq-unique-jobs" | "sidekiq-enterprise" => &[Registry::Sidekiq],
            "bullmq" => &[Registry::BullMq],
            "auto" => &[Registry::Sidekiq, Registry::BullMq],
            _ => &[],
        };
        self.own.extend(own.iter().map(|registry| (store.to_owned(), *registry)));
    }

    /// Tells of each list that nothing leans on. Where there are worker groups all lists tell of their workers.
    pub(super) fn check(&self, top: &Cursor<'_>, lists: &[LiveList]) {
        if self.is_doubtful || top.has("workers") || top.misspelt("workers") {
            return;
        }
        for (name, at) in top.map("live_workers") {
            let Some(list) = lists.iter().find(|list| *list.name == *name) else { continue };
            let registry = match list.preset {
                Preset::Sidekiq => Some(Registry::Sidekiq),
                Preset::BullMq { .. } => Some(Registry::BullMq),
                _ => None,
            };
            let is_own = registry.is_some_and(|r| self.own.contains(&(list.store.to_string(), r)));
            if !is_own && !self.named.contains(name) {
                at.wrong_here(
                    "is of no use: no lock names it, and there are no `workers` that it could tell of",
                    format!("add `listed_in: {name}` to the locks whose holders it names, or remove it"),
                );
            }
        }
    }
}
