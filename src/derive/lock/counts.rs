//! What is counted of a lock for ever.

use crate::derive::words::{Evidence, Liveness};

/// Counters of a lock; they never fall.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Acquisitions seen.
    pub acquisitions: u64,
    /// Renewals seen.
    pub renewals: u64,
    /// Renewals that came when the lock was overdue.
    pub late_renewals: u64,
    /// Renewals proven to come after the holder lost liveness.
    pub renewals_after_loss: u64,
    /// Ends, in the order of `Evidence::ALL`.
    pub ends: [u64; Evidence::ALL.len()],
    /// Leases that ran out under a holder: alive, stopped, frozen.
    pub expired_under: [u64; 3],
    /// Seconds free.
    pub free_seconds: f64,
    /// Seconds with at least one waiter.
    pub waiting_seconds: f64,
}

/// The states of a holder that [`Counts::expired_under`] counts, in its order.
pub const EXPIRED_UNDER: [Liveness; 3] = [Liveness::Alive, Liveness::Stopped, Liveness::Frozen];

/// Index in [`Counts::expired_under`].
pub fn expired_under_index(liveness: Liveness) -> Option<usize> {
    EXPIRED_UNDER.iter().position(|l| *l == liveness)
}
