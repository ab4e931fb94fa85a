//! Side effects on one resource: how many, and how many beyond one for each logical request. Both are counters kept by
//! somebody else, read one after the other; a request that is under way must not look like a duplicate.

use std::time::Duration;

use super::counter::{Counter, Moved};
use super::fencing::Reads;
use crate::observe::{Mono, Span};

/// Duplicates that come this soon after others are no news of their own.
const QUIET: Duration = Duration::from_secs(600);

/// Side effects on one resource.
#[derive(Clone, Debug, Default)]
pub struct SideEffects {
    total: Counter,
    distinct: Counter,
    duplicates: u64,
    /// How reading each goes.
    pub reads: [Reads; 2],
    /// The last total that was not held against anything yet.
    open: Option<(u64, Span)>,
    /// Duplicates as of the reads before, from where neither counter began anew.
    before: Option<u64>,
    /// The most that two reads in a row have shown since then.
    confirmed: u64,
    /// When the last duplicates were counted.
    pub duplicated: Option<Mono>,
}

impl SideEffects {
    /// Takes a read of how many there were. A count that is not there says nothing, least of all zero.
    pub fn read_total(&mut self, total: Option<u64>, span: Span) {
        self.reads[0].succeeded(span.done);
        self.open = total.map(|total| (total, span));
        if total.is_some_and(|total| self.total.read(total) == Moved::Reset) {
            self.before = None;
        }
    }

    /// Takes a read of how many logical requests there were. The total has to have been read before it and not long ago:
    /// then every request in the total had the time to be counted here too. Returns in words that there are duplicates, if
    /// that is news.
    pub fn read_distinct(
        &mut self,
        distinct: Option<u64>,
        span: Span,
        poll: Duration,
    ) -> Option<String> {
        self.reads[1].succeeded(span.done);
        let open = self.open.take();
        let distinct = distinct?;
        match self.distinct.read(distinct) {
            Moved::Reset => self.before = None,
            // Not yet clear whether it began anew: requests that are missing here would look like duplicates.
            Moved::Behind => return None,
            Moved::First | Moved::On => {}
        }
        let (total, read) = open?;
        let is_before = read == span || read.done <= span.sent;
        if !is_before || span.sent.since(read.done) > poll * 2 {
            return None;
        }
        let now = total.saturating_sub(distinct);
        match self.before.replace(now) {
            // What was there at first is history.
            None => {
                self.confirmed = now;
                None
            }
            Some(before) => {
                let shown = before.min(now);
                let new = shown.saturating_sub(self.confirmed);
                self.duplicates = self.duplicates.saturating_add(new);
                self.confirmed = self.confirmed.max(shown);
                self.told(new, span.done)
            }
        }
    }

    fn told(&mut self, new: u64, at: Mono) -> Option<String> {
        if new == 0 {
            return None;
        }
        let before = self.duplicated.replace(at);
        let is_news = before.is_none_or(|before| at.since(before) >= QUIET);
        let (all, noun) =
            (self.duplicates, if self.duplicates == 1 { "effect" } else { "effects" });
        is_news.then(|| {
            format!("{all} {noun} beyond one for each request since the exporter began to count")
        })
    }

    /// Side effects since the first read; `None` before it.
    pub fn total(&self) -> Option<u64> {
        self.reads[0].last.map(|_| self.total.total())
    }

    /// Duplicates since the first reads; `None` before them.
    pub fn duplicates(&self) -> Option<u64> {
        self.reads[0].last.and(self.reads[1].last).map(|_| self.duplicates)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::FileFailurePersistence;

    use super::*;
    use crate::observe::Mono;

    const POLL: Duration = Duration::from_secs(2);

    fn span(n: usize) -> Span {
        let at = Mono(n as u64 * 2_000_000_000);
        Span { sent: at, done: at.plus(Duration::from_millis(1)) }
    }

    fn run(reads: &[(u64, u64)]) -> SideEffects {
        let mut e = SideEffects::default();
        for (i, (total, distinct)) in reads.iter().enumerate() {
            e.read_total(Some(*total), span(i));
            e.read_distinct(Some(*distinct), span(i), POLL);
        }
        e
    }

    #[test]
    fn duplicates_are_what_two_reads_show_beyond_what_was_there_at_first() {
        let e = run(&[(100, 97), (101, 98), (103, 99), (104, 100)]);
        assert_eq!((e.total(), e.duplicates()), (Some(4), Some(1)));
        assert_eq!(
            run(&[(0, 0), (2, 1)]).duplicates(),
            Some(0),
            "one read may show a request under way"
        );
        assert_eq!(run(&[(0, 0), (2, 1), (3, 3)]).duplicates(), Some(0));
        assert_eq!(SideEffects::default().duplicates(), None);
    }

    #[test]
    fn duplicates_are_news_once_and_again_after_a_quiet_time() {
        let mut e = SideEffects::default();
        let mut news = Vec::new();
        // Duplicates come in three polls, none in five minutes and more, then one more.
        for (i, total) in
            [(0, 10), (1, 11), (2, 12), (3, 13), (4, 13), (350, 13), (351, 14), (352, 14)]
        {
            e.read_total(Some(total), span(i));
            news.extend(e.read_distinct(Some(10), span(i), POLL).map(|told| (i, told)));
        }
        let at = |i, n: &str| {
            (i, format!("{n} beyond one for each request since the exporter began to count"))
        };
        assert_eq!(news, [at(2, "1 effect"), at(352, "4 effects")]);
        assert_eq!(e.duplicated, Some(span(352).done));
    }

    #[test]
    fn a_counter_that_begins_anew_makes_no_duplicates() {
        // Both, the total alone, and what it is held against alone.
        assert_eq!(run(&[(50, 50), (3, 3), (4, 4), (5, 5), (6, 6)]).duplicates(), Some(0));
        assert_eq!(run(&[(50, 50), (3, 51), (4, 52), (5, 53), (6, 54)]).duplicates(), Some(0));
        let e = run(&[(50, 50), (51, 1), (52, 2), (54, 3), (56, 4), (57, 5)]);
        assert_eq!((e.total(), e.duplicates()), (Some(7), Some(1)));
    }

    #[test]
    fn a_count_that_is_missing_is_not_zero() {
        let (there, gone) = ((Some(1050), Some(1000)), (None, None));
        for missing in [(None, Some(1000)), (Some(1050), None), gone] {
            for reads in [[there, missing, there, there], [missing, missing, there, there]] {
                let mut e = SideEffects::default();
                for (i, (total, distinct)) in reads.into_iter().enumerate() {
                    e.read_total(total, span(i));
                    e.read_distinct(distinct, span(i), POLL);
                }
                assert_eq!((e.total(), e.duplicates()), (Some(0), Some(0)), "{reads:?}");
            }
        }
    }

    #[test]
    fn reads_that_do_not_belong_together_are_not_compared() {
        let mut e = SideEffects::default();
        for i in 0..5 {
            // The total is read after it.
            e.read_distinct(Some(1), span(i), POLL);
            e.read_total(Some(9), span(i));
        }
        assert_eq!(e.duplicates(), Some(0));
        let mut e = SideEffects::default();
        e.read_total(Some(9), span(0));
        e.read_distinct(Some(1), span(10), POLL);
        e.read_total(Some(99), span(10));
        e.read_distinct(Some(1), span(20), POLL);
        assert_eq!((e.total(), e.duplicates()), (Some(90), Some(0)));
    }

    proptest! {
        // Beside this file, not in a directory of its own at the top.
        #![proptest_config(ProptestConfig::with_failure_persistence(FileFailurePersistence::WithSource("regressions")))]

        /// Whoever counts a request before its effects, read at any instants, has no duplicates.
        #[test]
        fn requests_under_way_are_no_duplicates(steps in proptest::collection::vec((0_u64..5, 0_u64..5), 1..60)) {
            let (mut distinct, mut total) = (0, 0);
            let mut reads = Vec::new();
            for (begun, ended) in steps {
                distinct += begun;
                total = distinct.min(total + ended);
                reads.push((total, distinct));
            }
            prop_assert_eq!(run(&reads).duplicates(), Some(0));
        }

        #[test]
        fn all_that_happen_are_found(each in proptest::collection::vec(0_u64..4, 1..30)) {
            let (mut total, mut reads) = (0, vec![(0, 0)]);
            for n in &each {
                total += n;
                reads.push((total, 0));
            }
            reads.push((total, 0));
            prop_assert_eq!(run(&reads).duplicates(), Some(each.iter().sum()));
        }

        #[test]
        fn no_counter_ever_falls(reads: Vec<(u64, u64)>) {
            let mut e = SideEffects::default();
            let mut before = (Some(0), Some(0));
            for (i, (total, distinct)) in reads.into_iter().enumerate() {
                e.read_total(Some(total), span(i));
                e.read_distinct(Some(distinct), span(i), POLL);
                let now = (e.total(), e.duplicates());
                prop_assert!(now >= before);
                before = now;
            }
        }
    }
}
