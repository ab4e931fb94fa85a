//! What keyspace events told of watched keys since it was last told on. Pure and bounded: where there is too much of it, all
//! that was heard before proves nothing.

use super::known::Known;
use crate::observe::feed::{Deed, Heard};
use crate::observe::{KeyId, Mono, NodeRef, Span};

/// Deeds that wait at most.
const MOST: usize = 16_384;

/// See the module.
#[derive(Debug)]
pub struct Hearing {
    since: Mono,
    known: Option<(KeyId, Mono)>,
    deeds: Vec<(KeyId, Mono, Deed)>,
}

impl Hearing {
    /// Nothing was missed from here on.
    pub fn new(since: Mono) -> Self {
        Self { since, known: None, deeds: Vec::new() }
    }

    /// Events of all these keys are told from now on.
    pub fn know(&mut self, known: &Known, now: Mono) {
        let last = known.last().filter(|last| self.known.is_none_or(|(key, _)| key != *last));
        if let Some(last) = last {
            self.known = Some((last, now));
        }
    }

    /// An event.
    pub fn add(&mut self, key: KeyId, deed: Deed, now: Mono) {
        if self.deeds.len() >= MOST {
            self.deeds.clear();
            self.since = now;
        }
        self.deeds.push((key, now, deed));
    }

    /// All up to this question and its answer.
    pub fn take(&mut self, node: &NodeRef, asked: Span) -> Heard {
        let (node, deeds) = (node.clone(), std::mem::take(&mut self.deeds));
        Heard { node, since: Some(self.since), asked, known: self.known, deeds }
    }
}

/// Not all is heard any more.
pub fn deaf(node: &NodeRef, now: Mono) -> Heard {
    let asked = Span { sent: now, done: now };
    Heard { node: node.clone(), since: None, asked, known: None, deeds: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{Line, StoreId};

    #[test]
    fn too_much_is_heard_anew() {
        let node = NodeRef { store: StoreId(1), line: Line::default(), addr: "a".into() };
        let mut hearing = Hearing::new(Mono(1));
        hearing.add(KeyId(1), Deed::Wrote, Mono(2));
        let asked = Span { sent: Mono(3), done: Mono(4) };
        let heard = hearing.take(&node, asked);
        assert_eq!((heard.since, heard.deeds.len()), (Some(Mono(1)), 1));
        for at in 0..=MOST as u64 {
            hearing.add(KeyId(1), Deed::Removed, Mono(10 + at));
        }
        let heard = hearing.take(&node, asked);
        assert_eq!((heard.since, heard.deeds.len()), (Some(Mono(10 + MOST as u64)), 1));
    }
}
