//! What is different where the keys of a store are spread over the shards of a cluster: which slot a key is in, which shard
//! has which slots, and how a node says that a key is another's.
//!
//! * `join`: what a connection to a node of a cluster begins with.
//! * `key_slot`: the slot of a key, and the one slot that a pattern cannot leave.
//! * `map`: `CLUSTER SLOTS` opened.
//! * `redirect`: `MOVED`, `ASK` and what else a node answers instead of a key's value.
//! * `shards`: the line that a key is read in. `watch`: the task that asks for the map.
//!
//! Nothing here decides what a redirected key means for its lock.

pub mod join;
pub mod key_slot;
pub mod map;
pub mod redirect;
pub mod shards;
pub(super) mod watch;

pub use join::{Membership, join};
