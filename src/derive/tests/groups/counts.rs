//! A group's totals: nothing that was counted is lost with the lock, and they never fall.

use super::*;
use crate::derive::groups::Totals;
use crate::view::Evidence;

fn ended(group: &GroupView, evidence: Evidence) -> u64 {
    group.counts.ends.iter().find(|(e, _)| *e == evidence).map_or(0, |(_, n)| *n)
}

#[test]
fn locks_that_came_and_went_are_counted_and_nothing_else_is_left_of_them() {
    let mut f = Fleet::new(20);
    for round in 0..30 {
        for n in 0..10 {
            f.appear(&format!("job-{round}-{n}"), Some(30_000));
        }
        f.polls(2);
        (0..10).for_each(|n| f.release(&format!("job-{round}-{n}")));
        f.polls(4);
        (0..10).for_each(|n| f.forget(&format!("job-{round}-{n}")));
    }
    let group = f.group();
    assert_eq!(group.counts.acquisitions, 300, "each was new since the last round");
    assert_eq!((ended(&group, Evidence::Released), ended(&group, Evidence::Unknown)), (300, 0));
    assert_eq!((group.held, group.free, group.looks), (0, 0, 0));
    let store = &f.sim.state.stores[&STORE];
    assert_eq!(store.locks.len(), 1, "the one that is configured by its key");
    assert_eq!(store.lease_ends[Evidence::Released as usize], 300);
}

#[test]
fn an_end_that_still_waits_for_evidence_is_not_lost() {
    let mut f = Fleet::new(20);
    f.appear("job", Some(30_000));
    f.polls(2);
    let (key, _) = f.keys["job"];
    f.sim.batch(KeyRead { key, found: Found::Absent });
    f.forget("job");
    assert_eq!(ended(&f.group(), Evidence::Unknown), 1);
    assert_eq!(f.sim.state.stores[&STORE].lease_ends[Evidence::Unknown as usize], 1);
}

#[test]
fn a_short_signal_of_a_lock_that_is_gone_is_in_the_groups_rises() {
    let mut f = Fleet::new(20);
    f.appear("job", None);
    f.polls(3);
    f.release("job");
    f.polls(3);
    f.forget("job");
    let rises = f.group().counts.rises;
    assert!(rises.contains(&(Signal::LeaseWithoutTtl, 1)), "{rises:?}");
    assert_eq!(f.shown(), [""; 0]);
}

#[test]
fn a_lease_that_ran_out_under_its_holder_is_counted_and_its_lock_shown() {
    let mut f = Fleet::new(20);
    f.sim.process = Some(super::super::sim::running(7, 500_000));
    f.appear("job", Some(3_000));
    let (key, held) = f.keys["job"].clone();
    let token = held.unwrap().token;
    let until = f.sim.server_ms() + 3_000;
    f.polls(2);
    let value = || Arc::new(held_by(&token));
    let expiry = Expiry::At(ServerTime::from_ms(until));
    // The reads around the expiry that the poller makes.
    f.sim.advance((until - f.sim.server_ms() - 20) as u64);
    f.sim.batch(KeyRead { key, found: Found::Present { value: value(), expiry } });
    f.sim.advance(41);
    f.release("job");
    f.sim.batch(KeyRead { key, found: Found::Absent });
    f.polls(2);
    let expired = f.group().counts.expired_under_holder.unwrap();
    assert_eq!(expired.iter().map(|(_, n)| n).sum::<u64>(), 1, "{expired:?}");
    assert_eq!(f.shown(), ["job"]);
}

/// The totals of all groups there are.
fn totals(f: &Fleet) -> Option<Totals> {
    let store = f.sim.state.stores.values().find(|s| &*s.name == "main")?;
    store.totals().remove("jobs")
}

#[test]
fn a_reload_loses_nothing_and_lets_what_is_not_found_again_go_soon() {
    let mut f = Fleet::new(20);
    for n in 0..10 {
        f.appear(&format!("job-{n}"), Some(600_000));
    }
    f.polls(2);
    let before = totals(&f).unwrap();
    assert_eq!(before.acquisitions, 10);
    let at = f.sim.now();
    f.sim.step(Observation::StoreStarted { store: STORE, name: "main".into(), at });
    assert_eq!(totals(&f).unwrap(), before, "while they wait to be found again");
    let id = f.next;
    f.next += 1;
    f.keys.retain(|name, _| name == "job-3");
    f.keys.get_mut("job-3").unwrap().0 = KeyId(id);
    f.announce("job-3", KeyId(id));
    f.polls(70);
    let store = &f.sim.state.stores[&STORE];
    assert!(store.parked.is_empty() && store.locks.len() == 1, "{}", store.locks.len());
    assert_eq!(totals(&f).unwrap().acquisitions, 10);
    assert_eq!(f.group().held, 1);
}

#[test]
fn a_lock_that_changes_its_group_leaves_its_counts_with_the_old_one() {
    let mut f = Fleet::new(20);
    f.appear("job", Some(600_000));
    f.polls(2);
    let at = f.sim.now();
    f.sim.step(Observation::StoreStarted { store: STORE, name: "main".into(), at });
    f.rules = Arc::new(group("others", 20));
    f.announce("job", KeyId(99));
    let all = f.sim.state.stores[&STORE].totals();
    assert_eq!((all["jobs"].acquisitions, all["others"].acquisitions), (1, 0));
    let mut rules = f.sim.state.rules.clone();
    rules.lock_groups.clear();
    f.sim.state.reconfigure(rules, at);
    let all = f.sim.state.stores[&STORE].totals();
    assert!(!all.contains_key("jobs"), "no longer configured");
}
