//! Samples of one process, one after the other: how long it at least and at most stood still. A wait for a CPU is booked
//! when it ends, or in parts when the thread is moved to another queue, and may have begun long before; a stop leaves no
//! trace but that nothing moves. Stalls count from the first sample on; one stall is taken to hold at most one stop or
//! freeze that no sample saw.

use std::time::Duration;

use super::past::{Interval, Past};
use super::standing::{Closed, Stance, Standing, Stood};
use super::window::{Bound, longer};
use crate::derive::words::StallSource;
use crate::observe::stall::{Scheduling, Threads};
use crate::observe::{Mono, Span};

/// What a sample showed beyond the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Some thread certainly stood still so long.
    pub(super) lower: Option<Bound>,
    /// No thread stood still longer, but for memory, I/O and stops of a JVM's world, and for what kept one of several
    /// threads in state D between two looks at them.
    pub(super) upper: Bound,
    /// For how long a runnable thread has not moved now.
    pub(super) ongoing: Option<Duration>,
    /// Rise of the time that threads waited for a CPU.
    pub(super) waited: Duration,
    /// Rise of involuntary context switches, where shown.
    pub(super) involuntary: Option<u64>,
}

/// One process.
#[derive(Clone, Debug)]
pub(super) struct Track {
    span: Span,
    last: Scheduling,
    standing: Standing,
    /// The longest that a thread can have been waiting for a CPU at the last sample.
    waiting: Option<Duration>,
    /// What of that can be booked already: a thread that is moved to another queue while it waits books the first part.
    booked: Duration,
    past: Past,
    /// Mean time between samples, the late ones counting most.
    interval: Option<Duration>,
    /// No counter moved since the end of this sample.
    unmoved: Mono,
    ongoing: Option<Duration>,
    /// At the last look at single threads one was in state D, at the earliest since then.
    kept: Option<Mono>,
}

impl Track {
    /// After the first sample.
    pub(super) fn new(span: Span, seen: &Scheduling) -> Self {
        Self {
            span,
            last: seen.clone(),
            standing: Standing::new(span, Stance::of(seen)),
            waiting: None,
            booked: Duration::ZERO,
            past: Past::default(),
            interval: None,
            unmoved: span.done,
            ongoing: None,
            kept: seen.each.as_ref().and_then(|t| t.kept_since),
        }
    }

    /// The last sample.
    pub(super) fn span(&self) -> Span {
        self.span
    }

    /// For how long a runnable thread had not moved at the last sample.
    pub(super) fn ongoing(&self) -> Option<Duration> {
        self.ongoing
    }

    /// What the last sample showed.
    pub(super) fn last(&self) -> &Scheduling {
        &self.last
    }

    /// Mean time between two samples.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.interval
    }

    /// No counter moved from this instant to the last sample.
    pub(super) fn unmoved_since(&self) -> Mono {
        self.unmoved
    }

    /// The longest stall since `from` if so much other waiting may be in it.
    pub(super) fn with_other(&self, from: Mono, other: Bound) -> Option<Bound> {
        self.past.with_other(from, other)
    }

    /// Takes the next sample; `None` if its counters do not follow those before.
    pub(super) fn take(&mut self, span: Span, seen: &Scheduling) -> Option<Step> {
        let is_same = seen.way == self.last.way
            && seen.on_cpu >= self.last.on_cpu
            && seen.waited >= self.last.waited
            && seen.slices >= self.last.slices;
        if !is_same || span.sent < self.span.sent {
            *self = Self::new(span, seen);
            return None;
        }
        let since = self.span.sent;
        let length = span.done.since(since);
        let passed = span.sent.since(since);
        self.interval = Some(self.interval.map_or(passed, |mean| (mean * 7 + passed) / 8));
        let rise = Rise::between(&self.last, seen);
        let each = seen.each.as_ref().filter(|t| t.beyond_cap == 0);
        // Threads are read after the sums: what was booked in between is in the one, then in the other.
        let booked = each.map_or(rise.waited, |t| t.most_waited);
        let wait = booked.saturating_add(self.booked);
        let wait = self.waiting.map_or(wait, |begun| wait.min(length.saturating_add(begun)));
        let ran = self.ran(&rise, each);
        let of_interval = each.filter(|t| t.since.sent >= since);
        let is_settled =
            of_interval.is_some_and(|t| t.busiest.is_zero() && t.most_waited.is_zero());
        let closed = Closed { since, span, moved: rise.has_run, is_settled, ran, wait };
        let mut stood = self.standing.take(&closed, rise.stance(seen));
        let kept = self.kept(seen);
        if let Some(from) = kept {
            let length = span.done.since(from);
            // A v1 freezer shows its processes in this state.
            let source = match stood.upper.source {
                StallSource::Frozen => StallSource::Frozen,
                _ => StallSource::DiskSleep,
            };
            stood.upper = stood.upper.longer(Bound { length, source });
        }
        let (lower, ongoing) = lower(&rise, seen, &stood);
        let upper = self.upper(&closed, seen, &stood, kept).longer(lower.unwrap_or(NONE));
        self.waiting = self.now_waiting(&closed, seen, each);
        // A thread that got the CPU began to wait after that, and one that does not wait has nothing booked of it.
        let earlier = if rise.has_run && rise.threads == 1 { Duration::ZERO } else { self.booked };
        let parts = booked.saturating_add(earlier);
        self.booked = self.waiting.map_or(parts, |waiting| parts.min(waiting));
        self.past.push(Interval {
            done: span.done,
            length,
            stop: stood.upper,
            wait: stood.wait,
            booked: wait,
            upper,
        });
        if rise.has_run {
            self.unmoved = span.done;
        }
        self.ongoing = ongoing;
        (self.span, self.last) = (span, seen.clone());
        Some(Step { lower, upper, ongoing, waited: rise.waited, involuntary: rise.involuntary })
    }

    /// Since when, at the earliest, a thread was in state D that was so at this look or at the one before.
    fn kept(&mut self, seen: &Scheduling) -> Option<Mono> {
        let before = self.kept;
        if let Some(each) = &seen.each {
            self.kept = each.kept_since;
        }
        [before, self.kept].into_iter().flatten().min()
    }

    /// How long the process certainly ran or waited for a CPU in this interval, and so was not stopped.
    fn ran(&self, rise: &Rise, each: Option<&Threads>) -> Duration {
        let threads = rise.threads;
        // A wait that began before the interval is booked in it: at most one of each thread.
        let limit = each.and_then(|t| t.wait_limit).unwrap_or(Duration::MAX);
        let before = self.waiting.unwrap_or(Duration::MAX).min(limit);
        let mean = (rise.on_cpu.saturating_add(rise.waited) / threads).saturating_sub(before);
        let of_interval = each.filter(|t| t.since.sent >= self.span.sent);
        let busiest = of_interval.map_or(Duration::ZERO, |t| t.busiest);
        busiest.max(mean).max(rise.on_cpu / threads)
    }

    /// No stall that touches this interval and is over, or that goes on as far as is known, is longer.
    fn upper(
        &self,
        closed: &Closed,
        seen: &Scheduling,
        stood: &Stood,
        kept: Option<Mono>,
    ) -> Bound {
        let each_waits = seen.each.as_ref().and_then(|t| {
            Some(t.unmoved_runnable?.saturating_add(closed.span.done.since(t.since.sent)))
        });
        let goes_on = stood.runnable.map(|(_, most)| most).max(each_waits).unwrap_or_default();
        let wait = Bound { length: closed.wait, source: StallSource::RunQueue }
            .longer(Bound { length: goes_on, source: StallSource::OngoingRunQueue });
        // A wait reaches back as far as it is long, and what it follows may be a stop.
        let reach = closed.since.minus(wait.length);
        let reach = kept.map_or(reach, |from| reach.min(from));
        let mut stop = stood.upper;
        let mut first = stood.wait;
        for earlier in self.past.since(reach) {
            stop = stop.longer(earlier.stop);
            first = first.max(earlier.wait);
        }
        if stop.length.is_zero() {
            return wait;
        }
        let length = stop.length.saturating_add(wait.length).saturating_add(first);
        Bound { length, source: wait.longer(stop).source }
    }

    /// How long a thread can have been waiting for a CPU by now.
    fn now_waiting(
        &self,
        closed: &Closed,
        seen: &Scheduling,
        each: Option<&Threads>,
    ) -> Option<Duration> {
        let length = closed.span.done.since(closed.since);
        let longer = self.waiting.map(|w| w.saturating_add(length));
        let by_thread = each.map(|t| match t.runnable {
            0 => closed.span.width(),
            _ => t
                .unmoved_runnable
                .unwrap_or_default()
                .saturating_add(closed.span.done.since(t.since.sent)),
        });
        // A single thread that got the CPU began to wait after that.
        let is_single = seen.threads <= 1 && self.last.threads <= 1;
        let single = (is_single && closed.moved).then_some(length);
        [longer, by_thread, single].into_iter().flatten().min()
    }
}

const NONE: Bound = Bound { length: Duration::ZERO, source: StallSource::BetweenSamples };

/// What moved between two samples.
struct Rise {
    on_cpu: Duration,
    waited: Duration,
    slices: u64,
    involuntary: Option<u64>,
    /// The most of both samples.
    threads: u32,
    /// Some thread got a CPU. That waiting was booked does not say so.
    has_run: bool,
}

impl Rise {
    fn between(before: &Scheduling, now: &Scheduling) -> Self {
        let on_cpu = now.on_cpu.saturating_sub(before.on_cpu);
        let waited = now.waited.saturating_sub(before.waited);
        let slices = now.slices.saturating_sub(before.slices);
        let involuntary = match (before.involuntary, now.involuntary) {
            (Some(before), Some(now)) => Some(now.saturating_sub(before)),
            _ => None,
        };
        let threads = now.threads.max(before.threads).clamp(1, u64::from(u32::MAX));
        let has_run = !on_cpu.is_zero() || slices > 0;
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        Self { on_cpu, waited, slices, involuntary, threads, has_run }
    }

    /// How the sample found the process. Its state is not read when a part of a wait was booked, but a single thread that
    /// has not run since is waiting still.
    fn stance(&self, seen: &Scheduling) -> Stance {
        match Stance::of(seen) {
            Stance::Unknown if self.threads == 1 && !self.has_run && !self.waited.is_zero() => {
                Stance::Runnable
            }
            stance => stance,
        }
    }

    /// Some wait was at least so long. A thread that is moved to another CPU while it waits books the first part at
    /// once, without a slice: of each thread, one part may be counted that has no slice yet.
    fn mean_wait(&self) -> Duration {
        let parts = u128::from(self.slices).saturating_add(u128::from(self.threads));
        let nanos = self.waited.as_nanos() / parts.max(1);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// The longest stall that is certain, and for how long a runnable thread has not moved.
fn lower(rise: &Rise, seen: &Scheduling, stood: &Stood) -> (Option<Bound>, Option<Duration>) {
    let each = seen.each.as_ref();
    let unmoved = stood.runnable.map(|(least, _)| least);
    let ongoing = unmoved.max(each.and_then(|t| t.unmoved_runnable)).filter(|d| !d.is_zero());
    let by_thread = each.map(|t| t.mean_wait.max(t.longest_wait.unwrap_or_default()));
    let ended = rise.mean_wait().max(by_thread.unwrap_or_default());
    let waits = Bound { length: ended, source: StallSource::RunQueue };
    let waits = Some(waits).filter(|b| !b.length.is_zero());
    let goes_on = ongoing.map(|length| Bound { length, source: StallSource::OngoingRunQueue });
    let stood = stood.lower.filter(|b| !b.length.is_zero());
    (longer(longer(stood, waits), goes_on), ongoing)
}
