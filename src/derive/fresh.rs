//! From when on what was read is too old to be shown or judged by.

use std::time::Duration;

use crate::observe::Mono;

/// Whether something last read then still says something of now.
pub fn is_fresh(done: Option<Mono>, now: Mono, poll: Duration) -> bool {
    // A sweep is paced over a part of its interval, and a snapshot is taken after it: half an interval of grace.
    done.is_some_and(|d| now.since(d) <= poll * 3 + poll / 2)
}
