//! When all lines of a store were scanned. Pure.

use std::collections::BTreeSet;

use crate::observe::Line;

/// The lines whose scan came to its end since the last whole round.
#[derive(Default)]
pub struct Rounds {
    ended: BTreeSet<Line>,
}

impl Rounds {
    /// A line's scan came to its end. True once those of all lines that have a primary did: a line that cannot be scanned
    /// is not waited for.
    pub fn end(&mut self, line: Line, mut led: impl Iterator<Item = Line>) -> bool {
        self.ended.insert(line);
        led.all(|l| self.ended.contains(&l))
    }

    /// Begins the next round; true if the last one went over all of these lines.
    pub fn turn(&mut self, lines: &BTreeSet<Line>) -> bool {
        std::mem::take(&mut self.ended).is_superset(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_goes_over_all_lines() {
        let lines = BTreeSet::from([Line(0), Line(1), Line(2)]);
        let mut rounds = Rounds::default();
        assert!(!rounds.end(Line(0), lines.iter().copied()));
        assert!(!rounds.end(Line(0), lines.iter().copied()), "the same one again");
        assert!(!rounds.end(Line(2), lines.iter().copied()));
        assert!(rounds.end(Line(1), lines.iter().copied()));
        assert!(rounds.turn(&lines));
        // A line without a primary is not waited for, and the round was not whole.
        assert!(rounds.end(Line(0), [Line(0)].into_iter()));
        assert!(!rounds.turn(&lines));
    }
}
