//! Whether a call that empties databases emptied ours. `FLUSHALL` does; `FLUSHDB` and `SWAPDB` are counted for the whole
//! server, and are ours only if nothing says that they may be another database's.

use std::time::Duration;

use super::tenure::Seen;
use crate::observe::Mono;
use crate::observe::node::Flushes;

/// How long the next read of one that may have outlived a flush is waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Tenures that are looked at for one that outlived a flush; the oldest ones.
const MOST_STAYS: usize = 64;

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

/// The oldest of them.
pub fn oldest(stays: impl Iterator<Item = Stay>) -> Vec<Stay> {
    let mut stays: Vec<Stay> = stays.collect();
    if stays.len() > MOST_STAYS {
        stays.select_nth_unstable_by_key(MOST_STAYS, |s| s.from);
        stays.truncate(MOST_STAYS);
    }
    stays
}
