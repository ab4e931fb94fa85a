//! Locks of real libraries, one process per ecosystem that holds all of its libraries' locks at once: each is decoded,
//! seen to be renewed, frozen, lost where its lease is short, taken again and released. Which libraries, and what is
//! expected of each, is in `libraries/<ecosystem>.rs`; what they are made to do is in `libraries/<ecosystem>/driver.*`.
//!
//! The lines between this and a driver, one each, answered in order:
//! `acquire CASE NAME LEASE_MS`: `held NAME TOKEN` (hexadecimal bytes of the owner token, several with commas, `-` where
//! the library does not tell it) or `failed NAME REASON`; `release NAME`: `released NAME` or `failed NAME REASON`; `quit`.

mod build;
mod case;
mod driver;
mod go;
mod java;
mod node;
mod python;
mod replay;
mod run;
mod world;
