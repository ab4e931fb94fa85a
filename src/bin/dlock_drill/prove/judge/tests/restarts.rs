//! What an exporter that is started anew, or is not heard for a while, does to a proof: it may not be given, never wrongly.

use super::super::Proof;
use super::cases::{criterion, held};
use super::sim::World;

#[test]
fn a_restart_never_proves_what_was_not_seen() {
    let renewed = held().is(10.3, "a", "dead").renew(10.6, 12.0, 1.0);
    let quiet = held().is(10.3, "a", "dead");
    for tenths in 80..180 {
        let at = f64::from(tenths) / 10.0;
        let with = |world: &World| {
            World { restarts: vec![at], ..world.clone() }.judged(criterion("kill")).proof()
        };
        assert_ne!(with(&renewed), Proof::Proven, "at {at}");
        assert_ne!(with(&quiet), Proof::Refuted, "at {at}");
    }
}

#[test]
fn counters_that_begin_anew_are_counted_on() {
    let mut world = held().is(10.3, "a", "dead").set(14.3, "b", "t2").renew(15.0, 40.0, 1.0);
    world.issued = vec![(1.0, 7), (14.35, 8)];
    world.effects = vec![(3.0, 1), (8.0, 2), (14.6, 3)];
    world.restarts = vec![9.0];
    assert_eq!(world.judged(criterion("effects")).proof(), Proof::NotJudged);
    world.effects.push((15.0, 2));
    assert_eq!(world.judged(criterion("effects")).proof(), Proof::Refuted);
}
