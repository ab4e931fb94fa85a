//! Wires the parts: pollers on a thread of their own, the state on another, HTTP on the rest, so that neither a slow
//! target nor a large snapshot delays an answer. Starts, reloads and drains them; decides nothing about locks.
//!
//! [`snapshots`] owns the state and publishes what is known; [`conductor`] owns the pollers and carries wanted reads
//! to them; [`ahead`] makes what will be scraped; [`reload`] reads the config anew; [`notices`] writes the log.

mod ahead;
mod conductor;
mod notices;
mod parts;
mod reload;
mod snapshots;
mod sources;
mod start;
mod tokens;
mod walker;

pub use start::{Failure, run};
