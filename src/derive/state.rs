//! Everything that is known, and the one function that changes it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::clocks::Clocks;
use super::host::StallRules;
use super::host_clock::HostSteps;
use super::pause::settle_steps;
use super::polls::Polls;
use super::rules::Rules;
use super::store::Store;
use super::wanted::{Effects, Notice, Weight};
use super::words::LivenessSource;
use super::worker::Worker;
use super::workers::Workers;
use crate::config::ProcessSource;
use crate::observe::worker::{Beat, HeartbeatRead, ProcessRead, ProcessSeen};
use crate::observe::{KeyId, Mono, Observation, Span, StoreId};

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
    retired: Mono,
}

impl State {
    /// Nothing is known yet.
    pub fn new(rules: Rules, at: Mono) -> Self {
        let workers = Workers::new(
            rules.groups.clone(),
            rules.max_workers,
            rules.poll_interval,
            rules.retain,
            at,
        );
        Self {
            rules,
            stores: BTreeMap::new(),
            workers,
            polls: Polls::default(),
            clocks: Clocks::default(),
            host_clock: HostSteps::default(),
            retired: at,
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
        self.rules = rules;
        self.clocks.keep(|name| self.rules.clocks.iter().any(|c| *c.name == *name));
        self.polls.keep_groups(|name| self.rules.groups.iter().any(|g| g.name == name));
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
        let poll = self.rules.poll_interval;
        match observation {
            Observation::StoreStarted { store, name, .. } => self.start_store(*store, name),
            Observation::StoreStopped { store } => self.stop_store(*store),
            Observation::KeyWatched(w) => {
                if let Some(s) = self.stores.get_mut(&w.store) {
                    s.watch(w, &mut self.workers);
                }
            }
            Observation::KeyForgotten { store, key } => {
                if let Some(s) = self.stores.get_mut(store) {
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
                settle_steps(&mut self.stores, b.span.done, poll, fx);
            }
            Observation::Node(f) => {
                if let Some(s) = self.stores.get_mut(&f.node.store) {
                    s.facts(f, fx);
                }
                settle_steps(&mut self.stores, f.span.done, poll, fx);
            }
            Observation::NodeFailed(f) => {
                if let Some(s) = self.stores.get_mut(&f.node.store) {
                    s.failed(f);
                }
            }
            Observation::SweepDone(d) => {
                if let Some(s) = self.stores.get_mut(&d.node.store) {
                    s.swept(d, &self.rules, &mut self.workers);
                    self.polls.keep_nodes(&s.name, |addr| s.nodes.contains_key(addr));
                }
                self.retire(d.span.done, fx);
            }
            Observation::Poll(p) => self.polls.learn(p),
            Observation::Heartbeat(r) => self.heartbeat(r, fx),
            Observation::Process(r) => self.process(r, fx),
            Observation::Stalls(r) => {
                let rules = self.stall_rules();
                for sample in &r.samples {
                    let at = sample.span.done;
                    self.learn_stall(&sample.worker, at, fx, |w| w.host.stall(sample, rules));
                }
            }
            Observation::Cgroup(r) => {
                let rules = self.stall_rules();
                if let Some(worker) = self.workers.by_name.get_mut(&r.worker) {
                    worker.host.cgroup(r, rules);
                }
            }
            Observation::Jvm(r) => {
                let rules = self.stall_rules();
                self.learn_stall(&r.worker, r.span.done, fx, |w| w.host.jvm(r, rules));
            }
            Observation::Clock(r) => self.read_clock(r, fx),
            Observation::HostClock(r) => self.host_clock.read(r, fx),
        }
    }

    /// What the config says about stalls.
    pub fn stall_rules(&self) -> StallRules {
        self.rules.stalls()
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
        self.workers.dropped.retain(|(s, _), ()| *s != id);
    }

    fn retire(&mut self, now: Mono, fx: &mut Effects) {
        if now.since(self.retired) > Duration::from_secs(10).min(self.rules.retain) {
            self.retired = now;
            self.workers.retire(now, fx);
        }
    }

    fn heartbeat(&mut self, read: &HeartbeatRead, fx: &mut Effects) {
        let Some((_, group, rules)) = self.workers.with_group(&read.worker) else { return };
        if group.heartbeat.is_none() {
            return;
        }
        let Some(worker) = self.workers.by_name.get_mut(&read.worker) else { return };
        let (before, was_lost) = (worker.heartbeat.failure, worker.heartbeat.loss().is_some());
        // What is usual is what was so before this beat.
        let usual = worker.heartbeat.known_beat();
        let is_news = worker.heartbeat.read(read.span, &read.beat, rules);
        let beat = &worker.heartbeat;
        if is_news {
            let detail = format!("no beat for {:.1} s", beat.age().unwrap_or(0.0));
            tell(&read.worker, "heartbeat_stopped", detail, fx);
        } else if was_lost && beat.loss().is_none() {
            tell(&read.worker, "heartbeat_returned", "it beats again".to_owned(), fx);
        }
        match &read.beat {
            Beat::Failed { reason, detail } if before != Some(*reason) => {
                let detail = format!("{detail} ({})", reason.as_str());
                tell(&read.worker, "heartbeat_unreadable", detail, fx);
            }
            Beat::Failed { .. } => {}
            _ if before.is_some() => {
                tell(
                    &read.worker,
                    "heartbeat_readable",
                    "its heartbeat can be read again".to_owned(),
                    fx,
                );
            }
            _ => {}
        }
        if !matches!(read.beat, Beat::Failed { .. }) {
            self.look(&read.worker, LivenessSource::Heartbeat, read.span, fx);
            let rules = self.stall_rules();
            self.learn_stall(&read.worker, read.span.done, fx, |worker| {
                let (gap, is_expected) = (worker.heartbeat.gap, worker.is_expected_to_beat());
                worker.host.beat_gap(gap, usual, is_expected, read.span, rules)
            });
        }
    }

    fn process(&mut self, read: &ProcessRead, fx: &mut Effects) {
        let Some((worker, group, _)) = self.workers.with_group(&read.worker) else { return };
        let is_wanted = match (&group.process, read.token_pid) {
            (Some(ProcessSource::FromHolder), Some(pid)) => worker.tokens.contains_key(&pid),
            (Some(ProcessSource::FromHolder), None) => worker.tokens.is_empty(),
            (Some(_), None) => true,
            _ => false,
        };
        let Some(worker) = self.workers.by_name.get_mut(&read.worker).filter(|_| is_wanted) else {
            return;
        };
        let processes = worker.processes.entry(read.token_pid).or_default();
        let was_lost = processes.loss().is_some();
        let before = processes.unknown();
        if processes.read(read) {
            let detail = format!("its process is {}", processes.liveness().as_str());
            tell(&read.worker, "process_lost", detail, fx);
        } else if was_lost && processes.loss().is_none() {
            let detail = format!("its process is {}", processes.liveness().as_str());
            tell(&read.worker, "process_returned", detail, fx);
        }
        if let ProcessSeen::Unknown(why) = &read.seen
            && before != Some(*why)
        {
            tell(&read.worker, "process_unknown", read.detail.clone(), fx);
        }
        if !matches!(read.seen, ProcessSeen::Unknown(_)) {
            self.look(&read.worker, LivenessSource::Process, read.span, fx);
        }
    }

    /// Takes what a read says of a worker's stalls; its locks are judged when the worst is worse than before.
    fn learn_stall(
        &mut self,
        worker: &str,
        at: Mono,
        fx: &mut Effects,
        learn: impl FnOnce(&mut Worker) -> bool,
    ) {
        let Some(w) = self.workers.by_name.get_mut(worker) else { return };
        if !learn(w) {
            return;
        }
        let rules = self.stall_rules();
        let Some(w) = self.workers.by_name.get(worker) else { return };
        for (id, key) in w.holds.keys() {
            if let Some(store) = self.stores.get_mut(id) {
                store.judge_stall(*key, at, rules, &self.workers, fx);
            }
        }
    }

    /// Judges the locks of a worker after a look at it.
    fn look(&mut self, worker: &str, source: LivenessSource, span: Span, fx: &mut Effects) {
        let Some(w) = self.workers.by_name.get(worker) else { return };
        let holds: Vec<(StoreId, KeyId)> = w.holds.keys().copied().collect();
        for (store, key) in holds {
            if let Some(lock) = self.stores.get_mut(&store).and_then(|s| s.locks.get_mut(&key)) {
                lock.judge_holder_at_look(source, span, &self.workers, fx);
            }
        }
    }
}

fn tell(worker: &Arc<str>, what: &'static str, detail: String, fx: &mut Effects) {
    fx.notices.push(Notice {
        weight: Weight::Change,
        store: "".into(),
        subject: worker.clone(),
        what,
        detail,
    });
}
