//! Failovers of a primary with one replica: whatever was replicated raises nothing, and what was lost is told once, when
//! another owner has it too early.

use proptest::prelude::*;

use super::pair::Pair;
use super::sim::{Sim, rules};
use crate::derive::{ContentionKind, Signal};

const OWNERS: [&str; 3] = ["a:1", "b:1", "c:1"];
const LEASE_MS: i64 = 30_000;

/// What happens next, to an owner or the servers.
#[derive(Clone, Debug)]
enum Act {
    Acquire(usize),
    Renew(usize),
    Release(usize),
    Wait(u64),
    /// The replica takes over with all that the primary had, which follows it at once.
    Planned,
    /// The primary dies with nothing lost; the replica takes over after so many polls, and it follows after more.
    Died(u64, u64),
}

fn act() -> impl Strategy<Value = Act> {
    let owner = || 0..OWNERS.len();
    prop_oneof![
        4 => owner().prop_map(Act::Acquire),
        3 => owner().prop_map(Act::Renew),
        2 => owner().prop_map(Act::Release),
        6 => (1..12_u64).prop_map(Act::Wait),
        1 => Just(Act::Planned),
        1 => (1..6_u64, 1..6_u64).prop_map(|(a, b)| Act::Died(a, b)),
    ]
}

fn happen(p: &mut Pair, act: Act) {
    match act {
        Act::Acquire(o) => _ = p.acquire(OWNERS[o], LEASE_MS),
        Act::Renew(o) => p.renew(OWNERS[o], LEASE_MS),
        Act::Release(o) => p.release(OWNERS[o]),
        Act::Wait(polls) => p.tick(polls),
        Act::Planned => {
            p.promote();
            p.follow();
            p.tick(1);
        }
        Act::Died(without, alone) => {
            p.kill();
            p.tick(without);
            p.promote();
            p.tick(alone);
            p.follow();
            p.tick(1);
        }
    }
}

/// `a` takes the lock where no replica hears of it, so many polls before the primary dies. The replica takes over.
fn lost(p: &mut Pair, lease_ms: i64, seen: u64, without: u64) {
    p.cut();
    p.tick(1);
    assert!(p.acquire("a:1", lease_ms));
    p.tick(seen);
    p.kill();
    p.tick(without);
    p.promote();
    p.tick(1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn failovers_that_lose_nothing_raise_nothing(acts in proptest::collection::vec(act(), 1..40)) {
        let mut p = Pair::new();
        for act in acts {
            happen(&mut p, act.clone());
            prop_assert_eq!(p.proofs(), [], "after {:?}", act);
            for signal in [Signal::Contested, Signal::ReplicaDiverged] {
                prop_assert_eq!(p.sim.rises(signal), 0, "after {:?}", act);
            }
        }
        p.tick(4);
        let exposed = p.sim.lock().unreplicated_seconds;
        prop_assert_eq!(exposed, p.holder().map(|_| 0.0), "each write is on the replica by then");
    }

    #[test]
    fn a_lost_lock_is_told_once_when_another_has_it_too_early(
        lease_s in 20..60_i64, seen in 2..8_u64, without in 1..6_u64, after in 0..5_u64,
    ) {
        let mut p = Pair::new();
        lost(&mut p, lease_s * 1_000, seen, without);
        p.tick(after);
        prop_assert_eq!(p.proofs(), [], "nobody else has it yet");
        prop_assert!(p.acquire("b:1", LEASE_MS));
        p.tick(4);
        prop_assert_eq!(p.proofs(), [(ContentionKind::Lost, 1)]);
        prop_assert_eq!(p.sim.signal(Signal::Contested), Some(true));
        // The old primary comes back as a replica, and has nothing of its own any more.
        p.follow();
        p.tick(80);
        prop_assert_eq!(p.sim.signal(Signal::Contested), Some(false), "its lease is over");
        prop_assert_eq!(p.proofs(), [(ContentionKind::Lost, 1)]);
        p.sim.assert_raised(&[Signal::Contested]);
    }

    #[test]
    fn a_lost_lock_that_nobody_has_too_early_is_no_contention(
        lease_s in 5..20_u64, seen in 2..4_u64, is_same in any::<bool>(),
    ) {
        let mut p = Pair::new();
        lost(&mut p, lease_s as i64 * 1_000, seen, 2);
        if !is_same {
            p.tick(lease_s);
        }
        let next = if is_same { "a:1" } else { "b:1" };
        prop_assert!(p.acquire(next, LEASE_MS));
        p.tick(6);
        prop_assert_eq!(p.proofs(), []);
        p.sim.assert_quiet();
    }
}

#[test]
fn what_no_replica_has_is_exposed_until_one_has_it() {
    let mut p = Pair::new();
    let exposed = |p: &Pair| p.sim.lock().unreplicated_seconds;
    assert_eq!(exposed(&p), None, "it is free");
    p.acquire("a:1", 600_000);
    p.tick(2);
    assert_eq!(exposed(&p), Some(0.0));
    p.cut();
    p.tick(5);
    assert_eq!(exposed(&p), Some(0.0), "the replica has all that counts");
    p.renew("a:1", 600_000);
    p.tick(1);
    p.tick(10);
    let seconds = exposed(&p).unwrap();
    assert!((9.9..10.1).contains(&seconds), "it does not know of the renewal for {seconds} s");
    p.follow();
    p.tick(2);
    assert_eq!(exposed(&p), Some(0.0));
    p.kill();
    p.promote();
    p.tick(6);
    assert!(exposed(&p) >= Some(4.0), "the new primary is alone with it: {:?}", exposed(&p));
}

#[test]
fn a_new_primary_that_lacks_renewals_makes_none_overdue() {
    let mut s = Sim::new(500, None, rules());
    s.acquire("w:1", 6_000);
    for _ in 0..12 {
        s.advance(1_000);
        s.renew("w:1", 6_000);
    }
    let kept = s.key.as_ref().and_then(|key| key.expiry_ms);
    for _ in 0..2 {
        s.advance(1_000);
        s.renew("w:1", 6_000);
    }
    s.advance(700);
    s.key.as_mut().expect("it is held").expiry_ms = kept;
    (s.run_id, s.connection) = (s.run_id + 1, s.connection + 1);
    s.advance(1_500);
    assert_eq!(s.rises(Signal::RenewalOverdue), 0);
    let period = s.lock().renewal_period_seconds;
    for _ in 0..3 {
        s.renew("w:1", 6_000);
        s.advance(1_000);
    }
    assert_eq!(s.rises(Signal::RenewalOverdue), 0);
    assert_eq!(s.lock().renewal_period_seconds, period, "no gap is learned across it");
    s.advance(4_500);
    assert_eq!(s.rises(Signal::RenewalOverdue), 1, "a renewal that is missed is");
}
