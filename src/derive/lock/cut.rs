//! A lock with more holders than are read: its value is a sorted set of which the members that end last are read, and those
//! that are ahead are counted beside it. Who is not read may hold all the same, so nobody is let go for that. What else of a
//! lock's holders is not known for sure is said here too.

use std::sync::Arc;

use super::crowd::{MOST, Shown};
use super::share::tells_ends;
use super::{Lock, Phase, ReadContext};
use crate::derive::fresh::is_fresh;
use crate::derive::tenure::Tenure;
use crate::observe::lock::{Decoded, Mode};
use crate::observe::{Expiry, Mono};

/// What the last read did not show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// The earliest end of those that it did: who is not shown ends no later.
    earliest: Expiry,
    /// How many it showed, and with the others that the value has.
    shown: u64,
    most: u64,
    /// How many hold it by the last count; without one all that the value has may.
    counted: Option<u64>,
}

impl Cut {
    /// Whether a holder that was not shown may be among the others.
    pub fn hides(&self, tenure: &Tenure) -> bool {
        match (tenure.expiry, self.earliest) {
            (Expiry::At(own), Expiry::At(earliest)) => own <= earliest,
            (Expiry::At(_), Expiry::Never) => true,
            (Expiry::Never, earliest) => earliest == Expiry::Never,
        }
    }

    /// Holders beyond so many that are followed.
    pub fn beyond(&self, followed: usize) -> u64 {
        let all = self.counted.map_or(self.most, |n| n.clamp(self.shown, self.most));
        all.saturating_sub(u64::try_from(followed).unwrap_or(u64::MAX))
    }
}

impl Lock {
    /// Notes what a read of all holders does not show. If one of those that it does is past its end, so are all others.
    pub(super) fn note_cut(&mut self, value: &Decoded, shown: &[Shown], c: &ReadContext<'_>) {
        let ends = || shown.iter().filter_map(|(_, share)| share.as_ref()).map(|s| s.expiry);
        if value.beyond == 0 || ends().count() < value.holders.len() {
            return;
        }
        let at = ends().filter_map(|e| match e {
            Expiry::At(at) => Some(at),
            Expiry::Never => None,
        });
        let now = c.seen.span.done;
        let counted = self.beside.counted.filter(|(_, at)| is_fresh(Some(*at), now, c.poll));
        let shown = u64::try_from(shown.len()).unwrap_or(u64::MAX);
        self.beside.cut = Some(Cut {
            earliest: at.min().map_or(Expiry::Never, Expiry::At),
            shown,
            most: shown.saturating_add(value.beyond),
            counted: counted.map(|(n, _)| n),
        });
    }

    /// Takes how many hold it.
    pub(super) fn counted(&mut self, count: Option<u64>, at: Mono) {
        self.beside.counted = count.map(|n| (n, at));
        if let (Some(cut), Phase::Shared(crowd)) = (&mut self.beside.cut, &mut self.phase) {
            cut.counted = count;
            crowd.beyond = cut.beyond(crowd.members.len());
        }
    }

    /// Whether that holder's expiry stands beside the key and was not read: the key's was taken for it.
    pub fn is_untold(&self, tenure: &Tenure) -> bool {
        let has_own = tenure.is_own || !tells_ends(&tenure.value);
        !has_own && tenure.mode == Mode::Read
    }

    /// The same of holders that are only counted, if there are more than are followed.
    pub fn has_untold_beyond(&self) -> bool {
        let Phase::Shared(crowd) = &self.phase else { return false };
        let is_many = |v: &Arc<Decoded>| v.holders.len() > MOST && tells_ends(v);
        crowd.beyond > 0 && self.value.as_ref().is_some_and(is_many)
    }

    /// Whether the expiry of any single holder was ever read beside the key.
    pub fn was_told_ends(&self) -> bool {
        self.beside.told.is_some()
    }

    /// Whether holders are counted of whom it is not known whether they hold.
    pub fn is_guessed(&self) -> bool {
        self.beside.cut.is_some_and(|cut| cut.counted.is_none())
    }
}
