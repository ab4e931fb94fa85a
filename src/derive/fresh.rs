//! From when on what was read is too old to be shown or judged by.

use std::time::Duration;

use crate::observe::Mono;

/// Whether something last read then still says something of now.
pub fn is_fresh(done: Option<Mono>, now: Mono, poll: Duration) -> bool {
    done.is_some_and(|d| d >= oldest(now, poll))
}

/// What was read since then still says something of now.
pub fn oldest(now: Mono, poll: Duration) -> Mono {
    // A sweep is paced over a part of its interval, and a snapshot is taken after it: half an interval of grace.
    now.minus(poll * 3 + poll / 2)
}
