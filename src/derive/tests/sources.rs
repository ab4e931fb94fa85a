//! Tokens, side effects and claims from configured sources, as they reach a view.

use std::sync::Arc;
use std::time::Duration;

use super::sim::{Sim, rules};
use crate::config::{
    Effects, Fencing, LockRules, Place, RedisPart, ResourceSource, SeriesTier, Source,
};
use crate::derive::{BlindReason, Effects as Said, ToRead};
use crate::observe::lock::{CompanionValue, Tells};
use crate::observe::node::FailReason;
use crate::observe::source::{Claimed, SourceFailed, SourceRead, SourceRef, SourceValue};
use crate::observe::{Observation, StoreId};
use crate::view::{Aspect, FencingView, Instant, View};

fn redis(key: &str) -> Source {
    Source::Redis { store: "main".into(), key: key.into(), part: RedisPart::Text, json: None }
}

fn resource(name: &str) -> ResourceSource {
    ResourceSource { name: name.into(), source: redis(name) }
}

fn guarded() -> LockRules {
    LockRules {
        fencing: Some(Fencing {
            issued: Some(redis("fence:{lock}")),
            accepted: vec![resource("db")],
            rejected: vec![resource("db")],
        }),
        effects: vec![
            Effects { name: "mail".into(), total: redis("t"), distinct: Some(redis("d")) },
            Effects { name: "disk".into(), total: redis("t"), distinct: None },
        ],
        ..rules()
    }
}

fn at() -> (Arc<str>, Arc<str>) {
    ("main".into(), "lock".into())
}

fn issued() -> SourceRef {
    let (store, lock) = at();
    SourceRef::FencingIssued { store, lock }
}

fn accepted() -> SourceRef {
    let ((store, lock), resource) = (at(), "db".into());
    SourceRef::FencingAccepted { store, lock, resource }
}

fn tell(s: &mut Sim, source: SourceRef, value: Result<Option<SourceValue>, FailReason>) {
    let value = value.map_err(|reason| SourceFailed { reason, detail: "no".into() });
    let span = s.span();
    s.step(Observation::Source(Box::new(SourceRead { source, span, value })));
}

/// A poll in which all of these numbers are read.
fn poll(s: &mut Sim, numbers: &[(SourceRef, u64)]) {
    s.advance(2000);
    for (source, n) in numbers {
        tell(s, source.clone(), Ok(Some(SourceValue::Number(*n))));
    }
}

fn fencing(s: &Sim) -> FencingView {
    s.lock().told.fencing.unwrap()
}

#[test]
fn counters_are_there_from_the_start_and_values_are_not() {
    let mut s = Sim::new(2000, None, guarded());
    s.advance(4000);
    let view = s.lock();
    let db: Arc<str> = "db".into();
    let expected = FencingView {
        issued: None,
        accepted: vec![(db.clone(), None)],
        regressions: vec![("".into(), 0), (db.clone(), 0)],
        rejections: vec![(db, 0)],
        fell: None,
    };
    assert_eq!(view.told.fencing, Some(expected));
    let effects: Vec<_> =
        view.told.effects.iter().map(|e| (&*e.resource, e.total, e.duplicates)).collect();
    assert_eq!(effects, [("mail", 0, Some(0)), ("disk", 0, None)]);
    assert!(view.coverage_lost.contains(&(Aspect::Fencing, BlindReason::NoHistory)));
    let mut plain = Sim::new(2000, None, rules());
    plain.advance(4000);
    let view = plain.lock();
    assert_eq!(view.told, Default::default());
    assert!(view.blind.contains(&(Aspect::Fencing, BlindReason::NotConfigured)));
    assert!(!view.coverage_lost.iter().any(|(a, _)| *a == Aspect::Fencing));
}

/// The reasons why tokens cannot be judged.
fn blind(s: &Sim) -> Vec<BlindReason> {
    let of_fencing = |(a, r): &(Aspect, BlindReason)| (*a == Aspect::Fencing).then_some(*r);
    s.lock().blind.iter().filter_map(of_fencing).collect()
}

#[test]
fn a_token_that_was_never_seen_is_no_token_to_check() {
    let without = Fencing { issued: None, accepted: vec![], rejected: vec![resource("db")] };
    let issues = Fencing { issued: Some(redis("fence:{lock}")), ..without };
    let mut s = Sim::new(2000, None, LockRules { fencing: Some(issues), ..rules() });
    let none = |s: &mut Sim| {
        s.advance(2000);
        let ((store, lock), resource) = (at(), "db".into());
        tell(s, issued(), Ok(None));
        tell(s, SourceRef::FencingRejected { store, lock, resource }, Ok(None));
    };
    none(&mut s);
    assert_eq!(blind(&s), [BlindReason::NoHistory], "a count that is not there is 0");
    tell(&mut s, issued(), Err(FailReason::Permission));
    assert_eq!(blind(&s), [BlindReason::Permission]);
    none(&mut s);
    poll(&mut s, &[(issued(), 0)]);
    assert_eq!(blind(&s), [BlindReason::NotConfigured], "there are tokens, and nobody checks them");
    none(&mut s);
    assert_eq!(blind(&s), [BlindReason::NotConfigured], "a counter that vanished was there");
    assert_eq!(fencing(&s).regressions[0].1, 1);
}

#[test]
fn tokens_that_fall_are_counted_noted_and_outlive_a_reload() {
    let mut s = Sim::new(2000, None, guarded());
    for n in [5, 6, 7] {
        poll(&mut s, &[(issued(), n), (accepted(), n)]);
    }
    assert_eq!((fencing(&s).issued, fencing(&s).accepted[0].1), (Some(7), Some(7)));
    // The server was emptied: the counter begins anew, and the resource takes the old token.
    for n in [1, 2] {
        poll(&mut s, &[(issued(), n), (accepted(), n)]);
    }
    let counts = |s: &Sim| fencing(s).regressions.into_iter().map(|(_, n)| n).collect::<Vec<_>>();
    assert_eq!(counts(&s), [1, 1]);
    let noted: Vec<_> = s.lock().transitions.into_iter().map(|t| t.what).collect();
    assert_eq!(noted.iter().filter(|w| **w == "fencing_regressed").count(), 2, "{noted:?}");
    s.announce();
    s.advance(2000);
    assert_eq!(counts(&s), [1, 1]);
    tell(&mut s, issued(), Ok(None));
    assert_eq!(counts(&s), [2, 1]);
    assert_eq!(fencing(&s).issued, None);
    assert_eq!(fencing(&s).fell, Some(("".into(), 0.0)), "the last one of all");
    s.advance(3_602_000);
    assert_eq!((fencing(&s).fell, counts(&s)), (None, vec![2, 1]), "it is long ago, and counted");
}

#[test]
fn what_cannot_be_read_is_withheld_and_blind_and_costs_nothing_else() {
    let mut s = Sim::new(2000, None, guarded());
    poll(&mut s, &[(issued(), 5), (accepted(), 4)]);
    let other = |lock: &str| SourceRef::FencingRejected {
        store: "main".into(),
        lock: lock.into(),
        resource: "db".into(),
    };
    poll(&mut s, &[(other("lock"), 3)]);
    assert!(!s.lock().coverage_lost.iter().any(|(a, _)| *a == Aspect::Fencing));
    for _ in 0..5 {
        poll(&mut s, &[(issued(), 5), (other("lock"), 8)]);
        tell(&mut s, accepted(), Err(FailReason::Auth));
    }
    assert_eq!((fencing(&s).issued, fencing(&s).accepted[0].1), (Some(5), None));
    assert_eq!(fencing(&s).rejections[0].1, 5);
    let view = s.lock();
    assert!(view.coverage_lost.contains(&(Aspect::Fencing, BlindReason::Permission)));
}

#[test]
fn the_librarys_own_counter_is_read_without_config() {
    let mut s = Sim::new(2000, None, rules());
    s.beside = vec![(Tells::FencingToken, CompanionValue::Missing)];
    s.acquire("w:1", 30_000);
    s.advance(4000);
    assert_eq!(s.lock().told.fencing, None, "a lock without tokens");
    s.beside = vec![(Tells::FencingToken, CompanionValue::Number(41))];
    s.advance(4000);
    assert_eq!(fencing(&s).issued, Some(41));
    s.beside = vec![(Tells::FencingToken, CompanionValue::Missing)];
    s.advance(4000);
    assert_eq!(fencing(&s).regressions, [("".into(), 1)]);
    // With a source of its own the counter is not asked.
    let mut s = Sim::new(2000, None, guarded());
    s.beside = vec![(Tells::FencingToken, CompanionValue::Number(41))];
    s.acquire("w:1", 30_000);
    s.advance(4000);
    assert_eq!(fencing(&s).issued, None);
}

#[test]
fn duplicates_of_side_effects_are_counted() {
    let mut s = Sim::new(2000, None, guarded());
    let place = || (at(), Arc::<str>::from("mail"));
    let ((store, lock), r) = place();
    let total = SourceRef::EffectsTotal { store, lock, resource: r };
    let ((store, lock), r) = place();
    let distinct = SourceRef::EffectsDistinct { store, lock, resource: r };
    for (t, d) in [(10, 10), (12, 11), (13, 12)] {
        poll(&mut s, &[(total.clone(), t), (distinct.clone(), d)]);
    }
    let effects = &s.lock().told.effects[0];
    assert_eq!((effects.total, effects.duplicates), (3, Some(1)));
    assert_eq!(effects.duplicated_seconds, Some(0.0));
    let noted = |s: &Sim| -> Vec<_> {
        let all = s.lock().transitions.into_iter();
        all.filter(|t| t.what == "effects_duplicated").map(|t| t.detail).collect()
    };
    let detail = "mail: 1 effect beyond one for each request since the exporter began to count";
    assert_eq!(noted(&s), [detail]);
    // More of them soon after are counted and no news.
    for (t, d) in [(15, 13), (16, 14)] {
        poll(&mut s, &[(total.clone(), t), (distinct.clone(), d)]);
    }
    assert_eq!((s.lock().told.effects[0].duplicates, noted(&s).len()), (Some(2), 1));
    s.advance(3_602_000);
    assert_eq!(s.lock().told.effects[0].duplicated_seconds, None);
}

/// A lock that has series only while something is wrong shows the counter that somebody should look at.
#[test]
fn a_token_that_fell_and_a_duplicate_need_a_look() {
    let flagged = || LockRules { series: SeriesTier::Flagged, ..guarded() };
    let mut s = Sim::new(2000, None, flagged());
    poll(&mut s, &[(issued(), 5)]);
    assert_eq!(s.lock().tier, None);
    poll(&mut s, &[(issued(), 4)]);
    assert_eq!(s.lock().tier, Some(SeriesTier::Core));
    let mut s = Sim::new(2000, None, flagged());
    let at = || (at(), Arc::<str>::from("mail"));
    let ((store, lock), resource) = at();
    let total = SourceRef::EffectsTotal { store, lock, resource };
    let ((store, lock), resource) = at();
    let distinct = SourceRef::EffectsDistinct { store, lock, resource };
    for t in [10, 11] {
        poll(&mut s, &[(total.clone(), t), (distinct.clone(), 10)]);
        assert_eq!(s.lock().tier, None);
    }
    poll(&mut s, &[(total, 11), (distinct, 10)]);
    assert_eq!(s.lock().tier, Some(SeriesTier::Core));
}

#[test]
fn a_workers_claims_are_shown_while_they_are_read() {
    let mut s = Sim::new(2000, None, rules());
    let mut groups = (*s.state.rules.groups).clone();
    groups[0].claim = Some(redis("hb:{worker}"));
    let changed = crate::derive::Rules { groups: Arc::new(groups), ..s.state.rules.clone() };
    s.state.reconfigure(changed, s.now());
    s.acquire("w1:t", 600_000);
    s.advance(4000);
    let claims = |s: &Sim| {
        let view = View::of(&s.state, Instant { mono: s.now(), wall: 0.0 }, 1);
        let worker = view.workers.into_iter().find(|w| &*w.name == "w1").unwrap();
        worker.claims.iter().map(|(store, lock)| format!("{store}/{lock}")).collect::<Vec<_>>()
    };
    let what = SourceRef::Claim { worker: "w1".into() };
    let claimed = Claimed { store: "main".into(), lock: "lock".into(), fingerprint: None };
    tell(&mut s, what.clone(), Ok(Some(SourceValue::Claims(vec![claimed]))));
    assert_eq!(claims(&s), ["main/lock"]);
    s.advance(6000);
    tell(&mut s, what.clone(), Err(FailReason::Timeout));
    assert_eq!(claims(&s), ["main/lock"]);
    s.advance(2000);
    assert_eq!(claims(&s), [] as [&str; 0]);
    tell(&mut s, what, Ok(None));
    assert_eq!(claims(&s), [] as [&str; 0]);
}

#[test]
fn what_is_to_be_read_follows_workers_and_locks() {
    let mut s = Sim::new(2000, None, guarded());
    let list = s.state.to_read();
    let polls: Vec<_> = list.iter().map(|r: &ToRead| (r.poll.0, &*r.poll.1)).collect();
    let (f, e) = (("fencing", "main"), ("effects", "main"));
    assert_eq!(polls, [f, f, f, e, e, e]);
    assert!(list.iter().all(|r| r.place == Place::Lock && &*r.name == "lock"));
    let mut groups = (*s.state.rules.groups).clone();
    groups[0].claim = Some(redis("hb:{worker}"));
    let changed = crate::derive::Rules { groups: Arc::new(groups), ..s.state.rules.clone() };
    s.state.reconfigure(changed, s.now());
    s.acquire("w1:t", 600_000);
    s.advance(Duration::from_secs(4).as_millis() as u64);
    let list = s.state.to_read();
    let claim = list.iter().find(|r| r.place == Place::Worker).unwrap();
    assert_eq!((claim.poll.0, &*claim.poll.1, &*claim.name), ("claim", "all", "w1"));
}

#[test]
fn sources_of_locks_that_a_reload_took_away_are_read_no_more() {
    let mut s = Sim::new(2000, None, guarded());
    assert!(!s.state.to_read().is_empty());
    let mut fx = Said::default();
    let again = Observation::StoreStarted { store: StoreId(9), name: "main".into(), at: s.now() };
    s.state.step(&again, &mut fx);
    assert!(fx.watch_changed, "no other lock may come whose sources make the list anew");
    assert!(s.state.to_read().is_empty());
}
