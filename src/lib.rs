//! dlock_exporter watches distributed locks in Redis or Valkey from the outside, writing nothing, and says when mutual
//! exclusion can no longer be trusted.
//!
//! Data flows one way, and a test holds the arrows:
//! ```text
//! config -> poll -> observe -> derive -> view -> expose -> http
//! ```
//! * [`config`]: what is to be watched; every mistake at once.
//! * [`poll`]: all I/O. Each target has its own task and timeouts.
//! * [`observe`]: plain facts with the time they were taken.
//! * [`format`]: lock bytes to owner facts, one file per library family.
//! * [`derive`]: pure state machines; no I/O, no clock, no log.
//! * [`view`]: one immutable snapshot, sorted and ready to print.
//! * [`expose`]: metrics text, JSON documents.
//! * [`evidence`]: documents of what rose, kept on disk.
//! * [`http`]: routes and the status page.
//! * [`app`]: wires these, and nothing calls it but `main`.

pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod derive;
pub mod evidence;
pub mod expose;
pub mod format;
pub mod http;
pub mod logging;
pub mod observe;
pub mod poll;
pub mod secret;
pub mod view;
