//! How much CPU time the sampler may take: a share of a core, saved up for a few ticks, with debts carried on. The
//! clocks are given to it, so that tests run on invented ones.

use std::time::Duration;

/// Ticks whose share may be saved up.
const SAVED: u32 = 4;

/// CPU time in hand, in nanoseconds; negative after work that took more than was there.
#[derive(Debug)]
pub struct Budget {
    share: f64,
    tick: f64,
    left: f64,
}

impl Budget {
    /// A share of a core (0.01 is one per cent), full, for ticks that are so far apart.
    pub fn new(share: f64, tick: Duration) -> Self {
        let tick = tick.as_nanos() as f64 * share;
        Self { share, tick, left: tick * f64::from(SAVED) }
    }

    /// Time passed.
    pub fn earn(&mut self, elapsed: Duration) {
        let most = self.tick * f64::from(SAVED);
        self.left = (self.left + elapsed.as_nanos() as f64 * self.share).min(most);
    }

    /// Work took this much of a CPU.
    pub fn spend(&mut self, cpu: Duration) {
        self.left -= cpu.as_nanos() as f64;
    }

    /// Whether there is more left than this part of a tick's share; 0 asks for anything at all.
    pub fn has(&self, part: f64) -> bool {
        self.left > self.tick * part
    }
}

/// A budget and the clock that tells what is spent of it.
pub struct Purse {
    budget: Budget,
    cpu: Box<dyn FnMut() -> Duration>,
    seen: Duration,
}

impl Purse {
    /// A purse for the thread whose CPU clock this is.
    pub fn new(budget: Budget, mut cpu: impl FnMut() -> Duration + 'static) -> Self {
        let seen = cpu();
        Self { budget, cpu: Box::new(cpu), seen }
    }

    /// Begins a tick so long after the last. What the thread did in between is not the sampler's.
    pub fn begin(&mut self, elapsed: Duration) {
        self.seen = (self.cpu)();
        self.budget.earn(elapsed);
    }

    /// Whether there is more left than this part of a tick's share, after all that was done since the tick began.
    pub fn has(&mut self, part: f64) -> bool {
        self.settle();
        self.budget.has(part)
    }

    /// Books what was done since it was last asked.
    pub fn settle(&mut self) {
        let now = (self.cpu)();
        self.budget.spend(now.saturating_sub(self.seen));
        self.seen = now;
    }
}
