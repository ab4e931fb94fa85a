//! Since when a lock needs a look, and how bad the worst of it is: what decides which locks of a group have series of their
//! own. Says nothing of what is wrong; signals do.

use std::time::Duration;

use super::Lock;
use crate::derive::wanted::Effects;
use crate::observe::Mono;

/// What was up this lately counts as up: a signal that comes and goes with each poll does not make series come and go.
pub const HOLD: Duration = Duration::from_secs(30);

/// A lock that needs a look, or did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Since when, with no gap longer than [`HOLD`].
    pub since: Mono,
    /// The last read that said so.
    pub last: Mono,
    /// Rank of the worst that was up lately; smaller is worse.
    pub worst: u8,
    worst_at: Mono,
    asked: Mono,
}

impl Look {
    /// Something of this rank is up.
    fn at(before: Option<Look>, rank: u8, at: Mono) -> Look {
        let new = Look { since: at, last: at, worst: rank, worst_at: at, asked: at };
        let Some(look) = before.filter(|b| at.since(b.last) <= HOLD) else { return new };
        let last = look.last.max(at);
        if rank <= look.worst || at.since(look.worst_at) > HOLD {
            Look { last, worst: rank, worst_at: at, ..look }
        } else {
            Look { last, ..look }
        }
    }

    /// Whether something is up, or was lately.
    pub fn is_now(&self, now: Mono) -> bool {
        now.since(self.last) <= HOLD
    }
}

impl Lock {
    /// Something is up that is as bad as `rank`, a signal's place in the order of danger. A key that is looked at is not to be
    /// forgotten the moment it goes.
    pub(super) fn look(&mut self, rank: u8, at: Mono, fx: &mut Effects) {
        let mut look = Look::at(self.look, rank, at);
        let is_new = look.since == at && look.last == at;
        if self.rules.group.is_some() && (is_new || at.since(look.asked) >= HOLD) {
            look.asked = at;
            fx.keep.push((self.store, self.key));
        }
        self.look = Some(look);
        self.begin_marks();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(s: u64) -> Mono {
        Mono(s * 1_000_000_000)
    }

    #[test]
    fn what_comes_and_goes_stays_where_it_was() {
        let mut look = Look::at(None, 3, secs(100));
        for s in (104..180).step_by(4) {
            look = Look::at(Some(look), 3, secs(s));
        }
        assert_eq!((look.since, look.worst), (secs(100), 3));
        assert!(look.is_now(secs(200)));
        let again = Look::at(Some(look), 3, secs(300));
        assert_eq!(again.since, secs(300), "after a long rest it is news");
    }

    #[test]
    fn the_worst_counts_until_it_was_down_for_a_while() {
        let mut look = Look::at(None, 5, secs(100));
        look = Look::at(Some(look), 1, secs(102));
        look = Look::at(Some(look), 5, secs(102));
        assert_eq!(look.worst, 1);
        for s in 103..140 {
            look = Look::at(Some(look), 5, secs(s));
        }
        assert_eq!((look.worst, look.since), (5, secs(100)));
    }
}
