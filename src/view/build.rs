//! Makes a [`View`] from the state. What is older than three intervals is left out here, once, for every reader.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::clients::{ClientsView, Crew};
use super::clock::clock_views;
use super::lock::lock_view;
use super::node::node_view;
use super::quiet::Quiet;
use super::show::is_quiet;
use super::worker::worker_view;
use super::{EXAMPLES, LeftOut, LockView, NodeView, Page, PollerView, Show, StoreView, View};
use super::{coverage, group};
use crate::derive::fresh::is_fresh;
use crate::derive::interval::Interval;
use crate::derive::lock::Lock;
use crate::derive::node::primaries;
use crate::derive::store::Store;
use crate::derive::{Evidence, State};
use crate::observe::node::FailReason;
use crate::observe::{HostClock, KeyId, Line, Mono};

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
    /// The view of `state` at `now`, with all locks.
    pub fn of(state: &State, now: Instant, generation: u64) -> View {
        Self::showing(state, now, generation, &Show::All)
    }

    /// The same with some of the locks. All that is counted is counted of all.
    pub fn showing(state: &State, now: Instant, generation: u64, show: &Show) -> View {
        let mut page = None;
        let mut one = |store| {
            let (view, part) = store_view(state, store, now, show);
            page = page.take().or(part);
            view
        };
        let mut stores: Vec<StoreView> = state.stores.values().map(&mut one).collect();
        stores.sort_by(|a, b| a.name.cmp(&b.name));
        let skews = store_skews(state, &stores);
        View {
            generation,
            page,
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

fn store_view(
    state: &State,
    store: &Store,
    instant: Instant,
    show: &Show,
) -> (StoreView, Option<Page>) {
    let now = instant.mono;
    let poll = state.rules.poll_interval;
    // Of a line that is read: its locks were read one after the other, so that the first may just have become too old.
    let is_read = |l: &Lock| {
        let swept = store.lines.get(&l.line).and_then(|line| line.swept.as_ref());
        is_fresh(swept.map(|s| s.span.done), now, poll)
    };
    let Shown { locks: sorted, quiet, page } = shown(state, store, now, show, is_read);
    let mut locks: Vec<LockView> = sorted.iter().map(|l| lock_view(state, &l.lock, now)).collect();
    connected(state, store, &sorted, &mut locks, now);
    let groups = group::groups(state, store, &sorted, &mut locks, &quiet, now);
    let quiet = quiet.all();
    let counted = || locks.iter().zip(&sorted).filter(|(_, one)| !one.is_extra);
    let count = |held: bool| {
        counted().filter(|(view, one)| view.held == Some(held) && is_read(&one.lock)).count() as u64
    };
    let (held, free) = (count(true) + quiet.read.0, count(false) + quiet.read.1);
    let (failovers, failover_lost_bytes) = store.failovers();
    let flagged = {
        let fresh = counted().map(|(view, _)| view).filter(|l| l.fresh);
        group::flagged(fresh, Some(&quiet))
    };
    let blind = coverage::blind(store, counted().map(|(view, _)| view), &quiet);
    let view = StoreView {
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
        flagged,
        counted_only: (quiet.count(), quiet.stale),
        lists: super::list::lists(state, store, now),
        groups,
        ownerless: left_out(store, |l| !l.is_lock() && l.is_ownerless),
        refused: left_out(store, Lock::is_refused),
        blind,
        locks,
    };
    (view, page)
}

/// Which locks of a store are shown one by one.
struct Shown<'a> {
    /// Those, by name.
    locks: Vec<One<'a>>,
    /// The others.
    quiet: Quiet,
    page: Option<Page>,
}

/// A lock that is shown.
pub(super) struct One<'a> {
    pub lock: Cow<'a, Lock>,
    /// It is counted among those that are not.
    pub is_extra: bool,
}

fn shown<'a>(
    state: &State,
    store: &'a Store,
    now: Mono,
    show: &Show,
    is_read: impl Fn(&Lock) -> bool,
) -> Shown<'a> {
    let retain = state.rules.retain;
    let (picked, page) = show.picked(store, now, retain);
    let mut quiet = Quiet::default();
    let mut locks = Vec::new();
    for lock in store.locks.awake().map(|(_, lock)| &**lock).filter(|l| l.is_lock()) {
        let is_extra = *show != Show::All && is_quiet(lock, now, retain);
        if is_extra {
            quiet.add(state, lock, now, is_read(lock));
        }
        if !is_extra || picked.contains(&lock.key) {
            locks.push(One { lock: Cow::Borrowed(lock), is_extra });
        }
    }
    let current = |key: &KeyId| store.locks.current(key);
    if *show == Show::All {
        let rest = store.locks.resting().filter_map(current);
        locks.extend(rest.map(|lock| One { lock, is_extra: false }));
    } else {
        for class in store.locks.classes() {
            quiet.add_class(state, &class, now, is_read(&class.1));
        }
        let rest = picked.iter().filter(|key| store.locks.rests(key)).filter_map(current);
        locks.extend(rest.map(|lock| One { lock, is_extra: true }));
    }
    // Sorted before views of them are made: a view of a lock is large, a reference is not.
    locks.sort_unstable_by(|a, b| a.lock.name.cmp(&b.lock.name));
    Shown { locks, quiet, page }
}

/// Tells each lock who is connected to the primary that has it.
fn connected(state: &State, store: &Store, locks: &[One<'_>], views: &mut [LockView], now: Mono) {
    let crew = Crew::of(state);
    let clients: BTreeMap<Line, Arc<ClientsView>> = store
        .lines
        .keys()
        .filter_map(|line| Some((*line, Arc::new(crew.clients(store.primary(*line)?, now)?))))
        .collect();
    for (one, view) in locks.iter().zip(views) {
        view.clients = clients.get(&one.lock.line).cloned();
        view.renewals = crew.renewals(&one.lock, now);
    }
}

/// Keys that are not shown as locks; the first of them stand for all.
fn left_out(store: &Store, is_meant: impl Fn(&Lock) -> bool) -> LeftOut {
    // None that rests is.
    let mut keys = store.locks.awake().map(|(_, lock)| lock).filter(|l| is_meant(l));
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
