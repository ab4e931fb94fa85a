//! What a feed told that was done to a lock's key, as far as it can still prove that one owner wrote over another: a write, and
//! nothing that removed the key. Bounded: of many deeds the last ones are kept, and what was forgotten proves nothing.

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
}

/// When deeds arrived.
#[derive(Clone, Debug, Default)]
pub struct Deeds {
    writes: VecDeque<Mono>,
    /// Removals, and what is not known.
    doubts: VecDeque<Mono>,
    /// The last doubt that was forgotten.
    forgotten: Option<Mono>,
}

impl Deeds {
    /// One more.
    pub fn add(&mut self, deed: Deed, at: Mono) {
        let kept = match deed {
            Deed::Wrote => &mut self.writes,
            Deed::Removed | Deed::Unknown => &mut self.doubts,
        };
        kept.push_back(at);
        if kept.len() > MOST {
            let oldest = kept.pop_front();
            if deed != Deed::Wrote {
                self.forgotten = oldest.or(self.forgotten);
            }
        }
    }

    /// Whether a change of owner was an overwrite if all deeds between the two reads arrived within this time.
    pub fn prove_overwrite(&self, from: Mono, to: Mono) -> bool {
        let is_within = |at: &Mono| (from..=to).contains(at);
        self.writes.iter().any(is_within)
            && !self.doubts.iter().any(is_within)
            && self.forgotten.is_none_or(|at| at < from)
    }
}

impl PendingEnd {
    /// Whether another owner was found while the lease was not over. What a shared lock shows of one holder is no change of
    /// its owner.
    pub fn may_be_overwritten(&self) -> bool {
        let is_ahead = match self.expiry {
            Expiry::Never => true,
            Expiry::At(e) => self.gone.time < e,
        };
        self.is_succeeded && is_ahead && !self.is_shared && !self.is_broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proven(deeds: &[(Deed, u64)]) -> bool {
        let mut all = Deeds::default();
        deeds.iter().for_each(|(deed, at)| all.add(*deed, Mono(*at)));
        all.prove_overwrite(Mono(100), Mono(200))
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
    fn what_was_forgotten_proves_nothing() {
        let mut deeds = vec![(Deed::Wrote, 150)];
        deeds.extend((0..20).map(|k| (Deed::Removed, 110 + k * 10)));
        assert!(!proven(&deeds));
        deeds = (0..20).map(|k| (Deed::Removed, 50 + k)).collect();
        deeds.push((Deed::Wrote, 150));
        assert!(proven(&deeds), "they were long before");
    }
}
