//! What a read of a lock comes with: what else was known at that instant. Made for each batch, and kept by nobody.

use std::sync::Arc;
use std::time::Duration;

use super::Replicated;
use crate::derive::clock::NodeClock;
use crate::derive::host::StallRules;
use crate::derive::owners::OwnerIndex;
use crate::derive::pool::Pool;
use crate::derive::tenure::Seen;

/// What a read comes with.
pub struct ReadContext<'a> {
    /// When, and the counters as of then.
    pub seen: Seen,
    /// The node that was read.
    pub addr: &'a Arc<str>,
    /// The primary's replication offset.
    pub offset: Option<u64>,
    /// What its replicas have.
    pub replicated: Replicated,
    /// The primary's clock.
    pub clock: &'a NodeClock,
    /// Time between two polls.
    pub poll: Duration,
    /// What is learned of all locks of the same pattern.
    pub pool: Option<&'a Pool>,
    /// What the config says about stalls.
    pub stalls: StallRules,
    /// Whom the store's owner index names.
    pub owners: &'a OwnerIndex,
}
