//! What a feed told that was done to a lock's key, as far as it can still prove that one owner wrote over another: a write, and
//! nothing that removed the key; or that the server evicted it: nothing else removed the key. Bounded: of many deeds the last
//! ones are kept, and what was forgotten proves nothing.

use std::collections::VecDeque;

use crate::derive::ends::PendingEnd;
use crate::observe::feed::Deed;
use crate::observe::{Expiry, Mono};

/// Of each kind at most.
const MOST: usize = 8;

/// What the feed tells of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Told {
    /// Nothing that proves anything.
    #[default]
    Nothing,
    /// Not all yet: what came before the read is still to come.
    NotYet,
    /// Another owner wrote over the one before.
    Overwrite,
    /// The server evicted the key.
    Eviction,
    /// Somebody removed the key, and no flush did.
    Removal,
}

/// When deeds arrived.
#[derive(Clone, Debug, Default)]
pub struct Deeds {
    writes: VecDeque<Mono>,
    evictions: VecDeque<Mono>,
    /// Other removals.
    removals: VecDeque<Mono>,
    /// What is not known.
    doubts: VecDeque<Mono>,
    /// The last doubt or eviction that was forgotten.
    forgotten: Option<Mono>,
}

impl Deeds {
    /// One more.
    pub fn add(&mut self, deed: Deed, at: Mono) {
        let kept = match deed {
            Deed::Wrote => &mut self.writes,
            Deed::Evicted => &mut self.evictions,
            Deed::Removed => &mut self.removals,
            Deed::Unknown => &mut self.doubts,
        };
        kept.push_back(at);
        if kept.len() > MOST {
            let oldest = kept.pop_front();
            if deed != Deed::Wrote {
                self.forgotten = oldest.max(self.forgotten);
            }
        }
    }

    /// What a change of owner was, or that the key is gone if `is_gone`, if all deeds between the two reads arrived within this
    /// time. An owner that lets go leaves a removal of its own, also beside an eviction.
    pub fn prove(&self, from: Mono, to: Mono, is_gone: bool) -> Told {
        let is_within = |at: &Mono| (from..=to).contains(at);
        let first = |all: &VecDeque<Mono>| all.iter().copied().find(is_within);
        let is_doubtful = self.doubts.iter().any(is_within)
            || self.forgotten.is_some_and(|forgotten| forgotten >= from);
        if is_doubtful {
            Told::Nothing
        } else if let Some(removed) = first(&self.removals) {
            // What was written before may have been another owner's, and its removal too.
            let is_owners = first(&self.writes).is_none_or(|wrote| wrote > removed)
                && !self.evictions.iter().any(is_within);
            if is_owners { Told::Removal } else { Told::Nothing }
        } else if self.evictions.iter().any(is_within) {
            Told::Eviction
        } else if !is_gone && self.writes.iter().any(is_within) {
            Told::Overwrite
        } else {
            Told::Nothing
        }
    }
}

impl PendingEnd {
    /// Whether another owner was found while the lease was not over. What a shared lock shows of one holder is no change of
    /// its owner.
    pub fn may_be_overwritten(&self) -> bool {
        self.is_succeeded && self.may_be_told()
    }

    /// Whether another owner was found while the lease was not over, or the key was gone and nobody had let go of it.
    pub fn may_be_told(&self) -> bool {
        let is_ahead = match self.expiry {
            Expiry::Never => true,
            Expiry::At(e) => self.gone.time < e,
        };
        let may_be_evicted = self.is_absent && !self.shortened;
        (self.is_succeeded || may_be_evicted) && is_ahead && !self.is_shared && !self.is_broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(deeds: &[(Deed, u64)], is_gone: bool) -> Told {
        let mut all = Deeds::default();
        deeds.iter().for_each(|(deed, at)| all.add(*deed, Mono(*at)));
        all.prove(Mono(100), Mono(200), is_gone)
    }

    fn proven(deeds: &[(Deed, u64)]) -> bool {
        told(deeds, false) == Told::Overwrite
    }

    #[test]
    fn only_a_write_with_no_removal_overwrites() {
        use Deed::{Removed, Unknown, Wrote};
        assert!(proven(&[(Wrote, 150)]));
        assert!(proven(&[(Removed, 99), (Wrote, 150), (Removed, 201)]));
        for deeds in [
            &[][..],
            &[(Wrote, 99)],
            &[(Removed, 140), (Wrote, 150)],
            &[(Wrote, 150), (Removed, 160)],
            &[(Wrote, 150), (Unknown, 160)],
        ] {
            assert!(!proven(deeds), "{deeds:?}");
        }
    }

    #[test]
    fn only_an_eviction_with_no_other_removal_takes_the_key() {
        use Deed::{Evicted, Removed, Unknown, Wrote};
        for is_gone in [false, true] {
            for deeds in [&[(Evicted, 140)][..], &[(Evicted, 140), (Wrote, 150), (Removed, 201)]] {
                assert_eq!(told(deeds, is_gone), Told::Eviction, "{deeds:?}");
            }
            for deeds in [
                &[(Evicted, 99)][..],
                &[(Evicted, 201)],
                &[(Evicted, 140), (Removed, 150)],
                &[(Removed, 140), (Evicted, 150)],
                &[(Evicted, 140), (Unknown, 150)],
            ] {
                assert_eq!(told(deeds, is_gone), Told::Nothing, "{deeds:?}");
            }
        }
        assert_eq!(told(&[(Wrote, 150)], true), Told::Nothing, "nobody is there");
        let mut many: Vec<_> = (0..20).map(|k| (Evicted, 110 + k)).collect();
        many.push((Wrote, 150));
        assert_eq!(told(&many, false), Told::Nothing, "some were forgotten");
    }

    #[test]
    fn the_owners_removal_comes_before_any_write() {
        use Deed::{Evicted, Removed, Unknown, Wrote};
        for is_gone in [false, true] {
            for deeds in [&[(Removed, 140)][..], &[(Removed, 140), (Wrote, 150), (Removed, 160)]] {
                assert_eq!(told(deeds, is_gone), Told::Removal, "{deeds:?}");
            }
            for deeds in [
                &[(Removed, 99)][..],
                &[(Wrote, 130), (Removed, 140)],
                &[(Removed, 140), (Unknown, 150)],
                &[(Removed, 140), (Evicted, 150)],
            ] {
                assert_ne!(told(deeds, is_gone), Told::Removal, "{deeds:?}");
            }
        }
    }

    #[test]
    fn what_was_forgotten_proves_nothing() {
        let mut deeds = vec![(Deed::Wrote, 150)];
        deeds.extend((0..20).map(|k| (Deed::Removed, 110 + k * 10)));
        assert!(!proven(&deeds));
        deeds = (0..20).map(|k| (Deed::Removed, 50 + k)).collect();
        deeds.push((Deed::Wrote, 150));
        assert!(proven(&deeds), "they were long before");
    }
}
