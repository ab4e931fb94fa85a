//! Everything that is known, and the one function that changes it.

mod clients;
mod empty;
mod falls;
mod looks;
mod sources;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::clocks::Clocks;
use super::connections::HostSockets;
use super::host_clock::HostSteps;
use super::pause::settle_steps;
use super::polls::Polls;
use super::resources::Resources;
use super::rules::Rules;
use super::store::Store;
use super::to_read::has_sources;
use super::wanted::Effects;
use super::workers::Workers;
use crate::config::ProcessSource;
use crate::observe::{Mono, Observation, StoreId};

/// A worker that pollers should watch.
#[derive(Clone, Debug, PartialEq)]
pub struct ToWatch {
    /// Its name.
    pub name: Arc<str>,
    /// Index of its group.
    pub group: usize,
    /// Pid and host of a token, where the group finds processes so.
    pub token: Option<(i32, Option<Arc<str>>)>,
}

/// Everything that is known.
#[derive(Clone, Debug)]
pub struct State {
    /// What the config says.
    pub rules: Rules,
    /// Stores by id.
    pub stores: BTreeMap<StoreId, Store>,
    /// Workers.
    pub workers: Workers,
    /// How polls went.
    pub polls: Polls,
    /// Configured clocks.
    pub clocks: Clocks,
    /// This host's own wall clock.
    pub host_clock: HostSteps,
    /// What sources tell of locks.
    pub resources: Resources,
    /// Whose the sockets of this host are.
    pub sockets: HostSockets,
    empty: empty::Told,
    falls: falls::Falls,
    retired: Mono,
    /// Counts the configs.
    pub configs: u64,
}

impl State {
    /// Nothing is known yet.
    pub fn new(rules: Rules, at: Mono) -> Self {
        let mut workers = Workers::new(
            rules.groups.clone(),
            rules.max_workers,
            rules.poll_interval,
            rules.retain,
            at,
        );
        workers.lists.reconfigure(rules.live_workers.clone());
        Self {
            rules,
            stores: BTreeMap::new(),
            workers,
            polls: Polls::default(),
            clocks: Clocks::default(),
            host_clock: HostSteps::default(),
            resources: Resources::default(),
            sockets: HostSockets::default(),
            empty: empty::Told::default(),
            falls: falls::Falls::default(),
            retired: at,
            configs: 0,
        }
    }

    /// Takes a new config; keeps what is still configured.
    pub fn reconfigure(&mut self, rules: Rules, at: Mono) {
        self.workers.reconfigure(
            rules.groups.clone(),
            rules.max_workers,
            rules.poll_interval,
            rules.retain,
            at,
        );
        self.workers.keep_lists(rules.live_workers.clone());
        self.rules = rules;
        self.configs += 1;
        self.clocks.keep(|name| self.rules.clocks.iter().any(|c| *c.name == *name));
        self.polls.keep_configured(
            |name| self.rules.groups.iter().any(|g| g.name == name),
            |name| self.rules.clocks.iter().any(|c| *c.name == *name),
            |name| self.rules.live_workers.iter().any(|l| *l.name == *name),
        );
        self.clocks.strays.keep(&self.rules);
        for store in self.stores.values_mut() {
            let groups = self.rules.groups_of(&store.name);
            store.gone.keep(|name| groups.iter().any(|g| *g.name == *name));
            // What is known of reads to come rests on the config.
            store.locks.wake_all();
        }
    }

    /// The workers to watch.
    pub fn to_watch(&self) -> Vec<ToWatch> {
        let mut list = Vec::new();
        for w in self.workers.by_name.values() {
            let (Some(index), Some(group)) = (w.group, self.workers.group(w)) else { continue };
            if matches!(group.process, Some(ProcessSource::FromHolder)) && !w.tokens.is_empty() {
                for (pid, (host, _)) in &w.tokens {
                    let token = Some((*pid, host.clone()));
                    list.push(ToWatch { name: w.name.clone(), group: index, token });
                }
            } else {
                list.push(ToWatch { name: w.name.clone(), group: index, token: None });
            }
        }
        list
    }

    /// Takes one fact.
    pub fn step(&mut self, observation: &Observation, fx: &mut Effects) {
        match observation {
            Observation::StoreStarted { store, name, .. } => {
                self.start_store(*store, name);
                // Of the locks of an earlier config those that are announced again are asked for, the others are not.
                fx.watch_changed = true;
            }
            Observation::StoreStopped { store } => {
                self.stop_store(*store);
                fx.watch_changed = true;
            }
            Observation::KeyWatched(w) => {
                if let Some(s) = self.stores.get_mut(&w.store) {
                    s.watch(w, &mut self.workers);
                    fx.watch_changed |= has_sources(&w.rules);
                }
            }
            Observation::KeyForgotten { store, key } => {
                if let Some(s) = self.stores.get_mut(store) {
                    let gone = s.locks.get(key);
                    fx.watch_changed |= gone.is_some_and(|l| has_sources(&l.rules));
                    s.forget(*key, &mut self.workers);
                }
            }
            Observation::KeysDropped { store, counts } => {
                if let Some(s) = self.stores.get_mut(store) {
                    s.dropped.clone_from(counts);
                }
            }
            Observation::Batch(b) => {
                if let Some(s) = self.stores.get_mut(&b.node.store) {
                    s.batch(b, self.rules.stalls(), &mut self.workers, fx);
                }
                self.settle_steps(b.span.done, fx);
            }
            Observation::Unchanged(word) => {
                if let Some(s) = self.stores.get_mut(&word.probe.node.store) {
                    s.unchanged(word, self.rules.stalls(), &mut self.workers, fx);
                }
                self.settle_steps(word.probe.span.done, fx);
            }
            // It says nothing of a lock.
            Observation::Changed { .. } => {}
            Observation::Node(f) => {
                if let Some(s) = self.stores.get_mut(&f.node.store) {
                    s.facts(f, fx);
                }
                self.settle_steps(f.span.done, fx);
            }
            Observation::NodeFailed(f) => {
                if let Some(s) = self.stores.get_mut(&f.node.store) {
                    s.failed(f);
                }
            }
            Observation::Clients(r) => self.clients(r),
            Observation::Sockets(r) => self.sockets_seen(r),
            Observation::Sentinels(say) => {
                if let Some(s) = self.stores.get_mut(&say.store) {
                    s.sentinels_say(say);
                }
            }
            Observation::SweepDone(d) => {
                if let Some(s) = self.stores.get_mut(&d.node.store) {
                    let is_primary = s.swept(d, &self.rules, &mut self.workers);
                    self.polls.keep_nodes(&s.name, |addr| s.nodes.contains_key(addr));
                    if is_primary {
                        self.clocks.strays.swept(s, &self.rules, d.span.done, fx);
                        self.settle_falls(d.node.store, d, fx);
                    }
                }
                self.retire(d.span.done, fx);
            }
            Observation::Feed(r) => {
                if let Some(s) = self.stores.get_mut(&r.node.store) {
                    s.feed(r);
                }
            }
            Observation::Emptied(r) => {
                if let Some(s) = self.stores.get_mut(&r.node.store) {
                    s.emptied(r);
                }
            }
            Observation::Heard(r) => {
                if let Some(s) = self.stores.get_mut(&r.node.store) {
                    s.hear(r, fx);
                }
            }
            Observation::Poll(p) => self.polls.learn(p),
            Observation::Heartbeat(r) => self.heartbeat(r, fx),
            Observation::Process(r) => self.process(r, fx),
            Observation::Stalls(r) => {
                let rules = self.rules.stalls();
                for sample in &r.samples {
                    let at = sample.span.done;
                    self.learn_stall(&sample.worker, at, fx, |w| w.host.stall(sample, rules));
                }
            }
            Observation::Cgroup(r) => {
                self.cgroup(r, fx);
            }
            Observation::Jvm(r) => self.jvm(r, fx),
            Observation::Clock(r) => self.read_clock(r, fx),
            Observation::Companions(r) => {
                if let Some(s) = self.stores.get_mut(&r.store) {
                    s.companions(r, self.rules.stalls(), &mut self.workers, fx);
                }
                self.own_counter(r, fx);
            }
            Observation::Owners(r) => {
                if let Some(s) = self.stores.get_mut(&r.store) {
                    s.owners.learn(r);
                }
            }
            Observation::Slowlog(r) => {
                if let Some(s) = self.stores.get_mut(&r.node.store) {
                    s.slowlog(r, fx);
                }
            }
            Observation::Source(r) => self.source(r, fx),
            Observation::List(r) => self.list(r, fx),
            Observation::HostClock(r) => {
                self.host_clock.read(r, fx);
                self.settle_steps(r.span.done, fx);
            }
        }
    }

    fn settle_steps(&mut self, now: Mono, fx: &mut Effects) {
        settle_steps(&mut self.stores, &self.host_clock, now, self.rules.poll_interval, fx);
    }

    fn start_store(&mut self, id: StoreId, name: &Arc<str>) {
        let old = self.stores.values().find(|s| s.name == *name).map(|s| s.id);
        let store = match old.and_then(|old| self.stores.remove(&old)) {
            Some(mut store) => {
                store.renumber(id);
                store
            }
            None => Store::new(id, name.clone()),
        };
        self.stores.insert(id, store);
    }

    fn stop_store(&mut self, id: StoreId) {
        if let Some(store) = self.stores.remove(&id) {
            self.polls.keep_nodes(&store.name, |_| false);
        }
        for w in self.workers.by_name.values_mut() {
            w.holds.retain(|(s, _), _| *s != id);
        }
        self.workers.dropped.retain(|(s, _), _| *s != id);
    }

    fn retire(&mut self, now: Mono, fx: &mut Effects) {
        if now.since(self.retired) > Duration::from_secs(10).min(self.rules.retain) {
            self.retired = now;
            self.workers.retire(now, fx);
            self.forget_resources();
        }
    }
}
