//! Readers of whom each has expiries of its own beside the key, which are read after it.

use super::crowd::{readers_beside, until};
use super::sim::{Sim, rules};
use crate::derive::Evidence;
use crate::observe::lock::{CompanionValue, Tells};
use crate::view::{Aspect, BlindReason};

/// Why leases cannot all be judged.
fn lease(s: &Sim) -> Option<BlindReason> {
    let lost = s.lock().coverage_lost;
    lost.into_iter().find(|(aspect, _)| *aspect == Aspect::Lease).map(|(_, reason)| reason)
}

/// Beside the key of a reader's holds: each one's expiry in milliseconds from now, or that it is not there.
fn holds_beside(s: &Sim, i: u16, ends: &[Option<i64>]) -> Vec<(Tells, CompanionValue)> {
    let value = |e: &Option<i64>| e.map_or(CompanionValue::Missing, |ms| until(s.server_ms() + ms));
    ends.iter().map(|e| (Tells::HolderExpiry(i), value(e))).collect()
}

#[test]
fn a_reader_that_took_the_lock_twice_holds_until_the_latest_of_its_ends() {
    let mut s = Sim::new(500, None, rules());
    let mut twice = readers_beside(&["a:1"]);
    twice.holders[0].count = 2;
    twice.companions.push(twice.companions[0].clone());
    s.advance(1_100);
    s.show(twice, Some(s.server_ms() + 300_000));
    s.beside = holds_beside(&s, 0, &[Some(6_000), Some(300_000)]);
    s.advance(4_000);
    let left = s.lock().remaining_seconds.unwrap();
    assert!((295.0..=297.0).contains(&left), "{left}");
    s.beside[0].1 = CompanionValue::Missing;
    s.advance(10_000);
    assert_eq!((s.lock().held, s.lock().holders.len(), lease(&s)), (Some(true), 1, None));
    // One of its ends alone says nothing of the other.
    s.beside.pop();
    s.advance(3_000);
    assert_eq!((s.lock().held, s.lock().holders.len()), (Some(true), 1));
    s.beside = holds_beside(&s, 0, &[None, None]);
    s.advance(3_000);
    assert_eq!((s.lock().held, s.ends(Evidence::Released)), (Some(false), 1));
    s.assert_quiet();
}

#[test]
fn a_reader_whose_expiry_is_not_read_is_no_sure_holder() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_100);
    s.show(readers_beside(&["a:1", "b:1"]), Some(s.server_ms() + 300_000));
    s.advance(3_000);
    assert_eq!(lease(&s), Some(BlindReason::Permission), "nothing beside the key was told");
    s.beside =
        [holds_beside(&s, 0, &[Some(300_000)]), holds_beside(&s, 1, &[Some(300_000)])].concat();
    s.advance(1_000);
    assert_eq!(lease(&s), None);
    s.beside.pop();
    s.advance(1_000);
    assert_eq!((s.lock().holders.len(), lease(&s)), (2, Some(BlindReason::Unsupported)));
    // Of a hundred, most are only counted.
    let many: Vec<String> = (0..100).map(|i| format!("r{i:03}:1")).collect();
    let mut crowd = readers_beside(&many.iter().map(String::as_str).collect::<Vec<_>>());
    crowd.companions.truncate(64);
    s.show(crowd, Some(s.server_ms() + 300_000));
    s.beside = (0..64).flat_map(|i| holds_beside(&s, i, &[Some(300_000)])).collect();
    s.advance(2_000);
    let lock = s.lock();
    assert_eq!((lock.holders.len(), lock.holders_beyond), (64, 36));
    assert_eq!(lease(&s), Some(BlindReason::Unsupported));
    // Ten of those that are told go on.
    s.beside = (0..64).flat_map(|i| holds_beside(&s, i, &[(i < 10).then_some(300_000)])).collect();
    s.advance(3_000);
    assert_eq!(s.lock().holders.iter().filter(|h| *h.worker < *"r010").count(), 10);
    assert_eq!(s.lock().holders.len() as u64 + s.lock().holders_beyond, 46);
    assert_eq!(lease(&s), Some(BlindReason::Unsupported));
    s.assert_quiet();
}

/// The key shows one hold, and what lies beside it is read when the reader has taken another: of this the read before
/// knew nothing.
#[test]
fn a_reader_ends_only_if_the_key_shows_no_other_hold_afterwards() {
    let mut s = Sim::new(1_000, None, rules());
    let mut key = readers_beside(&["a:1"]);
    s.show(key.clone(), Some(s.server_ms() + 600_000));
    s.beside = holds_beside(&s, 0, &[Some(600_000)]);
    s.advance(3_100);
    assert_eq!(s.lock().holders.len(), 1);
    for count in [2, 1, 2, 1] {
        s.beside = holds_beside(&s, 0, &[None, None]);
        s.advance(1_000);
        assert_eq!((s.lock().held, s.lock().holders.len()), (Some(true), 1));
        key.holders[0].count = count;
        s.show(key.clone(), Some(s.server_ms() + 600_000));
        s.beside = holds_beside(&s, 0, &[Some(600_000), None]);
        s.advance(1_000);
    }
    assert_eq!((s.ends(Evidence::Released), s.lock().counts.acquisitions), (0, 0));
    // Told so while the key shows the same, it is over, as of the first time it was told.
    s.beside = holds_beside(&s, 0, &[None, None]);
    s.advance(3_000);
    assert_eq!((s.lock().held, s.ends(Evidence::Released)), (Some(false), 1));
    // It comes back, and is told so again.
    s.beside = holds_beside(&s, 0, &[Some(600_000), None]);
    s.advance(2_000);
    assert_eq!((s.lock().held, s.lock().holders.len()), (Some(true), 1));
    s.assert_quiet();
}
