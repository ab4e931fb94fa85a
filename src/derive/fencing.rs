//! Fencing tokens of one lock: the last one issued, and the largest that each resource accepted. A token that goes down lets
//! an old holder pass for the new one. Knows nothing of who holds the lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::counter::Counter;
use crate::observe::Mono;
use crate::observe::node::FailReason;

/// All that is known of a lock's tokens.
#[derive(Clone, Debug, Default)]
pub struct Fencing {
    /// The counter that tokens are taken from.
    pub issued: Issued,
    /// What each resource accepted.
    pub accepted: BTreeMap<Arc<str>, Accepted>,
    /// What each resource refused.
    pub rejected: BTreeMap<Arc<str>, Rejected>,
}

/// The counter that tokens are taken from.
#[derive(Clone, Debug, Default)]
pub struct Issued {
    /// The last token; `None` if there is none.
    pub token: Option<u64>,
    /// How reading it goes.
    pub reads: Reads,
    /// How often it went down or vanished.
    pub regressions: u64,
    /// When that was seen last.
    pub fell: Option<Mono>,
}

/// The largest token that a resource accepted.
#[derive(Clone, Debug, Default)]
pub struct Accepted {
    /// As it was read last; `None` if the resource says that there is none.
    pub token: Option<u64>,
    /// How reading it goes.
    pub reads: Reads,
    /// How often it fell to a smaller token.
    pub regressions: u64,
    /// The last fall, with the read that confirmed it.
    pub fell: Option<Fall>,
    /// What it must not fall below; a zero or an absence is no token, and is passed over.
    high: Option<u64>,
    /// The last good read was below `high`: the next one decides.
    is_below: bool,
}

/// A fall of an accepted token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// From this.
    pub from: u64,
    /// To this.
    pub to: u64,
    /// End of the second read that showed it.
    pub at: Mono,
}

/// Writes that a resource refused.
#[derive(Clone, Debug, Default)]
pub struct Rejected {
    /// How many.
    pub count: Counter,
    /// How reading it goes.
    pub reads: Reads,
}

/// How reading a source goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reads {
    /// End of the last good read.
    pub last: Option<Mono>,
    /// Why the last read failed, if it did.
    pub failure: Option<FailReason>,
    /// Some read showed a value: what is read there exists, or did.
    pub has_shown: bool,
    is_empty_told: bool,
}

/// What a good read is news of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// There is nothing, and never was.
    Empty,
    /// There is something for the first time, after it was told that there was nothing.
    Appeared,
    /// Reads failed before.
    Back,
}

impl Reads {
    /// A good read ended.
    pub fn succeeded(&mut self, at: Mono) {
        (self.last, self.failure) = (Some(at), None);
    }

    /// What the good read that just succeeded was like: it showed a value, or that there is none.
    pub fn looked(&mut self, is_there: bool, was_failing: bool) -> Option<Look> {
        self.has_shown |= is_there;
        if !self.has_shown {
            let is_known = std::mem::replace(&mut self.is_empty_told, true);
            return (!is_known || was_failing).then_some(Look::Empty);
        }
        let had_none = std::mem::take(&mut self.is_empty_told);
        match had_none {
            true => Some(Look::Appeared),
            false => was_failing.then_some(Look::Back),
        }
    }

    /// A read failed. Returns whether that is news.
    pub fn failed(&mut self, reason: FailReason) -> bool {
        self.failure.replace(reason) != Some(reason)
    }
}

impl Issued {
    /// Takes a good read. Returns in words what went wrong with the counter: it went down, or vanished. Its next holder gets
    /// a token that was given before.
    pub fn read(&mut self, token: Option<u64>, at: Mono) -> Option<String> {
        self.reads.succeeded(at);
        let wrong = match (self.token, token) {
            (Some(before), Some(now)) if now < before => {
                Some(format!("the last token issued went down from {before} to {now}"))
            }
            (Some(before), None) => Some(format!("the counter of tokens vanished at {before}")),
            _ => None,
        };
        self.token = token;
        if wrong.is_some() {
            self.regressions += 1;
            self.fell = Some(at);
        }
        wrong
    }
}

impl Accepted {
    /// Takes a good read. Returns in words that the token fell: two reads in a row show a smaller one. One read alone may
    /// have come from a copy that is behind.
    pub fn read(&mut self, token: Option<u64>, at: Mono) -> Option<String> {
        self.reads.succeeded(at);
        self.token = token;
        let was_below = std::mem::take(&mut self.is_below);
        let now = token.filter(|t| *t > 0)?;
        match self.high {
            Some(high) if now < high && was_below => {
                self.high = Some(now);
                self.regressions += 1;
                self.fell = Some(Fall { from: high, to: now, at });
                Some(format!("the accepted token fell from {high} to {now}"))
            }
            Some(high) if now < high => {
                self.is_below = true;
                None
            }
            _ => {
                self.high = Some(now);
                None
            }
        }
    }

    /// A read failed: what comes after it does not follow on what came before.
    pub fn failed(&mut self, reason: FailReason) -> bool {
        self.is_below = false;
        self.reads.failed(reason)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(n: usize) -> Mono {
        Mono(n as u64 * 1_000_000_000)
    }

    fn issued(reads: &[Option<u64>]) -> u64 {
        let mut issued = Issued::default();
        reads.iter().enumerate().for_each(|(i, t)| drop(issued.read(*t, at(i))));
        issued.regressions
    }

    fn accepted(reads: &[u64]) -> u64 {
        let mut accepted = Accepted::default();
        reads.iter().enumerate().for_each(|(i, t)| drop(accepted.read(Some(*t), at(i))));
        accepted.regressions
    }

    #[test]
    fn a_counter_that_goes_down_or_vanishes_regresses_once_each_time() {
        assert_eq!(issued(&[Some(5), Some(6), Some(6), Some(1), Some(2)]), 1);
        assert_eq!(issued(&[Some(5), None, None, Some(1), Some(2)]), 1);
        assert_eq!(issued(&[None, Some(1), Some(2)]), 0);
        assert_eq!(issued(&[Some(5), Some(4), Some(3)]), 2);
    }

    #[test]
    fn an_accepted_token_falls_when_two_reads_say_so() {
        assert_eq!(accepted(&[33, 34, 33, 33, 34]), 1);
        // One read of a copy that is behind, again and again.
        assert_eq!(accepted(&[34, 33, 34, 33, 34]), 0);
        // A resource that restarts and knows no token until the next one.
        assert_eq!(accepted(&[34, 0, 0, 35]), 0);
        // It restarts and accepts an old one.
        assert_eq!(accepted(&[34, 0, 12, 12]), 1);
        assert_eq!(accepted(&[34, 12, 0, 13, 13]), 1);
        let mut a = Accepted::default();
        for (i, t) in [34, 12, 13].into_iter().enumerate() {
            a.read(Some(t), at(i));
        }
        assert_eq!(a.fell, Some(Fall { from: 34, to: 13, at: at(2) }));
    }

    #[test]
    fn a_source_that_never_showed_anything_is_told_once_and_after_each_failure() {
        let mut reads = Reads::default();
        assert_eq!(reads.looked(false, true), Some(Look::Empty), "it is not back");
        assert_eq!(reads.looked(false, false), None);
        assert_eq!(reads.looked(false, true), Some(Look::Empty));
        assert_eq!(reads.looked(true, false), Some(Look::Appeared));
        assert_eq!(reads.looked(false, false), None, "what vanished was there");
        assert_eq!(reads.looked(true, true), Some(Look::Back));
        assert_eq!(Reads::default().looked(true, false), None);
    }

    #[test]
    fn a_failed_read_between_two_is_a_break() {
        let mut a = Accepted::default();
        a.read(Some(34), at(1));
        a.read(Some(12), at(2));
        assert!(a.failed(FailReason::Timeout) && !a.failed(FailReason::Timeout));
        assert_eq!(a.read(Some(12), at(4)), None);
        assert!(a.read(Some(12), at(5)).is_some());
        assert_eq!((a.reads.last, a.reads.failure), (Some(at(5)), None));
    }

    proptest! {
        #[test]
        fn tokens_that_only_grow_never_regress(mut tokens: Vec<u64>) {
            tokens.sort_unstable();
            prop_assert_eq!(accepted(&tokens), 0);
            prop_assert_eq!(issued(&tokens.iter().copied().map(Some).collect::<Vec<_>>()), 0);
        }

        #[test]
        fn single_reads_that_are_behind_never_regress(tokens in proptest::collection::vec(1_u64..1000, 1..40)) {
            let mut sorted = tokens.clone();
            sorted.sort_unstable();
            // After each true read one of a copy that may be behind.
            let mixed: Vec<u64> =
                sorted.iter().zip(&tokens).flat_map(|(high, any)| [*high, *high.min(any), *high]).collect();
            prop_assert_eq!(accepted(&mixed), 0);
        }

        #[test]
        fn a_fall_that_stays_is_always_found(from in 2_u64..u64::MAX, to in 1_u64..u64::MAX, stays in 2_usize..9) {
            prop_assume!(to < from);
            let mut reads = vec![from];
            reads.extend(std::iter::repeat_n(to, stays));
            prop_assert_eq!(accepted(&reads), 1);
        }
    }
}
