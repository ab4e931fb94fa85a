//! Values of any kind, one after the other, with anything told beside them: whatever a key shows, nothing breaks, counters
//! do not fall, and who holds is held consistently.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::sim::{Sim, holding, rules, running};
use crate::config::{LockRules, TokenKind};
use crate::derive::Signal;
use crate::observe::lock::{
    Companion, CompanionPart, CompanionValue, Decoded, Endless, Holding, Mode, Shape, Sharing,
    Tells,
};
use crate::observe::{Expiry, ServerTime};

const SHAPES: [Shape; 6] =
    [Shape::Text, Shape::Number, Shape::Json, Shape::OwnerHash, Shape::Zset, Shape::List];

/// Milliseconds from now.
fn soon() -> impl Strategy<Value = i64> {
    prop_oneof![-5_000i64..20_000, select(vec![i64::MIN / 4000, 0, i64::MAX / 4000])]
}

#[derive(Clone, Debug)]
struct Member {
    token: &'static str,
    count: u64,
    mode: Mode,
    until: Option<i64>,
}

fn member() -> impl Strategy<Value = Member> {
    let modes = vec![Mode::Exclusive, Mode::Read, Mode::Write, Mode::Permit];
    let tokens = vec!["a:1", "a:2", "b:1", "opaque", "c:1"];
    (select(tokens), 0u64..5, select(modes), option::of(soon()))
        .prop_map(|(token, count, mode, until)| Member { token, count, mode, until })
}

/// What the key shows for a while, and what is told beside it.
#[derive(Clone, Debug)]
struct Scene {
    present: bool,
    members: Vec<Member>,
    sharing: Sharing,
    shape: Shape,
    inside: Option<i64>,
    expiry: Option<i64>,
    waiters: Option<u64>,
    misfit: bool,
    beside: Vec<(Tells, CompanionValue)>,
    asks_beside: bool,
    lasts: u64,
}

fn told() -> impl Strategy<Value = (Tells, CompanionValue)> {
    let value = prop_oneof![
        Just(CompanionValue::Missing),
        Just(CompanionValue::Until(Expiry::Never)),
        (1_700_001_000_000i64..1_700_001_090_000)
            .prop_map(|ms| CompanionValue::Until(Expiry::At(ServerTime::from_ms(ms)))),
        any::<i64>().prop_map(CompanionValue::Number),
        select(vec!["a", "", "7", "-1"]).prop_map(|t| CompanionValue::Text(t.into())),
    ];
    let tells = prop_oneof![
        select(vec![Tells::FencingToken, Tells::Waiters, Tells::Worker, Tells::Stalled]),
        (0u16..6).prop_map(Tells::HolderExpiry),
    ];
    (tells, value)
}

fn scene() -> impl Strategy<Value = Scene> {
    let sharings = vec![Sharing::Exclusive, Sharing::ReadWrite, Sharing::Permits(None)];
    let value = (vec(member(), 0..5), select(sharings), select(SHAPES.to_vec()));
    let times = (option::weighted(0.1, soon()), option::of(soon()), 1u64..4_000);
    let rest = (option::weighted(0.2, 0u64..3), any::<[bool; 3]>(), vec(told(), 0..4));
    (value, times, rest).prop_map(|(value, times, rest)| Scene {
        present: rest.1[0] || rest.1[1],
        members: value.0,
        sharing: value.1,
        shape: value.2,
        inside: times.0,
        expiry: times.1,
        lasts: times.2,
        waiters: rest.0,
        misfit: rest.1[0] && rest.1[2],
        asks_beside: rest.1[1],
        beside: rest.2,
    })
}

fn show(s: &mut Sim, scene: &Scene) {
    let now = s.server_ms();
    let at = |ms: i64| ServerTime::from_ms(now.saturating_add(ms));
    let companion = |(i, _)| Companion {
        key: Arc::from(&b"beside"[..]),
        part: CompanionPart::Expiry,
        tells: Tells::HolderExpiry(i),
    };
    let value = Decoded {
        tokens: TokenKind::PerAcquire,
        holders: scene
            .members
            .iter()
            .map(|m| Holding {
                count: m.count,
                mode: m.mode,
                until: m.until.map(at),
                refreshed_ms: None,
                ..holding(m.token)
            })
            .collect(),
        sharing: scene.sharing,
        endless: Endless::Usual,
        expiry_inside: scene.inside.map(at),
        waiters: scene.waiters,
        misfit: scene.misfit,
        companions: match scene.asks_beside {
            true => (0u16..).zip(&scene.members).map(companion).collect(),
            false => Vec::new(),
        },
        ..Decoded::nobody("any", scene.shape)
    };
    s.beside.clone_from(&scene.beside);
    if scene.present {
        s.show(value, scene.expiry.map(|ms| now.saturating_add(ms)));
    } else {
        s.vanish();
    }
    s.read_key();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_key_shows_nothing_breaks(scenes in vec(scene(), 1..25), by_key: bool, dies in 0usize..25) {
        let rules = LockRules { by_key, workers: vec!["a".into()], ..rules() };
        let mut s = Sim::new(700, None, rules);
        s.process = Some(running(7, 0));
        for (i, scene) in scenes.iter().enumerate() {
            if i == dies {
                s.processes.insert("a".into(), super::cases::GONE);
            }
            show(&mut s, scene);
            s.advance(scene.lasts);
            let store = s.state.stores.values().next().unwrap();
            let lock = store.locks.values().next().unwrap();
            let seated = lock.tenures().filter(|t| t.worker().is_some()).count();
            let held: usize = s.state.workers.by_name.values().flat_map(|w| w.holds.values()).map(Vec::len).sum();
            prop_assert_eq!(held, seated, "what workers hold is what the lock says they do");
            if by_key || lock.is_lock() {
                let view = s.lock();
                if view.held == Some(false) {
                    prop_assert!(view.holders.is_empty() && view.holders_beyond == 0);
                    prop_assert_ne!(s.signal(Signal::HolderStale), Some(true));
                }
                let tokens: std::collections::BTreeSet<_> = view.holders.iter().map(|h| &h.fingerprint).collect();
                prop_assert_eq!(tokens.len(), view.holders.len(), "each owner once");
            }
        }
        s.beside.clear();
        s.vanish();
        s.advance(5_000);
        prop_assert!(s.state.workers.by_name.values().all(|w| w.holds.is_empty()));
    }
}
