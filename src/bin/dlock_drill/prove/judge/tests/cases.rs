//! Each criterion on a right system, on wrong ones, and where something is missing.

use super::super::{CRITERIA, Criterion, Judgement, Proof};
use super::sim::World;
use crate::outcome::Verdict;

pub fn criterion(name: &str) -> &'static Criterion {
    CRITERIA.iter().find(|c| c.name == name).unwrap()
}

/// The holder `a` renews each second until the fault at 10 s.
pub fn held() -> World {
    World::new(0.5, 4.0, 40.0).set(1.0, "a", "t1").renew(2.0, 10.0, 1.0)
}

fn told(world: &World, name: &str) -> Judgement {
    world.judged(criterion(name))
}

fn comes_to(world: &World, name: &str, proof: Proof, says: &str) {
    let judgement = told(world, name);
    assert_eq!(judgement.proof(), proof, "{name}: {judgement:#?}");
    let shown = format!("{judgement:?}");
    assert!(shown.contains(says), "{name} does not say {says:?}: {judgement:#?}");
}

#[test]
fn a_pause() {
    let paused = held().is(10.1, "a", "stopped");
    let taken = paused.clone().set(13.3, "b", "t2").renew(14.0, 60.0, 1.0);
    comes_to(&taken, "pause", Proof::NotJudged, "now let a go on");
    let woken = taken.clone().is(18.0, "a", "alive");
    comes_to(&woken, "pause", Proof::Proven, "seen to run out");
    comes_to(&woken, "pause", Proof::Proven, "a goes on");
    let said = World { told: Some(18.0), ..taken.clone() };
    comes_to(&said, "pause", Proof::Proven, "a goes on");
    // It wakes, and writes its token over the other one's.
    let blind = woken.clone().set(18.7, "a", "t1");
    comes_to(&blind, "pause", Proof::Refuted, "is back after b had the lock");
    let late = World { until: 60.0, ..woken.clone() }.set(24.0, "a", "t1");
    comes_to(&late, "pause", Proof::Refuted, "is back after b had the lock");
    let early = paused.clone().set(11.7, "b", "t2");
    comes_to(&early, "pause", Proof::Refuted, "could not let go");
    // Nothing beside it sounds as if all were well.
    let passed: Vec<&str> = told(&early, "pause")
        .expectations
        .iter()
        .filter(|e| e.verdict == Some(Verdict::Pass))
        .map(|e| e.what)
        .collect();
    assert_eq!(passed, ["the holder stands still for as long as it has the lock"]);
    // Another deleted the key; a living holder would have let go.
    let deleted = paused.clone().delete(11.2).set(11.7, "b", "t2");
    comes_to(&deleted, "pause", Proof::Refuted, "could not let go");
    let let_go = held().delete(11.2).set(11.7, "b", "t2");
    comes_to(&let_go, "pause", Proof::NotJudged, "");
    // Gone before anybody saw that its holder was frozen: said, and not counted.
    let unseen = held().is(10.55, "a", "stopped").delete(10.6).set(10.65, "b", "t2");
    let unseen = unseen.renew(11.0, 40.0, 1.0);
    comes_to(&unseen, "pause", Proof::NotJudged, "looks like a release before that");
    comes_to(&unseen, "kill", Proof::NotJudged, "looks like a release before that");
    let short = paused.clone().is(11.0, "a", "alive").renew(11.1, 39.0, 1.0);
    comes_to(&short, "pause", Proof::NotJudged, "again, for longer");
    let again = paused
        .clone()
        .is(11.0, "a", "alive")
        .renew(11.1, 20.0, 1.0)
        .is(20.0, "a", "frozen")
        .set(24.2, "b", "t2")
        .renew(25.0, 40.0, 1.0)
        .is(26.0, "a", "alive");
    comes_to(&again, "pause", Proof::Proven, "frozen");
    let back = paused.clone().is(12.9, "a", "alive").set(13.3, "b", "t2");
    comes_to(&back, "pause", Proof::NotJudged, "pause it for longer");
    comes_to(
        &paused.clone().renew(10.5, 40.0, 1.0),
        "pause",
        Proof::NotJudged,
        "something else renews",
    );
    comes_to(&paused, "pause", Proof::NotJudged, "another worker to acquire");
    let itself = paused.clone().is(13.1, "a", "alive").set(13.4, "a", "t2").renew(14.0, 40.0, 1.0);
    comes_to(&itself, "pause", Proof::NotJudged, "acquired it again itself");
    // Whoever just acquired was not looked at yet; that is no reason to give up.
    let fresh = held().delete(9.9).set(9.95, "b", "t2").is(0.0, "b", "unknown");
    let fresh = fresh.is(11.0, "b", "alive").renew(10.5, 15.0, 1.0).is(15.1, "b", "stopped");
    let fresh = fresh.set(19.4, "a", "t3").renew(20.0, 40.0, 1.0).is(21.0, "b", "alive");
    comes_to(&fresh, "pause", Proof::Proven, "b is stopped");
    comes_to(
        &held().is(0.0, "a", "unknown"),
        "pause",
        Proof::NotJudged,
        "`process` or a `heartbeat`",
    );
}

#[test]
fn a_kill() {
    let killed = held().is(10.3, "a", "dead");
    comes_to(&killed, "kill", Proof::Proven, "known to within");
    comes_to(&killed.clone().set(13.5, "b", "t2"), "kill", Proof::Proven, "known to within");
    let wide = World { poll: 1.5, ..killed.clone() };
    comes_to(&wide, "kill", Proof::Proven, "it rests on what was written");
    let renewed = killed.clone().renew(10.6, 39.0, 1.0);
    comes_to(&renewed, "kill", Proof::Refuted, "renewed");
    let once = killed.clone().renew(12.6, 12.7, 1.0);
    comes_to(&once, "kill", Proof::Refuted, "renewed");
    let mut long = killed.clone();
    long.deeds.push((9.5, super::sim::Deed::Renew(25.0)));
    long.deeds.retain(|(at, _)| *at < 9.9);
    comes_to(&long, "kill", Proof::Refuted, "it may be 4.00 s");
    // The length of a lease is no claim that the same lease can break.
    let learned = World { length_source: "learned", ..killed.clone() };
    comes_to(&learned, "kill", Proof::NotJudged, "configure `lease`");
    // Two late reads hide that it was longer than it may be; those before it do not.
    let mut coarse = killed.clone();
    (coarse.poll, coarse.deeds) = (2.5, Vec::new());
    for at in 1..=10 {
        let at = f64::from(at);
        coarse.deeds.push((at, super::sim::Deed::Set("a", "t1", at + 7.0)));
    }
    comes_to(&coarse, "kill", Proof::NotJudged, "shorten poll_interval");
    let early = killed.clone().set(11.7, "b", "t2");
    comes_to(&early, "kill", Proof::Refuted, "could not let go");
    comes_to(&held().is(10.3, "a", "stopped"), "kill", Proof::NotJudged, "");
    comes_to(&held().renew(10.0, 40.0, 1.0), "kill", Proof::NotJudged, "kill the holder now (a)");
}

#[test]
fn a_partition() {
    let mut cut = held().is(11.0, "a", "frozen").set(13.3, "b", "t2").renew(14.0, 40.0, 1.0);
    cut.still = vec![(10.0, 18.0, "a")];
    cut.liveness.push((18.1, "a", "alive"));
    cut.accepted = vec![(1.0, 7), (13.4, 8)];
    cut.refused = vec![15.0, 16.0];
    comes_to(&cut, "partition", Proof::Proven, "2 writes refused");
    let restored = cut.clone().set(18.7, "a", "t1");
    comes_to(&restored, "partition", Proof::Refuted, "is back after");
    let mut unchecked = cut.clone();
    unchecked.accepted.push((15.0, 7));
    comes_to(&unchecked, "partition", Proof::Refuted, "an older token");
    let mut unfenced = cut.clone();
    unfenced.has_fencing = false;
    comes_to(&unfenced, "partition", Proof::NotJudged, "no fencing source");
    let mut idle = cut.clone();
    idle.refused.clear();
    comes_to(&idle, "partition", Proof::NotJudged, "no refused write");
    let mut apart = cut.clone();
    apart.still = vec![(10.0, 100.0, "a")];
    comes_to(&apart, "partition", Proof::NotJudged, "the heal");
    apart.told = Some(18.0);
    comes_to(&apart, "partition", Proof::Proven, "2 writes refused");
    // Its process lives all the time; what shows the heal is its heart, the last beat of which is seen late.
    let mut lives = World { poll: 2.0, phase: 0.5, until: 70.0, ..held() };
    lives = lives.set(14.4, "b", "t2").renew(15.0, 70.0, 1.0);
    lives.still = vec![(15.5, 30.0, "a")];
    lives.accepted = vec![(1.0, 7), (14.5, 8)];
    lives.refused = vec![15.0];
    comes_to(&lives, "partition", Proof::Proven, "a is back");
    // What lapsed on its own before is none.
    let mut before =
        World::new(0.5, 4.0, 60.0).set(1.0, "a", "t0").set(9.0, "a", "t1").renew(10.0, 22.0, 1.0);
    before = before.set(25.3, "b", "t2").renew(26.0, 60.0, 1.0);
    before.still = vec![(22.0, 30.0, "a")];
    before.accepted = vec![(1.0, 7), (25.4, 8)];
    before.refused = vec![27.0];
    comes_to(&before, "partition", Proof::Proven, "1 write refused");
    let let_go = held().delete(11.2).set(11.7, "b", "t2").renew(12.0, 40.0, 1.0);
    comes_to(&let_go, "partition", Proof::NotJudged, "cut the holder off");
}

#[test]
fn effects() {
    let mut cut = held().is(10.3, "a", "dead").set(14.3, "b", "t2").renew(15.0, 40.0, 1.0);
    cut.issued = vec![(1.0, 7), (14.35, 8)];
    cut.accepted = vec![(1.1, 7), (14.5, 8)];
    cut.effects = vec![(3.0, 1), (8.0, 2), (14.6, 3)];
    comes_to(&cut, "effects", Proof::Proven, "3 effects, none of them twice");
    let mut twice = cut.clone();
    twice.effects.push((15.0, 2));
    comes_to(&twice, "effects", Proof::Refuted, "1 effect beyond");
    let mut same = cut.clone();
    same.issued.truncate(1);
    same.accepted.truncate(1);
    comes_to(&same, "effects", Proof::Refuted, "is not higher");
    let mut older = cut.clone();
    older.accepted.push((16.0, 7));
    comes_to(&older, "effects", Proof::Refuted, "an older token");
    let mut uncounted = cut.clone();
    uncounted.has_effects = false;
    comes_to(&uncounted, "effects", Proof::NotJudged, "add `effects`");
    let mut unfenced = cut.clone();
    unfenced.has_fencing = false;
    comes_to(&unfenced, "effects", Proof::NotJudged, "no fencing source");
    let mut none = cut.clone();
    none.effects.clear();
    comes_to(&none, "effects", Proof::NotJudged, "no effect was seen");
    // What the first one did says nothing of the second, which took the lock and a token only.
    let mut idle = cut.clone();
    idle.effects.truncate(2);
    idle.accepted.truncate(1);
    comes_to(&idle, "effects", Proof::NotJudged, "no effect was seen since b");
}

/// Nobody is asked to break anything that then cannot be judged.
#[test]
fn what_the_config_lacks_is_said_before_the_fault() {
    let world = World { until: 9.9, ..held() };
    let unfenced = World { has_fencing: false, ..world.clone() };
    let uncounted = World { has_effects: false, ..world.clone() };
    let learned = World { length_source: "learned", ..world.clone() };
    for (lacks, name, says) in [
        (&unfenced, "partition", "no fencing source"),
        (&unfenced, "effects", "no fencing source"),
        (&uncounted, "effects", "add `effects`"),
        (&learned, "kill", "configure `lease`"),
    ] {
        comes_to(lacks, name, Proof::NotJudged, says);
        let judgement = told(lacks, name);
        assert!(judgement.is_over() && judgement.fault.is_none(), "{name}: {judgement:#?}");
        let soon = told(&World { until: 2.0, ..lacks.clone() }, name);
        assert!(soon.waiting.is_some_and(|w| w.contains("make no fault yet")), "{name}");
        let whole = told(&world, name);
        assert!(!whole.is_over() && !whole.waiting.clone().unwrap().contains("yet"), "{whole:#?}");
    }
}

#[test]
fn a_renewal_apart_from_the_work() {
    let mut paused = held().set(14.2, "b", "t2").renew(15.0, 40.0, 1.0);
    comes_to(&paused, "renewal", Proof::Proven, "a renewal is overdue");
    paused.told = Some(10.1);
    comes_to(&paused, "renewal", Proof::Proven, "you said so");
    let mut other = held().renew(10.0, 40.0, 1.0);
    comes_to(&other, "renewal", Proof::NotJudged, "press Enter");
    other.told = Some(10.1);
    comes_to(&other, "renewal", Proof::Refuted, "something else renews it");
    let mut early = held().set(12.6, "b", "t2");
    early.told = Some(10.1);
    comes_to(&early, "renewal", Proof::NotJudged, "is not known");
    let let_go = held().delete(12.2).set(12.6, "b", "t2");
    let let_go = World { told: Some(10.1), ..let_go };
    comes_to(&let_go, "renewal", Proof::Proven, "let go of it");
    let done = held().delete(10.2).set(10.8, "b", "t2").renew(11.8, 40.0, 1.0);
    let done = World { told: Some(9.1), poll: 0.25, ..done };
    comes_to(&done, "renewal", Proof::NotJudged, "before a renewal was due");
    let never = World::new(0.5, 4.0, 40.0).set(1.0, "a", "t1").set(5.2, "b", "t2");
    let never = World { told: Some(2.0), period: None, ..never };
    comes_to(&never, "renewal", Proof::NotJudged, "no renewal was seen");
    let not_yet = World { told: None, until: 3.0, ..never };
    comes_to(&not_yet, "renewal", Proof::NotJudged, "a renewal (a)");
    let stood = World { told: Some(10.1), ..held().is(10.2, "a", "stopped").set(14.2, "b", "t2") };
    comes_to(&stood, "renewal", Proof::NotJudged, "stop only what renews");
    comes_to(
        &World { told: Some(10.1), ..held() },
        "renewal",
        Proof::NotJudged,
        "a successor to acquire",
    );
}
