//! The writes that are kept for a picture: which, of which locks, how many.

use super::sim::{Sim, rules};
use crate::config::LockRules;
use crate::derive::lock::past::TENURES;
use crate::derive::lock::recent::{Act, MARKS, Mark};
use crate::derive::{Evidence, Signal};

fn marks(s: &Sim) -> Vec<Mark> {
    s.lock().recent.iter().flat_map(|r| r.iter().copied()).collect()
}

fn acts(s: &Sim) -> Vec<Act> {
    marks(s).iter().map(|m| m.act).collect()
}

#[test]
fn a_locks_writes_are_kept_in_their_order_and_bounded() {
    let mut s = Sim::new(1_000, None, LockRules { by_key: true, ..rules() });
    s.advance(3_300);
    s.acquire("w:1", 30_000);
    s.advance(10_000);
    s.renew("w:1", 30_000);
    s.advance(2_000);
    s.release("w:1");
    s.advance(2_000);
    assert_eq!(acts(&s), [Act::Held, Act::Renewed, Act::Ended]);
    let left: Vec<f32> = marks(&s).iter().filter_map(|m| m.left).collect();
    assert!(left[0] > 28.9 && left[1] > 28.9 && left[1] <= 30.0, "{left:?}");
    assert!(marks(&s).is_sorted_by_key(|m| m.at));
    s.acquire("w:2", 30_000);
    for _ in 0..MARKS + 10 {
        s.advance(5_000);
        s.renew("w:2", 30_000);
    }
    s.advance(2_000);
    assert_eq!(acts(&s), vec![Act::Renewed; MARKS]);
}

#[test]
fn of_a_lock_that_a_pattern_found_they_are_kept_once_it_needs_a_look() {
    let rules =
        LockRules { max_hold: Some(std::time::Duration::from_secs(20)), by_key: false, ..rules() };
    let mut s = Sim::new(1_000, None, rules);
    s.advance(3_000);
    s.acquire("w:1", 30_000);
    s.advance(10_000);
    s.renew("w:1", 30_000);
    s.advance(2_000);
    assert!(s.lock().recent.is_none());
    s.until_up(Signal::HeldTooLong, 20_000, 500, |_| {});
    assert_eq!(acts(&s), [Act::Renewed], "what is known of its holder");
    s.renew("w:1", 30_000);
    s.advance(2_000);
    assert_eq!(acts(&s), [Act::Renewed, Act::Renewed]);
}

#[test]
fn a_workers_beats_are_kept_and_bounded() {
    let mut s = Sim::new(1_000, Some(10_000), rules());
    s.acquire("w:1", 3_600_000);
    for _ in 0..MARKS + 20 {
        s.beat();
        s.advance(2_000);
    }
    let view = s.view();
    let beats = &view.workers[0].beats;
    assert_eq!(beats.len(), MARKS);
    assert!(beats.iter().is_sorted() && view.taken.secs_since(*beats.back().unwrap()) < 4.0);
}

#[test]
fn tenures_are_kept_with_the_reads_that_bound_them() {
    let mut s = Sim::new(1_000, None, LockRules { by_key: true, ..rules() });
    s.advance(3_300);
    s.acquire("w:1", 5_000);
    s.advance(12_000);
    s.acquire("w:2", 30_000);
    s.advance(4_000);
    s.release("w:2");
    s.advance(4_000);
    let past = s.lock().past.unwrap();
    let [first, second] = [&past[0], &past[1]];
    assert_eq!(first.evidence, Some(Evidence::Lapsed));
    assert_eq!(second.evidence, Some(Evidence::Released));
    for tenure in [first, second] {
        assert!(tenure.after.unwrap() < tenure.first && tenure.last < tenure.gone, "{tenure:?}");
        assert_eq!(tenure.worker.as_deref(), Some("w"));
    }
    assert!(first.gone <= second.after.unwrap(), "it was seen free in between");
    assert_ne!(first.fingerprint, second.fingerprint);
    for n in 0..TENURES + 3 {
        s.acquire(&format!("w:{}", n + 3), 30_000);
        s.advance(3_000);
        s.release(&format!("w:{}", n + 3));
        s.advance(3_000);
    }
    assert_eq!(s.lock().past.unwrap().len(), TENURES);
}
