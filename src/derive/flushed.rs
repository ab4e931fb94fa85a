//! Whether a call that empties databases emptied ours. `FLUSHALL` does; `FLUSHDB` and `SWAPDB` are counted for the whole
//! server, and are ours only if nothing says that they may be another database's.

use std::time::Duration;

use super::tenure::Seen;
use crate::observe::Mono;
use crate::observe::node::Flushes;

/// A broadcast that comes so long after a read has nothing to do with what the read showed: both are of one server, and each
/// is sent as soon as it is known.
const APART: Duration = Duration::from_millis(50);
/// How long the next read of one that may have outlived a flush is waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Tenures that are looked at for one that outlived a flush; the oldest ones.
pub const MOST_STAYS: usize = 64;

/// A token that stayed where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stay {
    /// End of the first read that showed it.
    pub from: Mono,
    /// When the last read that showed it was asked for.
    pub until: Mono,
}

/// What a node's facts, read after something was lost, say of flushes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls<'a> {
    /// How many; `None` where the node does not show it.
    pub calls: Option<Flushes>,
    /// When the facts were asked for.
    pub sent: Mono,
    /// No other database than ours was ever seen there.
    pub is_only: bool,
    /// What is held there.
    pub stays: &'a [Stay],
    /// Since when a feed is whole.
    pub heard: Option<Mono>,
    /// When it told since then that any key may have changed, which it does of every database that is emptied.
    pub emptied: &'a [Mono],
}

/// Whether a flush took what was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// None, or another database's.
    None,
    /// It was ours.
    Ours,
    /// Cannot be told.
    Perhaps,
    /// The next reads may tell.
    NotYet,
}

impl Calls<'_> {
    /// Between the last read that showed it and the first that did not; `None` where the calls are not known.
    pub fn between(&self, last: &Seen, gone: &Seen) -> Option<Flush> {
        let (before, after) = (last.marks.flushes?, self.calls?);
        if self.came_later(last, gone, before, after) {
            return Some(Flush::None);
        }
        if after.all > before.all {
            return Some(Flush::Ours);
        }
        if after.one <= before.one {
            return Some(Flush::None);
        }
        // What was there before and is there after was not in the database that was emptied.
        let mut is_awaited = false;
        for stay in self.stays.iter().filter(|s| s.from <= last.span.done) {
            if stay.until >= gone.span.done {
                return Some(Flush::None);
            }
            is_awaited = true;
        }
        Some(match (is_awaited, self.is_only) {
            (true, _) if self.sent.since(gone.span.done) > LONGEST_WAIT => Flush::Perhaps,
            (true, _) => Flush::NotYet,
            (false, true) => Flush::Ours,
            (false, false) => Flush::Perhaps,
        })
    }
}

impl Calls<'_> {
    /// Whether a feed told of all that was emptied, and each time only after the key was gone.
    fn came_later(&self, last: &Seen, gone: &Seen, before: Flushes, after: Flushes) -> bool {
        let Some(heard) = self.heard.filter(|heard| *heard <= last.span.sent) else { return false };
        let until = gone.span.done.plus(APART);
        let later = self.emptied.iter().filter(|at| **at > until).count() as u64;
        let is_between = |at: &&Mono| **at >= last.span.sent.max(heard) && **at <= until;
        let all = after.all.saturating_sub(before.all);
        let calls = all.saturating_add(after.one.saturating_sub(before.one));
        // No feed tells of databases that are swapped.
        calls > 0
            && after.swaps == before.swaps
            && later >= calls
            && !self.emptied.iter().any(|at| is_between(&at))
    }
}

/// The oldest of them.
pub fn oldest(stays: impl Iterator<Item = Stay>) -> Vec<Stay> {
    let mut stays: Vec<Stay> = stays.collect();
    if stays.len() > MOST_STAYS {
        stays.select_nth_unstable_by_key(MOST_STAYS, |s| s.from);
        stays.truncate(MOST_STAYS);
    }
    stays
}
