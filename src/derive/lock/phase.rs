//! What a lock is doing, and what happened to it. Plain data.

use super::crowd::Crowd;
use crate::derive::tenure::Tenure;
use crate::observe::Mono;

/// What a lock is doing.
#[derive(Clone, Debug)]
pub enum Phase {
    /// Never read.
    Unseen,
    /// The key is absent, or (found by a pattern) shows no owner.
    Free {
        /// First read that showed it so.
        since: Mono,
    },
    /// Somebody holds it.
    Held(Box<Tenure>),
    /// Several hold it, or could.
    Shared(Box<Crowd>),
}

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Transition {
    /// When it was seen.
    pub at: Mono,
    /// In one word.
    pub what: &'static str,
    /// For a person.
    pub detail: String,
}
