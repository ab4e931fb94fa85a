//! A lock over several servers of their own: what each of them showed, and what that is together. An owner holds it with live
//! votes on more than half of the servers, each by the clock of its own node; what a smaller part shows is no lock.
//!
//! Ends on several clocks are brought onto one, the [`Common`]. A server that does not answer has no vote, and what it had
//! shown does not end: as long as its vote may decide, nothing is claimed. Judges nothing but how many votes there are.

mod ballots;
mod common;
mod losses;
mod place;
mod told;

use std::time::Duration;

pub use ballots::Ballot;
pub use common::Common;
pub use losses::{After, Losses, Settled};

use super::quorum::{self, Vote, Votes};
use super::tenure::{Marks, Seen};
use crate::observe::node::Flushes;
use crate::observe::{Expiry, Found, Line, Mono, ServerTime, Span, Token};
use place::{Held, Place, Shown};

/// The servers of a lock.
#[derive(Clone, Debug)]
pub struct Servers {
    places: Vec<Place>,
    /// As counted last; `None` while those that answer cannot tell.
    pub votes: Option<Votes>,
    /// Whose it was last; the token is `None` for a value that names nobody.
    holder: Option<Option<Token>>,
    /// Most votes that the holder had.
    most: usize,
    /// Votes that it had in the count before.
    before: usize,
    /// As many servers as are needed were written since the lock was last taken for written.
    is_written: bool,
    /// The same of an earlier end.
    is_shortened: bool,
    /// Since when it has too few.
    short_since: Option<Mono>,
    /// It had too few in two counts.
    is_degraded: bool,
    /// What the holder lost.
    losses: Losses,
    /// What the holder before it lost, until its end takes that.
    ended: Losses,
    /// Breaks in the record of so many servers that the others cannot tell.
    breaks: u64,
}

impl Servers {
    /// So many servers that were not read yet.
    pub fn new(servers: u16) -> Self {
        Self {
            places: vec![Place::default(); usize::from(servers)],
            votes: None,
            holder: None,
            most: 0,
            before: 0,
            is_written: false,
            is_shortened: false,
            short_since: None,
            is_degraded: false,
            losses: Losses::default(),
            ended: Losses::default(),
            breaks: 0,
        }
    }

    /// How many an owner needs.
    pub fn needed(&self) -> usize {
        quorum::needed(self.places.len())
    }

    /// The server of a line failed: the others are not kept waiting for it.
    pub fn lost_contact(&mut self, line: Line) {
        if let Some(place) = self.places.get_mut(usize::from(line.0)) {
            place.silence();
        }
    }

    /// Takes a read of one server; `shift` brings its clock onto the common one. Once all that answer were read, near to each
    /// other, gives what the lock as a whole showed, if they can tell.
    pub fn take(
        &mut self,
        line: Line,
        found: &Found,
        seen: Seen,
        shift: i64,
        poll: Duration,
    ) -> Option<(Found, Seen)> {
        let now = seen.span.done;
        let place = self.places.get_mut(usize::from(line.0))?;
        place.take(Shown::of(found, shift), seen);
        for place in &mut self.places {
            // What is older is of the sweep before.
            place.drop_old(now, poll);
        }
        if self.places.iter().any(|p| p.is_awaited(now, poll)) {
            return None;
        }
        let whole = self.whole(seen.time.plus_micros(shift), now);
        self.note_losses(whole.time);
        let found = self.count(whole.time);
        self.follow(&found, &whole, poll);
        found.map(|found| (found, whole))
    }

    /// When all of them were read, and by what their record is broken. Steps of single clocks are no steps of the common one;
    /// what they take from the lock is told as a loss.
    fn whole(&mut self, time: ServerTime, now: Mono) -> Seen {
        let sent = self.places.iter().filter_map(Place::sent).min().unwrap_or(now);
        let steps = self.places.iter().map(Place::steps).sum();
        if self.places.iter().filter(|p| p.is_unbroken()).count() < self.needed() {
            self.breaks += 1;
        }
        let marks = Marks {
            breaks: self.breaks,
            failovers: 0,
            steps,
            stepped_micros: 0,
            flushes: Some(Flushes::default()),
            counted_at: Some(now),
            evicted: Some(0),
        };
        Seen { span: Span { sent, done: now }, time, marks }
    }

    /// Takes the reads for those of before; what the holder had and has no more is a loss.
    fn note_losses(&mut self, time: ServerTime) {
        for (line, place) in self.places.iter_mut().enumerate() {
            let had = place.settle();
            let (Some(holder), Some((had, last))) = (&self.holder, had) else { continue };
            let is_there = place.held().is_some_and(|held| held.is_by(holder, time));
            if is_there {
                self.losses.regained(line);
            } else if had.owner == *holder
                && let Some(gone) = place.seen()
            {
                self.losses.add(line, had.own, last, gone);
            }
        }
    }

    /// What all servers show together; `None` if those that answer cannot tell.
    fn count(&mut self, time: ServerTime) -> Option<Found> {
        let needed = self.needed();
        let vote = |held: &Held| (held.owner.clone(), held.until);
        let all: Vec<_> = self.places.iter().map(|p| (p.answers(), p.held().map(vote))).collect();
        let ballot = |is_meant: &dyn Fn(bool, &Option<Token>) -> bool| {
            let votes = all.iter().enumerate().filter_map(|(i, (answers, vote))| {
                let (owner, until) = vote.as_ref().filter(|(o, _)| is_meant(*answers, o))?;
                Some((i, Vote { owner: owner.as_ref(), until: *until, now: time }))
            });
            quorum::count(all.len(), &votes.collect::<Vec<_>>())
        };
        let answering = all.iter().filter(|(answers, _)| *answers).count();
        let (votes, mut majority) = ballot(&|answers, _| answers);
        self.votes = None;
        if answering < needed {
            return self.places.iter().find_map(Place::refusal).map(Found::Unreadable);
        }
        if majority.is_none() {
            // A server that does not answer has no vote to give to anyone else.
            let holder = self.holder.as_ref();
            majority = ballot(&|_, owner| holder.is_some_and(|h| h == owner)).1;
        }
        let Some(majority) = majority else {
            let silent = all.len() - answering;
            if votes.most + silent >= needed && votes.most > 0 {
                return None;
            }
            self.votes = Some(votes);
            return Some(Found::Absent);
        };
        let at = |i: usize| self.places.get(i).and_then(Place::held);
        let (value, expiry) = (at(majority.first)?.value.clone(), at(majority.ends)?.until);
        let owner = &at(majority.first)?.owner;
        let live = all.iter().filter(|(answers, vote)| {
            *answers && vote.as_ref().is_some_and(|(o, until)| o == owner && is_ahead(*until, time))
        });
        self.votes = Some(Votes { most: live.count(), ..votes });
        Some(Found::Present { value, expiry })
    }

    /// Follows who holds it, and whether that is by too few.
    fn follow(&mut self, found: &Option<Found>, whole: &Seen, poll: Duration) {
        let Some(votes) = self.votes else { return };
        let holder = match found {
            Some(Found::Present { value, .. }) => {
                Some(value.holders.first().map(|h| h.owner.token.clone()))
            }
            _ => None,
        };
        if holder != self.holder {
            self.ended = std::mem::take(&mut self.losses);
            (self.most, self.before, self.short_since) = (0, 0, None);
            self.is_degraded = false;
            self.places.iter_mut().for_each(Place::forget_writes);
            self.holder = holder;
        }
        let Some(holder) = &self.holder else { return };
        let enough = |is_meant: fn(&Place) -> bool| {
            self.places.iter().filter(|p| is_meant(p)).count() >= votes.needed
        };
        (self.is_written, self.is_shortened) =
            (enough(|p| p.is_written), enough(|p| p.is_shortened));
        if self.is_written || self.is_shortened {
            self.places.iter_mut().for_each(Place::forget_writes);
        }
        self.most = self.most.max(votes.most);
        let has_spare = self.places.iter().any(|p| p.answers() && !p.shows(holder, whole.time));
        let is_short = votes.most < self.most || (votes.most <= votes.needed && has_spare);
        let since = self.short_since.filter(|_| is_short);
        // Within one poll the same may be read more than once.
        let is_again = since.is_some_and(|at| whole.span.sent.since(at) >= poll / 2);
        self.short_since = since.or(is_short.then_some(whole.span.done));
        self.is_degraded = is_again;
    }
}

fn is_ahead(until: Expiry, time: ServerTime) -> bool {
    match until {
        Expiry::Never => true,
        Expiry::At(e) => e > time,
    }
}
