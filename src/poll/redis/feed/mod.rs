//! What a store tells of by itself between two polls: which keys changed. They are read at once, by whoever polls the
//! primary, so that a change is seen within milliseconds; the feed itself judges nothing and proves nothing of a lock. While
//! it is interrupted, changes go unheard: that time is counted, and never taken for silence.
//!
//! * `task`: follows the primary; `standing`: says how the feed stands; `gap`: the time in which nothing was heard.
//! * `link`: the connection. `prefixes`: which keys it is asked for.
//! * `known`, `changes`: what to read of that, and when.

mod changes;
mod gap;
mod known;
mod link;
mod prefixes;
mod standing;
mod task;

pub use task::Feed;

#[cfg(test)]
pub mod deed;
