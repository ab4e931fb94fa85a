//! The keys that may not be read: which of them are asked for again, and what is told of them. A pattern whose keys are
//! refused is asked for less and less, see [`refused`](super::refused).

use std::collections::HashMap;
use std::sync::Arc;

use tracing::{info, warn};

use super::ability::RETRY_REFUSED;
use super::asides::Aside;
use super::batch::Form;
use super::refused::News;
use super::sweep::Sweeper;
use crate::clock;
use crate::observe::lock::Unreadable;
use crate::observe::{KeyId, Mono, label};

impl Sweeper {
    /// Takes as many keys of unknown type as go into one batch. Those of a pattern that is refused are put among the
    /// refused unasked, as far as there is no room for them.
    pub(super) fn take_untyped(&mut self, most: usize) -> Vec<u32> {
        let now = clock::mono();
        let mut asked: HashMap<usize, usize> = HashMap::new();
        let mut places = Vec::new();
        while places.len() < most
            && let Some(place) = self.untyped.pop_front()
        {
            let Some(slot) = self.slots.get_mut(place) else { continue };
            let entry = slot.watched.entry;
            // One that is tried again for all others has been counted before.
            let is_counted = slot.watched.found && (slot.denied.is_none() || slot.is_presumed);
            let asked = asked.entry(entry).or_default();
            if is_counted && *asked >= self.refusals.room(entry, now) {
                slot.denied = Some((Unreadable::Permission, now));
                slot.is_presumed = true;
                self.refusals.presumed(entry);
                self.settle(place, Some(Form::Denied));
            } else {
                *asked += usize::from(is_counted);
                places.push(place);
            }
        }
        places
    }

    /// Refused keys that are to be tried again now.
    pub(super) fn denied_due(&mut self, at_once: bool, now: Mono) -> Vec<u32> {
        if at_once {
            self.refusals.forgive();
        }
        let mut room: HashMap<usize, (usize, usize)> = HashMap::new();
        let mut due = Vec::new();
        for place in self.members(Form::Denied) {
            let Some(slot) = self.slots.get_mut(place) else { continue };
            let Some((why, since)) = slot.denied else { continue };
            let is_old = now.since(since) >= RETRY_REFUSED;
            // What is odd about a value says nothing of others.
            if !slot.watched.found || why != Unreadable::Permission {
                due.extend((at_once || is_old).then_some(place));
                continue;
            }
            let entry = slot.watched.entry;
            let refusals = &mut self.refusals;
            let (room, tries) = room
                .entry(entry)
                .or_insert_with(|| (refusals.room(entry, now), refusals.tries(entry, now)));
            slot.is_presumed |= refusals.is_freed(entry);
            let left = if slot.is_presumed { room } else { tries };
            if *left > 0 && (slot.is_presumed || is_old) {
                *left -= 1;
                due.push(place);
            }
        }
        due
    }

    /// Says in one line for each pattern or key how many cannot be read, or that all can again; rarely repeated.
    pub(super) fn tell_refused(&mut self, store: &str) {
        let changed = self.refusals.changed();
        if changed.is_empty() {
            return;
        }
        let now = clock::mono();
        let mut refused: HashMap<usize, (usize, String)> = HashMap::new();
        let mut origins: HashMap<usize, (Arc<str>, bool)> = HashMap::new();
        for slot in self.slots.iter() {
            let watched = &slot.watched;
            if changed.binary_search(&watched.entry).is_err() {
                continue;
            }
            origins.entry(watched.entry).or_insert((watched.origin.clone(), watched.found));
            if slot.denied.is_some() {
                let (n, example) = refused.entry(watched.entry).or_default();
                *n += 1;
                if example.is_empty() {
                    *example = label::text(&watched.key);
                }
            }
        }
        for entry in changed {
            let (keys, example) = refused.remove(&entry).unwrap_or_default();
            let Some((of, is_found)) = origins.get(&entry) else { continue };
            match self.refusals.news(entry, keys, *is_found, now) {
                Some(News::Refused) => warn!(store, node = %self.node.addr, %of, keys, example,
                    "keys cannot be read; does the ACL user have the line in the README, and these keys? A few are tried again every 5 minutes, all at a reload"),
                Some(News::Over) => {
                    info!(store, node = %self.node.addr, %of, "all keys can be read again");
                }
                None => {}
            }
        }
    }

    /// All keys of a form.
    pub(super) fn members(&self, form: Form) -> Vec<u32> {
        let batches = self.groups.plan().into_iter().filter(|(f, _)| *f == form);
        batches.flat_map(|(form, index)| self.groups.members(form, index).to_vec()).collect()
    }

    /// Keys found by a pattern that were away for the whole retention, once each.
    pub fn take_gone(&mut self) -> Vec<KeyId> {
        std::mem::take(&mut self.gone)
    }

    /// Keys whose standing among their pattern's locks has changed since it was last told.
    pub(super) fn take_aside(&mut self) -> Vec<(KeyId, Aside)> {
        let mut changed = Vec::new();
        for place in self.slots.take_touched() {
            let aside = self.slots.get(place).map(|slot| (slot.aside(), slot.told_aside));
            if aside.is_some_and(|(now, told)| now != told)
                && let Some(slot) = self.slots.get_mut(place)
            {
                slot.told_aside = slot.aside();
                changed.push((slot.watched.id, slot.told_aside));
            }
        }
        changed
    }
}
