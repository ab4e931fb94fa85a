//! What each server of a lock says of it, as counted last, for people: which vote is missing. Judges nothing.

use super::place::Place;
use crate::derive::lock::Lock;
use crate::observe::{Line, ServerTime, Token};

/// What a server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ballot {
    /// It has the lock's owner.
    Owner,
    /// It has another one.
    Other,
    /// It has nobody.
    Nobody,
    /// It answers, and does not say.
    Refused,
    /// It does not answer.
    Silent,
}

impl Ballot {
    /// As the API has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Ballot::Owner => "owner",
            Ballot::Other => "other",
            Ballot::Nobody => "nobody",
            Ballot::Refused => "refused",
            Ballot::Silent => "silent",
        }
    }

    fn of(place: &Place, owner: Option<&Option<Token>>, time: ServerTime) -> Self {
        if place.refusal().is_some() {
            Ballot::Refused
        } else if !place.answers() {
            Ballot::Silent
        } else if owner.is_some_and(|owner| place.shows(owner, time)) {
            Ballot::Owner
        } else if place.held().is_some_and(|held| held.is_by(&held.owner, time)) {
            Ballot::Other
        } else {
            Ballot::Nobody
        }
    }
}

impl Lock {
    /// What each of its servers says; nothing for a lock on one server, or that was not counted yet.
    pub fn ballots(&self) -> Vec<(Line, Ballot)> {
        let (Some(servers), Some(seen)) = (&self.servers, self.seen) else { return Vec::new() };
        let all = (0..).map(Line).zip(&servers.places);
        all.map(|(line, p)| (line, Ballot::of(p, servers.holder.as_ref(), seen.time))).collect()
    }
}
