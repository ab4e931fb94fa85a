//! What sweeps read: the keys of the list, and of one that begins now its batches, and what was refused or too large for long enough to be tried again.
//! Batches change their size between two sweeps only, since a plan goes by their numbers.

use std::sync::Arc;
use std::time::Duration;

use super::batch::Form;
use super::batch_size::Execs;
use super::keys::{KeyList, WatchedKey};
use super::slot::Slot;
use super::sweep::Sweeper;
use crate::clock;
use crate::observe::KeyId;

/// How long a value with too many elements to be read is left uncounted; a semaphore's members come and go.
const RECOUNT: Duration = Duration::from_secs(30);

impl Sweeper {
    fn add<'a>(&mut self, keys: impl Iterator<Item = &'a Arc<WatchedKey>>) {
        for watched in keys {
            if self.slots.place(watched.id).is_none()
                && let Some(place) = self.slots.insert(Slot::new(watched.clone()))
            {
                self.untyped.push_back(place);
            }
        }
    }

    /// Takes over the list of watched keys.
    pub fn sync(&mut self, list: &KeyList) {
        let none = KeyList::default();
        let list = if self.is_shut_out { &none } else { list };
        // Numbers only rise, so that new keys are at the end; only in a cluster older ones come from elsewhere, and all
        // come back where a replica may be read again.
        let last = self.newest.filter(|_| self.membership.is_none());
        let known = list.partition_point(|w| Some(w.id) <= last);
        self.add(list.iter().skip(known));
        if self.slots.len() < list.len() {
            self.add(list.iter());
        }
        self.newest = list.last().map(|w| w.id).max(last);
        if self.slots.len() > list.len() {
            let kept = |id: &KeyId| list.binary_search_by_key(id, |w| w.id).is_ok();
            let removed: Vec<KeyId> = self.slots.ids().filter(|id| !kept(id)).collect();
            for id in removed {
                if let Some((place, slot)) = self.slots.remove(id) {
                    self.untyped.retain(|p| *p != place);
                    if let (Some(form), Some(home)) = (slot.form, slot.home) {
                        self.groups.remove(form, home, place);
                    }
                }
            }
        }
    }

    /// The batches of a sweep that begins now; gives what was refused or too large long ago another try.
    pub fn plan(&mut self) -> Vec<(Form, usize)> {
        self.note_memory();
        self.resize();
        let now = clock::mono();
        let at_once = std::mem::take(&mut self.retry_refused);
        let again =
            |slot: &Slot| slot.crowded.is_some_and(|since| at_once || now.since(since) >= RECOUNT);
        let crowded = self.members(Form::Opaque).into_iter();
        let mut retried: Vec<u32> =
            crowded.filter(|p| self.slots.get(*p).is_some_and(again)).collect();
        retried.extend(self.denied_due(at_once, now));
        for place in retried {
            self.settle(place, None);
        }
        self.groups.plan()
    }

    /// What the server has counted of transactions since the last sweep.
    pub fn note_execs(&mut self, execs: Option<Execs>) {
        let ours = std::mem::take(&mut self.transactions);
        self.size.note(ours, execs);
    }

    /// In a cluster each key has a transaction of its own.
    fn resize(&mut self) {
        if self.membership.is_some() || self.groups.limit() == self.size.keys() {
            return;
        }
        let slots = &mut self.slots;
        self.groups.resize(self.size.keys(), |place, index| {
            if let Some(slot) = slots.get_mut(place) {
                slot.home = Some(index);
            }
        });
    }
}
