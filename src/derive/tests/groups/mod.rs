//! Many short-lived locks behind one pattern, told as one group: what is shown of them, and that nothing of them stays.

mod bounds;
mod counts;
mod shown;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::sim::{STORE, Sim, held_by, rules};
use crate::config::{Group, LockRules, SeriesTier};
use crate::observe::lock::KeyWatched;
use crate::observe::{Expiry, Found, KeyId, KeyRead, Observation, ServerTime, StoreId};
use crate::view::{GroupView, Instant, LockView, Signal, StoreView, View};

const POLL: u64 = 1000;

/// A store with a group, polled by hand.
struct Fleet {
    sim: Sim,
    rules: Arc<LockRules>,
    store: StoreId,
    next: u64,
    /// What each watched lock's key shows now.
    keys: BTreeMap<String, (KeyId, Option<Held>)>,
}

#[derive(Clone)]
struct Held {
    token: String,
    /// On the server's clock; `None` without an expiry.
    until_ms: Option<i64>,
}

fn group(name: &str, top: usize) -> LockRules {
    LockRules {
        group: Some(Group { name: name.into(), top }),
        by_key: false,
        series: SeriesTier::Core,
        max_hold: Some(Duration::from_secs(10)),
        ..rules()
    }
}

impl Fleet {
    fn new(top: usize) -> Self {
        let mut sim = Sim::new(POLL, None, rules());
        let groups = vec![Group { name: "jobs".into(), top }];
        sim.state.rules.lock_groups = BTreeMap::from([("main".into(), groups)]);
        sim.advance(3 * POLL);
        let rules = Arc::new(group("jobs", top));
        Self { sim, rules, store: STORE, next: 1, keys: BTreeMap::new() }
    }

    /// A scan found the key of a lock that is held.
    fn appear(&mut self, name: &str, lease_ms: Option<i64>) {
        let id = KeyId(self.next);
        self.next += 1;
        let until_ms = lease_ms.map(|l| self.sim.server_ms() + l);
        let held = Held { token: format!("w-{name}:{id:?}"), until_ms };
        self.keys.insert(name.into(), (id, Some(held)));
        self.announce(name, id);
    }

    fn announce(&mut self, name: &str, id: KeyId) {
        self.sim.step(Observation::KeyWatched(KeyWatched {
            store: self.store,
            key: id,
            key_text: name.into(),
            lock: name.into(),
            rules: self.rules.clone(),
            with: None,
            has_appeared: true,
        }));
    }

    /// Its holder lets it go.
    fn release(&mut self, name: &str) {
        self.keys.get_mut(name).unwrap().1 = None;
    }

    /// It is not watched any more.
    fn forget(&mut self, name: &str) {
        let (key, _) = self.keys.remove(name).unwrap();
        self.sim.step(Observation::KeyForgotten { store: self.store, key });
    }

    /// One poll of all keys, and a second passes.
    fn poll(&mut self) {
        let now = self.sim.server_ms();
        for (id, held) in self.keys.values_mut() {
            if held.as_ref().and_then(|h| h.until_ms).is_some_and(|until| until < now) {
                *held = None;
            }
            let found = match held {
                None => Found::Absent,
                Some(Held { token, until_ms }) => Found::Present {
                    value: Arc::new(held_by(token)),
                    expiry: until_ms.map_or(Expiry::Never, |u| Expiry::At(ServerTime::from_ms(u))),
                },
            };
            self.sim.batch(KeyRead { key: *id, found });
        }
        self.sim.advance(POLL);
    }

    fn polls(&mut self, n: u32) {
        (0..n).for_each(|_| self.poll());
    }

    fn view(&self) -> StoreView {
        let now = Instant { mono: self.sim.now(), wall: 1.7e9 };
        View::of(&self.sim.state, now, 1).stores.remove(0)
    }

    fn group(&self) -> GroupView {
        self.view().groups.remove(0)
    }

    /// The locks that have series, the worst first.
    fn shown(&self) -> Vec<String> {
        let view = self.view();
        let mut shown: Vec<&LockView> =
            view.locks.iter().filter(|l| l.group.is_some() && l.tier.is_some()).collect();
        shown.sort_by_key(|l| l.look);
        shown.iter().map(|l| l.name.to_string()).collect()
    }
}

/// How many of a group have the signal up.
fn up(group: &GroupView, signal: Signal) -> u64 {
    group.flagged.iter().find(|(s, _)| *s == signal).map_or(0, |(_, n)| *n)
}
