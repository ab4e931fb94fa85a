//! The pace of a sweep: its batches are spread over a part of the interval, in short bursts.

use std::time::Duration;

use super::batch::Form;
use super::unchanged::Sparse;
use crate::observe::{BatchRead, Mono, ServerTime};

/// Batches sent one right after the other. A pause before each would make every one of them wake two processes from
/// sleep, which costs more than the read itself; a server is busy for five milliseconds with so many, and takes other clients
/// in between.
pub const BURST: usize = 50;

/// Whether an event feed proves what a sweep need not read.
pub enum Stage {
    /// It was not asked.
    New,
    /// It was, about the time up to a read without keys.
    Asked {
        /// That read.
        probe: Box<BatchRead>,
        /// When.
        at: Mono,
        /// The end of patience.
        until: Mono,
    },
    /// What is to be read is settled.
    Settled,
}

/// A sweep under way.
pub struct Sweep {
    /// When it began.
    pub begun: Mono,
    /// See there.
    pub stage: Stage,
    /// How often it was asked in vain.
    pub tries: u32,
    /// What is left to do beyond the plan if a feed proves that most keys are unchanged.
    pub sparse: Option<Sparse>,
    /// The server's time, and when it was asked for, if its facts were read and nothing was since.
    pub server: Option<(ServerTime, Mono)>,
    /// `None` until all types are known.
    pub plan: Option<Vec<(Form, usize)>>,
    /// The batch to send next.
    pub next: usize,
    /// Time over which the batches are spread.
    pub window: Duration,
    /// Work and waiting for replies until now.
    pub busy: Duration,
}

impl Sweep {
    /// Begins now.
    pub fn new(begun: Mono, window: Duration) -> Self {
        let (plan, sparse, server) = (None, None, None);
        Self {
            begun,
            stage: Stage::New,
            tries: 0,
            sparse,
            server,
            plan,
            next: 0,
            window,
            busy: Duration::ZERO,
        }
    }

    /// When its next step is due.
    pub fn due(&self) -> Mono {
        if let Stage::Asked { until, .. } = self.stage {
            return until;
        }
        let planned = self.plan.as_ref().map_or(1, |p| p.len().max(1));
        let left = self.sparse.as_ref().map_or(0, Sparse::steps);
        let count = planned.max(self.next) + left;
        let begun = self.next.min(count);
        let share = (begun - begun % BURST) as f64 / count as f64;
        self.begun.plus(self.window.mul_f64(share))
    }
}
