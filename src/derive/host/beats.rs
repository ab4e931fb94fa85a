//! How long a heart was silent, from the reads that showed its beats: a beat lies between the last read that did not
//! show it and the first that did, never at the read. A gap with a break in it is no gap.

use std::time::Duration;

use crate::observe::{Mono, Span};

/// A time without a beat: at least and at most so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// At least.
    pub lower: Duration,
    /// At most; `None` if the beat before it came during a break.
    pub upper: Option<Duration>,
    /// Whether a beat ended it; else it goes on.
    pub is_over: bool,
}

/// The last beat, and the last read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beats {
    /// The last beat came after this and not later than that.
    last: Option<(Option<Mono>, Mono)>,
    read: Option<Span>,
}

impl Beats {
    /// Takes one good read: whether it showed a new beat, and whether a break lies between it and the good one before.
    pub fn read(&mut self, span: Span, advanced: bool, broken: bool) -> Option<Gap> {
        let before = self.read.replace(span).filter(|_| !broken);
        let Some(before) = before else {
            // When the last beat came is not known; what follows is at least as long as it is seen to be.
            self.last = Some((None, span.done));
            return None;
        };
        let (after, until) = self.last?;
        let read_again = if advanced { before } else { span };
        if advanced {
            self.last = Some((Some(before.sent), span.done));
        }
        Some(Gap {
            lower: read_again.sent.since(until),
            upper: after.map(|after| span.done.since(after)),
            is_over: advanced,
        })
    }

    /// End of the last good read.
    pub fn last_read(&self) -> Option<Mono> {
        self.read.map(|s| s.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(sent: u64) -> Span {
        let sent = Mono(sent * 1_000_000_000);
        Span { sent, done: sent.plus(Duration::from_millis(100)) }
    }

    fn ms(d: Duration) -> u128 {
        d.as_millis()
    }

    #[test]
    fn a_gap_lies_between_the_reads_around_its_two_beats() {
        let mut b = Beats::default();
        assert_eq!(b.read(span(0), true, true), None);
        // A beat between 0 and 2.1, the next between 4 and 6.1.
        b.read(span(2), true, false);
        let silent = b.read(span(4), false, false).expect("a gap that goes on");
        assert_eq!((ms(silent.lower), silent.upper.map(ms)), (1900, Some(4100)));
        assert!(!silent.is_over);
        let ended = b.read(span(6), true, false).expect("a gap");
        assert_eq!((ms(ended.lower), ended.upper.map(ms)), (1900, Some(6100)));
        assert!(ended.is_over);
    }

    #[test]
    fn beats_faster_than_reads_prove_no_gap() {
        let mut b = Beats::default();
        b.read(span(0), true, true);
        b.read(span(2), true, false);
        let gap = b.read(span(4), true, false).expect("a gap");
        assert_eq!((ms(gap.lower), gap.upper.map(ms)), (0, Some(4100)));
    }

    #[test]
    fn a_break_ends_what_was_known() {
        let mut b = Beats::default();
        b.read(span(0), true, true);
        b.read(span(2), true, false);
        assert_eq!(b.read(span(60), false, true), None, "a break is no gap");
        let gap = b.read(span(62), false, false).expect("silent since the break at least");
        assert_eq!((ms(gap.lower), gap.upper), (1900, None));
        let gap = b.read(span(64), true, false).expect("a gap");
        assert_eq!((ms(gap.lower), gap.upper), (1900, None));
    }
}
