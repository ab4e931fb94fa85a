//! How the server answers for the keys of each entry of the config, and how many of them it is asked for accordingly. Each
//! refusal raises its error counters and goes into its ACL log, and a pattern may find new keys without end: once most of a
//! pattern's keys are refused the others are taken for refused unasked, but for one now and then. Pure; knows no key.

use std::collections::HashMap;
use std::time::Duration;

use super::ability::RETRY_REFUSED;
use crate::observe::Mono;

/// Refusals of a pattern's new keys that are taken for single ones. Readable keys make up for them.
const MOST: usize = 32;
/// Refusals that one readable key makes up for.
const MADE_UP: usize = 2;
/// After so long one refusal is forgotten; twice as long each time that all were used up, up to [`RETRY_REFUSED`].
const PAUSE: Duration = Duration::from_secs(10);
/// Keys that were refused themselves and are tried again at a time, for all of their pattern.
const TRIED_AGAIN: usize = 3;

/// A log line is repeated after so long if there is news.
const TOLD_AGAIN: Duration = Duration::from_secs(3600);

/// All entries that had a refusal.
#[derive(Default)]
pub struct Refusals(HashMap<usize, Entry>);

/// One entry.
#[derive(Clone, Debug)]
struct Entry {
    /// Refusals of new keys that readable ones and time have not made up for.
    level: usize,
    /// When the next one is forgotten, and how long after the one before that is.
    sinks: Mono,
    pause: Duration,
    /// When some of the refused keys were last tried again.
    tried: Mono,
    /// A refused key could be read: the others may be readable as well.
    is_freed: bool,
    /// Refused or taken for refused, and readable again, since that was told last.
    fresh: bool,
    back: bool,
    /// When refusals were last told, and whether it was told since that they are over.
    told: Option<(Mono, bool)>,
}

/// What is to be told of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// So many of its keys are refused.
    Refused,
    /// None is any more.
    Over,
}

impl Entry {
    fn new(now: Mono) -> Self {
        Self {
            level: 0,
            sinks: now,
            pause: PAUSE,
            tried: now,
            is_freed: false,
            fresh: false,
            back: false,
            told: None,
        }
    }
}

impl Refusals {
    /// How many keys of an entry may be asked for that are not known to be readable.
    pub fn room(&mut self, entry: usize, now: Mono) -> usize {
        let Some(e) = self.0.get_mut(&entry).filter(|e| e.level > 0) else { return usize::MAX };
        if now >= e.sinks {
            if e.level >= MOST {
                e.pause = (e.pause * 2).min(RETRY_REFUSED);
            }
            e.level -= 1;
            e.sinks = now.plus(e.pause);
        }
        if e.level == 0 { usize::MAX } else { MOST - e.level }
    }

    /// A key was refused; `is_new` if it was not before, and `counts` if others like it may be refused too.
    pub fn refused(&mut self, entry: usize, is_new: bool, counts: bool, now: Mono) {
        let e = self.0.entry(entry).or_insert_with(|| Entry::new(now));
        e.fresh |= is_new;
        if !counts {
            return;
        }
        if e.level == 0 {
            e.sinks = now.plus(e.pause);
        }
        e.level = (e.level + 1).min(MOST);
        e.is_freed &= e.level < MOST;
    }

    /// A key is taken for refused because others are.
    pub fn presumed(&mut self, entry: usize) {
        if let Some(e) = self.0.get_mut(&entry) {
            e.fresh = true;
        }
    }

    /// A key can be read; `was_refused` if it could not before.
    pub fn readable(&mut self, entry: usize, was_refused: bool) {
        let Some(e) = self.0.get_mut(&entry) else { return };
        e.level = e.level.saturating_sub(MADE_UP);
        e.pause = PAUSE;
        e.back |= was_refused;
        e.is_freed |= was_refused;
    }

    /// Whether a refused key of the entry became readable, so that all of them are to be asked for as far as there is room.
    pub fn is_freed(&self, entry: usize) -> bool {
        self.0.get(&entry).is_some_and(|e| e.is_freed)
    }

    /// How many of an entry's refused keys are to be tried again now.
    pub fn tries(&mut self, entry: usize, now: Mono) -> usize {
        let Some(e) = self.0.get_mut(&entry) else { return 0 };
        if now.since(e.tried) < RETRY_REFUSED {
            return 0;
        }
        e.tried = now;
        TRIED_AGAIN
    }

    /// Rights may have been granted: all may be asked for once more.
    pub fn forgive(&mut self) {
        for e in self.0.values_mut() {
            e.level = 0;
            e.pause = PAUSE;
            e.is_freed = true;
        }
    }

    /// Entries of which something may have to be told.
    pub fn changed(&self) -> Vec<usize> {
        let mut changed: Vec<usize> =
            self.0.iter().filter(|(_, e)| e.fresh || e.back).map(|(i, _)| *i).collect();
        changed.sort_unstable();
        changed
    }

    /// What is to be told of an entry that has so many refused keys now; `is_found` if a pattern finds its keys, so that
    /// they may come and go without end.
    pub fn news(
        &mut self,
        entry: usize,
        refused: usize,
        is_found: bool,
        now: Mono,
    ) -> Option<News> {
        let e = self.0.get_mut(&entry)?;
        if refused == 0 {
            (e.fresh, e.back, e.is_freed) = (false, false, false);
            let (at, over) = e.told?;
            e.told = Some((at, true));
            return (!over).then_some(News::Over);
        }
        e.back = false;
        let is_due = match e.told {
            None => true,
            Some((_, true)) if !is_found => true,
            Some((at, over)) => now.since(at) >= if over { RETRY_REFUSED } else { TOLD_AGAIN },
        };
        if !(e.fresh && is_due) {
            return None;
        }
        e.fresh = false;
        e.told = Some((now, false));
        Some(News::Refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Mono {
        Mono(seconds * 1_000_000_000)
    }

    #[test]
    fn a_pattern_that_is_refused_is_asked_for_less_and_less() {
        let mut r = Refusals::default();
        assert_eq!(r.room(0, at(0)), usize::MAX);
        (0..50).for_each(|_| r.refused(0, true, true, at(0)));
        assert_eq!(r.room(0, at(1)), 0);
        assert_eq!(r.room(1, at(1)), usize::MAX, "another one");
        let mut asked = Vec::new();
        for s in 1..7_200 {
            if r.room(0, at(s)) > 0 {
                r.refused(0, true, true, at(s));
                asked.push(s);
            }
        }
        assert_eq!(asked[..4], [10, 30, 70, 150]);
        assert!(asked.len() < 30, "{} in two hours", asked.len());
    }

    #[test]
    fn readable_keys_make_up_for_refused_ones() {
        let mut r = Refusals::default();
        for k in 0..1000 {
            assert!(r.room(0, at(k)) > 0, "{k}");
            r.refused(0, true, true, at(k));
            r.readable(0, false);
        }
        // One that could not be read before frees all others, twice as many each time.
        (0..50).for_each(|_| r.refused(0, true, true, at(1000)));
        assert!(!r.is_freed(0));
        let mut rounds = 0;
        r.readable(0, true);
        while r.room(0, at(1000)) < 1000 {
            assert!(r.is_freed(0));
            (0..r.room(0, at(1000))).for_each(|_| r.readable(0, true));
            rounds += 1;
        }
        assert_eq!(rounds, 3);
    }

    #[test]
    fn keys_that_were_refused_are_tried_again_for_all_others() {
        let mut r = Refusals::default();
        r.refused(0, true, true, at(0));
        assert_eq!((r.tries(0, at(299)), r.tries(0, at(300)), r.tries(0, at(301))), (0, 3, 0));
        r.refused(0, false, false, at(300));
        assert_eq!(
            r.room(0, at(300)),
            usize::MAX,
            "that is nothing new, and the first is forgotten"
        );
    }

    #[test]
    fn a_line_is_rare_whatever_comes_and_goes() {
        let mut r = Refusals::default();
        let mut lines = Vec::new();
        for s in 0..7_200 {
            r.refused(0, true, true, at(s));
            r.presumed(0);
            lines.extend(r.news(0, 7, true, at(s)).map(|n| (s, n)));
        }
        assert_eq!(lines, [(0, News::Refused), (3_600, News::Refused)]);
        r.readable(0, true);
        assert_eq!(r.changed(), [0]);
        assert_eq!(r.news(0, 0, true, at(7_300)), Some(News::Over));
        assert_eq!(r.news(0, 0, true, at(7_301)), None);
        r.refused(0, true, true, at(7_302));
        assert_eq!(r.news(0, 1, false, at(7_302)), Some(News::Refused), "a lock named by its key");
    }
}
