//! Redis and Valkey, read-only: one connection for each node, over which all keys are swept in small transactions and
//! single reads are served in between.
//!
//! * `store` and its supervisor: which nodes there are, which is the primary of each line (`links`), which keys are
//!   watched (`keys`, `naming`, `kept`, `asides`, `away`).
//! * `node`: connects and reconnects; `session`, `after`: what is done over a connection, and when.
//! * `sweep` with `ahead`, `asked`, `slot`, `plan`, `groups`, `batch`, `batch_size`, `collection`, `typing`, `memory`: how keys are read; `refusal`, `refused`,
//!   `denied`: those that may not be.
//! * `beside`: what is read after a sweep of keys that belong to locks, and of the owner index.
//! * `facts`, `explore`, `scan`, `parts`, `clients`: the other reads; `sentinel`: who is the primary, where sentinels tell.
//! * `slowlog`: slow commands on watched keys.
//! * `registry`: lists of live workers; `subscription`: a connection that listens, for those that are told of by events.
//! * `conn`, `handshake`, `dial`, `tls`, `codec`, `pack`: the wire.
//!
//! Nothing here judges a lock, and no command that could write is ever sent.

mod ability;
mod after;
mod agenda;
mod ahead;
mod asides;
mod asked;
mod away;
pub(in crate::poll) mod batch;
mod batch_size;
mod beside;
mod blame;
mod brief;
pub(in crate::poll) mod clients;
pub(in crate::poll) mod cluster;
pub mod codec;
pub(in crate::poll) mod collection;
mod conn;
mod context;
mod denied;
mod dial;
mod dropped;
mod events;
mod explore;
mod facts;
pub(in crate::poll) mod failure;
mod full;
mod glob;
mod groups;
mod handshake;
mod huge;
pub(in crate::poll) mod info;
mod kept;
mod keys;
mod links;
mod member;
mod memory;
mod messages;
mod naming;
mod node;
mod pace;
mod pack;
mod parts;
mod pipelined;
mod plan;
mod refusal;
mod refused;
pub mod registry;
pub(in crate::poll) mod role;
mod scan;
pub(in crate::poll) mod sentinel;
mod session;
mod share;
mod silence;
mod slot;
mod slots;
pub(in crate::poll) mod slowlog;
mod store;
pub(in crate::poll) mod subscription;
mod supervisor;
mod sweep;
mod task;
mod typing;
mod unchanged;

pub use context::Settings;
#[cfg(any(test, feature = "fuzzing"))]
pub(in crate::poll) use events::told;
pub use parts::{PartRequest, PartValue, PartsFailed, PartsReply};
pub use store::{StoreHandle, spawn};

#[cfg(test)]
mod tests;
