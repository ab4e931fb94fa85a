//! Keys that patterns found and that have gone in some lines of a store: a key is forgotten once it has gone in all lines
//! that hold it. Pure, and bounded by the watched keys.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::observe::{KeyId, Line, Mono};

/// Which keys have gone where.
#[derive(Default)]
pub struct Away {
    keys: HashMap<KeyId, BTreeMap<Line, Mono>>,
}

impl Away {
    /// A key has gone in one line. True once it has in all of these; what was told longer ago than `valid` does not count,
    /// as a key that stays away is told again and again.
    pub fn has_gone(
        &mut self,
        id: KeyId,
        line: Line,
        lines: impl Iterator<Item = Line>,
        now: Mono,
        valid: Duration,
    ) -> bool {
        let told = self.keys.entry(id).or_default();
        told.insert(line, now);
        told.retain(|_, at| now.since(*at) <= valid);
        let mut lines = lines;
        let is_everywhere = lines.all(|l| told.contains_key(&l));
        if is_everywhere {
            self.keys.remove(&id);
        }
        is_everywhere
    }

    /// A scan met the key.
    pub fn is_there(&mut self, id: KeyId) {
        self.keys.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: KeyId = KeyId(1);
    const VALID: Duration = Duration::from_secs(10);

    fn gone(away: &mut Away, line: u16, lines: &[u16], second: u64) -> bool {
        let now = Mono(second * 1_000_000_000);
        away.has_gone(KEY, Line(line), lines.iter().map(|l| Line(*l)), now, VALID)
    }

    #[test]
    fn one_line_is_enough_where_there_is_one() {
        let mut away = Away::default();
        assert!(gone(&mut away, 0, &[0], 1));
        assert!(gone(&mut away, 0, &[0], 2));
    }

    #[test]
    fn a_key_has_gone_when_no_line_has_it() {
        let mut away = Away::default();
        assert!(!gone(&mut away, 0, &[0, 1, 2], 1));
        assert!(!gone(&mut away, 2, &[0, 1, 2], 2));
        assert!(gone(&mut away, 1, &[0, 1, 2], 3));
        // It may be found again, and everything begins anew.
        assert!(!gone(&mut away, 1, &[0, 1, 2], 4));
        away.is_there(KEY);
        assert!(!gone(&mut away, 0, &[0, 1], 5));
        // A line that does not answer any more is not waited for.
        assert!(gone(&mut away, 0, &[0], 6));
    }

    #[test]
    fn what_was_told_long_ago_does_not_count() {
        let mut away = Away::default();
        assert!(!gone(&mut away, 0, &[0, 1], 1));
        assert!(!gone(&mut away, 1, &[0, 1], 12));
        assert!(gone(&mut away, 0, &[0, 1], 13));
    }
}
