//! The one task that decides when which sources are read. It starts reads and never waits for one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::roster::{Roster, Slot};
use super::{Reading, Shared, read};
use crate::clock;
use crate::observe::source::SourceRef;
use crate::poll::lane::{Entry, Lane};
use crate::poll::part::STORE_DEADLINE;
use crate::poll::source::Filled;
use crate::poll::tally::Tally;

/// Reads under way; reached only when nobody takes the facts.
const MAX_TASKS: usize = 64;

/// See the module.
pub struct Driver {
    shared: Arc<Shared>,
    roster: Roster,
    stores: BTreeMap<Arc<str>, Lane>,
    tasks: JoinSet<()>,
}

impl Driver {
    /// Nothing runs yet.
    pub fn new(shared: Arc<Shared>) -> Self {
        let (roster, stores) = (Roster::default(), BTreeMap::new());
        Self { shared, roster, stores, tasks: JoinSet::new() }
    }

    /// Runs until stopped or its handle is dropped; reads that it started end with it.
    pub async fn run(
        mut self,
        mut wanted: watch::Receiver<Vec<Reading>>,
        mut stop: oneshot::Receiver<()>,
    ) {
        let mut polls = interval(self.shared.interval.max(Duration::from_millis(1)));
        polls.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                _ = &mut stop => return,
                changed = wanted.changed() => match changed {
                    Ok(()) => {
                        let readings = wanted.borrow_and_update().clone();
                        // What is new is read without waiting for the next poll.
                        let new = self.roster.replace(&readings);
                        self.start(new, false);
                    }
                    Err(_) => return,
                },
                _ = polls.tick() => {
                    let all = self.roster.iter().cloned().collect();
                    self.start(all, true);
                }
                Some(done) = self.tasks.join_next() => {
                    if let Err(e) = done {
                        tracing::error!(error = %e, "reading sources broke off");
                    }
                }
            }
        }
    }

    /// Starts reading these; they count as a poll, or are extra.
    fn start(&mut self, slots: Vec<Arc<Slot>>, is_poll: bool) {
        let mut stores: BTreeMap<Arc<str>, Vec<Arc<Slot>>> = BTreeMap::new();
        let mut own = Vec::new();
        for slot in slots {
            match &slot.filled {
                Filled::Redis { store, .. } => {
                    stores.entry(Arc::clone(store)).or_default().push(slot)
                }
                _ => own.push(slot),
            }
        }
        let tally = |slots: &[Arc<Slot>]| {
            let polls = slots.iter().map(|slot| slot.reading.poll.clone());
            Tally::begin(polls.filter(|_| is_poll))
        };
        for (store, slots) in stores {
            if self.tasks.len() >= MAX_TASKS {
                return;
            }
            let lane = self.stores.entry(Arc::clone(&store)).or_default();
            // A store that is still busy with the poll before is read at the next.
            if let Entry::Free(inside) = lane.enter(clock::mono(), STORE_DEADLINE * 2) {
                let polls = tally(&slots);
                self.tasks.spawn(read::store(
                    Arc::clone(&self.shared),
                    store,
                    slots,
                    polls,
                    inside,
                ));
            }
        }
        if !own.is_empty() && self.tasks.len() < MAX_TASKS {
            let polls = tally(&own);
            self.tasks.spawn(read::each(Arc::clone(&self.shared), chains(own), polls));
        }
    }
}

/// A total is read before what it is held against: else what happens in between would look like a duplicate.
fn chains(slots: Vec<Arc<Slot>>) -> Vec<Vec<Arc<Slot>>> {
    let mut chains: Vec<Vec<Arc<Slot>>> = Vec::new();
    let mut totals = BTreeMap::new();
    for slot in slots {
        match &slot.reading.what {
            SourceRef::EffectsTotal { store, lock, resource } => {
                let key = (store.clone(), lock.clone(), resource.clone());
                totals.insert(key, chains.len());
            }
            SourceRef::EffectsDistinct { store, lock, resource } => {
                let key = (store.clone(), lock.clone(), resource.clone());
                if let Some(chain) = totals.get(&key).and_then(|at| chains.get_mut(*at)) {
                    chain.push(slot);
                    continue;
                }
            }
            _ => {}
        }
        chains.push(vec![slot]);
    }
    chains
}
