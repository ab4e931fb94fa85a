//! Locks that several hold: each holder is judged by its own expiry and its own worker, the lock shows the worst.

use std::sync::Arc;

use proptest::prelude::*;

use super::sim::{Sim, held_by, holding, rules, running};
use crate::config::{LockRules, TokenKind};
use crate::derive::{Evidence, Liveness, Signal};
use crate::observe::lock::{
    Companion, CompanionPart, CompanionValue, Decoded, Endless, Holding, Mode, Shape, Sharing,
    Tells,
};
use crate::observe::worker::ProcessSeen;
use crate::observe::{Expiry, ServerTime};

const GONE: ProcessSeen = ProcessSeen::Gone { named_here: false };

/// A semaphore whose members carry their own expiries, in milliseconds of the server's clock.
pub(super) fn permits(members: &[(&str, i64)]) -> Decoded {
    let holder = |(token, until): &(&str, i64)| Holding {
        mode: Mode::Permit,
        until: Some(ServerTime::from_ms(*until)),
        ..holding(token)
    };
    Decoded {
        tokens: TokenKind::PerAcquire,
        holders: members.iter().map(holder).collect(),
        sharing: Sharing::Permits(Some(3)),
        endless: Endless::Carried,
        ..Decoded::nobody("semaphore", Shape::Zset)
    }
}

/// Readers in a set; the key's expiry is of all of them.
fn readers(tokens: &[&str]) -> Decoded {
    let holder = |token: &&str| Holding { mode: Mode::Read, ..holding(token) };
    Decoded {
        tokens: TokenKind::PerAcquire,
        holders: tokens.iter().map(holder).collect(),
        sharing: Sharing::ReadWrite,
        ..Decoded::nobody("readers", Shape::Set)
    }
}

/// The same with an expiry of each beside the key.
pub(super) fn readers_beside(tokens: &[&str]) -> Decoded {
    let companion = |i: usize| Companion {
        key: Arc::from(format!("rwlock_timeout:{i}").as_bytes()),
        part: CompanionPart::Expiry,
        tells: Tells::HolderExpiry(u16::try_from(i).unwrap()),
    };
    Decoded { companions: (0..tokens.len()).map(companion).collect(), ..readers(tokens) }
}

pub(super) fn until(ms: i64) -> CompanionValue {
    CompanionValue::Until(Expiry::At(ServerTime::from_ms(ms)))
}

#[test]
fn each_holder_of_a_semaphore_has_its_own_lease() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_100);
    let start = s.server_ms();
    s.show(permits(&[("a:1", start + 10_000), ("b:1", start + 20_000)]), None);
    s.advance(1_000);
    let lock = s.lock();
    assert_eq!((lock.held, lock.holders.len(), lock.limit), (Some(true), 2, Some(3)));
    let left = lock.remaining_seconds.unwrap();
    assert!((8.9..=9.1).contains(&left), "the first to end: {left}");
    let of = |s: &Sim, name: &str| s.lock().holders.into_iter().find(|h| &*h.worker == name);
    assert!((18.9..=19.1).contains(&of(&s, "b").unwrap().remaining_seconds.unwrap()));
    assert_eq!(of(&s, "a").unwrap().mode, Mode::Permit);
    // One renews, the other does not: its expiry passes while its member stays in the key.
    for k in 1..=6 {
        s.show(permits(&[("a:1", start + 10_000), ("b:1", start + 20_000 + 2_000 * k)]), None);
        s.advance(2_000);
    }
    assert!(of(&s, "a").is_none(), "{:#?}", s.lock().holders);
    assert_eq!((s.lock().counts.renewals, s.lock().counts.acquisitions), (6, 2));
    assert_eq!(s.ends(Evidence::Lapsed), 1, "{:#?}", s.lock().transitions);
    // Another comes, and all go.
    s.show(permits(&[("b:1", s.server_ms() + 20_000), ("c:1", s.server_ms() + 20_000)]), None);
    s.advance(3_000);
    assert_eq!(s.lock().holders.len(), 2);
    s.vanish();
    s.advance(2_000);
    assert_eq!((s.lock().held, s.ends(Evidence::Released)), (Some(false), 2));
    s.assert_quiet();
}

#[test]
fn members_whose_expiry_is_past_hold_nothing() {
    let mut s = Sim::new(500, None, LockRules { by_key: false, ..rules() });
    s.show(permits(&[("a:1", s.server_ms() - 1_000), ("b:1", s.server_ms() - 5)]), None);
    s.advance(2_000);
    let lock = s.lock();
    assert_eq!((lock.held, lock.holders.len()), (Some(false), 0));
    assert_eq!((lock.counts.acquisitions, lock.fresh), (0, true));
    s.assert_quiet();
}

#[test]
fn a_stranger_among_the_members_is_told_and_costs_no_holder_anything() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_100);
    let end = s.server_ms() + 60_000;
    let both = permits(&[("a:1", end), ("b:1", end)]);
    s.show(both.clone(), None);
    s.advance(2_000);
    s.show(Decoded { strangers: 1, ..both.clone() }, None);
    s.until_up(Signal::ShapeUnexpected, 1_600, 50, |_| {});
    let lock = s.lock();
    assert_eq!((lock.held, lock.holders.len(), lock.fresh), (Some(true), 2, true));
    let why = lock.transitions.iter().find(|t| t.what == "shape_unexpected");
    assert!(why.is_some_and(|t| t.detail.contains("1 are none that semaphore writes")), "{why:?}");
    s.show(both, None);
    s.advance(1_000);
    assert_eq!(s.signal(Signal::ShapeUnexpected), Some(false));
    assert_eq!(s.lock().counts.acquisitions, 2);
    s.assert_raised(&[Signal::ShapeUnexpected]);
}

#[test]
fn any_stale_holder_makes_the_lock_stale_and_shows_its_own_loss() {
    let mut s = Sim::new(500, None, rules());
    s.process = Some(running(7, 0));
    s.advance(1_000);
    let b = s.server_ms() + 60_000;
    s.show(permits(&[("a:1", b), ("b:1", b)]), None);
    s.advance(3_000);
    assert_eq!(
        (s.signal(Signal::HolderStale), s.lock().liveness),
        (Some(false), Some(Liveness::Alive))
    );
    s.processes.insert("b".into(), GONE);
    s.until_up(Signal::HolderStale, 2_000, 50, |_| {});
    let lock = s.lock();
    assert_eq!(lock.liveness, Some(Liveness::Dead));
    assert!(lock.lost_seconds.unwrap() < 1.0);
    let dead: Vec<_> = lock.holders.iter().filter(|h| h.liveness == Liveness::Dead).collect();
    assert_eq!((dead.len(), &*dead[0].worker), (1, "b"));
    // The other one renews, lawfully.
    for _ in 0..5 {
        s.show(permits(&[("a:1", s.server_ms() + 60_000), ("b:1", b)]), None);
        s.advance(2_000);
    }
    assert_eq!(s.rises(Signal::RenewalAfterLostLiveness), 0, "{:#?}", s.lock().transitions);
    // It gives its place back.
    s.show(permits(&[("a:1", s.server_ms() + 60_000)]), None);
    s.advance(1_000);
    assert_eq!(s.signal(Signal::HolderStale), Some(false));
    assert_eq!((s.rises(Signal::HolderStale), s.lock().lost_seconds), (1, None));
}

#[test]
fn a_renewal_of_a_dead_holders_own_expiry_is_one_after_its_loss() {
    let mut s = Sim::new(500, None, rules());
    s.process = Some(running(7, 0));
    s.advance(1_000);
    let renew = |s: &mut Sim| {
        if s.ms.is_multiple_of(2_000) {
            let until = s.server_ms() + 10_000;
            s.show(permits(&[("a:1", until), ("b:1", until)]), None);
        }
    };
    for _ in 0..200 {
        renew(&mut s);
        s.advance(100);
    }
    s.processes.insert("b".into(), GONE);
    s.until_up(Signal::RenewalAfterLostLiveness, 10_000, 100, renew);
    assert_eq!(s.signal(Signal::HolderStale), Some(true));
    assert!(s.lock().counts.renewals_after_lost_liveness >= 1);
}

#[test]
fn one_permit_that_is_not_renewed_any_more_is_overdue() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_000);
    let (mut a, mut b) = (0, 0);
    for k in 0..30 {
        a = s.server_ms() + 6_000;
        if k < 20 {
            b = s.server_ms() + 6_000;
        }
        s.show(permits(&[("a:1", a), ("b:1", b)]), None);
        s.advance(2_000);
        if k == 20 {
            assert_eq!(s.rises(Signal::RenewalOverdue), 0);
        }
    }
    assert_eq!(s.rises(Signal::RenewalOverdue), 1, "{:#?}", s.lock().transitions);
    assert_eq!(
        s.signal(Signal::RenewalOverdue),
        Some(true),
        "shown for a minute though it is gone"
    );
    assert_eq!(s.ends(Evidence::Lapsed), 1);
    assert!(a > b);
}

#[test]
fn the_expiry_of_a_shared_key_is_nobodys_renewal() {
    let mut s = Sim::new(500, None, rules());
    s.process = Some(running(7, 0));
    s.advance(1_000);
    for _ in 0..20 {
        s.show(readers(&["a:1", "b:1"]), Some(s.server_ms() + 30_000));
        s.advance(9_000);
    }
    let lock = s.lock();
    assert_eq!((lock.counts.renewals, lock.renewal_age_seconds), (0, None));
    assert!(lock.remaining_seconds.is_some() && lock.renewal_period_seconds.is_none());
    // Who died is stale while the others keep the key, and renewed by nobody.
    s.processes.insert("b".into(), GONE);
    s.until_up(Signal::HolderStale, 2_000, 50, |_| {});
    for _ in 0..5 {
        s.show(readers(&["a:1", "b:1"]), Some(s.server_ms() + 30_000));
        s.advance(9_000);
    }
    assert_eq!(s.rises(Signal::RenewalAfterLostLiveness), 0);
    assert_eq!(s.rises(Signal::RenewalOverdue), 0);
    // A reader that leaves lets go, whatever the key does.
    s.show(readers(&["a:1"]), Some(s.server_ms() + 30_000));
    s.advance(2_000);
    assert_eq!((s.ends(Evidence::Released), s.signal(Signal::HolderStale)), (1, Some(false)));
    s.shows.as_mut().unwrap().1 = Some(s.server_ms() + 3_000);
    s.advance(6_000);
    assert_eq!((s.lock().held, s.ends(Evidence::Lapsed)), (Some(false), 1));
}

#[test]
fn a_readers_expiry_beside_the_key_is_its_lease() {
    let mut s = Sim::new(500, None, rules());
    s.process = Some(running(7, 0));
    s.advance(1_100);
    let mut expiries = [0, 0];
    for k in 0..40 {
        expiries[0] = s.server_ms() + 6_000;
        if k < 30 {
            expiries[1] = s.server_ms() + 6_000;
        }
        s.show(readers_beside(&["a:1", "b:1"]), Some(s.server_ms() + 6_000));
        let beside = |i: usize, e: i64| (Tells::HolderExpiry(u16::try_from(i).unwrap()), until(e));
        s.beside = vec![beside(0, expiries[0])];
        s.beside.push(if k < 33 {
            beside(1, expiries[1])
        } else {
            (Tells::HolderExpiry(1), CompanionValue::Missing)
        });
        s.advance(2_000);
        if k == 20 {
            assert_eq!(s.lock().holders.len(), 2);
            assert!((1.9..=2.1).contains(&s.lock().renewal_period_seconds.unwrap()));
        }
    }
    let lock = s.lock();
    assert_eq!((lock.holders.len(), &*lock.holders[0].worker), (1, "a"), "the other's is over");
    assert_eq!(lock.counts.acquisitions, 2);
    assert!(lock.counts.renewals >= 65, "{}", lock.counts.renewals);
    assert_eq!(s.rises(Signal::RenewalOverdue), 1, "the dead reader's, once");
    assert_eq!(s.rises(Signal::HolderStale), 0);
}

#[test]
fn without_what_is_beside_the_key_readers_share_its_expiry() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_100);
    for _ in 0..10 {
        s.show(readers_beside(&["a:1", "b:1"]), Some(s.server_ms() + 6_000));
        s.advance(2_000);
        assert_eq!(s.lock().held, Some(true));
    }
    let lock = s.lock();
    assert_eq!((lock.holders.len(), lock.holders_beyond, lock.counts.renewals), (2, 0, 0));
    s.assert_quiet();
}

#[test]
fn a_reader_whose_own_expiry_is_over_holds_nothing_until_something_else_is_told() {
    let mut s = Sim::new(1_000, None, rules());
    s.show(readers_beside(&["a:1"]), Some(s.server_ms() + 60_000));
    s.beside = vec![(Tells::HolderExpiry(0), CompanionValue::Missing)];
    s.advance(3_100);
    // The key is read again, what is beside it not yet.
    s.beside = vec![];
    s.advance(1_000);
    let lock = s.lock();
    assert_eq!((lock.held, lock.holders.len(), lock.holders_beyond), (Some(false), 0, 0));
    s.beside = vec![(Tells::HolderExpiry(0), until(s.server_ms() + 30_000))];
    s.advance(1_100);
    assert_eq!((s.lock().held, s.lock().holders.len()), (Some(true), 1));
    s.assert_quiet();
}

#[test]
fn readers_of_whom_only_some_are_told_are_all_followed() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_100);
    for k in 0..20 {
        // Another reader comes and goes, so that the value is another one each time.
        let third = format!("c:{k}");
        let e = s.server_ms() + 6_000;
        s.show(readers_beside(&["a:1", "b:1", &third]), Some(e));
        s.beside = vec![(Tells::HolderExpiry(0), until(e)), (Tells::HolderExpiry(2), until(e))];
        s.advance(2_000);
    }
    let lock = s.lock();
    assert_eq!((lock.holders.len(), lock.holders_beyond), (3, 0));
    let of = |name: &str| lock.holders.iter().find(|h| &*h.worker == name).unwrap();
    assert!(of("a").renewal_age_seconds.is_some() && of("b").renewal_age_seconds.is_none());
    assert_eq!(lock.counts.renewals, 19, "of the one reader that stays and is told");
    s.assert_quiet();
}

#[test]
fn one_worker_may_hold_several_permits() {
    let mut s = Sim::new(500, None, rules());
    s.process = Some(running(7, 0));
    s.advance(1_000);
    s.show(permits(&[("a:1", s.server_ms() + 60_000), ("a:2", s.server_ms() + 60_000)]), None);
    s.advance(3_000);
    s.show(permits(&[("a:2", s.server_ms() + 60_000)]), None);
    s.advance(3_000);
    assert_eq!(s.state.workers.by_name["a"].holds.len(), 1, "it still holds one");
    s.process = Some(GONE);
    s.until_up(Signal::HolderStale, 2_000, 50, |_| {});
    s.vanish();
    s.advance(3_000);
    assert!(s.state.workers.by_name["a"].holds.is_empty());
}

#[test]
fn a_lock_whose_key_becomes_of_another_kind_keeps_no_holder_of_before() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_000);
    s.show(held_by("a:1"), Some(s.server_ms() + 60_000));
    s.advance(2_000);
    s.show(permits(&[("b:1", s.server_ms() + 60_000)]), None);
    s.advance(2_000);
    assert_eq!(&*s.lock().holders[0].worker, "b");
    s.show(held_by("a:1"), Some(s.server_ms() + 60_000));
    s.advance(2_000);
    assert_eq!((s.lock().holders.len(), &*s.lock().holders[0].worker), (1, "a"));
    assert_eq!((s.ends(Evidence::Unknown), s.ends(Evidence::Released)), (2, 0));
    let holds = |w: &str| s.state.workers.by_name[w].holds.len();
    assert_eq!((holds("a"), holds("b")), (1, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// However holders come, renew, lapse and go, and whatever number: each counts once and only while its expiry is
    /// ahead, no more than the bound are followed, every worker's holds end, and no counter falls.
    #[test]
    fn any_crowd_is_followed_within_bounds(seed: u64, most in 1u64..100, poll in 200u64..3_000) {
        let mut s = Sim::new(poll, None, rules());
        let mut x = seed | 1;
        let mut random = move |n: u64| { x ^= x << 13; x ^= x >> 7; x ^= x << 17; x % n };
        let mut members: Vec<(String, i64)> = Vec::new();
        for step in 0..25 {
            match random(10) {
                0..=3 => for k in 0..=random(most) {
                    members.push((format!("w{}:{step}-{k}", random(5)), s.server_ms() + 1_000 + random(20_000) as i64));
                },
                4..=6 => members.retain(|_| random(3) > 0),
                7 => members.clear(),
                _ => for m in &mut members { m.1 = s.server_ms() + 1_000 + random(20_000) as i64 },
            }
            members.truncate(most as usize);
            if members.is_empty() {
                s.vanish();
            } else {
                let shown: Vec<(&str, i64)> = members.iter().map(|(t, e)| (&**t, *e)).collect();
                s.show(permits(&shown), None);
            }
            s.advance(random(3 * poll) + 1);
            s.read_key();
            let live = members.iter().filter(|(_, e)| *e > s.server_ms()).count() as u64;
            let lock = s.lock();
            prop_assert!(lock.holders.len() <= 64);
            prop_assert_eq!(lock.holders.len() as u64 + lock.holders_beyond, live);
            prop_assert_eq!(lock.held, Some(live > 0));
            // A poll, one here, and at most three for each lease: around its end, and when a renewal is missed.
            let leases = lock.counts.acquisitions + lock.counts.renewals + lock.holders_beyond;
            let polls = 2 * (s.ms - 1_000_000) / poll + step + 2;
            prop_assert!(s.reads <= polls + 4 * leases + 4 * most, "{} reads", s.reads);
        }
        s.vanish();
        s.advance(10_000);
        for w in s.state.workers.by_name.values() {
            prop_assert!(w.holds.is_empty());
        }
    }
}

/// Expiries beside the key are read after a whole sweep, not around the end of a lease.
#[test]
fn leases_of_readers_lapse_although_what_is_beside_the_key_was_read_long_before() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_000);
    let end = s.server_ms() + 3_300;
    s.show(readers_beside(&["a:1", "b:1"]), Some(end));
    s.beside = vec![(Tells::HolderExpiry(0), until(end)), (Tells::HolderExpiry(1), until(end))];
    s.advance(3_100);
    assert_eq!(s.lock().holders.len(), 2);
    s.beside = vec![];
    s.advance(1_000);
    assert_eq!((s.lock().held, s.ends(Evidence::Lapsed)), (Some(false), 2), "{:#?}", s.lock());
}

/// Permits that say only when each was refreshed, in milliseconds of its client's clock.
fn refreshed(members: &[(&str, i64)]) -> Decoded {
    let mut permits = permits(members);
    for (holder, (_, at)) in permits.holders.iter_mut().zip(members) {
        (holder.until, holder.refreshed_ms) = (None, Some(*at));
    }
    permits
}

/// Two clients whose clocks are an hour behind the server's take turns to refresh, each about 8 s after its last time; the
/// way to the server takes them up to 60 ms.
#[test]
fn permits_that_say_when_they_were_refreshed_end_a_lease_later() {
    const LEASE: i64 = 10_000;
    const BEHIND: i64 = 3_600_000;
    let mut s = Sim::new(500, None, rules());
    s.advance(1_000);
    let (mut a, mut b) = (0, 0);
    let left = |s: &Sim, name: &str| {
        let held = s.lock().holders.into_iter().find(|h| &*h.worker == name);
        held.map(|h| h.remaining_seconds.unwrap())
    };
    for k in 0..6 {
        let late = if k % 2 == 0 { 0 } else { 60 };
        a = s.server_ms() - BEHIND;
        s.show(refreshed(&[("a:1", a), ("b:1", b)]), Some(s.server_ms() + late + LEASE));
        s.advance(5_000);
        b = s.server_ms() - BEHIND;
        s.show(refreshed(&[("a:1", a), ("b:1", b)]), Some(s.server_ms() + LEASE));
        s.advance(3_000);
        assert!((1.9..=2.1).contains(&left(&s, "a").unwrap()), "{:?}", left(&s, "a"));
        assert!((6.9..=7.1).contains(&left(&s, "b").unwrap()), "{:?}", left(&s, "b"));
    }
    let counts = s.lock().counts;
    // The first member without a refresh was none: its share was long over.
    assert_eq!((counts.acquisitions, counts.renewals), (2, 10), "{:#?}", s.lock().transitions);
    let length = s.lock().length_seconds.unwrap();
    assert!((9.4..=10.1).contains(&length), "{length}");
    // One lets go: the key's expiry stays that of its last refresh, and the other's share its own.
    s.show(refreshed(&[("a:1", a)]), Some(b + BEHIND + LEASE));
    s.advance(1_000);
    assert_eq!((s.lock().holders.len(), s.ends(Evidence::Released)), (1, 1));
    assert!((0.9..=1.1).contains(&left(&s, "a").unwrap()), "{:?}", left(&s, "a"));
    s.assert_quiet();
    // It is not refreshed any more, which is missed; the key stays for longer.
    s.advance(2_000);
    assert_eq!((s.lock().held, s.ends(Evidence::Lapsed)), (Some(false), 1));
    assert_eq!(s.rises(Signal::RenewalOverdue), 1, "{:#?}", s.lock().transitions);
}
