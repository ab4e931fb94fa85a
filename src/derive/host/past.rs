//! What the last samples of a process left open, kept for as long as a stall that a later fact ends may reach back.

use std::collections::VecDeque;
use std::time::Duration;

use super::window::Bound;
use crate::observe::Mono;

/// Intervals remembered; older ones are thrown together.
const MOST: usize = 64;

/// One interval between two samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    /// End of the sample that closed it.
    pub(super) done: Mono,
    /// From the start of the sample that opened it.
    pub(super) length: Duration,
    /// The longest stop or freeze that touches it.
    pub(super) stop: Bound,
    /// The longest wait of one thread right before or in that.
    pub(super) wait: Duration,
    /// What one thread at most waited in all, booked in it.
    pub(super) booked: Duration,
    /// The longest stall that ended in it, but for memory, I/O and stops of a JVM's world.
    pub(super) upper: Bound,
}

/// The last intervals, the newest at the back.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    intervals: VecDeque<Interval>,
}

impl Past {
    pub(super) fn push(&mut self, interval: Interval) {
        self.intervals.push_back(interval);
        if self.intervals.len() > MOST
            && let (Some(a), Some(b)) = (self.intervals.pop_front(), self.intervals.front_mut())
        {
            b.length = b.length.max(a.length);
            b.stop = b.stop.longer(a.stop);
            b.wait = b.wait.max(a.wait);
            b.booked = b.booked.saturating_add(a.booked);
            b.upper = b.upper.longer(a.upper);
        }
    }

    /// Intervals that were not over before `from`.
    pub(super) fn since(&self, from: Mono) -> impl Iterator<Item = &Interval> {
        self.intervals.iter().rev().take_while(move |i| i.done >= from)
    }

    /// The longest stall since `from` if it may hold so much `other` waiting (memory, I/O, stops of a JVM's world) that
    /// no sample sees.
    pub(super) fn with_other(&self, from: Mono, other: Bound) -> Option<Bound> {
        let mut longest: Option<Bound> = None;
        let (mut pair, mut sum, mut newer) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let mut shortest = Duration::MAX;
        for i in self.since(from) {
            longest = super::window::longer(longest, Some(i.upper));
            pair = pair.max(i.booked.saturating_add(newer));
            sum = sum.saturating_add(i.booked);
            newer = i.booked;
            shortest = shortest.min(i.length);
        }
        let longest = longest?;
        // Other waiting can join several waits for a CPU to one stall. If both together do not fill one interval, a
        // stall that has no stop in it ends in the interval after the one in which it began.
        let joined = if other.length.is_zero() {
            Duration::ZERO
        } else if other.length.saturating_add(pair) < shortest {
            pair.saturating_mul(2)
        } else {
            sum
        };
        let length = longest.length.saturating_add(other.length).saturating_add(joined);
        Some(Bound { length, source: longest.longer(other).source })
    }
}
