//! A lock over several keys of one server: what each of them showed, and what that is together. An owner holds it with
//! tokens in more than half of the keys; what a smaller part of them shows is no lock. Judges nothing else.

use std::time::Duration;

use super::lock::{Lock, held_of};
use super::quorum::{self, Vote, Votes};
use super::tenure::Seen;
use super::wanted::{Effects, Weight};
use crate::observe::{Found, KeyId, KeyRead, Mono, Span};

/// The keys of a lock.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    parts: Vec<Part>,
    /// As counted last; `None` while some key cannot be read or was not read yet.
    pub votes: Option<Votes>,
    /// Keys that the holder had before.
    had: usize,
}

#[derive(Clone, Debug)]
struct Part {
    key: KeyId,
    /// What it showed since all of them were put together last.
    read: Option<(Found, Seen)>,
}

impl Spread {
    /// One more key.
    pub fn add(&mut self, key: KeyId) {
        self.parts.push(Part { key, read: None });
    }

    /// Its keys.
    pub fn keys(&self) -> impl Iterator<Item = KeyId> {
        self.parts.iter().map(|p| p.key)
    }

    /// Takes a read of one of its keys. Once all were read, near to each other and with nothing between, gives what the
    /// lock as a whole showed.
    pub fn take(&mut self, read: &KeyRead, seen: Seen, poll: Duration) -> Option<(Found, Seen)> {
        let part = self.parts.iter_mut().find(|p| p.key == read.key)?;
        part.read = Some((read.found.clone(), seen));
        // A sweep is paced over half of its interval; what is older is of the sweep before.
        for part in &mut self.parts {
            part.read.take_if(|(_, s)| {
                s.marks.breaks != seen.marks.breaks
                    || seen.span.done.since(s.span.sent) > poll * 3 / 4
            });
        }
        if self.parts.iter().any(|p| p.read.is_none()) {
            return None;
        }
        let reads: Vec<_> = self.parts.iter_mut().filter_map(|p| p.read.take()).collect();
        let sent = reads.iter().map(|(_, s)| s.span.sent).min().unwrap_or(seen.span.sent);
        let whole = Seen { span: Span { sent, done: seen.span.done }, ..seen };
        let (found, votes) = together(&reads, &whole);
        self.votes = votes;
        Some((found, whole))
    }
}

impl Lock {
    /// An owner that still holds the lock has lost some of its keys: that is noted each time.
    pub(super) fn count_votes(&mut self, at: Mono, fx: &mut Effects) {
        // Of an owner that is new in this read nothing is known from before.
        let is_held = self.tenure().is_some_and(|t| t.first.span.done < at);
        let Some(spread) = &mut self.spread else { return };
        let Some(Votes { most, needed, of }) = spread.votes else { return };
        let before = std::mem::replace(&mut spread.had, most);
        if is_held && most < before {
            let detail = format!("its holder has {most} of {of} keys left, and needs {needed}");
            self.note(at, "keys_lost", &detail, Weight::Change, fx);
        }
    }
}

/// What all keys show together. A key that cannot be read matters only where the others do not decide without it.
fn together(reads: &[(Found, Seen)], whole: &Seen) -> (Found, Option<Votes>) {
    let held: Vec<_> = reads.iter().map(|(found, _)| held_of(found)).collect();
    let votes = held.iter().enumerate().filter_map(|(i, held)| {
        let (owner, until) = held.as_ref()?;
        // All are of one server: what ended while the others were read has ended.
        Some((i, Vote { owner: owner.as_ref(), until: *until, now: whole.time }))
    });
    let (votes, majority) = quorum::count(reads.len(), &votes.collect::<Vec<_>>());
    let unreadable = reads.iter().find_map(|(found, _)| match found {
        Found::Unreadable(why) => Some(*why),
        _ => None,
    });
    let known = unreadable.is_none().then_some(votes);
    let Some(majority) = majority else {
        return (unreadable.map_or(Found::Absent, Found::Unreadable), known);
    };
    let end = held.get(majority.ends).and_then(|held| Some(held.as_ref()?.1));
    match (reads.get(majority.first), end) {
        (Some((Found::Present { value, .. }, _)), Some(expiry)) => {
            (Found::Present { value: value.clone(), expiry }, known)
        }
        _ => (Found::Absent, known),
    }
}
