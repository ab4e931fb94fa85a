//! A counter kept by somebody else, made into one that never falls and never says more than was seen to happen. What was
//! there before it was first seen does not count. One that falls may have begun anew, or was read from a copy that is
//! behind: until that is told apart, only what goes beyond the highest read counts. Knows nothing of counts that are
//! missing: a missing count is not a read.

/// Reads in a row that must agree before a counter has begun anew. A copy that is behind for fewer reads than that has
/// caught up by then with what was read before it, however the reads are spread over copies.
const AGREE: u8 = 3;

/// What was added to a foreign counter while it was watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    /// The highest read since it was first seen or began anew; `None` before the first.
    high: Option<u64>,
    /// What was added as far as is known now, and the most that was ever told.
    account: u64,
    total: u64,
    /// Reads in a row of less than half of `high`, and the lowest of them.
    fallen: u8,
    low: u64,
    /// `high` and `account` from before it began anew, until it is clear that this was no copy far behind.
    old: Option<(u64, u64)>,
}

/// What a read of it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The first.
    First,
    /// It is as high as ever, or higher.
    On,
    /// It is lower than it was: from a copy that is behind, or begun anew.
    Behind,
    /// It began anew, and all that it shows is new.
    Reset,
}

impl Counter {
    /// Takes a read.
    pub fn read(&mut self, now: u64) -> Moved {
        let Some(high) = self.high else {
            self.high = Some(now);
            return Moved::First;
        };
        if now < high {
            return self.fell(now, high);
        }
        self.fallen = 0;
        self.high = Some(now);
        let (base, account) = match self.old {
            // From next to nothing back to where it was: the low reads were of another copy.
            Some((before, then)) if now >= before && is_far_below(high, before) => (before, then),
            _ => (high, self.account),
        };
        self.add(account, now - base);
        self.old = self.old.filter(|(before, _)| is_far_below(now, *before));
        Moved::On
    }

    fn fell(&mut self, now: u64, high: u64) -> Moved {
        if !is_far_below(now, high) {
            self.fallen = 0;
            return Moved::Behind;
        }
        self.low = if self.fallen == 0 { now } else { self.low.min(now) };
        self.fallen += 1;
        if self.fallen < AGREE {
            return Moved::Behind;
        }
        self.fallen = 0;
        self.old.get_or_insert((high, self.account));
        self.add(self.account, self.low);
        self.high = Some(self.low);
        Moved::Reset
    }

    fn add(&mut self, account: u64, more: u64) {
        self.account = account.saturating_add(more);
        self.total = self.total.max(self.account);
    }

    /// What was added since the first read.
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// Whether it lost more than half: a copy that is behind has most of it, a counter that began anew next to nothing.
fn is_far_below(now: u64, high: u64) -> bool {
    now < high.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn total(reads: &[u64]) -> u64 {
        let mut c = Counter::default();
        reads.iter().for_each(|n| {
            c.read(*n);
        });
        c.total()
    }

    #[test]
    fn the_past_does_not_count_and_a_reset_counts_what_reads_agree_on() {
        let mut c = Counter::default();
        assert_eq!((c.read(500), c.total()), (Moved::First, 0));
        assert_eq!((c.read(503), c.total()), (Moved::On, 3));
        assert_eq!((c.read(2), c.total()), (Moved::Behind, 3));
        assert_eq!((c.read(4), c.total()), (Moved::Behind, 3));
        assert_eq!((c.read(4), c.total()), (Moved::Reset, 5));
        assert_eq!((c.read(4), c.total()), (Moved::On, 7));
        // It passes where it was before, step by step.
        assert_eq!(total(&[10, 0, 0, 0, 3, 6, 9, 12]), 12);
        assert_eq!(total(&[5, 0, 0, 0, 1, 1]), 1, "a resource that restarts");
    }

    #[test]
    fn copies_in_turn_never_add_up() {
        let turns = |turn: &[u64]| total(&turn.repeat(100));
        assert_eq!(turns(&[1000, 998]), 0);
        assert_eq!(turns(&[1000, 998, 998, 998, 998, 998]), 0);
        // A copy that has nothing, and one that is stuck far behind: once what it shows, not once each turn.
        assert_eq!(turns(&[1000, 0, 0, 0, 0]), 0);
        assert_eq!(turns(&[1, 0, 0, 0, 0]), 0);
        assert_eq!(turns(&[1000, 400, 400, 400, 400]), 400);
        // Gone for a while and back.
        assert_eq!(total(&[1050, 1050]), 0);
    }

    /// The true counter after each step, and which copy is read then, how far behind.
    fn steps(grow: u64) -> impl Strategy<Value = Vec<(u64, bool, usize, usize)>> {
        proptest::collection::vec((0..grow, any::<bool>(), 0_usize..90, 0_usize..90), 1..90)
    }

    /// Two copies of one counter, each as of a step so far back, never going back themselves, read in any order.
    fn copies(begun: u64, steps: &[(u64, bool, usize, usize)], lag: usize) -> (Vec<u64>, u64) {
        let (mut truth, mut at, mut reads) = (vec![begun], [0_usize; 2], Vec::new());
        for (grown, second, lag_a, lag_b) in steps {
            truth.push(truth.last().unwrap() + grown);
            let now = truth.len() - 1;
            for (at, behind) in at.iter_mut().zip([lag_a, lag_b]) {
                *at = (*at).max(now.saturating_sub(behind % (lag + 1)));
            }
            reads.push(truth[at[usize::from(*second)]]);
        }
        let grown = truth.last().unwrap() - reads[0];
        (reads, grown)
    }

    proptest! {
        /// Copies that are behind by fewer reads than have to agree, whatever the counter shows.
        #[test]
        fn copies_a_little_behind_never_count_too_much(begun in 0_u64..5, steps in steps(4)) {
            let (reads, grown) = copies(begun, &steps, usize::from(AGREE) - 1);
            prop_assert!(total(&reads) <= grown, "{:?}", reads);
        }

        /// Copies that are behind for as long as they like, but have the better half of it.
        #[test]
        fn copies_long_behind_never_count_too_much(begun in 300_u64..500, steps in steps(4)) {
            let (reads, grown) = copies(begun, &steps, 89);
            prop_assert!(total(&reads) <= grown, "{:?}", reads);
            let seen = reads.iter().max().unwrap() - reads[0];
            prop_assert_eq!(total(&reads), seen);
        }

        #[test]
        fn a_restart_that_is_seen_is_counted_to_the_end(before in 1_u64..1000, after in proptest::collection::vec(0_u64..3, 0..30)) {
            let (mut now, mut reads) = (0, vec![before, 0, 0, 0]);
            // Steps that are small against what was there before cannot be taken for a copy that comes back.
            for n in after {
                now += n.min(before / 4);
                reads.push(now);
            }
            prop_assert_eq!(total(&reads), now);
        }

        #[test]
        fn it_never_falls_and_without_resets_it_is_exact(reads: Vec<u64>) {
            let mut c = Counter::default();
            let mut before = 0;
            for n in &reads {
                c.read(*n);
                prop_assert!(c.total() >= before);
                before = c.total();
            }
            let mut sorted = reads.clone();
            sorted.sort_unstable();
            let grown = sorted.last().zip(sorted.first()).map_or(0, |(l, f)| l - f);
            prop_assert_eq!(total(&sorted), grown);
        }
    }
}
