//! The longest pause of one collector between two reads. Its count and its last entry move when a collection begins, its
//! time and its last exit when it ends, so one of them tells what the others leave open.

use std::time::Duration;

use super::{Bounds, JvmClock};
use crate::observe::jvm::Collector;
use crate::observe::{Mono, Span};

/// A collector as it was read last.
#[derive(Clone, Debug, Default)]
pub(super) struct CollectorPast {
    last: Option<Collector>,
    /// When the last collection was over, at the latest.
    pub(super) ended: Option<Mono>,
    /// The end of the read that first showed the collection that goes on.
    going_on_since: Option<Mono>,
}

/// What a read of it showed.
pub(super) struct Collected {
    /// The longest that ended since the read before.
    pub(super) pause: Option<Bounds>,
    /// One goes on, for at least so long.
    pub(super) going_on: Option<Duration>,
}

impl CollectorPast {
    /// What its counters rose by; all of them if nothing was read before, because the JVM began at zero.
    pub(super) fn booked(&self, now: &Collector) -> (Duration, u64) {
        self.last.as_ref().map_or((now.time, now.invocations), |last| {
            (now.time.saturating_sub(last.time), now.invocations.saturating_sub(last.invocations))
        })
    }

    /// Takes one read.
    pub(super) fn read(
        &mut self,
        now: &Collector,
        before: Option<Span>,
        span: Span,
        clock: &JvmClock,
    ) -> Collected {
        let last = self.last.replace(now.clone());
        let is_new = last.as_ref().is_none_or(|l| l.last_entry != now.last_entry);
        let going_on = goes_on(now).then(|| {
            let first = self.going_on_since.filter(|_| !is_new).unwrap_or(span.done);
            self.going_on_since = Some(first);
            let seen = span.sent.since(first);
            clock.since(now.last_entry, span.sent).unwrap_or_default().max(seen)
        });
        self.ended(now, last.as_ref(), span, clock);
        let pause = last.filter(|_| before.is_some()).and_then(|last| longest(&last, now));
        Collected { pause, going_on }
    }

    fn ended(&mut self, now: &Collector, last: Option<&Collector>, span: Span, clock: &JvmClock) {
        if now.last_exit.is_zero() {
            return;
        }
        let moved = last.is_some_and(|l| l.last_exit != now.last_exit);
        let seen = if moved { Some(span.done) } else { self.ended };
        self.ended = match (seen, clock.at(now.last_exit)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

fn goes_on(c: &Collector) -> bool {
    c.last_entry > c.last_exit
}

/// The longest pause that ended between two reads.
fn longest(last: &Collector, now: &Collector) -> Option<Bounds> {
    if now.invocations < last.invocations || now.time < last.time {
        return None;
    }
    // Between its count and its entry a beginning is not yet believed; the entry alone tells it the next time.
    let begun = if now.last_entry == last.last_entry {
        0
    } else {
        (now.invocations - last.invocations).max(1)
    };
    let ended =
        begun.saturating_add(u64::from(goes_on(last))).saturating_sub(u64::from(goes_on(now)));
    let booked = now.time - last.time;
    // The last that began is the last that ended, unless it goes on; then nothing tells the last that ended.
    let latest = (!goes_on(now)).then(|| now.last_exit - now.last_entry);
    match (ended, latest) {
        (0, _) => None,
        (1, Some(latest)) => Some(Bounds::exactly(latest)),
        (1, None) => Some(Bounds::exactly(booked)),
        (n, Some(latest)) => {
            let others = booked.saturating_sub(latest);
            let mean = mean(others, n - 1);
            Some(Bounds { lower: latest.max(mean), upper: latest.max(others) })
        }
        (n, None) => Some(Bounds { lower: mean(booked, n), upper: booked }),
    }
}

/// Some of `n` was at least so long if all of them took `sum`.
pub(super) fn mean(sum: Duration, n: u64) -> Duration {
    let nanos = sum.as_nanos() / u128::from(n.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
