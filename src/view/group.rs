//! Groups of locks: what is told of all of a group's locks together, and which of them have series of their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::build::One;
use super::quiet::{Quiet, Sum, greatest, least};
use super::show::rank as rank_of;
use super::{Evidence, Liveness, LockView, SeriesTier, Signal};
use crate::config::Group;
use crate::derive::State;
use crate::derive::groups::Totals;
use crate::derive::lock::EXPIRED_UNDER;
use crate::derive::store::Store;
use crate::observe::Mono;

/// A group of locks.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupView {
    /// The `group` label.
    pub name: Arc<str>,
    /// Its locks that have series of their own at most.
    pub top: usize,
    /// Its locks that are watched: held, free, and those that cannot be read.
    pub held: u64,
    /// See `held`.
    pub free: u64,
    /// See `held`.
    pub unknown: u64,
    /// Keys of it that may not be read and were never seen as locks.
    pub refused: u64,
    /// Its locks that need a look or lately did.
    pub looks: u64,
    /// Its locks with each signal up, for signals that at least one lock can be judged for.
    pub flagged: Vec<(Signal, u64)>,
    /// The least that is left of a lease.
    pub remaining_min_seconds: Option<f64>,
    /// The oldest tenure.
    pub held_max_seconds: Option<f64>,
    /// Counters of all its locks, those that are not watched any more included.
    pub counts: GroupCounts,
}

impl GroupView {
    /// Whether it can be said how many of its locks are held: nobody knows if none of its keys can be read.
    pub fn is_known(&self) -> bool {
        self.held + self.free > 0 || self.refused + self.unknown == 0
    }
}

/// Counters of a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupCounts {
    /// Acquisitions seen.
    pub acquisitions: u64,
    /// Renewals seen.
    pub renewals: u64,
    /// Renewals that came after the lock was overdue.
    pub late_renewals: u64,
    /// Renewals after the holder lost liveness.
    pub renewals_after_lost_liveness: u64,
    /// Ends by evidence, all of it.
    pub ends: Vec<(Evidence, u64)>,
    /// Leases that ran out under a holder, by its liveness; `None` where no holder can be seen.
    pub expired_under_holder: Option<Vec<(Liveness, u64)>>,
    /// Rises of each signal.
    pub rises: Vec<(Signal, u64)>,
}

/// The groups of a store. `views` are of `locks`, in the same order; those of a group get their places in it.
pub(super) fn groups(
    state: &State,
    store: &Store,
    locks: &[One<'_>],
    views: &mut [LockView],
    quiet: &Quiet,
    now: Mono,
) -> Vec<GroupView> {
    let configured = state.rules.groups_of(&store.name);
    let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, one) in locks.iter().enumerate().filter(|(_, one)| !one.is_extra) {
        if let Some(group) = &one.lock.rules.group {
            members.entry(&group.name).or_default().push(i);
        }
    }
    let totals = store.totals();
    let mut refused: BTreeMap<&str, u64> = BTreeMap::new();
    for lock in store.locks.awake().map(|(_, l)| l).filter(|l| l.is_refused()) {
        if let Some(group) = &lock.rules.group {
            *refused.entry(&group.name).or_default() += 1;
        }
    }
    let mut all: Vec<GroupView> = configured
        .iter()
        .map(|group| {
            let members = members.get(&*group.name).map_or(&[][..], Vec::as_slice);
            let looks = rank(state, group, members, locks, views, now);
            let none = Totals::default();
            let totals = totals.get(&group.name).unwrap_or(&none);
            let is_seen = !state.rules.groups.is_empty();
            let counts = counts(totals, is_seen);
            let refused = refused.get(&*group.name).copied().unwrap_or(0);
            let members = members.iter().filter_map(|i| views.get(*i));
            let quiet = quiet.of(&group.name);
            GroupView { refused, ..summary(group, members, quiet, looks, counts) }
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Gives the locks that need a look their places, the worst first, and the first of them series. How many there are.
fn rank(
    state: &State,
    group: &Group,
    members: &[usize],
    locks: &[One<'_>],
    views: &mut [LockView],
    now: Mono,
) -> u64 {
    let retain = state.rules.retain;
    let ranked =
        members.iter().filter_map(|i| Some((rank_of(&locks.get(*i)?.lock, now, retain)?, *i)));
    let mut looks: Vec<((bool, u64, u64), usize)> = ranked.collect();
    looks.sort_unstable();
    for (place, (.., i)) in looks.iter().enumerate() {
        let (Some(one), Some(view)) = (locks.get(*i), views.get_mut(*i)) else { continue };
        view.look = Some(place);
        view.tier = (place < group.top).then_some(match one.lock.rules.series {
            SeriesTier::Flagged => SeriesTier::Core,
            tier => tier,
        });
    }
    looks.len() as u64
}

fn summary<'a>(
    group: &Group,
    members: impl Iterator<Item = &'a LockView> + Clone,
    quiet: Option<&Sum>,
    looks: u64,
    counts: GroupCounts,
) -> GroupView {
    let count = |held| members.clone().filter(|l| l.held == held).count() as u64;
    let fresh = members.clone().filter(|l| l.fresh);
    GroupView {
        name: group.name.clone(),
        top: group.top,
        held: count(Some(true)) + quiet.map_or(0, |q| q.held),
        free: count(Some(false)) + quiet.map_or(0, |q| q.free),
        unknown: count(None) + quiet.map_or(0, |q| q.unknown),
        refused: 0,
        looks,
        flagged: flagged(fresh.clone(), quiet),
        remaining_min_seconds: least(
            fresh.clone().filter_map(|l| l.remaining_seconds).reduce(f64::min),
            quiet.and_then(|q| q.remaining_min_seconds),
        ),
        held_max_seconds: greatest(
            fresh.filter_map(|l| l.held_seconds).reduce(f64::max),
            quiet.and_then(|q| q.held_max_seconds),
        ),
        counts,
    }
}

/// How many of these locks have each signal up. A signal that none can be judged for has no count, not even 0.
pub(super) fn flagged<'a>(
    locks: impl Iterator<Item = &'a LockView>,
    quiet: Option<&Sum>,
) -> Vec<(Signal, u64)> {
    let mut counts = Signal::ALL.iter().map(|s| (*s, None)).collect::<Vec<(Signal, Option<u64>)>>();
    for signal in quiet.into_iter().flat_map(Sum::flagged) {
        if let Some((_, n)) = counts.get_mut(signal as usize) {
            *n = Some(0);
        }
    }
    for (signal, judged) in locks.flat_map(|l| &l.signals) {
        if let (Some(is_up), Some((_, n))) = (judged, counts.get_mut(*signal as usize)) {
            *n = Some(n.unwrap_or(0) + u64::from(*is_up));
        }
    }
    counts.into_iter().filter_map(|(signal, n)| Some((signal, n?))).collect()
}

fn counts(totals: &Totals, is_seen: bool) -> GroupCounts {
    GroupCounts {
        acquisitions: totals.acquisitions,
        renewals: totals.renewals,
        late_renewals: totals.late_renewals,
        renewals_after_lost_liveness: totals.renewals_after_loss,
        ends: Evidence::ALL.iter().copied().zip(totals.ends).collect(),
        expired_under_holder: is_seen
            .then(|| EXPIRED_UNDER.into_iter().zip(totals.expired_under).collect()),
        rises: Signal::ALL.iter().copied().zip(totals.rises).collect(),
    }
}
