//! Pure state machines: facts in, verdicts and wanted reads out. No I/O, no clock, no log: the same facts always give
//! the same verdicts, so all of it is tested on invented time.
//!
//! [`State::step`] takes every fact. From the bottom: a [`clock`] per node, [`lock`]s with their [`tenure`]s, lease
//! lengths, renewal [`habit`], [`ends`] and [`replica`] comparisons; [`workers`] with [`heartbeat`] and [`process`];
//! a [`store`] decides which reads count.

pub mod claims;
pub mod clock;
pub mod clocks;
pub mod connections;
pub mod counter;
pub mod cpu;
pub mod ends;
pub mod feed;
pub mod fencing;
pub mod flushed;
pub mod fresh;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod groups;
pub mod habit;
pub mod heartbeat;
pub mod holds;
pub mod host;
pub mod host_clock;
pub mod interval;
pub mod jvm;
pub mod lease;
pub mod links;
pub mod list;
pub mod listed;
pub mod lists;
pub mod lock;
pub mod loss;
pub mod margin;
pub mod node;
pub mod owners;
pub mod pause;
pub mod polls;
pub mod pool;
pub mod process;
pub mod quorum;
pub mod renewers;
pub mod replica;
pub mod resources;
pub mod rules;
#[cfg(feature = "sabotage")]
mod sabotage;
pub mod servers;
pub mod side_effects;
pub mod sight;
pub mod signals;
pub mod slowlog;
pub mod spread;
pub mod state;
pub mod store;
pub mod tenure;
pub mod to_read;
pub mod wanted;
pub mod watched;
pub mod words;
pub mod worker;
pub mod workers;

#[cfg(test)]
mod tests;

pub use rules::Rules;
pub use state::{State, ToWatch};
pub use to_read::ToRead;
pub use wanted::{Effects, Notice, Wanted, Weight};
pub use words::*;
