//! What a store tells of by itself between two polls: which keys changed. They are read at once, by whoever polls the
//! primary, so that a change is seen within milliseconds; the feed itself judges nothing of a lock. While
//! it is interrupted, changes go unheard: that time is counted, and never taken for silence.
//!
//! * `task`: follows the primary; `standing`: says how the feed stands; `gap`: the time in which nothing was heard.
//! * `link`: the connection. `plan`: what it is asked for, `prefixes`: for which keys.
//! * `deed`, `hearing`: what keyspace events tell besides, and up to when all of it was heard.
//! * `flags`: whether the server still sends all of it.
//! * `told`: what it says. `reading`: what is read for that; `known`, `changes`: which keys, and when.

mod changes;
mod deed;
mod flags;
mod gap;
mod hearing;
mod known;
mod link;
mod plan;
mod prefixes;
mod reading;
mod standing;
mod task;
pub(in crate::poll) mod told;

pub use task::Feed;
