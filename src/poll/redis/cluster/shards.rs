//! The shards of a cluster as lines of its store: which line a key is read in. A line stays with its shard through a
//! failover and through a change of addresses, and its number is never given to another. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::key_slot::{SLOTS, pinned};
use super::map::{Shard, SlotMap};
use crate::observe::{KeyId, Line};

/// The line of each slot, for those who only ask.
pub type SlotLines = Arc<Vec<Option<Line>>>;

/// All shards.
#[derive(Default)]
pub struct Shards {
    map: Option<SlotMap>,
    /// The line of each shard of the map.
    lines: Vec<Line>,
    /// Ids of the nodes that each line had last.
    members: BTreeMap<Line, BTreeSet<Arc<str>>>,
    /// As of the last map.
    by_slot: SlotLines,
    next: u16,
    /// Keys that are on their way: the line to be asked for them.
    asked: HashMap<KeyId, Line>,
}

impl Shards {
    /// Takes what a node says; true if anything is different from before.
    pub fn take(&mut self, map: SlotMap) -> bool {
        if self.map.as_ref() == Some(&map) {
            return false;
        }
        let before = self.by_slot.clone();
        let mut free: BTreeMap<Line, BTreeSet<Arc<str>>> = std::mem::take(&mut self.members);
        let mut lines: Vec<Option<Line>> = vec![None; map.shards.len()];
        // Who was in a shard stays in its line: first those that lead now, as a replica may have come from another shard.
        for (line, shard) in lines.iter_mut().zip(&map.shards) {
            *line = claim(&mut free, |_, ids| ids.contains(&shard.primary.id));
        }
        for (line, shard) in lines.iter_mut().zip(&map.shards).filter(|(l, _)| l.is_none()) {
            *line = claim(&mut free, |_, ids| shard.members().any(|m| ids.contains(&m.id)));
        }
        // All of its nodes are others: whoever has most of a line's slots goes on with it.
        for (index, line) in lines.iter_mut().enumerate().filter(|(_, l)| l.is_none()) {
            let mut taken: BTreeMap<Line, usize> = BTreeMap::new();
            for (slot, was) in (0..SLOTS).zip(before.iter()) {
                if let Some(was) = was.filter(|_| map.owner(slot) == Some(index)) {
                    *taken.entry(was).or_default() += 1;
                }
            }
            let most = taken.iter().max_by_key(|(_, count)| **count).map(|(line, _)| *line);
            *line = claim(&mut free, |line, _| Some(line) == most);
        }
        self.lines = lines.into_iter().map(|line| line.unwrap_or_else(|| self.number())).collect();
        self.members = self.lines.iter().copied().zip(map.shards.iter().map(ids)).collect();
        let line = |slot| map.owner(slot).and_then(|shard| self.lines.get(shard).copied());
        self.by_slot = Arc::new((0..SLOTS).map(line).collect());
        self.map = Some(map);
        let members = &self.members;
        self.asked.retain(|_, line| members.contains_key(line));
        true
    }

    fn number(&mut self) -> Line {
        let line = Line(self.next);
        // After so many shards a number that is free by now comes again.
        self.next = self.next.wrapping_add(1);
        line
    }

    /// The shards with their lines.
    pub fn all(&self) -> impl Iterator<Item = (Line, &Shard)> {
        let shards = self.map.iter().flat_map(|m| &m.shards);
        self.lines.iter().copied().zip(shards)
    }

    /// Whether a line has a shard.
    pub fn has(&self, line: Line) -> bool {
        self.members.contains_key(&line)
    }

    /// Slots that no shard has.
    pub fn unassigned(&self) -> usize {
        self.map.as_ref().map_or(0, SlotMap::unassigned)
    }

    /// The line that has a slot.
    pub fn owner(&self, slot: u16) -> Option<Line> {
        self.by_slot.get(usize::from(slot)).copied().flatten()
    }

    /// The line of each slot.
    pub fn by_slot(&self) -> SlotLines {
        self.by_slot.clone()
    }

    /// The line that a key is read in; `None` if no shard has its slot.
    pub fn line_of(&self, id: KeyId, slot: u16) -> Option<Line> {
        self.asked.get(&id).copied().or_else(|| self.owner(slot))
    }

    /// A key is on its way to another line, or may be. True if that is news.
    pub fn ask(&mut self, id: KeyId, line: Line) -> bool {
        self.asked.insert(id, line) != Some(line)
    }

    /// A line does not have a key that it was to be asked for. True if it was.
    pub fn not_there(&mut self, id: KeyId, line: Line) -> bool {
        let was_asked = self.asked.get(&id) == Some(&line);
        if was_asked {
            self.asked.remove(&id);
        }
        was_asked
    }

    /// Forgets keys that have arrived, and those that are not watched any more.
    pub fn settle(&mut self, slot_of: impl Fn(KeyId) -> Option<u16>) {
        let by_slot = self.by_slot.clone();
        self.asked.retain(|id, line| {
            let slot = slot_of(*id).map(usize::from);
            slot.is_some_and(|slot| by_slot.get(slot).copied().flatten() != Some(*line))
        });
    }

    /// The patterns that a line has to be scanned for.
    pub fn patterns(&self, line: Line, all: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let is_here = |p: &&Vec<u8>| pinned(p).is_none_or(|slot| self.owner(slot) == Some(line));
        all.iter().filter(is_here).cloned().collect()
    }
}

fn ids(shard: &Shard) -> BTreeSet<Arc<str>> {
    shard.members().map(|m| m.id.clone()).collect()
}

/// Takes a line that nobody has claimed.
fn claim(
    free: &mut BTreeMap<Line, BTreeSet<Arc<str>>>,
    fits: impl Fn(Line, &BTreeSet<Arc<str>>) -> bool,
) -> Option<Line> {
    let line = free.iter().find(|(line, ids)| fits(**line, ids)).map(|(line, _)| *line)?;
    free.remove(&line);
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::super::super::codec::Walk;
    use super::super::key_slot::slot_of;
    use super::*;

    /// Ranges with their nodes, the primary first; a node's id is its port.
    fn map(ranges: &[(u16, u16, &[u16])]) -> SlotMap {
        let mut text = format!("*{}\r\n", ranges.len());
        for (first, last, nodes) in ranges {
            text += &format!("*{}\r\n:{first}\r\n:{last}\r\n", nodes.len() + 2);
            for port in *nodes {
                text += &format!("*3\r\n$1\r\nh\r\n:{port}\r\n$4\r\n{port:04}\r\n");
            }
        }
        SlotMap::read(&mut Walk::new(text.as_bytes()), "h").unwrap()
    }

    fn lines(shards: &Shards) -> Vec<(u16, &str)> {
        shards.all().map(|(line, s)| (line.0, &*s.primary.id)).collect()
    }

    #[test]
    fn a_line_stays_with_its_shard() {
        let mut s = Shards::default();
        let three: &[(u16, u16, &[u16])] =
            &[(0, 99, &[1, 4]), (100, 199, &[2, 5]), (200, 16_383, &[3, 6])];
        assert!(s.take(map(three)));
        assert!(!s.take(map(three)), "nothing new");
        assert_eq!(lines(&s), [(0, "0001"), (1, "0002"), (2, "0003")]);
        // 5 was promoted, and 4 went to the third shard.
        assert!(s.take(map(&[(0, 99, &[1]), (100, 199, &[5]), (200, 16_383, &[3, 6, 4])])));
        assert_eq!(lines(&s), [(0, "0001"), (1, "0005"), (2, "0003")]);
        // The old primary is back as its replica.
        s.take(map(&[(0, 99, &[1]), (100, 199, &[5, 2]), (200, 16_383, &[3, 6, 4])]));
        // 4 was promoted in the third shard, where it is now.
        s.take(map(&[(0, 99, &[1]), (100, 199, &[5, 2]), (200, 16_383, &[4, 6])]));
        assert_eq!(lines(&s), [(0, "0001"), (1, "0005"), (2, "0004")]);
        // All nodes of the first are others.
        s.take(map(&[(0, 80, &[7]), (81, 199, &[5, 2]), (200, 16_383, &[4, 6])]));
        assert_eq!(lines(&s), [(0, "0007"), (1, "0005"), (2, "0004")]);
        // It gave its slots away, and a new shard is not taken for it.
        s.take(map(&[(0, 199, &[5, 2]), (200, 9_000, &[4, 6]), (9_001, 16_383, &[8])]));
        assert_eq!(lines(&s), [(1, "0005"), (2, "0004"), (3, "0008")]);
        assert!(!s.has(Line(0)));
    }

    #[test]
    fn a_key_on_its_way_is_read_where_it_goes() {
        let (mut s, key) = (Shards::default(), KeyId(9));
        s.take(map(&[(0, 99, &[1]), (200, 16_383, &[2])]));
        assert_eq!(s.line_of(key, 50), Some(Line(0)));
        assert_eq!(s.line_of(key, 150), None, "nobody has the slot");
        assert!(s.ask(key, Line(1)) && !s.ask(key, Line(1)));
        s.settle(|_| Some(50));
        assert_eq!(s.line_of(key, 50), Some(Line(1)));
        // It was stopped, and the key is read at its old place again.
        assert!(!s.not_there(key, Line(0)) && s.not_there(key, Line(1)));
        assert_eq!(s.line_of(key, 50), Some(Line(0)));
        // It arrived; should the slot ever come back, its owner is asked.
        s.ask(key, Line(1));
        s.take(map(&[(0, 49, &[1]), (50, 16_383, &[2])]));
        s.settle(|_| Some(50));
        s.take(map(&[(0, 99, &[1]), (200, 16_383, &[2])]));
        assert_eq!(s.line_of(key, 50), Some(Line(0)));
    }

    #[test]
    fn a_pattern_with_a_hash_tag_is_looked_for_in_one_line() {
        let mut s = Shards::default();
        s.take(map(&[(0, 8_191, &[1]), (8_192, 16_383, &[2])]));
        assert!(slot_of(b"user") < 8_192 && slot_of(b"foo") > 8_191);
        let all: Vec<Vec<u8>> = ["lock:*", "{user}:*", "{foo}:*"].map(Into::into).to_vec();
        let of = |line| s.patterns(Line(line), &all).iter().map(|p| p[1]).collect::<Vec<_>>();
        assert_eq!((of(0), of(1)), (vec![b'o', b'u'], vec![b'o', b'f']));
    }
}
