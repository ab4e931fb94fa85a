//! What must hold of `derive` whatever happens: an invented [`world`] lives by a schedule that bytes choose ([`choice`],
//! [`deeds`]), an exporter polls it ([`polls`]), and an [`oracle`] that shares nothing with the state machines holds every
//! signal that is up against the [`conditions`] of its definition. No counter falls; in a healthy world no signal rises; what
//! is told twice, or by two pollers in another order, comes to the same. Compiled for tests and for `tests/fuzz` only.

mod choice;
mod conditions;
mod deeds;
mod oracle;
mod polls;
mod server;
mod setting;
#[cfg(test)]
mod tests;
mod worker;
mod world;

use std::time::Duration;

use self::choice::Choices;
#[cfg(test)]
use self::oracle::Oracle;
use self::server::STORE;
use self::setting::Setting;
use self::world::World;
use super::lock::Lock;
use super::{Effects, Signal, State};
use crate::observe::{Mono, Observation};

/// Things that happen in one world at most; a longer schedule shows no more than two.
const MOST_DEEDS: usize = 60;

/// A setting, and what happens in it.
pub fn derive(bytes: &[u8]) {
    let world = lived(bytes);
    same(&world, &told_twice(&world.told), "what is told twice");
    same(&world, &swapped(&world.told), "the order of two pollers");
}

/// A world after its schedule, and after a while in which nothing more happened.
fn lived(bytes: &[u8]) -> World {
    let mut choices = Choices::of(bytes);
    let head = choices.byte();
    let has = |bit: u8| head & bit != 0;
    let mut world = World::new(Setting {
        is_healthy: has(1),
        beats: !has(2),
        processes: !has(4),
        frozen_after: has(8).then_some(Duration::from_secs(3)),
        replica: has(16),
        poll_ms: [500, 1_000, 300, 2_000][usize::from(head >> 6)],
    });
    world.advance(2 * world.setting.poll_ms);
    for (lock, worker) in world.locks.clone().iter().zip([0, 1, 1, 0]) {
        world.acquire(lock, worker);
    }
    for _ in 0..MOST_DEEDS {
        if choices.is_over() {
            break;
        }
        deeds::deed(&mut world, &mut choices);
    }
    world.advance(6 * world.setting.poll_ms);
    if world.setting.is_healthy {
        nothing_rose(&world);
    }
    is_bounded(&world.state);
    world
}

fn nothing_rose(world: &World) {
    let Some(store) = world.state.stores.get(&STORE) else { return };
    for lock in store.locks.values() {
        let rose: Vec<_> = Signal::ALL.iter().filter(|s| lock.signals.rises(**s) > 0).collect();
        assert!(rose.is_empty(), "{rose:?} of {}: {:#?}", lock.name, lock.timeline);
    }
}

/// What is kept of a lock does not grow with what happens to it.
fn is_bounded(state: &State) {
    for lock in state.stores.values().flat_map(|s| s.locks.values()) {
        assert!(lock.timeline.len() <= 64 && lock.pending.len() <= 64, "{lock:#?}");
    }
}

/// What of a lock must be the same: its signals where both can be judged, how often they rose, and what was counted. A read
/// told twice takes the place of the one before, which a replica may have been compared with.
type Outcome = (Vec<Option<bool>>, Vec<u64>, Vec<u64>);

fn outcome(lock: &Lock) -> Outcome {
    // By its definition three reads raise it, the same one told thrice among them.
    let judged = || Signal::ALL.iter().filter(|s| **s != Signal::ShapeUnexpected);
    let c = &lock.counts;
    let counted = [c.acquisitions, c.renewals, c.late_renewals, c.renewals_after_loss];
    (
        judged().map(|s| lock.signals.get(*s)).collect(),
        judged().map(|s| lock.signals.rises(*s)).collect(),
        counted.into_iter().chain(c.ends).chain(c.expired_under).collect(),
    )
}

fn same(world: &World, told: &[Observation], what: &str) {
    let mut state = State::new(world.state.rules.clone(), Mono(0));
    for fact in told {
        state.step(fact, &mut Effects::default());
    }
    let locks = world.state.stores.values().flat_map(|s| s.locks.values());
    let others = state.stores.values().flat_map(|s| s.locks.values());
    for (lock, other) in locks.zip(others) {
        let (own, mut differs) = (outcome(lock), outcome(other));
        for (own, other) in own.0.iter().zip(&mut differs.0) {
            if own.is_none() || other.is_none() {
                *other = *own;
            }
        }
        let timelines = (&lock.timeline, &other.timeline);
        assert_eq!(own, differs, "{what} matters to {}: {timelines:#?}", lock.name);
    }
}

/// Every read, look and failure twice.
fn told_twice(told: &[Observation]) -> Vec<Observation> {
    told.iter().flat_map(|fact| [fact.clone(), fact.clone()]).collect()
}

/// Two facts of different pollers that follow each other change places, if neither ended before the other began.
fn swapped(told: &[Observation]) -> Vec<Observation> {
    let mut all = told.to_vec();
    let mut at = 0;
    while at + 1 < all.len() {
        if are_apart(&all[at], &all[at + 1]) {
            all.swap(at, at + 1);
            at += 1;
        }
        at += 1;
    }
    all
}

/// Whether two pollers told them, neither of whom waited for the other.
fn are_apart(a: &Observation, b: &Observation) -> bool {
    let looks = |o: &Observation| matches!(o, Observation::Process(_) | Observation::Heartbeat(_));
    let reads = |o: &Observation| {
        matches!(o, Observation::Batch(_) | Observation::Node(_) | Observation::SweepDone(_))
    };
    (looks(a) && (looks(b) || reads(b))) || (reads(a) && looks(b))
}
