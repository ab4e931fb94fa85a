//! What a format says of its locks: an expiry inside the value, locks that never expire, locks left to expire; and what is
//! read beside the key.

use std::time::Duration;

use super::sim::{Sim, held_by, rules, running};
use crate::config::{LockRules, TokenKind};
use crate::derive::{Evidence, Liveness, Signal};
use crate::observe::ServerTime;
use crate::observe::lock::{CompanionValue, Decoded, Endless, Shape, Tells};
use crate::observe::worker::ProcessSeen;

const GONE: ProcessSeen = ProcessSeen::Gone { named_here: false };

/// A lock like jedis-lock's: a number that is the time it ends at, in a key that never expires.
fn inside(until_ms: i64) -> Decoded {
    Decoded {
        expiry_inside: Some(ServerTime::from_ms(until_ms)),
        endless: Endless::Carried,
        ..Decoded::nobody("jedis-lock", Shape::Number)
    }
}

#[test]
fn an_expiry_inside_the_value_is_the_lease() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_000);
    for _ in 0..4 {
        s.show(inside(s.server_ms() + 10_000), None);
        s.advance(4_000);
        let lock = s.lock();
        assert_eq!(lock.held, Some(true));
        let left = lock.remaining_seconds.unwrap();
        assert!((5.4..=6.1).contains(&left), "{left}");
    }
    s.advance(7_000);
    assert_eq!(s.lock().held, Some(false), "past its end it is free although the key is there");
    s.show(inside(s.server_ms() + 10_000), None);
    s.advance(1_000);
    assert_eq!(s.lock().held, Some(true));
    assert_eq!(s.ends(Evidence::Lapsed), 1, "{:#?}", s.lock().transitions);
    s.assert_quiet();
}

#[test]
fn a_lock_that_never_expires_by_default_is_told_only_when_it_is_held_for_too_long() {
    let usual = |token: &str| Decoded { endless: Endless::Usual, ..held_by(token) };
    let max_hold = Some(Duration::from_secs(60));
    let mut s = Sim::new(1_000, None, LockRules { max_hold, ..rules() });
    s.advance(1_000);
    s.show(usual("w:1"), None);
    s.advance(58_000);
    assert_eq!(s.signal(Signal::LeaseWithoutTtl), Some(false));
    s.advance(5_000);
    assert_eq!(s.signal(Signal::LeaseWithoutTtl), Some(true));
    s.vanish();
    s.advance(2_000);
    assert_eq!(s.signal(Signal::LeaseWithoutTtl), Some(false));

    let mut s = Sim::new(1_000, None, rules());
    s.advance(1_000);
    s.show(usual("w:1"), None);
    s.advance(100_000);
    assert_eq!(s.signal(Signal::LeaseWithoutTtl), None, "nothing tells how long is too long");
    s.show(usual("w:1"), Some(s.server_ms() + 10_000));
    s.advance(2_000);
    assert_eq!(s.signal(Signal::LeaseWithoutTtl), Some(false));
}

#[test]
fn a_format_leaves_its_locks_to_expire_unless_the_config_says_otherwise() {
    let left = |token: &str| Decoded { ends_by_expiry: true, ..held_by(token) };
    for (ends_by_expiry, stale) in [(None, None), (Some(false), Some(true)), (Some(true), None)] {
        let mut s = Sim::new(500, None, LockRules { ends_by_expiry, ..rules() });
        s.process = Some(running(7, 0));
        s.advance(1_000);
        s.show(left("w:1"), Some(s.server_ms() + 30_000));
        s.advance(5_000);
        assert_eq!(s.lock().left_to_expire, stale.is_none());
        s.process = Some(GONE);
        s.advance(3_000);
        assert_eq!(s.signal(Signal::HolderStale), stale, "{ends_by_expiry:?}");
    }
}

#[test]
fn a_format_that_always_renews_is_overdue_in_its_first_tenure() {
    let renews = |token: &str| Decoded {
        always_renews: Some(0.3),
        default_lease: Some(Duration::from_secs(30)),
        ..held_by(token)
    };
    let mut s = Sim::new(1_000, None, rules());
    s.advance(1_000);
    s.show(renews("w:1"), Some(s.server_ms() + 30_000));
    // P + (L - P) / 2 = 9 s + 10.5 s, from the acquire as far as one look after it tells.
    let took = s.until_up(Signal::RenewalOverdue, 25_000, 100, |_| {});
    assert!((19_000..=20_000).contains(&took), "{took}");
}

#[test]
fn a_format_that_always_renews_is_not_overdue_for_a_shorter_lease_than_its_own() {
    let renews = |token: &str| Decoded {
        always_renews: Some(0.5),
        default_lease: Some(Duration::from_secs(5)),
        ..held_by(token)
    };
    let mut s = Sim::new(200, None, rules());
    // There before the first look, with a lease of 2.5 s.
    s.show(renews("w:1"), Some(s.server_ms() + 1_300));
    for _ in 0..8 {
        s.advance(1_250);
        assert_ne!(s.signal(Signal::RenewalOverdue), Some(true));
        s.show(renews("w:1"), Some(s.server_ms() + 2_500));
    }
}

#[test]
fn the_key_beside_names_the_worker_if_its_holder_is_still_there_afterwards() {
    let opaque = |token: &str| Decoded { tokens: TokenKind::PerAcquire, ..held_by(token) };
    let mut s = Sim::new(500, None, rules());
    s.process = Some(running(7, 0));
    s.beside = vec![(Tells::Worker, CompanionValue::Text("paint-1".into()))];
    s.advance(1_000);
    s.show(opaque("8eaa7cee"), Some(s.server_ms() + 30_000));
    s.advance(600);
    assert_eq!(&*s.lock().holders[0].worker, "", "one read does not tell whose name it is");
    s.advance(600);
    assert_eq!(&*s.lock().holders[0].worker, "paint-1");
    s.advance(1_000);
    assert_eq!(s.lock().liveness, Some(Liveness::Alive));
    assert_eq!(s.lock().counts.acquisitions, 1);
    s.process = Some(GONE);
    s.until_up(Signal::HolderStale, 2_000, 100, |_| {});
    // The next holder is not the one before, whatever was read beside it.
    s.beside = vec![(Tells::Worker, CompanionValue::Missing)];
    s.show(opaque("435691b5"), Some(s.server_ms() + 30_000));
    s.advance(2_000);
    assert_eq!(&*s.lock().holders[0].worker, "");
    assert_eq!(s.lock().previous.unwrap().0.as_ref(), "paint-1");
}

#[test]
fn an_owner_index_names_who_the_token_does_not() {
    let mut s = Sim::new(500, None, rules());
    s.process = Some(running(7, 0));
    s.advance(1_000);
    s.show(held_by("opaque"), Some(s.server_ms() + 60_000));
    s.advance(1_000);
    let begun = |s: &Sim| s.lock().transitions.into_iter().map(|t| t.detail).collect::<Vec<_>>();
    assert_eq!(begun(&s), ["by an unattributed holder"]);
    s.index(&[("opaque", Some("orders-1")), ("other", Some("orders-2"))]);
    s.advance(2_000);
    assert_eq!(&*s.lock().holders[0].worker, "orders-1");
    assert_eq!(begun(&s), ["by orders-1"], "who it was is known now");
    assert_eq!(s.lock().liveness, Some(Liveness::Alive));
    s.index(&[("opaque", None)]);
    s.advance(1_000);
    assert_eq!(&*s.lock().holders[0].worker, "orders-1", "an index takes nothing back");
    s.index(&[("opaque", Some("orders-2"))]);
    s.advance(1_000);
    assert_eq!(&*s.lock().holders[0].worker, "orders-2");
    assert_eq!((s.lock().counts.acquisitions, begun(&s)), (1, vec!["by orders-1".to_owned()]));
}

#[test]
fn waiters_and_issued_tokens_are_kept_with_their_time_and_grow_old() {
    let mut s = Sim::new(500, None, rules());
    s.beside = vec![
        (Tells::Waiters, CompanionValue::Number(3)),
        (Tells::FencingToken, CompanionValue::Number(41)),
    ];
    s.advance(1_000);
    s.show(held_by("w:1"), Some(s.server_ms() + 60_000));
    s.advance(10_000);
    let lock = s.lock();
    assert_eq!(lock.waiters, Some(3));
    assert!((9.0..=11.0).contains(&lock.counts.waiting_seconds.unwrap()), "{:?}", lock.counts);
    let issued = s.state.stores.values().next().unwrap().locks.values().next().unwrap();
    assert_eq!(issued.beside.issued.unwrap().token, Some(41));
    s.beside.clear();
    s.advance(5_000);
    assert_eq!(s.lock().waiters, None, "that was long ago");
}

#[test]
fn who_only_waits_holds_nothing() {
    let waits = Decoded { waiters: Some(1), ..Decoded::nobody("medallion", Shape::Text) };
    let mut s = Sim::new(500, None, rules());
    s.advance(1_000);
    s.show(waits, Some(s.server_ms() + 60_000));
    s.advance(2_000);
    let lock = s.lock();
    assert_eq!((lock.held, lock.waiters, lock.fresh), (Some(false), Some(1), true));
    s.vanish();
    s.advance(1_000);
    assert_eq!(s.lock().waiters, Some(0));
    s.assert_quiet();
}
