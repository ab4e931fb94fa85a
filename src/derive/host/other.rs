//! Waiting that samples of the scheduler do not show (for memory, for I/O, while a JVM stops the world), as totals of a
//! source that is read more rarely: what was booked in the last two of its intervals, because a stall may straddle them.

use std::time::Duration;

use crate::observe::{Mono, Span};

/// One growing total.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rolling {
    total: Option<Duration>,
    now: Duration,
    before: Duration,
    read: Option<Span>,
    /// Start of the read before the last one.
    opened: Mono,
    /// Start of the first of the intervals in `before`.
    from: Mono,
    /// No counter of the process moved in the last interval: one stall may fill it and reach back further.
    was_still: bool,
}

impl Rolling {
    /// Takes a read of the total. `is_still`: no counter of the process moved since the last read.
    pub(super) fn take(&mut self, span: Span, total: Option<Duration>, is_still: bool) {
        let Some(total) = total else {
            *self = Self::default();
            return;
        };
        // A total that fell is another cgroup's of the same name: all of it is new.
        let rise = self.total.map_or(Duration::ZERO, |t| total.checked_sub(t).unwrap_or(total));
        self.book(span, rise, is_still);
        self.total = Some(total);
    }

    /// Takes what one interval booked.
    pub(super) fn book(&mut self, span: Span, rise: Duration, is_still: bool) {
        if self.was_still {
            self.before = self.before.saturating_add(self.now);
        } else {
            (self.before, self.from) = (self.now, self.opened);
        }
        self.now = rise;
        self.opened = self.read.map_or(span.sent, |r| r.sent);
        (self.read, self.was_still) = (Some(span), is_still);
    }

    /// End of the last read.
    pub(super) fn read(&self) -> Option<Mono> {
        self.read.map(|r| r.done)
    }

    /// All that may be in one stall.
    pub(super) fn waited(&self) -> Duration {
        self.now.saturating_add(self.before)
    }

    /// Where it may have begun.
    pub(super) fn from(&self) -> Mono {
        self.from
    }
}
