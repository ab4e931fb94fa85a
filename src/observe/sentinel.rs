//! What the sentinels of a store say together of its primary.

use std::sync::Arc;

use super::StoreId;
use super::time::Mono;

/// The sentinels' word on the primary, told again with each of their polls.
#[derive(Clone, Debug, PartialEq)]
pub struct SentinelsSay {
    /// The store.
    pub store: StoreId,
    /// When.
    pub at: Mono,
    /// The address that most of those that answer name; `None` while none answers.
    pub primary: Option<Arc<str>>,
    /// More than half of all known sentinels name it.
    pub is_majority: bool,
    /// At the end of a round: they name different primaries, and did so in the one before; the inner `None` while none
    /// answers.
    pub disagree: Option<Option<bool>>,
}
