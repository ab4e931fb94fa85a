//! What is said of why a holder has no name, a key cannot be read, or tokens tell nothing: it points to what is configured.

use std::sync::Arc;
use std::time::Duration;

use super::sim::{Sim, held_by, rules};
use crate::config::{Fencing, LiveList, LockRules, Preset, RedisPart, Source, TokenKind};
use crate::derive::lock::Shown;
use crate::derive::{BlindReason, Rules};
use crate::observe::Observation;
use crate::observe::lock::{CompanionValue, Decoded, Shape, Tells};
use crate::observe::source::{ListMember, ListRead};
use crate::view::{Aspect, Hint, LockView, Namer, Reuse};

const HOUR: i64 = 3_600_000;

fn anonymous() -> LockRules {
    LockRules { holder: None, ..rules() }
}

fn with(rules: LockRules, change: impl FnOnce(&mut Rules)) -> Sim {
    let mut s = Sim::new(2000, None, rules);
    let mut rules = s.state.rules.clone();
    change(&mut rules);
    s.state.reconfigure(rules, s.now());
    s
}

fn indexed(rules: LockRules) -> Sim {
    with(rules, |r| r.owner_indexes = [Arc::from("main")].into())
}

fn listed(preset: Preset) -> Sim {
    let list = LiveList {
        name: "fleet".into(),
        store: "main".into(),
        preset,
        refresh: Duration::from_secs(10),
    };
    let rules = LockRules { listed_in: Some("fleet".into()), ..anonymous() };
    with(rules, |r| r.live_workers = Arc::new(vec![list]))
}

fn tell(s: &mut Sim, names: &[&str]) {
    let members =
        names.iter().map(|n| ListMember { name: (*n).into(), beat: None, is_job: false }).collect();
    let (list, span) = ("fleet".into(), s.span());
    s.step(Observation::List(Box::new(ListRead { list, span, members: Ok(members) })));
}

/// Why the lock's holder cannot be judged, and what more is said of it.
fn of_holder(s: &Sim) -> (Vec<BlindReason>, Vec<Hint>) {
    let lock = s.lock();
    let holder = |aspect: Aspect| aspect == Aspect::Holder;
    let reasons = lock.blind.iter().filter(|(a, _)| holder(*a)).map(|(_, r)| *r).collect();
    (reasons, hints(&lock, Aspect::Holder))
}

fn hints(lock: &LockView, aspect: Aspect) -> Vec<Hint> {
    lock.hints.iter().filter(|(a, _)| *a == aspect).map(|(_, hint)| hint.clone()).collect()
}

fn hold(s: &mut Sim, token: &str) {
    s.show(held_by(token), Some(s.server_ms() + HOUR));
    s.advance(4_000);
}

#[test]
fn a_token_that_an_index_does_not_have_is_opaque_to_it() {
    let mut s = indexed(anonymous());
    hold(&mut s, "t1");
    let opaque = vec![BlindReason::OpaqueToken];
    assert_eq!(of_holder(&s), (opaque.clone(), vec![Hint::Unnamed(vec![Namer::UnreadIndex])]));
    s.index(&[("t1", None)]);
    s.advance(2_000);
    assert_eq!(of_holder(&s), (opaque.clone(), vec![Hint::Unnamed(vec![Namer::Index])]));
    s.index(&[("t1", Some("w1"))]);
    s.advance(2_000);
    assert_eq!(of_holder(&s), (vec![], vec![]));
    // With a pattern it is both that do not name it, and without anything nobody was asked.
    let mut s = indexed(rules());
    hold(&mut s, "no colon");
    let both = Hint::Unnamed(vec![Namer::Pattern, Namer::UnreadIndex]);
    assert_eq!(of_holder(&s), (opaque, vec![both]));
    let mut s = with(anonymous(), |_| ());
    hold(&mut s, "t1");
    assert_eq!(of_holder(&s), (vec![BlindReason::NotConfigured], vec![]));
}

#[test]
fn a_list_that_does_not_name_the_holder_says_when_that_counts() {
    let mut s = listed(Preset::Rq);
    hold(&mut s, "t1");
    assert_eq!(
        of_holder(&s),
        (vec![BlindReason::NoHistory], vec![Hint::ListUnread("fleet".into())])
    );
    tell(&mut s, &["w2"]);
    s.advance(10_000);
    tell(&mut s, &["w2"]);
    let (reasons, hints) = of_holder(&s);
    assert_eq!(reasons, [BlindReason::NoHistory]);
    match hints.as_slice() {
        [Hint::NotInList(list, left)] => {
            assert!(&**list == "fleet" && (49.0..=50.5).contains(left), "{left}");
        }
        other => panic!("{other:?}"),
    }
    for _ in 0..6 {
        s.advance(10_000);
        tell(&mut s, &["w2"]);
    }
    assert_eq!(of_holder(&s), (vec![], vec![]), "it counts now");
    tell(&mut s, &["t1"]);
    assert_eq!(of_holder(&s), (vec![], vec![]), "it is named");
}

#[test]
fn a_list_that_never_named_anybody_says_which() {
    let queue = Preset::BullMq { queue: "mails".into() };
    let silent = Hint::ListNamesNobody("fleet".into());
    for (preset, hint) in [(Preset::Rq, silent), (queue, Hint::BullMqNamesNobody("fleet".into()))] {
        let mut s = listed(preset);
        hold(&mut s, "t1");
        tell(&mut s, &[]);
        assert_eq!(of_holder(&s), (vec![BlindReason::NoHistory], vec![hint]));
    }
}

#[test]
fn a_key_that_no_format_reads_is_told_as_what_it_is() {
    let declared = LockRules { format: Some("redisson".into()), ..anonymous() };
    let mut s = with(declared, |_| ());
    let looks_like = Some("redlock");
    let misfit = Decoded { misfit: true, looks_like, ..Decoded::nobody("redisson", Shape::Text) };
    s.show(misfit, Some(s.server_ms() + HOUR));
    s.advance(4_000);
    let lock = s.lock();
    assert!(lock.blind.contains(&(Aspect::Lease, BlindReason::Unsupported)));
    let shown = Shown { shape: Shape::Text, looks_like };
    assert_eq!(hints(&lock, Aspect::Lease), [Hint::Shows(shown, Some("redisson".into()))]);
    let risen = lock.transitions.iter().find(|t| t.what == "shape_unexpected").unwrap();
    assert_eq!(
        risen.detail,
        "the key is a string that looks like redlock, nothing that redisson writes"
    );
    let mut s = with(anonymous(), |_| ());
    s.show(Decoded::nobody("unknown", Shape::List), None);
    s.advance(4_000);
    let shown = Shown { shape: Shape::List, looks_like: None };
    assert_eq!(hints(&s.lock(), Aspect::Lease), [Hint::Shows(shown, None)]);
}

#[test]
fn that_tokens_are_used_again_is_said_as_it_is_known() {
    let reuse = |rules: LockRules, value: Decoded| {
        let mut s = with(rules, |_| ());
        s.show(value, Some(s.server_ms() + HOUR));
        s.advance(4_000);
        hints(&s.lock(), Aspect::Token)
    };
    let reusable = || Decoded { tokens: TokenKind::Reusable, format: "redisson", ..held_by("t1") };
    let by_design = || Decoded { reuses_tokens: true, ..reusable() };
    let kind = |token| LockRules { token, ..anonymous() };
    assert_eq!(reuse(kind(None), reusable()), [Hint::Reuse(Reuse::Possible)]);
    assert_eq!(reuse(kind(None), by_design()), [Hint::Reuse(Reuse::Design("redisson"))]);
    let config = kind(Some(TokenKind::Reusable));
    assert_eq!(reuse(config, by_design()), [Hint::Reuse(Reuse::Config)]);
    assert_eq!(reuse(kind(Some(TokenKind::PerAcquire)), by_design()), []);
    let fresh = Decoded { tokens: TokenKind::PerAcquire, ..reusable() };
    assert_eq!(reuse(kind(None), fresh), []);
}

#[test]
fn tokens_that_are_issued_and_checked_by_nobody_are_told_as_such() {
    let issued = Source::Redis {
        store: "main".into(),
        key: "fence".into(),
        part: RedisPart::Text,
        json: None,
    };
    let fencing = Fencing { issued: Some(issued), accepted: vec![], rejected: vec![] };
    let s = {
        let mut s = with(LockRules { fencing: Some(fencing), ..anonymous() }, |_| ());
        s.advance(4_000);
        s
    };
    assert_eq!(hints(&s.lock(), Aspect::Fencing), [], "none was seen yet, which is told instead");
    let mut s = with(anonymous(), |_| ());
    hold(&mut s, "t1");
    assert_eq!(hints(&s.lock(), Aspect::Fencing), [], "it has no tokens");
    s.beside = vec![(Tells::FencingToken, CompanionValue::Number(41))];
    s.advance(4_000);
    assert_eq!(hints(&s.lock(), Aspect::Fencing), [Hint::NoResource], "its library has");
}
