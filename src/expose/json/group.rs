//! Groups of locks as the API shows them: one row each, and their locks page by page.

use std::collections::BTreeMap;

use serde::Serialize;

use super::lock::{Lock, describe};
use super::worker::Roster;
use crate::expose::standing;
use crate::view::{GroupView, StoreView, View};

/// Locks in one answer, unless the client wants fewer or more.
pub const PAGE: usize = 100;
/// Locks in one answer at most.
pub const MOST: usize = 1000;

#[derive(Debug, Serialize)]
pub(super) struct Group<'a> {
    store: &'a str,
    group: &'a str,
    fresh: bool,
    held: Option<u64>,
    free: Option<u64>,
    flagged: Option<BTreeMap<&'static str, u64>>,
    refused_keys: u64,
    needs_a_look: u64,
    lease_remaining_min_seconds: Option<f64>,
    held_max_seconds: Option<f64>,
    counts: Counts,
}

#[derive(Debug, Serialize)]
struct Counts {
    acquisitions: u64,
    renewals: u64,
    late_renewals: u64,
    renewals_after_lost_liveness: u64,
    ends: BTreeMap<&'static str, u64>,
    signal_rises: BTreeMap<&'static str, u64>,
}

/// `/api/v1/groups/{store}/{group}`.
#[derive(Debug, Serialize)]
pub struct OneGroup<'a> {
    generation: u64,
    taken: f64,
    group: Group<'a>,
    members: usize,
    offset: usize,
    locks: Vec<Lock<'a>>,
}

pub(super) fn describe_groups(view: &View) -> Vec<Group<'_>> {
    view.stores.iter().flat_map(|s| s.groups.iter().map(|g| describe_group(s, g))).collect()
}

fn describe_group<'a>(store: &'a StoreView, group: &'a GroupView) -> Group<'a> {
    let fresh = store.fresh;
    let is_known = fresh && group.is_known();
    let counts = &group.counts;
    Group {
        store: &store.name,
        group: &group.name,
        fresh,
        held: is_known.then_some(group.held),
        free: is_known.then_some(group.free),
        flagged: fresh.then(|| group.flagged.iter().map(|(s, n)| (s.as_str(), *n)).collect()),
        refused_keys: group.refused,
        needs_a_look: group.looks,
        lease_remaining_min_seconds: group.remaining_min_seconds.filter(|_| fresh),
        held_max_seconds: group.held_max_seconds.filter(|_| fresh),
        counts: Counts {
            acquisitions: counts.acquisitions,
            renewals: counts.renewals,
            late_renewals: counts.late_renewals,
            renewals_after_lost_liveness: counts.renewals_after_lost_liveness,
            ends: counts.ends.iter().map(|(e, n)| (e.as_str(), *n)).collect(),
            signal_rises: counts.rises.iter().map(|(s, n)| (s.as_str(), *n)).collect(),
        },
    }
}

/// The document of one group with `limit` of its locks from `offset` on; `None` if there is no such group.
pub fn one_group<'a>(
    view: &'a View,
    store: &str,
    group: &str,
    offset: usize,
    limit: usize,
) -> Option<OneGroup<'a>> {
    let store = view.stores.iter().find(|s| &*s.name == store)?;
    let group = store.groups.iter().find(|g| &*g.name == group)?;
    let (page, members) = standing::members(view, store, group, offset, limit.min(MOST));
    let roster = Roster::of(view);
    Some(OneGroup {
        generation: view.generation,
        taken: view.taken_wall,
        group: describe_group(store, group),
        members,
        offset,
        locks: page.into_iter().map(|lock| describe(store, lock, &roster)).collect(),
    })
}
