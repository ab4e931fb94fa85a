//! Whether replicas agree with the primary on one lock.
//!
//! A replica's view counts only between two reads of the primary that show the same, and only with an offset not
//! below the primary's at the first of them; then no lag can explain a difference. Two such differences running are a
//! divergence.
//!
//! An owner with its E does not come back once it has gone, but absence does: between two reads that show a free lock it
//! may have been taken and released. So a key that only the replica has counts when it shows the same again against a read
//! of the primary that began after it was first seen: it was gone by then, and the replica knows.
//!
//! Before 7.0 a replica gets the time that remains of a lease and adds it to its own clock when it comes to it: whatever
//! delayed the write, or lies between the clocks, is in its expiry. There another instant is no difference.

use std::sync::Arc;

use super::sight::{Between, Held, Sight, same_expiry, surely_before};
use super::words::DivergenceKind;
use crate::observe::{Expiry, Mono};

/// One replica's record with one lock.
#[derive(Clone, Debug)]
pub struct Replica {
    /// Its address.
    pub addr: Arc<str>,
    /// Its expiries are not the primary's instants.
    pub is_relative: bool,
    /// Its views until the primary is read again.
    pending: Between,
    /// The last decided difference, what the replica showed, and when it was first seen to show that.
    streak: Option<(DivergenceKind, Held, Mono)>,
    /// The last decided difference.
    pub kind: Option<DivergenceKind>,
    /// When something was last decided.
    pub decided: Option<Mono>,
}

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The replica had not caught up.
    Undecided,
}

impl Replica {
    /// A replica that was not compared yet.
    pub fn new(addr: Arc<str>) -> Self {
        Self {
            addr,
            is_relative: false,
            pending: Between::default(),
            streak: None,
            kind: None,
            decided: None,
        }
    }

    /// Takes the replica's view; `primary` holds the primary's last reads, the newest first. Sweeps run in step, so the
    /// newest one often overlaps the view and only the one before it is surely older. Returns how a comparison ended, if
    /// it could not begin.
    pub fn look<'a>(
        &mut self,
        sight: Sight,
        primary: impl IntoIterator<Item = &'a Sight>,
    ) -> Option<Compared> {
        let mut primary = primary.into_iter().peekable();
        let newest = *primary.peek()?;
        let primary = surely_before(&sight, primary)?;
        if !self.pending.has_room() || !newest.agrees(primary) {
            return None;
        }
        match (sight.offset, primary.offset) {
            (Some(r), Some(p)) if r >= p => {
                self.pending.wait(sight, primary);
                None
            }
            _ => Some(Compared::Undecided),
        }
    }

    /// Takes the primary's next read, and settles the views that are surely older.
    pub fn settle(&mut self, primary: &Sight) {
        self.pending.keep_unmoved(primary, Sight::agrees);
        while let Some((sight, before)) = self.pending.settled_by(primary) {
            self.decide(&sight, &before, primary);
        }
    }

    fn decide(&mut self, sight: &Sight, before: &Sight, primary: &Sight) {
        self.decided = Some(primary.span.done);
        let Some(kind) = difference(sight, primary, self.is_relative) else {
            self.streak = None;
            self.kind = None;
            return;
        };
        let same = self.streak.take().filter(|(last, held, _)| {
            *last == kind && (kind != DivergenceKind::Extra || *held == sight.held)
        });
        let is_again = same.as_ref().is_some_and(|(_, _, first)| {
            kind != DivergenceKind::Extra || before.span.sent >= *first
        });
        let first = same.map_or(sight.span.done, |(_, _, first)| first);
        self.streak = Some((kind, sight.held.clone(), first));
        if is_again {
            self.kind = Some(kind);
        }
    }

    /// Whether something was decided within the last four polls.
    pub fn is_decided(&self, now: Mono, poll: std::time::Duration) -> bool {
        self.decided.is_some_and(|d| now.since(d) <= poll * 4)
    }

    /// A view taken before a break proves nothing after it.
    pub fn forget_pending(&mut self) {
        self.pending = Between::default();
    }
}

fn difference(replica: &Sight, primary: &Sight, is_relative: bool) -> Option<DivergenceKind> {
    match (&replica.held, &primary.held) {
        (None, None) => None,
        (None, Some((_, Expiry::At(e)))) if replica.time > *e => {
            Some(DivergenceKind::ExpiredByClock)
        }
        (None, Some(_)) => Some(DivergenceKind::Missing),
        // The primary says expired, the replica waits for its DEL.
        (Some((_, Expiry::At(e))), None) if *e <= primary.time => None,
        (Some(_), None) => Some(DivergenceKind::Extra),
        (Some((a, _)), Some((b, _))) if a != b => Some(DivergenceKind::Owner),
        (Some((_, Expiry::At(_))), Some((_, Expiry::At(_)))) if is_relative => None,
        (Some((_, a)), Some((_, b))) if !same_expiry(*a, *b) => Some(DivergenceKind::Expiry),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
