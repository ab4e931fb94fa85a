//! Whether changes of a lock between two polls are told of, where they are to be.

use super::BlindReason;
use crate::config::SeriesTier;
use crate::derive::State;
use crate::derive::lock::Lock;
use crate::observe::feed::{Standing, Why};

/// Why its store does not tell of changes by itself, where it is to. Locks with few series are not told of one by one.
pub(super) fn reason(state: &State, lock: &Lock) -> Option<BlindReason> {
    let feed =
        state.stores.get(&lock.store)?.lines.get(&lock.line)?.feed.filter(|f| f.is_lost())?;
    match feed.standing {
        _ if lock.rules.series != SeriesTier::Full => None,
        // Whether the server sends its events, it may not say.
        Standing::Live => Some(BlindReason::Permission),
        Standing::Down(_) => Some(BlindReason::Unreachable),
        Standing::Off(Why::Permission) => Some(BlindReason::Permission),
        Standing::Off(Why::Unsupported | Why::Costly) => Some(BlindReason::Unsupported),
    }
}
