//! All workers, bounded, and which group of the config serves each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::heartbeat::BeatRules;
use super::lists::Lists;
use super::wanted::Effects;
use super::words::LivenessSource;
use super::worker::{Worker, beat_rules};
use crate::config::WorkerGroup;
use crate::observe::{KeyId, Mono, Owner, StoreId};

/// A holder's place among the workers, to be given back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seat {
    /// The worker that something names as the holder.
    pub named: Option<Arc<str>>,
    /// The same, unless there are too many.
    pub worker: Option<Arc<str>>,
    /// The pid that the token names.
    pub pid: Option<i32>,
}

impl Seat {
    /// Somebody is named for whom there is no place.
    pub fn is_missing(&self) -> bool {
        self.named.is_some() && self.worker.is_none()
    }
}

/// Workers by name.
#[derive(Clone, Debug)]
pub struct Workers {
    /// By name.
    pub by_name: BTreeMap<Arc<str>, Worker>,
    /// Lists of live workers.
    pub lists: Lists,
    pub(super) groups: Arc<Vec<WorkerGroup>>,
    most: usize,
    poll: Duration,
    retain: Duration,
    /// Holders of each lock that have no place here.
    pub dropped: BTreeMap<(StoreId, KeyId), u64>,
}

impl Workers {
    /// The configured workers.
    pub fn new(
        groups: Arc<Vec<WorkerGroup>>,
        most: usize,
        poll: Duration,
        retain: Duration,
        at: Mono,
    ) -> Self {
        let mut workers = Self {
            by_name: BTreeMap::new(),
            lists: Lists::default(),
            groups: Arc::new(Vec::new()),
            most,
            poll,
            retain,
            dropped: BTreeMap::new(),
        };
        workers.reconfigure(groups, most, poll, retain, at);
        workers
    }

    /// Takes a new config; what is known of workers that are still served stays.
    pub fn reconfigure(
        &mut self,
        groups: Arc<Vec<WorkerGroup>>,
        most: usize,
        poll: Duration,
        retain: Duration,
        at: Mono,
    ) {
        (self.most, self.poll, self.retain) = (most, poll, retain);
        let old = std::mem::replace(&mut self.groups, groups.clone());
        for w in self.by_name.values_mut() {
            let group = groups.iter().position(|g| g.serves(&w.name));
            let before = w.group.and_then(|g| old.get(g));
            let after = group.and_then(|g| groups.get(g));
            if before.map(|g| (&g.heartbeat, &g.process))
                != after.map(|g| (&g.heartbeat, &g.process))
            {
                w.heartbeat = Default::default();
                w.processes.clear();
            }
            if before.map(|g| &g.claim) != after.map(|g| &g.claim) {
                w.claims = Default::default();
            }
            w.group = group;
            w.is_configured = false;
        }
        for (i, group) in groups.iter().enumerate() {
            for name in &group.names {
                let w = self
                    .by_name
                    .entry(name.clone())
                    .or_insert_with(|| Worker::new(name.clone(), Some(i), true, at));
                w.is_configured = true;
            }
        }
        // A worker without a lock just now keeps its counters, as in `retire`.
        self.by_name.retain(|_, w| {
            w.is_configured
                || !w.holds.is_empty()
                || (w.group.is_some() && at.since(w.last_held) < retain)
        });
    }

    /// The group that serves a worker.
    pub fn group(&self, worker: &Worker) -> Option<&WorkerGroup> {
        self.groups.get(worker.group?)
    }

    /// A worker with its group and beat rules.
    pub fn with_group(&self, name: &str) -> Option<(&Worker, &WorkerGroup, BeatRules)> {
        let worker = self.by_name.get(name)?;
        let group = self.group(worker)?;
        Some((worker, group, beat_rules(group, self.poll)))
    }

    /// A lock's new holder, which is this worker as far as anything names one. There may be too many for it.
    pub fn attach(
        &mut self,
        owner: &Owner,
        named: Option<Arc<str>>,
        lock: (StoreId, KeyId),
        at: Mono,
        fx: &mut Effects,
    ) -> Seat {
        let mut seat = Seat { named, worker: None, pid: owner.pid };
        let Some(name) = seat.named.clone() else { return seat };
        if !self.by_name.contains_key(&name) {
            if self.by_name.len() >= self.most && !self.make_room() {
                *self.dropped.entry(lock).or_default() += 1;
                return seat;
            }
            let group = self.groups.iter().position(|g| g.serves(&name));
            self.by_name.insert(name.clone(), Worker::new(name.clone(), group, false, at));
            fx.watch_changed = true;
        }
        if let Some(worker) = self.by_name.get_mut(&name) {
            worker.holds.entry(lock).or_default().push(owner.pid);
            (worker.last_held, worker.has_held) = (at, true);
            if let Some(pid) = owner.pid
                && worker.learn_token(pid, owner.host.clone(), at)
            {
                fx.watch_changed = true;
            }
        }
        seat.worker = Some(name);
        seat
    }

    /// Whether a holder that has no place could get one now.
    pub fn has_room(&self) -> bool {
        self.by_name.len() < self.most
    }

    /// Lets go the worker that held nothing for longest: one that holds a lock now matters more.
    fn make_room(&mut self) -> bool {
        let idle = self.by_name.values().filter(|w| !w.is_configured && w.holds.is_empty());
        let Some(name) = idle.min_by_key(|w| w.last_held).map(|w| w.name.clone()) else {
            return false;
        };
        self.by_name.remove(&name).is_some()
    }

    /// The holder lost the lock or let it go. A worker may hold a lock several times, each by another token.
    pub fn release(&mut self, seat: &Seat, lock: (StoreId, KeyId), at: Mono) {
        if seat.is_missing()
            && let Some(n) = self.dropped.get_mut(&lock)
        {
            *n = n.saturating_sub(1);
            if *n == 0 {
                self.dropped.remove(&lock);
            }
        }
        let Some(w) = seat.worker.as_ref().and_then(|n| self.by_name.get_mut(n)) else { return };
        w.last_held = at;
        let Some(pids) = w.holds.get_mut(&lock) else { return };
        if let Some(i) = pids.iter().position(|pid| *pid == seat.pid) {
            pids.swap_remove(i);
        }
        if pids.is_empty() {
            w.holds.remove(&lock);
        }
    }

    /// A lock has a new id.
    pub fn renumber(&mut self, old: (StoreId, KeyId), new: (StoreId, KeyId)) {
        for w in self.by_name.values_mut() {
            if let Some(pids) = w.holds.remove(&old) {
                w.holds.insert(new, pids);
            }
        }
        if let Some(n) = self.dropped.remove(&old) {
            self.dropped.insert(new, n);
        }
    }

    /// Forgets workers that the config does not name and that held nothing for the whole retention, and pids of old
    /// tokens.
    pub fn retire(&mut self, now: Mono, fx: &mut Effects) {
        let (retain, before) = (self.retain, self.by_name.len());
        self.by_name.retain(|_, w| {
            w.is_configured
                || !w.holds.is_empty()
                || w.listed.is_named()
                || now.since(w.last_held) < retain
        });
        fx.watch_changed |= self.by_name.len() != before;
        for w in self.by_name.values_mut() {
            let holds = !w.holds.is_empty();
            let newest = w.tokens.values().map(|(_, at)| *at).max();
            let before = w.tokens.len();
            let held: BTreeSet<i32> = w.holds.values().flatten().flatten().copied().collect();
            w.tokens.retain(|pid, (_, at)| {
                Some(*at) == newest || held.contains(pid) || (holds && now.since(*at) < retain)
            });
            if w.tokens.len() != before {
                let tokens = &w.tokens;
                w.processes.retain(|pid, _| pid.is_none_or(|p| tokens.contains_key(&p)));
                fx.watch_changed = true;
            }
        }
    }

    /// How long after a renewal a look at this lost worker must begin to prove that it was lost all along.
    pub fn closing_look(&self, name: &str) -> Option<(Duration, LivenessSource)> {
        let (worker, _, rules) = self.with_group(name)?;
        if worker.heartbeat.loss().is_some() {
            let beat = Duration::from_secs_f64(worker.heartbeat.usual_beat(rules));
            return Some((beat, LivenessSource::Heartbeat));
        }
        let is_lost = worker.processes.values().any(|p| p.loss().is_some());
        is_lost.then_some((Duration::ZERO, LivenessSource::Process))
    }

    /// The usual beat of a worker.
    pub fn usual_beat(&self, name: &str) -> Duration {
        self.with_group(name).map_or_else(Duration::default, |(w, _, rules)| {
            Duration::from_secs_f64(w.heartbeat.usual_beat(rules))
        })
    }

    /// Seconds from which a worker counts as frozen.
    pub fn frozen_after(&self, name: &str) -> f64 {
        self.with_group(name).map_or(0.0, |(w, _, rules)| w.heartbeat.frozen_after(rules))
    }

    /// Whether a worker's heartbeat came back for good after a loss, or was never lost.
    pub fn has_returned(&self, name: Option<&Arc<str>>) -> bool {
        name.and_then(|n| self.by_name.get(n)).is_none_or(|w| w.heartbeat.has_returned())
    }

    /// Whether some live process other than this pid carries the worker's name.
    pub fn has_other_live(&self, name: &str, pid: Option<i32>) -> bool {
        pid.is_some() && self.by_name.get(name).is_some_and(|w| w.has_other_live(pid))
    }

    /// Holders of a store's locks that have no place.
    pub fn dropped_in(&self, store: StoreId) -> u64 {
        self.dropped.iter().filter(|((s, _), _)| *s == store).map(|(_, n)| *n).sum()
    }
}
