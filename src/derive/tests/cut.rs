//! Locks with more holders than are read: those that end last are shown, the others counted.

use super::crowd::permits;
use super::sim::{Sim, rules};
use crate::derive::Evidence;
use crate::observe::Decoded;
use crate::observe::lock::{CompanionValue, Tells};
use crate::view::{Aspect, BlindReason};

/// What is read of so many members: the 64 with the highest scores.
fn top(members: &[(String, i64)]) -> Decoded {
    let mut all: Vec<(&str, i64)> = members.iter().map(|(t, e)| (t.as_str(), *e)).collect();
    all.sort_by_key(|(_, e)| std::cmp::Reverse(*e));
    let beyond = all.len().saturating_sub(64) as u64;
    all.truncate(64);
    all.sort_unstable();
    Decoded { beyond, ..permits(&all) }
}

/// Shows the members, and how many of them are ahead.
fn show(s: &mut Sim, members: &[(String, i64)], is_counted: bool) {
    s.show(top(members), None);
    let ahead = members.iter().filter(|(_, e)| *e > s.server_ms()).count();
    let count = (Tells::Holders, CompanionValue::Number(ahead as i64));
    s.beside = if is_counted { vec![count] } else { vec![] };
}

fn all(s: &Sim) -> u64 {
    s.lock().holders.len() as u64 + s.lock().holders_beyond
}

fn is_guessed(s: &Sim) -> bool {
    s.lock().coverage_lost.contains(&(Aspect::Lease, BlindReason::Unsupported))
}

#[test]
fn holders_that_are_not_among_those_read_are_not_let_go_for_that() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_100);
    let start = s.server_ms();
    let mut members: Vec<_> = (0..70).map(|i| (format!("w{i:02}:1"), start + 30_000 + i)).collect();
    show(&mut s, &members, true);
    s.advance(1_000);
    assert_eq!((s.lock().holders.len(), all(&s), is_guessed(&s)), (64, 70, false));
    // They renew in turn, so that others are the last ones each time.
    for k in 0..700 {
        members[k % 70].1 = s.server_ms() + 30_000;
        show(&mut s, &members, true);
        s.advance(200);
        assert_eq!((s.lock().held, all(&s)), (Some(true), 70), "{k}");
    }
    let lock = s.lock();
    let ends: u64 = lock.counts.ends.iter().map(|(_, n)| n).sum();
    assert_eq!((ends, lock.counts.acquisitions), (0, 64), "{:#?}", lock.transitions);
    assert!(lock.counts.renewals > 400, "{}", lock.counts.renewals);
    // All but three let go.
    members.drain(3..);
    show(&mut s, &members, true);
    s.advance(1_000);
    assert_eq!((s.lock().holders.len(), all(&s)), (3, 3));
    s.assert_quiet();
}

#[test]
fn members_long_past_beyond_those_read_are_no_holders() {
    let mut s = Sim::new(500, None, rules());
    s.advance(1_100);
    let now = s.server_ms();
    let past = |n: i64| (0..n).map(move |i| (format!("p{i:03}:1"), now - 60_000 - i));
    let mut members: Vec<_> = past(80).collect();
    members.push(("a:1".to_owned(), now + 600_000));
    show(&mut s, &members, false);
    s.advance(1_000);
    assert_eq!((s.lock().holders.len(), all(&s), is_guessed(&s)), (1, 1, false));
    // All that are read hold; of the others nobody says so until they are counted.
    members.extend((0..63).map(|i| (format!("b{i:02}:1"), now + 600_000)));
    show(&mut s, &members, false);
    s.advance(5_000);
    assert_eq!((s.lock().holders.len(), all(&s), is_guessed(&s)), (64, 144, true));
    show(&mut s, &members, true);
    s.advance(1_000);
    assert_eq!((s.lock().holders.len(), all(&s), is_guessed(&s)), (64, 64, false));
    s.vanish();
    s.advance(1_000);
    assert_eq!((s.lock().held, s.ends(Evidence::Released)), (Some(false), 64));
    s.assert_quiet();
}
