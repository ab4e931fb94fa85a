//! When a process can have been stopped, frozen or kept in state D, and how long it has certainly stood still. To be
//! stopped, and to go on, it needs the CPU, so counters that do not move prove that nothing changed; a v1 freezer alone
//! takes sleeping processes without waking them. Where a freeze cannot be seen, whatever sleeps may be frozen.

use std::time::Duration;

use super::window::Bound;
use crate::derive::words::StallSource;
use crate::observe::stall::Scheduling;
use crate::observe::worker::ProcessState;
use crate::observe::{Mono, Span};

/// Running time is booked at the scheduler's tick: so much of it may be of the interval before.
const TICK: Duration = Duration::from_millis(10);

/// How a sample found the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stance {
    Stopped,
    Frozen,
    /// By a v1 freezer, which shows it in state D.
    FrozenAsleep,
    Runnable,
    /// In state D: for the disk, or for what no pressure books (a child of vfork, a file server that is away, memory that
    /// a v1 cgroup denies).
    Kept,
    /// Asleep, unless it is frozen: that could not be read.
    Unseen,
    Otherwise,
    /// Not looked at, because its counters had moved.
    Unknown,
}

impl Stance {
    pub(super) fn of(seen: &Scheduling) -> Self {
        match (seen.state, seen.frozen) {
            (None, _) => Stance::Unknown,
            (Some(state), _) if state.is_stopped() => Stance::Stopped,
            (Some(ProcessState::DiskSleep), Some(true)) => Stance::FrozenAsleep,
            (Some(_), Some(true)) => Stance::Frozen,
            (Some(ProcessState::Running), _) => Stance::Runnable,
            (Some(ProcessState::DiskSleep), _) => Stance::Kept,
            (Some(_), None) => Stance::Unseen,
            (Some(_), _) => Stance::Otherwise,
        }
    }

    /// What it certainly is, if that is standing still against its will.
    fn stops(self) -> Option<StallSource> {
        match self {
            Stance::Stopped => Some(StallSource::Stopped),
            Stance::Frozen | Stance::FrozenAsleep => Some(StallSource::Frozen),
            _ => None,
        }
    }

    /// What it can be of that.
    fn may_stop(self) -> Option<StallSource> {
        match self {
            Stance::Kept => Some(StallSource::DiskSleep),
            Stance::Unseen | Stance::Unknown => Some(StallSource::BetweenSamples),
            _ => self.stops(),
        }
    }
}

/// A stop, freeze or sleep in state D that may go on at the last sample.
#[derive(Clone, Copy, Debug)]
struct Stop {
    /// It began after this.
    since: Mono,
    /// Time since then for which the process certainly ran or waited for a CPU.
    ran: Duration,
    /// The longest wait of one thread since then.
    wait: Duration,
    source: StallSource,
}

/// What is known of them of one process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// The first sample with the present counters.
    unmoved: Span,
    /// Start of the last sample with other counters.
    moved_after: Mono,
    stance: Stance,
    /// It has had this stance from the end of this sample at the latest.
    shown: Mono,
    /// It was so already when the counters were first read as they are, unless they moved between their last reading
    /// and that of the stance: then the next sample shows that they have.
    claimed: Option<Mono>,
    stop: Option<Stop>,
}

/// The interval that a sample closed.
pub(super) struct Closed {
    /// Start of the sample before.
    pub(super) since: Mono,
    /// The sample.
    pub(super) span: Span,
    /// Whether any counter moved.
    pub(super) moved: bool,
    /// Counters that were read after its stance have not moved either.
    pub(super) is_settled: bool,
    /// So long the process certainly ran or waited for a CPU.
    pub(super) ran: Duration,
    /// The longest wait of one thread that was booked.
    pub(super) wait: Duration,
}

/// What a sample showed of stops and freezes.
pub(super) struct Stood {
    /// It certainly stood still for so long, and does.
    pub(super) lower: Option<Bound>,
    /// It has been runnable for at least and at most so long without getting a CPU.
    pub(super) runnable: Option<(Duration, Duration)>,
    /// The longest stop, freeze or sleep in state D that touches this interval; zero if none can.
    pub(super) upper: Bound,
    /// The longest wait of one thread since before that.
    pub(super) wait: Duration,
}

impl Standing {
    /// After the first sample.
    pub(super) fn new(span: Span, stance: Stance) -> Self {
        let stop = stance.stops().map(|source| Stop {
            since: span.sent,
            ran: Duration::ZERO,
            wait: Duration::ZERO,
            source,
        });
        Self {
            unmoved: span,
            moved_after: span.sent,
            stance,
            shown: span.done,
            claimed: None,
            stop,
        }
    }

    /// Takes the next one.
    pub(super) fn take(&mut self, closed: &Closed, stance: Stance) -> Stood {
        let span = closed.span;
        if closed.moved {
            (self.unmoved, self.moved_after) = (span, closed.since);
        }
        let before = std::mem::replace(&mut self.stance, stance);
        if closed.moved {
            (self.shown, self.claimed) = (span.done, None);
        } else if before != stance {
            self.shown = span.done;
            // If nothing says otherwise.
            let may_be =
                before == Stance::Unknown && matches!(stance, Stance::Stopped | Stance::Frozen);
            self.claimed = may_be.then_some(self.unmoved.done);
        } else if let Some(from) = self.claimed.take() {
            self.shown = from;
        }
        if closed.is_settled
            && let Some(from) = self.claimed.take()
        {
            self.shown = from;
        }
        let lower = stance
            .stops()
            .filter(|_| !closed.moved)
            .map(|source| Bound { length: span.sent.since(self.shown), source });
        let runnable = (!closed.moved && stance == Stance::Runnable)
            .then(|| (span.sent.since(self.shown), span.done.since(self.moved_after)));
        let (upper, wait) = self.longest_stop(closed, stance);
        Stood { lower, runnable, upper, wait }
    }

    fn longest_stop(&mut self, closed: &Closed, stance: Stance) -> (Bound, Duration) {
        let ran = closed.ran.saturating_sub(TICK);
        let before = self.stop;
        let may_stop = stance.may_stop().is_some();
        let source = stance.may_stop().unwrap_or(StallSource::BetweenSamples);
        let begins = Stop { since: closed.since, ran, wait: closed.wait, source };
        let goes_on = before.map(|s| Stop {
            ran: s.ran.saturating_add(ran),
            wait: s.wait.max(closed.wait),
            source: if s.source == StallSource::BetweenSamples { source } else { s.source },
            ..s
        });
        let touches = match goes_on {
            Some(stop) => Some(stop),
            None if closed.moved || may_stop => Some(begins),
            // Asleep or waiting for a CPU, and nothing moved: it was neither stopped nor let go.
            None => None,
        };
        self.stop = if closed.moved {
            // Not all the time: one that goes on now began in this interval.
            may_stop.then_some(begins)
        } else if may_stop || stance == Stance::Runnable {
            // A wait that follows a stop makes one stall with it.
            goes_on.or(may_stop.then_some(begins))
        } else {
            None
        };
        let none = Bound { length: Duration::ZERO, source: StallSource::BetweenSamples };
        touches.map_or((none, closed.wait), |s| {
            let length = closed.span.done.since(s.since).saturating_sub(s.ran);
            (Bound { length, source: s.source }, s.wait)
        })
    }
}
