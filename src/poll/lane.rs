//! At most one read of a target at a time. A read that hangs in the kernel cannot be cancelled, so whoever does the
//! work carries the [`Inside`] with it, into a blocking thread too, and the next read is refused until it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::observe::Mono;

/// `AtomicU64` value of an empty lane; no instant of the clock.
const EMPTY: u64 = u64::MAX;

/// A way to one target that is one read wide.
#[derive(Clone, Debug)]
pub struct Lane(Arc<AtomicU64>);

/// Proof of being the only read in a lane; the lane is free when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Inside(#[allow(dead_code, reason = "held for its drop")] Arc<Leave>);

#[derive(Debug)]
struct Leave(Arc<AtomicU64>);

/// What [`Lane::enter`] says.
#[derive(Debug)]
pub enum Entry {
    /// Go ahead.
    Free(Inside),
    /// A read is under way and still within its time.
    Busy,
    /// A read is under way since longer than it may take.
    Stuck(Duration),
}

impl Default for Lane {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(EMPTY)))
    }
}

impl Lane {
    /// Enters if nobody is inside; `patience` is how long a read may take before it counts as stuck.
    pub fn enter(&self, now: Mono, patience: Duration) -> Entry {
        match self.0.compare_exchange(EMPTY, now.0, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Entry::Free(Inside(Arc::new(Leave(Arc::clone(&self.0))))),
            Err(since) => {
                let age = now.since(Mono(since));
                if age > patience { Entry::Stuck(age) } else { Entry::Busy }
            }
        }
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.store(EMPTY, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_read_at_a_time_until_its_last_part_is_dropped() {
        let lane = Lane::default();
        let patience = Duration::from_secs(1);
        let Entry::Free(inside) = lane.enter(Mono::from_secs_f64(1.0), patience) else {
            panic!("an empty lane")
        };
        let thread = inside.clone();
        drop(inside);
        assert!(matches!(lane.enter(Mono::from_secs_f64(1.5), patience), Entry::Busy));
        assert!(matches!(lane.enter(Mono::from_secs_f64(2.5), patience), Entry::Stuck(_)));
        drop(thread);
        assert!(matches!(lane.enter(Mono::from_secs_f64(3.0), patience), Entry::Free(_)));
    }
}
