//! The longest stop of the world between two reads. Safepoints are counted when they begin and their time is booked when
//! they end, and nothing says directly whether one goes on: that follows from how the numbers move, or stays open.

use std::time::Duration;

use super::Bounds;
use super::collector::mean;
use crate::observe::jvm::Jvm;
use crate::observe::{Mono, Span};

/// Whether a safepoint was going on at a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum GoesOn {
    No,
    Yes,
    /// The numbers fit both.
    #[default]
    Open,
}

/// The numbers of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    begun: u64,
    /// Booked when a safepoint ends.
    time: Duration,
    /// Booked when all threads have stopped; zero where `time` holds it already.
    sync: Duration,
}

/// The safepoints of one JVM.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Safepoints {
    last: Option<Numbers>,
    state: GoesOn,
    /// Time to stop all threads, booked already, that belongs or may belong to the safepoint that goes on.
    sync_before: Duration,
    /// Whether all of it does.
    sync_is_sure: bool,
    /// End of the read that first showed the numbers as they were last.
    unmoved_since: Mono,
    /// Between these the last safepoint began.
    began: (Mono, Mono),
}

/// What a read of them showed.
#[derive(Default)]
pub(super) struct Stops {
    /// The longest that ended since the read before.
    pub(super) stop: Option<Bounds>,
    /// Time booked since the read before, or since the JVM's start if there was none.
    pub(super) booked: Option<Duration>,
    /// One certainly goes on, for at least and at most so long.
    pub(super) going_on: Option<Bounds>,
}

impl Safepoints {
    /// Takes one read; `collecting` is a pause for a collection that goes on.
    pub(super) fn read(
        &mut self,
        jvm: &Jvm,
        before: Option<Span>,
        span: Span,
        collecting: Option<Duration>,
    ) -> Stops {
        let Some(now) = Numbers::of(jvm) else { return Stops::default() };
        let last = self.last.replace(now);
        let booked = last.map_or(now.stopped(), |l| now.stopped().saturating_sub(l.stopped()));
        let known = last.zip(before).filter(|(l, _)| now.follows(l));
        let stop = match known {
            Some((last, before)) => self.moved(last, now, before, span, collecting.is_some()),
            None => {
                let began = (Mono::default(), span.done);
                let sync_before = now.sync;
                *self = Self {
                    last: self.last,
                    unmoved_since: span.done,
                    began,
                    sync_before,
                    ..Self::default()
                };
                None
            }
        };
        if collecting.is_some() {
            self.state = GoesOn::Yes;
        }
        let going_on = (self.state == GoesOn::Yes).then(|| {
            let lower = span.sent.since(self.began.1).max(collecting.unwrap_or_default());
            Bounds { lower, upper: span.done.since(self.began.0).max(lower) }
        });
        Stops { stop, booked: Some(booked), going_on }
    }

    fn moved(
        &mut self,
        last: Numbers,
        now: Numbers,
        before: Span,
        span: Span,
        collecting: bool,
    ) -> Option<Bounds> {
        if last == now {
            return None;
        }
        let (begun, time, sync) =
            (now.begun - last.begun, now.time - last.time, now.sync - last.sync);
        if begun > 0 && self.state == GoesOn::Open {
            // Had one been going on all the while, it would have had to book that while when it ended.
            let unmoved = before.sent.since(self.unmoved_since);
            if time.saturating_add(sync) < unmoved {
                self.state = GoesOn::No;
            }
        }
        self.unmoved_since = span.done;
        if begun == 0 {
            return self.went_on(time, sync);
        }
        self.began = (before.sent, span.done);
        let was = std::mem::replace(&mut self.state, GoesOn::Open);
        let sync_before = std::mem::replace(&mut self.sync_before, sync);
        self.sync_is_sure = false;
        if time.is_zero() {
            // None ended, so none was going on and this is the only one.
            if begun == 1 {
                (self.state, self.sync_is_sure) = (GoesOn::Yes, true);
            }
            return None;
        }
        if was == GoesOn::No && begun == 1 {
            self.state = GoesOn::No;
            return Some(Bounds::exactly(time.saturating_add(sync)));
        }
        let sync_before = if was == GoesOn::No { Duration::ZERO } else { sync_before };
        let most = begun
            .saturating_add(u64::from(was != GoesOn::No))
            .saturating_sub(u64::from(collecting));
        Some(Bounds {
            lower: mean(time, most),
            upper: time.saturating_add(sync).saturating_add(sync_before),
        })
    }

    /// None began: what moved belongs to the one that was going on.
    fn went_on(&mut self, time: Duration, sync: Duration) -> Option<Bounds> {
        self.sync_is_sure &= self.state == GoesOn::Yes;
        let sure = if self.sync_is_sure { self.sync_before } else { Duration::ZERO };
        if time.is_zero() {
            self.state = GoesOn::Yes;
            self.sync_before = self.sync_before.saturating_add(sync);
            return None;
        }
        self.state = GoesOn::No;
        let seen = time.saturating_add(sync);
        let before = std::mem::take(&mut self.sync_before);
        Some(Bounds { lower: seen.saturating_add(sure), upper: seen.saturating_add(before) })
    }
}

impl Numbers {
    fn of(jvm: &Jvm) -> Option<Self> {
        let sync = if jvm.sync_is_included { Some(Duration::ZERO) } else { jvm.sync_time };
        Some(Self { begun: jvm.safepoints?, time: jvm.safepoint_time?, sync: sync? })
    }

    fn stopped(&self) -> Duration {
        self.time.saturating_add(self.sync)
    }

    fn follows(&self, last: &Self) -> bool {
        self.begun >= last.begun && self.time >= last.time && self.sync >= last.sync
    }
}
