//! The slots of all keys of one node, each at a place that stays while the key is watched, so that batches can name them
//! by a small number.

use std::collections::HashMap;

use super::brief::Brief;
use super::slot::Slot;
use crate::observe::KeyId;

/// Slots by place and by key.
#[derive(Default)]
pub struct Slots {
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    places: HashMap<KeyId, u32>,
    /// Of each place what a sweep has to know of it, as long as its slot did not change.
    briefs: Vec<Option<Brief>>,
    /// Places of slots that may have changed since that was last asked, and whether each is among them.
    touched: (Vec<u32>, Vec<bool>),
}

impl Slots {
    /// Adds a slot; gives its place.
    pub fn insert(&mut self, slot: Slot) -> Option<u32> {
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                let place = u32::try_from(self.slots.len()).ok()?;
                self.slots.push(None);
                self.briefs.push(None);
                self.touched.1.push(false);
                place
            }
        };
        self.places.insert(slot.watched.id, place);
        self.forget(place);
        *self.slots.get_mut(place as usize)? = Some(slot);
        Some(place)
    }

    /// Removes a key's slot.
    pub fn remove(&mut self, id: KeyId) -> Option<(u32, Slot)> {
        let place = self.places.remove(&id)?;
        self.forget(place);
        let slot = self.slots.get_mut(place as usize)?.take()?;
        self.free.push(place);
        Some((place, slot))
    }

    /// The slot at a place.
    pub fn get(&self, place: u32) -> Option<&Slot> {
        self.slots.get(place as usize)?.as_ref()
    }

    /// The slot at a place.
    pub fn get_mut(&mut self, place: u32) -> Option<&mut Slot> {
        self.forget(place);
        self.slots.get_mut(place as usize)?.as_mut()
    }

    /// Places there are, in use or free.
    pub fn width(&self) -> usize {
        self.slots.len()
    }

    /// Does something to each slot.
    pub fn each(&mut self, change: impl FnMut(&mut Slot)) {
        self.briefs.fill(None);
        self.slots.iter_mut().flatten().for_each(change);
    }

    fn forget(&mut self, place: u32) {
        if let Some(brief) = self.briefs.get_mut(place as usize) {
            *brief = None;
        }
        if let Some(is_touched) = self.touched.1.get_mut(place as usize).filter(|t| !**t) {
            *is_touched = true;
            self.touched.0.push(place);
        }
    }

    /// Places of slots that may have changed since the last call.
    pub fn take_touched(&mut self) -> Vec<u32> {
        let (touched, flags) = &mut self.touched;
        for place in touched.iter() {
            if let Some(is_touched) = flags.get_mut(*place as usize) {
                *is_touched = false;
            }
        }
        std::mem::take(touched)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().flatten()
    }

    /// What a sweep has to know of each slot, by place.
    pub fn briefs(&mut self) -> impl Iterator<Item = (u32, &Brief)> {
        let both = self.slots.iter().zip(&mut self.briefs);
        (0..).zip(both).filter_map(|(place, (slot, brief))| {
            if brief.is_none() {
                *brief = Some(Brief::of(slot.as_ref()?));
            }
            Some((place, brief.as_ref()?))
        })
    }

    /// Whether the format of any key has more to tell in other keys.
    pub fn has_companions(&self) -> bool {
        self.slots.iter().zip(&self.briefs).any(|(slot, brief)| match (brief, slot) {
            (Some(brief), _) => brief.has_companions,
            (None, Some(slot)) => slot.has_companions,
            (None, None) => false,
        })
    }

    /// Where a key's slot is.
    pub fn place(&self, id: KeyId) -> Option<u32> {
        self.places.get(&id).copied()
    }

    /// Keys with a slot.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> + '_ {
        self.places.keys().copied()
    }

    /// Places in use, in the order in which they lie.
    pub fn places(&self) -> impl Iterator<Item = u32> + '_ {
        let used = self.slots.iter().enumerate().filter(|(_, slot)| slot.is_some());
        used.filter_map(|(place, _)| u32::try_from(place).ok())
    }

    /// Whether each key was found absent when it was last read.
    pub fn shows_none(&self) -> bool {
        self.slots.iter().flatten().all(|slot| slot.absent_since.is_some())
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.places.len()
    }
}
