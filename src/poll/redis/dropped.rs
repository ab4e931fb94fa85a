//! Keys that patterns found and that are not watched: how many, and why. Pure, and bounded whatever the server holds.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// Keys that are told apart; beyond it each sighting counts.
const MAX_TOLD_APART: usize = 1 << 16;

/// Why a key is not watched.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Its pattern has as many as it may have.
    MaxLocks,
    /// Another key has its lock's name.
    DuplicateName,
}

/// What the present round over all patterns and the one before it left out.
pub struct Dropped {
    hasher: RandomState,
    round: HashSet<(u64, Reason)>,
    before: HashSet<(u64, Reason)>,
    overflow: u64,
    told: Option<Vec<(&'static str, u64)>>,
}

impl Dropped {
    /// Nothing was left out.
    pub fn new() -> Self {
        Self {
            hasher: RandomState::new(),
            round: HashSet::new(),
            before: HashSet::new(),
            overflow: 0,
            told: None,
        }
    }

    /// This key is not watched.
    pub fn add(&mut self, key: &[u8], why: Reason) {
        if self.round.len() < MAX_TOLD_APART {
            self.round.insert((self.hasher.hash_one(key), why));
        } else if why == Reason::MaxLocks {
            self.overflow = self.overflow.saturating_add(1);
        }
    }

    /// Whether a key was left out in the last round or is in this one, as far as they can be told apart.
    pub fn has(&self, key: &[u8]) -> bool {
        let mark = self.hasher.hash_one(key);
        let is_among = |round: &HashSet<(u64, Reason)>| {
            round.len() >= MAX_TOLD_APART
                || [Reason::MaxLocks, Reason::DuplicateName]
                    .iter()
                    .any(|why| round.contains(&(mark, *why)))
        };
        [&self.round, &self.before].into_iter().any(is_among)
    }

    /// The numbers by reason, if they are not those that were told last.
    pub fn news(&mut self) -> Option<Vec<(&'static str, u64)>> {
        let count = |why| self.round.iter().filter(|(_, w)| *w == why).count() as u64;
        let counts = vec![
            ("duplicate_name", count(Reason::DuplicateName)),
            ("max_locks", count(Reason::MaxLocks).saturating_add(self.overflow)),
        ];
        let is_news = self.told.as_ref() != Some(&counts);
        is_news.then(|| {
            self.told = Some(counts.clone());
            counts
        })
    }

    /// The round is over.
    pub fn turn(&mut self) {
        self.before = std::mem::take(&mut self.round);
        self.overflow = 0;
    }
}
