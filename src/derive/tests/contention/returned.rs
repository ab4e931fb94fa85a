//! A token that was new for one acquire comes back after another owner.

use proptest::prelude::*;

use super::{assert_nothing, assert_proven, counted, has_series};
use crate::config::{LockRules, TokenKind};
use crate::derive::tests::sim::{Sim, rules};
use crate::derive::{ContentionKind, Signal};

const KIND: ContentionKind = ContentionKind::TokenReturned;

/// Two owners, seen by two polls each, one after the other.
fn handed_over(rules: LockRules, first: &str, second: &str) -> Sim {
    let mut s = Sim::new(1_000, None, rules);
    s.advance(2_500);
    for token in [first, second] {
        s.key = None;
        s.acquire(token, 90_000);
        s.advance(3_000);
    }
    s
}

fn written_again(s: &mut Sim, token: &str) {
    s.key = None;
    s.acquire(token, 30_000);
    s.advance(2_500);
}

#[test]
fn a_token_that_returns_after_another_owner_is_proven_until_both_leases_are_over() {
    let mut s = handed_over(rules(), "w:1", "v:2");
    assert!(has_series(&s, KIND));
    assert_nothing(&s, "a hand-over");
    written_again(&mut s, "w:1");
    assert_proven(&s, KIND);
    let view = s.lock();
    let owners: Vec<_> = view.contention[0].owners.iter().map(|o| o.worker.as_deref()).collect();
    assert_eq!(owners, [Some("w"), Some("v")]);
    assert!(view.contention[0].owners.iter().all(|o| o.fingerprint.is_some()));
    s.key = None;
    s.advance(80_000);
    assert_eq!(s.signal(Signal::Contested), Some(true), "the other one's lease is not over");
    s.advance(10_000);
    assert_eq!(s.signal(Signal::Contested), Some(false));
    assert_eq!(s.rises(Signal::Contested), 1);
}

/// The answer to an acquire may have been lost: its client waits on with the same token, and gets the lock when it is free.
#[test]
fn one_that_ran_out_untouched_and_comes_into_a_free_lock_proves_nothing() {
    for (name, is_renewed, is_free, is_proven) in [
        ("a second try", false, true, false),
        ("renewed: its owner knew", true, true, true),
        ("written over the other one", false, false, true),
    ] {
        let mut s = Sim::new(1_000, None, rules());
        s.advance(2_500);
        s.acquire("w:1", 4_000);
        s.advance(2_500);
        if is_renewed {
            s.renew("w:1", 4_000);
        }
        s.advance(6_000);
        s.key = None;
        s.acquire("v:2", 30_000);
        s.advance(3_000);
        if is_free {
            s.key = None;
            s.advance(1_500);
        }
        written_again(&mut s, "w:1");
        let is_counted = counted(&s).iter().any(|(kind, _)| *kind == KIND);
        assert_eq!(is_counted, is_proven, "{name}");
    }
}

#[test]
fn what_proves_nothing() {
    type Between = fn(&mut Sim);
    let cases: [(&str, Between); 3] = [
        ("a read failed between", |s| {
            s.is_down = true;
            s.advance(1_000);
            s.is_down = false;
        }),
        ("the server was restarted between", |s| {
            s.run_id += 1;
            s.connection += 1;
            s.advance(1_000);
        }),
        ("we stood still between", |s| {
            s.is_asleep = true;
            s.advance(9_000);
            s.is_asleep = false;
        }),
    ];
    for (name, between) in cases {
        let mut s = handed_over(rules(), "w:1", "v:2");
        between(&mut s);
        written_again(&mut s, "w:1");
        // A server that was restarted lost it from somebody, which is another proof.
        assert!(counted(&s).iter().all(|(kind, _)| *kind != KIND), "{name}");
    }
    let reusable = LockRules { token: Some(TokenKind::Reusable), ..rules() };
    let mut s = handed_over(reusable, "w:1", "v:2");
    written_again(&mut s, "w:1");
    assert_nothing(&s, "tokens that are used again");
    assert!(!has_series(&s, KIND));
    for (name, second) in [("nobody between", "w:1"), ("its own other token", "w:2")] {
        let mut s = handed_over(rules(), "w:1", second);
        written_again(&mut s, "w:1");
        assert_nothing(&s, name);
    }
    // A read of the first one that was overtaken by two of the second one.
    let mut s = handed_over(rules(), "w:1", "v:2");
    let key = s.key.take();
    s.acquire("w:1", 30_000);
    s.ms -= 1_500;
    s.read_key();
    s.ms += 1_500;
    s.key = key;
    s.advance(3_000);
    assert_nothing(&s, "overtaken");
    // An attempt of a client that needs more servers than this, and that tries again with the same token.
    let mut s = Sim::new(1_000, None, rules());
    s.advance(2_500);
    for token in ["w:1", "v:2", "w:1", "v:2", "w:1"] {
        s.key = None;
        s.acquire(token, 30_000);
        s.advance(1_000);
    }
    assert_nothing(&s, "attempts that are gone at once");
}

proptest! {
    /// Owners come and go, held for any time and free for any time, each with a token of its own.
    #[test]
    fn tokens_that_are_new_with_each_acquire_never_return(
        holds in proptest::collection::vec((0..3_usize, 100_u64..6_000, 0_u64..3_000, any::<bool>()), 1..20),
    ) {
        let mut s = Sim::new(1_000, None, rules());
        s.advance(2_500);
        for (n, (worker, hold, free, is_let_go)) in holds.into_iter().enumerate() {
            if is_let_go {
                s.key = None;
                s.advance(free);
            }
            s.key = None;
            s.acquire(&format!("w{worker}:{n}"), 10_000);
            s.advance(hold);
        }
        prop_assert_eq!(counted(&s), []);
    }

    /// Whatever lies between: other owners, and free for any time.
    #[test]
    fn one_that_was_seen_and_comes_back_is_always_found(
        others in proptest::collection::vec((2_100_u64..6_000, 0_u64..3_000), 1..7),
        hold in 2_100_u64..9_000,
    ) {
        let mut s = Sim::new(1_000, None, rules());
        s.advance(2_500);
        s.acquire("w:1", 600_000);
        s.advance(hold);
        for (n, (hold, free)) in others.into_iter().enumerate() {
            s.key = None;
            s.advance(free);
            s.acquire(&format!("v{n}:x"), 600_000);
            s.advance(hold);
        }
        s.key = None;
        s.acquire("w:1", 600_000);
        s.advance(1_100);
        prop_assert_eq!(counted(&s), [(KIND, 1)]);
        prop_assert_eq!(s.signal(Signal::Contested), Some(true));
    }
}
