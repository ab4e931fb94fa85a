//! Which locks a view has one by one. Locks of a group of which nobody need know more than how many there are are only counted,
//! unless somebody asks for them: there may be very many of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::derive::Signal;
use crate::derive::lock::Lock;
use crate::derive::store::Store;
use crate::observe::{KeyId, Mono};

/// Which locks a view has one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Show {
    /// All.
    All,
    /// Those of no group, and those of groups at which something happened.
    Needed,
    /// These, and this one.
    Lock {
        /// Its store's name.
        store: String,
        /// Its name.
        lock: String,
    },
    /// Those that are needed, and some of this group.
    Group {
        /// Its store's name.
        store: String,
        /// Its name.
        group: String,
        /// So many come before them.
        offset: usize,
        /// So many of them at most.
        limit: usize,
    },
}

/// Some of a group's locks, as they were asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The store's name.
    pub store: Arc<str>,
    /// The group's name.
    pub group: Arc<str>,
    /// So many come before them.
    pub offset: usize,
    /// Their names: those that need a look first, the others by name.
    pub names: Vec<Arc<str>>,
}

/// How early a lock comes among those of its group that need a look, the worst first; `None` if it needs none. That rests on
/// since when and how bad, not on this poll, so that the order does not change from one to the next.
pub(super) fn rank(lock: &Lock, now: Mono, retain: Duration) -> Option<(bool, u64, u64)> {
    let look = lock.look?;
    if look.is_now(now) {
        return Some((false, u64::from(look.worst), look.since.0));
    }
    // What is over comes after all that is not, the latest first.
    (now.since(look.last) < retain).then_some((true, u64::MAX - look.last.0, 0))
}

/// Some of them in their order: those with a rank first, the others by name. The rest is put in no order, as there may be very
/// many.
fn part<'a>(
    locks: impl Iterator<Item = &'a Lock>,
    offset: usize,
    limit: usize,
    rank: impl Fn(&Lock) -> Option<(bool, u64, u64)>,
) -> Vec<&'a Lock> {
    let place = |lock: &'a Lock| {
        let rank = rank(lock);
        ((rank.is_none(), rank, &*lock.name), lock)
    };
    let mut all: Vec<_> = locks.map(place).collect();
    let end = offset.saturating_add(limit);
    if end < all.len() {
        all.select_nth_unstable_by(end, |a, b| a.0.cmp(&b.0));
        all.truncate(end);
    }
    if offset >= all.len() {
        return Vec::new();
    }
    all.select_nth_unstable_by(offset, |a, b| a.0.cmp(&b.0));
    let mut part = all.split_off(offset);
    part.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    part.into_iter().map(|(_, lock)| lock).collect()
}

/// Whether a lock is told as one of many and nothing ever was wrong with it.
pub(super) fn is_quiet(lock: &Lock, now: Mono, retain: Duration) -> bool {
    lock.rules.group.is_some()
        && lock.unreadable.is_none()
        && lock.look.is_none_or(|look| !look.is_now(now) && now.since(look.last) >= retain)
        && Signal::ALL.iter().all(|s| lock.signals.rises(*s) == 0 && !lock.signals.is_up(*s))
}

impl Show {
    /// The locks of a store that are asked for, and if they are a part of a group, which.
    pub(super) fn picked(
        &self,
        store: &Store,
        now: Mono,
        retain: Duration,
    ) -> (BTreeSet<KeyId>, Option<Page>) {
        let locks = || store.locks.values().map(|l| &**l).filter(|l| l.is_lock());
        match self {
            Self::All | Self::Needed => Default::default(),
            Self::Lock { store: of, lock } if *store.name == **of => {
                (locks().filter(|l| *l.name == **lock).map(|l| l.key).collect(), None)
            }
            Self::Group { store: of, group, offset, limit } if *store.name == **of => {
                let is_member =
                    |l: &&Lock| l.rules.group.as_ref().is_some_and(|g| *g.name == **group);
                let members = locks().filter(is_member);
                let members = part(members, *offset, *limit, |l| rank(l, now, retain));
                let page = Page {
                    store: store.name.clone(),
                    group: group.as_str().into(),
                    offset: *offset,
                    names: members.iter().map(|l| l.name.clone()).collect(),
                };
                (members.iter().map(|l| l.key).collect(), Some(page))
            }
            Self::Lock { .. } | Self::Group { .. } => Default::default(),
        }
    }
}
