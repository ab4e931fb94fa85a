//! What all locks of one config entry teach together, for one that has too little of its own.

use super::holds::Holds;
use super::lease::LeaseHistory;

/// What is learned of all locks of one entry.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// How long they were held.
    pub holds: Holds,
    /// How long their leases were.
    pub leases: LeaseHistory,
}
