//! Counting votes: of several places that may each hold an owner's token, whose are enough, and until when. Only counts;
//! whether the places are keys of one server or servers of their own, and what follows, is the caller's.

use crate::observe::{Expiry, ServerTime, Token};

/// What one place shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Vote<'a> {
    /// Whose token it has; `None` for a value that names nobody.
    pub owner: Option<&'a Token>,
    /// Until when, by the clock of that place.
    pub until: Expiry,
    /// What that clock said then.
    pub now: ServerTime,
}

/// How many votes there are, as far as all places were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    /// Of the owner that has most.
    pub most: usize,
    /// How many hold the lock: more than half of the places.
    pub needed: usize,
    /// The places.
    pub of: usize,
}

/// Who holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Majority {
    /// A place that has the owner's token, the first of them.
    pub first: usize,
    /// The place whose end is the lock's: from then on there are too few. The needed-th largest of what remains.
    pub ends: usize,
}

/// More than half of them.
pub fn needed(places: usize) -> usize {
    places / 2 + 1
}

/// Counts the votes of so many places; a place without one is left out, its index is the vote's first part. A vote that has
/// ended counts no more. Nobody holds it with fewer than `needed`, however few the others have.
pub fn count(places: usize, votes: &[(usize, Vote<'_>)]) -> (Votes, Option<Majority>) {
    let needed = needed(places);
    let mut best: Vec<(i64, usize)> = Vec::new();
    for (i, (_, vote)) in votes.iter().enumerate() {
        let is_first = votes.iter().take(i).all(|(_, v)| v.owner != vote.owner);
        if is_first {
            let own = votes.iter().filter(|(_, v)| v.owner == vote.owner);
            let live: Vec<_> = own.filter_map(|(at, v)| Some((remaining(v)?, *at))).collect();
            if live.len() > best.len() {
                best = live;
            }
        }
    }
    let first = best.iter().map(|(_, at)| *at).min();
    // The longest first; of equal ones the first place, so that the answer does not depend on the order.
    best.sort_by_key(|(left, at)| (std::cmp::Reverse(*left), *at));
    let ends = best.get(needed - 1).map(|(_, at)| *at);
    let majority = first.zip(ends).map(|(first, ends)| Majority { first, ends });
    (Votes { most: best.len(), needed, of: places }, majority)
}

/// What remains of a vote in microseconds; `None` if it has ended.
fn remaining(vote: &Vote<'_>) -> Option<i64> {
    match vote.until {
        Expiry::Never => Some(i64::MAX),
        Expiry::At(e) => Some(e.0.saturating_sub(vote.now.0)).filter(|left| *left > 0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token(name: u8) -> Token {
        Token::new(&[name; 24])
    }

    /// Places by owner and end; 0 for no vote. The clock says 100.
    fn counted(places: &[(u8, i64)]) -> (Votes, Option<Majority>) {
        let tokens: Vec<_> = places.iter().map(|(name, _)| token(*name)).collect();
        let votes: Vec<_> = places
            .iter()
            .zip(&tokens)
            .enumerate()
            .filter(|(_, ((name, _), _))| *name != 0)
            .map(|(i, ((_, end), token))| {
                let until = if *end == 0 { Expiry::Never } else { Expiry::At(ServerTime(*end)) };
                (i, Vote { owner: Some(token), until, now: ServerTime(100) })
            })
            .collect();
        count(places.len(), &votes)
    }

    #[test]
    fn who_has_more_than_half_holds_until_too_few_remain() {
        let (votes, majority) = counted(&[(1, 900), (1, 700), (1, 800)]);
        assert_eq!(votes, Votes { most: 3, needed: 2, of: 3 });
        assert_eq!(majority, Some(Majority { first: 0, ends: 2 }));
        let (votes, majority) = counted(&[(2, 900), (1, 700), (1, 800)]);
        assert_eq!((votes.most, majority), (2, Some(Majority { first: 1, ends: 1 })));
        assert_eq!(counted(&[(1, 900), (1, 0), (0, 0)]).1, Some(Majority { first: 0, ends: 0 }));
    }

    #[test]
    fn what_is_left_of_a_lock_holds_nothing() {
        assert_eq!(
            counted(&[(1, 900), (0, 0), (0, 0)]),
            (Votes { most: 1, needed: 2, of: 3 }, None)
        );
        assert_eq!(counted(&[(1, 900), (2, 900), (3, 900)]).1, None);
        assert_eq!(counted(&[(1, 900), (1, 100), (0, 0)]).0.most, 1, "one has ended");
        assert_eq!(
            counted(&[(1, 900), (1, 900), (2, 900), (2, 900)]).1,
            None,
            "half is no majority"
        );
        assert_eq!(counted(&[]), (Votes { most: 0, needed: 1, of: 0 }, None));
    }

    proptest! {
        /// At most one owner holds; it has the votes it needs, all live; at its end it has them no more, just before it has.
        #[test]
        fn a_majority_is_one_and_lasts_exactly_until_its_end(
            places in prop::collection::vec((0u8..4, 90i64..130), 1..9),
        ) {
            let (votes, majority) = counted(&places);
            let live = |name: u8, now: i64| places.iter().filter(|(n, e)| *n == name && *e > now).count();
            let most = (1..4).map(|name| live(name, 100)).max().unwrap_or(0);
            prop_assert_eq!(votes, Votes { most, needed: places.len() / 2 + 1, of: places.len() });
            prop_assert_eq!(majority.is_some(), most >= votes.needed);
            if let Some(Majority { first, ends }) = majority {
                let name = places[first].0;
                prop_assert_eq!(places[ends].0, name);
                prop_assert!(places[..first].iter().all(|(n, e)| *n != name || *e <= 100));
                prop_assert!(live(name, places[ends].1 - 1) >= votes.needed);
                prop_assert!(live(name, places[ends].1) < votes.needed);
                prop_assert!((1..4).filter(|n| live(*n, 100) >= votes.needed).count() == 1);
            }
        }
    }
}
