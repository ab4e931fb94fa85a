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
    /// Time to stop all threads that may belong to the safepoint that goes on.
    sync_before: Duration,
    /// No number has moved from the end of one read until the start of another.
    unmoved_since: Mono,
    unmoved: Duration,
    /// The safepoint that goes on began after this and not later than that.
    began: Option<(Mono, Mono)>,
}

/// What a read of them showed.
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
        _jvm: &Jvm,
        _before: Option<Span>,
        _span: Span,
        _collecting: Option<Duration>,
    ) -> Stops {
        Stops { stop: None, booked: None, going_on: None }
    }
}
