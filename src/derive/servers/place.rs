//! One server of a lock over several: what it showed last, and whether it answers.

use std::sync::Arc;
use std::time::Duration;

use super::is_ahead;
use crate::derive::flushed::Stay;
use crate::derive::tenure::Seen;
use crate::observe::lock::{Decoded, Sharing, Unreadable};
use crate::observe::{Expiry, Found, Mono, ServerTime, Token};

/// Smaller changes of an end are errors of the clocks.
const WRITE_MICROS: i64 = 20_000;
/// Polls without a read after which a server does not answer.
const SILENT_POLLS: u32 = 2;

/// A server.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// What it showed since all of them were put together last.
    read: Option<(Shown, Seen)>,
    /// What it showed before, as far as it could be read.
    last: Option<(Option<Held>, Seen)>,
    /// End of the first read that showed the token that it has.
    since: Option<Mono>,
    /// It could be read when they were put together last; if not, because it refuses to say.
    answers: bool,
    /// Its end was written since that of the lock was.
    pub is_written: bool,
    /// Its end was written too, to an earlier one.
    pub is_shortened: bool,
    refusal: Option<Unreadable>,
    heard: Option<Mono>,
}

/// What it shows.
#[derive(Clone, Debug)]
pub enum Shown {
    /// Nothing, or somebody's token.
    Read(Option<Held>),
    /// It does not say.
    Unknown(Unreadable),
}

/// A token that a server has.
#[derive(Clone, Debug)]
pub struct Held {
    /// Whose; `None` for a value that names nobody.
    pub owner: Option<Token>,
    /// The value.
    pub value: Arc<Decoded>,
    /// Until when, by the server's own clock.
    pub own: Expiry,
    /// The same by the common clock.
    pub until: Expiry,
}

impl Held {
    /// Whether it is this owner's, and has not ended.
    pub fn is_by(&self, owner: &Option<Token>, time: ServerTime) -> bool {
        self.owner == *owner && is_ahead(self.until, time)
    }
}

impl Shown {
    /// Of a read; `shift` brings the server's clock onto the common one.
    pub fn of(found: &Found, shift: i64) -> Self {
        match found {
            Found::Absent => Shown::Read(None),
            Found::Unreadable(why) => Shown::Unknown(*why),
            // Who of many holders has how many votes is another question.
            Found::Present { value, .. } if value.sharing != Sharing::Exclusive => {
                Shown::Unknown(Unreadable::Unexpected)
            }
            Found::Present { value, expiry } => Shown::Read(Some(Held {
                owner: value.holders.first().map(|h| h.owner.token.clone()),
                value: value.clone(),
                own: *expiry,
                until: match expiry {
                    Expiry::At(e) => Expiry::At(e.plus_micros(shift)),
                    Expiry::Never => Expiry::Never,
                },
            })),
        }
    }
}

impl Place {
    /// Takes a read.
    pub fn take(&mut self, shown: Shown, seen: Seen) {
        self.heard = Some(seen.span.done);
        self.read = Some((shown, seen));
    }

    /// It does not answer.
    pub fn silence(&mut self) {
        (self.heard, self.read) = (None, None);
    }

    /// Drops a read that is too old to be put together with one of now.
    pub fn drop_old(&mut self, now: Mono, poll: Duration) {
        self.read.take_if(|(_, seen)| now.since(seen.span.sent) > poll);
    }

    /// Whether its read is still to come.
    pub fn is_awaited(&self, now: Mono, poll: Duration) -> bool {
        self.read.is_none() && self.heard.is_some_and(|at| now.since(at) <= poll * SILENT_POLLS)
    }

    /// When its read was asked for.
    pub fn sent(&self) -> Option<Mono> {
        self.read.as_ref().map(|(_, seen)| seen.span.sent)
    }

    /// Steps of its clock.
    pub fn steps(&self) -> u64 {
        let read = self.read.as_ref().map(|(_, seen)| seen);
        read.or(self.last.as_ref().map(|(_, seen)| seen)).map_or(0, |seen| seen.marks.steps)
    }

    /// Whether nothing lies between its read and the one before.
    pub fn is_unbroken(&self) -> bool {
        let pair = self.read.as_ref().zip(self.last.as_ref());
        pair.is_some_and(|((_, read), (_, last))| read.marks.breaks == last.marks.breaks)
    }

    /// Its read becomes what it showed last. Returns the token that it had before, if it was read again.
    pub fn settle(&mut self) -> Option<(Held, Seen)> {
        let (held, seen) = match self.read.take() {
            Some((Shown::Read(held), seen)) => (held, seen),
            other => {
                self.answers = false;
                self.refusal = other.and_then(|(shown, _)| match shown {
                    Shown::Unknown(why) => Some(why),
                    Shown::Read(_) => None,
                });
                return None;
            }
        };
        (self.answers, self.refusal) = (true, None);
        let is_later = |a: &Held, b: &Held| match (a.until, b.until) {
            (Expiry::At(a), Expiry::At(b)) => a.micros_since(b) > WRITE_MICROS,
            (a, b) => a != b,
        };
        // By its own clock: a step of that moves the common end of what nobody wrote.
        let is_earlier = |a: &Held, b: &Held| match (a.own, b.own) {
            (Expiry::At(a), Expiry::At(b)) => b.micros_since(a) > WRITE_MICROS,
            _ => false,
        };
        let had = self.held().map(|had| &had.owner);
        if held.as_ref().map(|held| &held.owner) != had {
            self.since = Some(seen.span.done);
        }
        let (before, last) = self.last.replace((held, seen))?;
        if let (Some(now), Some(before)) = (self.held(), &before) {
            let is_same = now.owner == before.owner;
            let (later, earlier) = (is_later(now, before), is_earlier(now, before));
            self.is_written |= is_same && later;
            self.is_shortened |= is_same && earlier;
        }
        Some((before?, last))
    }

    /// What was written there is taken into account.
    pub fn forget_writes(&mut self) {
        (self.is_written, self.is_shortened) = (false, false);
    }

    /// Whether it could be read when they were put together last.
    pub fn answers(&self) -> bool {
        self.answers
    }

    /// Why it refuses to say, if it does.
    pub fn refusal(&self) -> Option<Unreadable> {
        self.refusal
    }

    /// The token that it has, or had when it was read last.
    pub fn held(&self) -> Option<&Held> {
        self.last.as_ref()?.0.as_ref()
    }

    /// When it was read last.
    pub fn seen(&self) -> Option<Seen> {
        self.last.as_ref().map(|(_, seen)| *seen)
    }

    /// The token that it has, for as long as it was seen.
    pub fn stay(&self) -> Option<Stay> {
        self.held()?;
        Some(Stay { from: self.since?, until: self.seen()?.span.sent })
    }

    /// Whether it has a live vote of this owner.
    pub fn shows(&self, owner: &Option<Token>, time: ServerTime) -> bool {
        self.held().is_some_and(|held| held.is_by(owner, time))
    }
}
