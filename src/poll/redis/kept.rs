//! Keys of groups that stay watched for a while after they went, because something of them needs a look. Pure and bounded:
//! so many for each entry of the config, the last ones asked for. They make room for a key that is there.

use std::collections::{HashMap, VecDeque};

use crate::observe::KeyId;

/// The kept keys of all entries.
#[derive(Default)]
pub struct Kept {
    entries: HashMap<usize, VecDeque<Key>>,
}

struct Key {
    id: KeyId,
    /// How often in a row it was told to have gone.
    gone: u32,
}

impl Kept {
    /// Keeps a key of an entry that keeps at most so many.
    pub fn keep(&mut self, entry: usize, id: KeyId, most: usize) {
        let keys = self.entries.entry(entry).or_default();
        let known = keys.iter().position(|k| k.id == id).and_then(|i| keys.remove(i));
        keys.push_back(known.unwrap_or(Key { id, gone: 0 }));
        while keys.len() > most {
            keys.pop_front();
        }
    }

    /// A key has gone, once more or for the first time. True if it is to stay watched; `most` times it is.
    pub fn stays(&mut self, entry: usize, id: KeyId, most: u32) -> bool {
        let Some(key) = self.find(entry, id) else { return false };
        key.gone = key.gone.saturating_add(1);
        if key.gone <= most {
            return true;
        }
        self.remove(entry, id);
        false
    }

    /// A key is there.
    pub fn is_there(&mut self, entry: usize, id: KeyId) {
        if let Some(key) = self.find(entry, id) {
            key.gone = 0;
        }
    }

    /// The key of an entry that should make room for another: one that has gone.
    pub fn give_way(&mut self, entry: usize) -> Option<KeyId> {
        let keys = self.entries.get_mut(&entry)?;
        let place = keys.iter().position(|k| k.gone > 0)?;
        keys.remove(place).map(|k| k.id)
    }

    /// A key is not watched any more.
    pub fn remove(&mut self, entry: usize, id: KeyId) {
        if let Some(keys) = self.entries.get_mut(&entry) {
            keys.retain(|k| k.id != id);
        }
    }

    fn find(&mut self, entry: usize, id: KeyId) -> Option<&mut Key> {
        self.entries.get_mut(&entry)?.iter_mut().find(|k| k.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: KeyId = KeyId(1);
    const B: KeyId = KeyId(2);
    const C: KeyId = KeyId(3);

    #[test]
    fn the_last_ones_stay_for_their_time() {
        let mut kept = Kept::default();
        for id in [A, B, A, C] {
            kept.keep(0, id, 2);
        }
        assert!(!kept.stays(0, B, 3), "two later ones were asked for");
        assert!(!kept.stays(1, A, 3), "of another entry");
        assert!((0..3).all(|_| kept.stays(0, A, 3)));
        kept.is_there(0, A);
        assert!((0..3).all(|_| kept.stays(0, A, 3)), "it was back");
        assert!(!kept.stays(0, A, 3));
        assert!(!kept.stays(0, A, 3));
    }

    #[test]
    fn only_what_has_gone_gives_way() {
        let mut kept = Kept::default();
        [A, B].iter().for_each(|id| kept.keep(0, *id, 2));
        assert_eq!(kept.give_way(0), None);
        assert!(kept.stays(0, B, 9));
        assert_eq!((kept.give_way(0), kept.give_way(0)), (Some(B), None));
    }
}
