//! An invented world and an exporter that polls it: servers with locks, workers that hold, renew, beat and die. Reads are
//! made in the order of the pollers, those that verdicts ask for at their instants. Every fact goes through the [`Oracle`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::oracle::Oracle;
use super::server::{Holder, Key, Kind, STORE, Server};
use super::setting::{Setting, Watched, locks, rules};
use super::worker::Worker;
use crate::derive::{Effects, State, Wanted};
use crate::observe::lock::KeyWatched;
use crate::observe::{KeyId, Mono, Observation};

/// See the module.
pub struct World {
    /// What does not change.
    pub setting: Setting,
    /// Our clock.
    pub ms: u64,
    /// The servers; which of them is the primary is theirs to say.
    pub servers: Vec<Server>,
    /// Writes do not reach the replica.
    pub is_lagging: bool,
    /// Who holds and does not hold.
    pub workers: Vec<Worker>,
    /// The locks.
    pub locks: Vec<Watched>,
    /// The exporter stands still until then.
    pub asleep_until: u64,
    /// How long a read takes.
    pub slow_ms: u64,
    /// Acquires so far.
    pub acquires: u64,
    /// What the exporter knows.
    pub state: State,
    /// What it was told since it started.
    pub told: Vec<Observation>,
    /// What holds its signals against what it was told.
    pub oracle: Oracle,
    due: BTreeMap<(KeyId, String), u64>,
    next_poll: u64,
    wanted: Vec<(u64, Wanted)>,
}

impl World {
    /// A world in which nobody holds anything.
    pub fn new(setting: Setting) -> Self {
        let ms = 1_000_000;
        let mut servers = vec![Server::new("a:6379", false)];
        if setting.replica {
            servers.push(Server::new("b:6379", true));
        }
        let workers: Vec<Worker> =
            ["ant", "bee", "cat"].iter().map(|name| Worker::new(name, ms)).collect();
        let mut world = Self {
            ms,
            servers,
            is_lagging: false,
            locks: locks(setting.is_healthy),
            asleep_until: 0,
            slow_ms: 1,
            acquires: 0,
            state: State::new(rules(setting, &workers), Mono(0)),
            told: Vec::new(),
            oracle: Oracle::new(setting.frozen_after),
            due: BTreeMap::new(),
            next_poll: ms,
            wanted: Vec::new(),
            workers,
            setting,
        };
        world.announce();
        world
    }

    /// The exporter starts anew and knows nothing.
    pub fn restart_exporter(&mut self) {
        self.state = State::new(self.state.rules.clone(), Mono(self.ms * 1_000_000));
        self.oracle = Oracle::new(self.setting.frozen_after);
        self.told.clear();
        self.wanted.clear();
        self.servers.iter_mut().for_each(|s| s.connection += 1);
        self.announce();
    }

    fn announce(&mut self) {
        let at = Mono(self.ms * 1_000_000);
        self.step(Observation::StoreStarted { store: STORE, name: "main".into(), at });
        for lock in self.locks.clone() {
            let text: Arc<str> = format!("lock-{}", lock.id.0).into();
            self.step(Observation::KeyWatched(KeyWatched {
                store: STORE,
                key: lock.id,
                key_text: text.clone(),
                lock: text,
                rules: lock.rules,
                with: None,
                has_appeared: false,
            }));
        }
        self.facts();
    }

    /// Tells the exporter one fact.
    pub fn step(&mut self, fact: Observation) {
        self.oracle.hear(&fact);
        self.take(&fact);
        self.told.push(fact);
    }

    /// Tells it the last fact again, which is no other one.
    pub fn repeat_last(&mut self) {
        if let Some(fact) = self.told.last().cloned() {
            self.take(&fact);
        }
    }

    fn take(&mut self, fact: &Observation) {
        let mut fx = Effects::default();
        self.state.step(fact, &mut fx);
        for w in fx.wanted {
            let at = match &w {
                Wanted::Key { at, .. } | Wanted::Look { at, .. } => at.0.div_ceil(1_000_000),
                Wanted::Facts { .. } => 0,
            };
            self.wanted.push((at.max(self.ms + 1), w));
        }
        assert!(self.wanted.len() < 1000, "it asks for ever more reads: {:?}", self.wanted);
        self.oracle.judge(&self.state, &self.locks);
    }

    /// The server that takes writes.
    pub fn primary(&mut self) -> &mut Server {
        let at = self.servers.iter().position(|s| !s.is_replica).unwrap_or(0);
        &mut self.servers[at]
    }

    /// Writes a key of the primary, and of its replica if that follows.
    pub fn write(&mut self, id: KeyId, change: impl FnOnce(&mut Option<Key>, i64)) {
        let ms = self.ms;
        let primary = self.primary();
        let now = primary.now(ms);
        let mut key = primary.keys.remove(&id);
        change(&mut key, now);
        primary.written += 100;
        primary.keys.extend(key.clone().map(|key| (id, key)));
        let written = primary.written;
        if self.is_lagging {
            return;
        }
        for replica in self.servers.iter_mut().filter(|s| s.is_replica) {
            replica.keys.remove(&id);
            replica.keys.extend(key.clone().map(|key| (id, key)));
            replica.written = written;
        }
    }

    /// A holder's next renewal comes a third of its lease from now.
    pub fn will_renew(&mut self, lock: &Watched, token: &str) {
        let after = u64::try_from(lock.lease_ms / 3).unwrap_or(0);
        self.due.insert((lock.id, token.to_owned()), self.ms + after);
    }

    fn renew_due(&mut self) {
        let ms = self.ms;
        let due: Vec<_> =
            self.due.iter().filter(|(_, at)| **at <= ms).map(|(k, _)| k.clone()).collect();
        for (id, token) in due {
            self.due.remove(&(id, token.clone()));
            let holds = |s: &Server| {
                s.keys.get(&id).is_some_and(|k| k.holders.iter().any(|h| h.token == token))
            };
            if !holds(self.primary()) {
                continue;
            }
            let Some(lock) = self.locks.iter().find(|l| l.id == id).cloned() else { continue };
            let name = token.split(':').next().unwrap_or_default();
            let is_able = self.workers.iter().any(|w| *w.name == *name && w.runs() && w.renews);
            if is_able {
                self.renew(&lock, &token, lock.lease_ms);
            }
            self.will_renew(&lock, &token);
        }
    }

    /// Whoever has this token renews.
    pub fn renew(&mut self, lock: &Watched, token: &str, lease_ms: i64) {
        self.write(lock.id, |key, now| {
            let Some(key) = key else { return };
            let end = now.saturating_add(lease_ms);
            let Some(holder) = key.holders.iter_mut().find(|h| h.token == token) else { return };
            if lock.kind == Kind::Permits {
                holder.until = Some(end);
                key.expiry = key.expiry.max(Some(end));
            } else {
                key.expiry = Some(end);
            }
        });
    }

    /// A worker takes a lock, if it is to be had.
    pub fn acquire(&mut self, lock: &Watched, worker: usize) {
        self.acquires += 1;
        let name = self.workers[worker].name.clone();
        let token = match lock.kind {
            Kind::Reentrant => format!("{name}:thread"),
            _ => format!("{name}:{}", self.acquires),
        };
        let (kind, lease, most) = (lock.kind, lock.lease_ms, 2);
        let mut took = false;
        self.write(lock.id, |key, now| {
            let end = now.saturating_add(lease);
            let until = (kind == Kind::Permits).then_some(end);
            let holder = Holder { token: token.clone(), until, count: 1 };
            match key {
                None => *key = Some(Key { holders: vec![holder], expiry: Some(end), odd: false }),
                Some(k) if kind == Kind::Permits && k.holders.len() < most => {
                    k.holders.push(holder);
                    k.expiry = k.expiry.max(Some(end));
                }
                Some(_) => return,
            }
            took = true;
        });
        if took {
            self.will_renew(lock, &token);
        }
    }

    /// Lets time pass; the world lives, and the exporter polls it.
    pub fn advance(&mut self, ms: u64) {
        let until = self.ms + ms;
        loop {
            let wanted = self.wanted.iter().map(|(at, _)| *at).min().unwrap_or(u64::MAX);
            let due = self.due.values().copied().min().unwrap_or(u64::MAX);
            let next = self.next_poll.min(wanted).min(due);
            if next > until {
                break;
            }
            self.ms = next.max(self.ms);
            self.live();
            self.renew_due();
            let polls = self.next_poll <= self.ms;
            if polls {
                self.next_poll += self.setting.poll_ms;
            }
            if self.asleep_until > self.ms {
                self.wanted.retain(|(at, _)| *at > self.ms);
                continue;
            }
            if polls {
                self.poll();
            }
            let (due, later) =
                std::mem::take(&mut self.wanted).into_iter().partition(|(at, _)| *at <= self.ms);
            self.wanted = later;
            let due: Vec<(u64, Wanted)> = due;
            due.into_iter().for_each(|(_, w)| self.wanted_read(w));
        }
        self.ms = until;
        self.live();
    }

    /// Brings everybody up to now; before anything changes.
    pub fn live(&mut self) {
        let ms = self.ms;
        self.workers.iter_mut().for_each(|w| w.live(ms));
        self.servers.iter_mut().for_each(|s| s.expire(ms));
    }
}
