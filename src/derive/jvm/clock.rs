//! Where a JVM's own clock begins on ours. Its counters tell only that it had at least reached them when they were read,
//! so what follows is the least that its clock can show now.

use std::time::Duration;

use crate::observe::jvm::Jvm;
use crate::observe::{Mono, Span};

/// How long a calibration counts. Its clock stands still while the machine sleeps and ours does not, so that an old one
/// is ahead for ever.
const COUNTS: Duration = Duration::from_secs(60);

/// The JVM's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JvmClock {
    /// Its beginning is not later than this: the least of this period and of the one before, in nanoseconds of ours.
    least: Option<i128>,
    least_before: Option<i128>,
    period_began: Mono,
    told: bool,
}

impl JvmClock {
    /// Takes the latest instant that the counters name.
    pub(super) fn read(&mut self, span: Span, jvm: &Jvm) {
        let named = jvm.collectors.iter().map(|c| c.last_entry.max(c.last_exit)).max();
        let Some(reached) = jvm.ticks.max(named) else { return };
        self.told = jvm.ticks.is_some();
        if span.done.since(self.period_began) > COUNTS {
            (self.least_before, self.least) = (self.least, None);
            self.period_began = span.done;
        }
        let begin = nanos(span.done) - reached_nanos(reached);
        self.least = Some(self.least.map_or(begin, |least| least.min(begin)));
    }

    /// Its beginning on our clock is not later.
    fn begin(&self) -> Option<i128> {
        [self.least, self.least_before].into_iter().flatten().min()
    }

    /// The least time that has passed at `now` since its clock showed `then`.
    pub(super) fn since(&self, then: Duration, now: Mono) -> Option<Duration> {
        let passed = nanos(now) - (self.begin()? + reached_nanos(then));
        Some(Duration::from_nanos(u64::try_from(passed.max(0)).unwrap_or(u64::MAX)))
    }

    /// Our clock when its clock showed `then`, at the latest; `None` if it does not move its clock by itself, for then
    /// its beginning may be far off.
    pub(super) fn at(&self, then: Duration) -> Option<Mono> {
        let at = self.begin().filter(|_| self.told)? + reached_nanos(then);
        Some(Mono(u64::try_from(at.max(0)).unwrap_or(u64::MAX)))
    }
}

fn nanos(at: Mono) -> i128 {
    i128::from(at.0)
}

fn reached_nanos(reached: Duration) -> i128 {
    i128::try_from(reached.as_nanos()).unwrap_or(i128::MAX / 4)
}
