//! A worker goes on writing that it holds what another one holds.

use std::sync::Arc;

use proptest::prelude::*;

use super::{assert_nothing, assert_proven, counted, has_series};
use crate::config::{RedisPart, Source};
use crate::derive::tests::sim::{Sim, rules};
use crate::derive::{ContentionKind, Signal};
use crate::observe::source::{Claimed, SourceRead, SourceRef, SourceValue};
use crate::observe::{Observation, Token};

const KIND: ContentionKind = ContentionKind::Claim;

/// A lock whose workers claim, held by the first one.
fn watched() -> Sim {
    let mut s = Sim::new(1_000, None, rules());
    let mut groups = (*s.state.rules.groups).clone();
    groups[0].claim = Some(Source::Redis {
        store: "main".into(),
        key: "hb:{worker}".into(),
        part: RedisPart::Text,
        json: Some("/locks".into()),
    });
    let changed = crate::derive::Rules { groups: Arc::new(groups), ..s.state.rules.clone() };
    s.state.reconfigure(changed, s.now());
    s.beat = Some(1);
    s.advance(1_500);
    s.acquire("w:1", 90_000);
    for _ in 0..4 {
        turn(&mut s, "w", true, Some(Some("w:1")));
    }
    s
}

/// A poll, in which a worker beats or does not, and then its claim is read: with this token, without one, or none.
fn turn(s: &mut Sim, worker: &str, beats: bool, claim: Option<Option<&str>>) {
    if beats {
        s.beat();
    }
    s.advance(1_000);
    claims(s, worker, claim);
    s.advance(10);
}

fn claims(s: &mut Sim, worker: &str, claim: Option<Option<&str>>) {
    let claimed = claim.map(|token| Claimed {
        store: "main".into(),
        lock: "lock".into(),
        fingerprint: token.map(|t| Token::new(t.as_bytes()).fingerprint()),
    });
    let value = Ok(Some(SourceValue::Claims(claimed.into_iter().collect())));
    let source = SourceRef::Claim { worker: worker.into() };
    let span = s.span();
    s.step(Observation::Source(Box::new(SourceRead { source, span, value })));
}

fn taken_by(s: &mut Sim, token: &str) {
    s.key = None;
    s.acquire(token, 90_000);
    s.advance(1_100);
}

#[test]
fn one_that_goes_on_claiming_is_proven_as_long_as_it_does() {
    for token in [Some("w:1"), None] {
        let mut s = watched();
        assert!(has_series(&s, KIND));
        assert_nothing(&s, "its own");
        taken_by(&mut s, "v:2");
        turn(&mut s, "w", true, Some(token));
        turn(&mut s, "w", true, Some(token));
        assert_nothing(&s, "what may have been written before");
        turn(&mut s, "w", true, Some(token));
        assert_proven(&s, KIND);
        let proof = s.lock().contention.remove(0);
        let owners: Vec<_> = proof.owners.iter().map(|o| o.worker.as_deref()).collect();
        assert_eq!(owners, [Some("w"), Some("v")]);
        for _ in 0..80 {
            turn(&mut s, "w", true, Some(token));
        }
        assert_proven(&s, KIND);
        turn(&mut s, "w", true, None);
        s.advance(1_000);
        assert_eq!(s.signal(Signal::Contested), Some(false), "it is over");
        assert_eq!(counted(&s), [(KIND, 1)]);
    }
}

#[test]
fn it_is_over_when_the_other_one_lets_go_or_nothing_is_read() {
    let mut s = watched();
    taken_by(&mut s, "v:2");
    (0..3).for_each(|_| turn(&mut s, "w", true, Some(None)));
    assert_proven(&s, KIND);
    s.release("v:2");
    turn(&mut s, "w", true, Some(None));
    assert_eq!(s.signal(Signal::Contested), Some(false));
    let mut s = watched();
    taken_by(&mut s, "v:2");
    (0..3).for_each(|_| turn(&mut s, "w", true, Some(None)));
    s.advance(5_000);
    assert_eq!(s.signal(Signal::Contested), Some(false), "its claim was not read any more");
    assert_eq!(counted(&s), [(KIND, 1)]);
}

#[test]
fn what_proves_nothing() {
    type Then = fn(&mut Sim);
    let cases: [(&str, &str, Then); 7] = [
        ("a claim that was written before and stands there", "v:2", |s| {
            (0..9).for_each(|_| turn(s, "w", false, Some(Some("w:1"))));
        }),
        ("it learns of it within two beats", "v:2", |s| {
            (0..2).for_each(|_| turn(s, "w", true, Some(Some("w:1"))));
            (0..4).for_each(|_| turn(s, "w", true, None));
        }),
        ("now and then", "v:2", |s| {
            for _ in 0..4 {
                (0..2).for_each(|_| turn(s, "w", true, Some(Some("w:1"))));
                turn(s, "w", true, None);
            }
        }),
        ("its own by another token", "w:2", |s| {
            (0..5).for_each(|_| turn(s, "w", true, Some(Some("w:1"))));
        }),
        ("the holder's own token, named otherwise", "v:2", |s| {
            (0..5).for_each(|_| turn(s, "w", true, Some(Some("v:2"))));
        }),
        ("the holder's own claim", "v:2", |s| {
            (0..5).for_each(|_| turn(s, "v", true, Some(None)));
        }),
        ("the lock is its own again", "v:2", |s| {
            (0..2).for_each(|_| turn(s, "w", true, Some(None)));
            s.key = None;
            s.acquire("w:3", 90_000);
            (0..6).for_each(|_| turn(s, "w", true, Some(Some("w:3"))));
        }),
    ];
    for (name, next, then) in cases {
        let mut s = watched();
        taken_by(&mut s, next);
        then(&mut s);
        assert_nothing(&s, name);
    }
    let s = Sim::new(1_000, None, rules());
    assert!(!has_series(&s, KIND), "nobody claims");
}

/// Another worker took the lock, and its claim is read before the read of the key that shows it.
#[test]
fn a_claim_that_is_known_before_the_key_is_read_proves_nothing() {
    let mut s = watched();
    taken_by(&mut s, "v:2");
    (0..2).for_each(|_| turn(&mut s, "w", true, Some(None)));
    s.beat();
    s.advance(1_000);
    s.key = None;
    s.acquire("w:5", 90_000);
    claims(&mut s, "w", Some(None));
    s.advance(3_000);
    assert_nothing(&s, "the key shows the claimant at its next read");
}

proptest! {
    /// Hand-overs between two workers that each claim what they hold and stop within a beat of losing it.
    #[test]
    fn workers_that_learn_of_it_are_never_taken_for_contending(
        steps in proptest::collection::vec((0..3_usize, 1..4_usize, any::<bool>()), 1..25),
    ) {
        let mut s = watched();
        let mut before: Option<usize> = Some(2);
        for (n, (who, turns, late)) in steps.into_iter().enumerate() {
            s.key = None;
            let names = ["a", "b", "w"];
            s.acquire(&format!("{}:n{n}", names[who]), 90_000);
            for t in 0..turns {
                s.beat();
                s.advance(1_000);
                for (w, name) in names.iter().enumerate() {
                    let lingers = late && t == 0 && before == Some(w);
                    claims(&mut s, name, (w == who || lingers).then_some(None));
                }
                s.advance(10);
            }
            before = Some(who);
        }
        prop_assert_eq!(counted(&s), []);
    }
}
