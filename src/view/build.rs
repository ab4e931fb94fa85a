//! Makes a [`View`] from the state. What is older than three intervals is left out here, once, for every reader.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::clients::{ClientsView, Crew};
use super::clock::clock_views;
use super::lock::lock_view;
use super::node::node_view;
use super::worker::worker_view;
use super::{EXAMPLES, LeftOut, LockView, NodeView, PollerView, StoreView, View};
use super::{coverage, group};
use crate::derive::fresh::is_fresh;
use crate::derive::interval::Interval;
use crate::derive::lock::Lock;
use crate::derive::node::primaries;
use crate::derive::store::Store;
use crate::derive::{Evidence, State};
use crate::observe::node::FailReason;
use crate::observe::{HostClock, Line, Mono};

/// The instant a view is made for.
#[derive(Clone, Copy, Debug)]
pub struct Instant {
    /// On the observer's clock.
    pub mono: Mono,
    /// On this host's wall clock, seconds since the epoch.
    pub wall: f64,
}

impl Instant {
    /// The end of a reading of this host's wall clock.
    pub fn of(reading: &HostClock) -> Self {
        let since_boot = reading.span.done.secs_since(Mono(0));
        Self { mono: reading.span.done, wall: reading.ahead_of_mono() + since_boot }
    }

    /// This host's wall clock minus the observer's.
    pub(super) fn ahead(self) -> Interval {
        Interval::around(self.wall - self.mono.secs_since(Mono(0)), 0.0)
    }
}

/// Reasons for which keys are not watched.
const DROP_REASONS: [&str; 2] = ["max_locks", "duplicate_name"];

impl View {
    /// The view of `state` at `now`.
    pub fn of(state: &State, now: Instant, generation: u64) -> View {
        let mut stores: Vec<StoreView> =
            state.stores.values().map(|s| store_view(state, s, now)).collect();
        stores.sort_by(|a, b| a.name.cmp(&b.name));
        let skews = store_skews(state, &stores);
        View {
            generation,
            taken: now.mono,
            taken_wall: now.wall,
            stores,
            workers: state
                .workers
                .by_name
                .values()
                .filter_map(|w| worker_view(state, w, now.mono, &skews))
                .collect(),
            clocks: clock_views(state, now.mono),
            host_clock_steps: (state.host_clock.forward, state.host_clock.backward),
            pollers: state
                .polls
                .records
                .iter()
                .map(|((poller, target), r)| PollerView {
                    poller,
                    target: target.clone(),
                    interval_seconds: r.interval.as_secs_f64(),
                    duration_seconds: (r.polls > 0).then_some(r.busy.as_secs_f64()),
                    last_success_timestamp: r
                        .succeeded
                        .map(|at| now.wall - now.mono.secs_since(at)),
                    polls: r.polls,
                    failures: FailReason::ALL.iter().copied().zip(r.failures).collect(),
                })
                .collect(),
        }
    }
}

fn store_view(state: &State, store: &Store, instant: Instant) -> StoreView {
    let now = instant.mono;
    let poll = state.rules.poll_interval;
    // Sorted before they are made: a view of a lock is large, a reference is not.
    let mut sorted: Vec<&Lock> =
        store.locks.values().map(|l| &**l).filter(|l| l.is_lock()).collect();
    sorted.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let mut locks: Vec<LockView> = sorted.iter().map(|l| lock_view(state, l, now)).collect();
    connected(state, store, &sorted, &mut locks, now);
    let groups = group::groups(state, store, &sorted, &mut locks, now);
    // Of a line that is read: its locks were read one after the other, so that the first may just have become too old.
    let is_read = |l: &Lock| {
        let swept = store.lines.get(&l.line).and_then(|line| line.swept.as_ref());
        is_fresh(swept.map(|s| s.span.done), now, poll)
    };
    let count = |held: bool| {
        let both = locks.iter().zip(&sorted);
        both.filter(|(view, lock)| view.held == Some(held) && is_read(lock)).count() as u64
    };
    let (held, free) = (count(true), count(false));
    let (failovers, failover_lost_bytes) = store.failovers();
    StoreView {
        name: store.name.clone(),
        fresh: is_fresh(store.swept_at(), now, poll),
        counted: is_fresh(store.counted_at(), now, poll),
        read_age_seconds: store.swept_at().map(|at| now.secs_since(at).max(0.0)),
        nodes: store
            .nodes
            .values()
            .filter(|n| n.heard.is_some())
            .map(|n| node_view(state, store, n, instant))
            .collect(),
        primaries: store
            .nodes
            .values()
            .any(|n| n.facts.is_some())
            .then(|| primaries(store.nodes.values())),
        sentinels_disagree: store
            .sentinels
            .disagree
            .filter(|(_, at)| is_fresh(Some(*at), now, poll))
            .map(|(disagree, _)| disagree),
        failovers,
        failover_lost_bytes,
        lease_ends: Evidence::ALL.iter().copied().zip(store.lease_ends).collect(),
        held,
        free,
        dropped: DROP_REASONS
            .iter()
            .map(|r| (*r, store.dropped.iter().find(|(n, _)| n == r).map_or(0, |(_, c)| *c)))
            .collect(),
        workers_dropped: state.workers.dropped_in(store.id),
        flagged: group::flagged(locks.iter().filter(|l| l.fresh)),
        lists: super::list::lists(state, store, now),
        groups,
        ownerless: left_out(store, |l| !l.is_lock() && l.is_ownerless),
        refused: left_out(store, Lock::is_refused),
        blind: coverage::blind(store, &locks),
        locks,
    }
}

/// Tells each lock who is connected to the primary that has it.
fn connected(state: &State, store: &Store, locks: &[&Lock], views: &mut [LockView], now: Mono) {
    let crew = Crew::of(state);
    let clients: BTreeMap<Line, Arc<ClientsView>> = store
        .lines
        .keys()
        .filter_map(|line| Some((*line, Arc::new(crew.clients(store.primary(*line)?, now)?))))
        .collect();
    for (lock, view) in locks.iter().zip(views) {
        view.clients = clients.get(&lock.line).cloned();
        view.renewals = crew.renewals(lock, now);
    }
}

/// Keys that are not shown as locks; the first of them stand for all.
fn left_out(store: &Store, is_meant: impl Fn(&Lock) -> bool) -> LeftOut {
    let mut keys = store.locks.values().filter(|l| is_meant(l));
    let examples: Vec<_> = keys.by_ref().take(EXAMPLES).map(|l| l.key_text.clone()).collect();
    LeftOut { count: (examples.len() + keys.count()) as u64, examples }
}

/// By store: the skew bound of its primary, the worst where there are several, or of its worst node while one is missing.
fn store_skews(state: &State, stores: &[StoreView]) -> Vec<(Arc<str>, f64)> {
    let bound = |n: &NodeView| n.facts.as_ref()?.skew_bound_seconds;
    stores
        .iter()
        .filter_map(|view| {
            let store = state.stores.values().find(|s| s.name == view.name)?;
            let leads = |n: &&NodeView| store.lines.values().any(|l| l.is_led_by(&n.addr));
            let worst = |nodes: &mut dyn Iterator<Item = &NodeView>| {
                nodes.filter_map(bound).reduce(f64::max)
            };
            let worst = match store.lines.values().all(|l| l.primary.is_some()) {
                true => worst(&mut view.nodes.iter().filter(leads)),
                false => worst(&mut view.nodes.iter()),
            };
            Some((view.name.clone(), worst?))
        })
        .collect()
}
