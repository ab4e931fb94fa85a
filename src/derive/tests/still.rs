//! Reads of which it is known that they change nothing are held against judging them: steps of every test of this directory
//! are made both ways, and all of any schedule at all.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::cases::plain;
use super::sim::Sim;
use crate::config::LockRules;
use crate::derive::lock::{Kept, Lock};
use crate::derive::{Effects, State};
use crate::observe::lock::Shape;
use crate::observe::{Decoded, KeyId, Observation};

/// Steps the state; where something is known of the reads to come, also one that knows nothing, which has to come to the same.
/// Returns of how many locks it was known. Where it is not to be made both ways, it is only stepped.
pub fn step_both(state: &mut State, fact: &Observation, fx: &mut Effects, is_both: bool) -> u64 {
    let Observation::Batch(batch) = fact else {
        state.step(fact, fx);
        return 0;
    };
    let is_known = |s: &State, key: &KeyId| {
        s.stores.get(&batch.node.store).and_then(|s| s.locks.get(key)).is_some_and(Kept::is_still)
    };
    let known: Vec<KeyId> =
        batch.reads.iter().map(|r| r.key).filter(|key| is_known(state, key)).collect();
    if known.is_empty() || !is_both {
        state.step(fact, fx);
        return known.len() as u64;
    }
    let mut judged = state.clone();
    for lock in judged.stores.values_mut().flat_map(|s| s.locks.values_mut()) {
        // Whoever may change it takes away what is known.
        let _: &mut Lock = lock;
    }
    assert!(!known.iter().any(|key| is_known(&judged, key)));
    let mut told = Effects::default();
    judged.step(fact, &mut told);
    let mut own = Effects::default();
    state.step(fact, &mut own);
    assert_eq!(format!("{own:?}"), format!("{told:?}"), "{fact:?}");
    let (own_store, store) = (&state.stores[&batch.node.store], &judged.stores[&batch.node.store]);
    assert_eq!(own_store.lease_ends, store.lease_ends);
    for key in &known {
        let (own, judged) = (&own_store.locks[key], &store.locks[key]);
        if format!("{own:?}") != format!("{judged:?}") {
            let (own, judged) = (format!("{own:#?}"), format!("{judged:#?}"));
            let differs: Vec<_> = own.lines().zip(judged.lines()).filter(|(a, b)| a != b).collect();
            panic!("{fact:?}: {differs:#?}");
        }
    }
    fx.wanted.extend(own.wanted);
    fx.keep.extend(own.keep);
    fx.notices.extend(own.notices);
    fx.watch_changed |= own.watch_changed;
    known.len() as u64
}

/// What happens to a lock, and to what reads it.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Take(u8, i64),
    Renew(i64),
    Release,
    Shorten,
    Wait(u64),
    SetClock(i64),
    Reconnect,
    Restart,
    Flush,
    Down(u64),
    StandStill(u64),
    PollEach(u64),
    Teach(u32, i64),
    Odd,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (0u8..3, 1_000i64..60_000).prop_map(|(who, lease)| Deed::Take(who, lease)),
        4 => (5_000i64..60_000).prop_map(Deed::Renew),
        2 => Just(Deed::Release),
        1 => Just(Deed::Shorten),
        8 => (100u64..15_000).prop_map(Deed::Wait),
        1 => (-5_000i64..5_000).prop_map(Deed::SetClock),
        1 => Just(Deed::Reconnect),
        1 => Just(Deed::Restart),
        1 => Just(Deed::Flush),
        1 => (500u64..9_000).prop_map(Deed::Down),
        1 => (500u64..9_000).prop_map(Deed::StandStill),
        1 => (200u64..3_000).prop_map(Deed::PollEach),
        1 => (1u32..22, 2_000i64..8_000).prop_map(|(n, lease)| Deed::Teach(n, lease)),
        1 => Just(Deed::Odd),
    ]
}

fn run(s: &mut Sim, deed: Deed) {
    let token = |who: u8| format!("{who:08x}-6b3c-4a41-9d4a-0c9a7d2a9f10");
    match deed {
        Deed::Take(who, lease) => {
            s.shows = None;
            s.vanish();
            s.string("lock", token(who), lease);
        }
        Deed::Renew(lease) if s.shows.is_some() => s.expire_in(lease),
        Deed::Shorten if s.shows.is_some() => s.expire_in(300),
        Deed::Renew(_) | Deed::Shorten => {}
        Deed::Release => s.vanish(),
        Deed::Wait(ms) => s.advance(ms),
        Deed::SetClock(by) => s.offset_ms += by,
        Deed::Reconnect => s.connection += 1,
        Deed::Restart => {
            s.run_id += 1;
            s.connection += 1;
        }
        Deed::Flush => {
            s.flushes += 1;
            s.vanish();
        }
        Deed::Down(ms) => {
            s.is_down = true;
            s.advance(ms);
            s.is_down = false;
        }
        Deed::StandStill(ms) => {
            s.stands_at = Some(s.server_ms());
            s.advance(ms);
            s.stands_at = None;
        }
        Deed::PollEach(ms) => {
            s.poll_ms = ms;
            s.state.rules.poll_interval = std::time::Duration::from_millis(ms);
        }
        Deed::Teach(count, lease) => s.siblings(count, lease),
        Deed::Odd => s.show(Decoded::nobody("number", Shape::Number), None),
    }
}

/// Entries of different kinds: what is told of a lock, and what is learned of all of them.
fn entry() -> impl Strategy<Value = LockRules> {
    let seconds = |s: u64| std::time::Duration::from_secs(s);
    (any::<[bool; 3]>(), proptest::option::of(3u64..60), proptest::option::of(2u64..40)).prop_map(
        move |([pooled, by_key, always_held], max_hold, lease)| LockRules {
            by_key,
            pooled,
            always_held: always_held && by_key,
            max_hold: max_hold.map(seconds),
            lease: lease.map(seconds),
            ..plain()
        },
    )
}

#[test]
fn of_a_lock_at_which_nothing_goes_on_nearly_all_reads_are_known() {
    for held in [false, true] {
        let mut s = Sim::new(1_000, None, plain());
        s.advance(1_300);
        if held {
            s.string("lock", "0e7cd1f1-6b3c-4a41-9d4a-0c9a7d2a9f10", 600_000);
        }
        s.advance(60_000);
        assert!((50..=61).contains(&s.stayed), "held: {held}, {} reads", s.stayed);
    }
}

proptest! {
    // Failures are kept beside this file, not in a directory of their own at the top.
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::with_failure_persistence(FileFailurePersistence::WithSource("regressions")) })]

    /// Each step is made both ways; see `step_both`.
    #[test]
    fn what_is_known_of_a_read_is_what_judging_it_comes_to(
        rules in entry(),
        poll in 200u64..3_000,
        deeds in proptest::collection::vec(deed(), 1..24),
    ) {
        let mut s = Sim::new(poll, None, rules);
        s.both_each = 1;
        s.advance(1_300);
        for deed in deeds {
            run(&mut s, deed);
            s.advance(poll + 50);
        }
        s.advance(20 * poll);
    }
}
