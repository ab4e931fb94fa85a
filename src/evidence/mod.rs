//! Evidence: one JSON document for each rise of a signal, kept on disk or, without a directory, in memory.
//!
//! [`rises`] finds what rose between two snapshots; [`Recorder`] hands that to a thread that puts documents together and to
//! another that writes them, so that neither a snapshot nor a scrape ever waits for a disk; [`folder`] is the directory,
//! [`name`] the names in it, and [`Incidents`] what is kept now. It decides nothing about locks, reads no target, and a
//! document that cannot be written costs that document and nothing else.

mod compose;
mod failures;
mod folder;
mod incidents;
mod keep;
mod name;
mod recorder;
mod rises;

#[cfg(test)]
mod tests;

pub use incidents::{Found, Incident, Incidents, Listing, Wanted};
pub use recorder::{Finished, Recorder, Tokens};
pub use rises::Risen;
