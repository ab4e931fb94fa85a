//! What a lock is doing, and what happened to it. Plain data.

use super::Lock;
use super::crowd::Crowd;
use crate::derive::flushed::Stay;
use crate::derive::tenure::Tenure;
use crate::observe::{Line, Mono};

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

impl Lock {
    /// How long its owner, or its vote on that line, has been seen there.
    pub fn stay(&self, line: Line) -> Option<Stay> {
        match (&self.servers, &self.phase) {
            (Some(servers), _) => servers.stay(line),
            (None, Phase::Held(tenure)) if self.line == line => {
                let (from, until) = (tenure.first.span.done, tenure.last.span.sent);
                tenure.owner.is_some().then_some(Stay { from, until })
            }
            _ => None,
        }
    }
}
