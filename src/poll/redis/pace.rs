//! The pace of a sweep: its batches are spread over a part of the interval, in short bursts.

use std::time::Duration;

use super::batch::Form;
use crate::observe::Mono;

/// Batches sent one right after the other. A pause before each would make every one of them wake two processes from
/// sleep, which costs more than the read itself; a server is busy for five milliseconds with so many, and takes other clients
/// in between.
const BURST: usize = 50;

/// A sweep under way.
pub struct Sweep {
    /// When it began.
    pub begun: Mono,
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
    /// When its next step is due.
    pub fn due(&self) -> Mono {
        let count = self.plan.as_ref().map_or(1, |p| p.len().max(1));
        let begun = self.next.min(count);
        let share = (begun - begun % BURST) as f64 / count as f64;
        self.begun.plus(self.window.mul_f64(share))
    }
}
