//! A holder whose lease ran out while it stood still comes back while another one holds the lock: a hint, and no more.

use super::{assert_nothing, counted, has_series};
use crate::derive::tests::sim::{Sim, in_state, rules, running};
use crate::derive::{ContentionKind, Signal};
use crate::observe::worker::{ProcessSeen, ProcessState};
use crate::view::Basis;

const KIND: ContentionKind = ContentionKind::Resumed;

fn is(s: &mut Sim, worker: &str, seen: ProcessSeen) {
    s.processes.insert(worker.into(), seen);
}

/// A holder that is stopped until its lease is over.
fn stopped_until_it_lapses() -> Sim {
    let mut s = Sim::new(1_000, None, rules());
    s.process = Some(running(8, 0));
    is(&mut s, "w", running(7, 0));
    s.advance(2_500);
    s.acquire("w:1", 6_000);
    s.advance(3_000);
    is(&mut s, "w", in_state(7, 0, ProcessState::Stopped));
    s.advance(5_500);
    assert_eq!(s.lock().held, Some(false));
    s
}

fn taken_by(s: &mut Sim, token: &str) {
    s.acquire(token, 90_000);
    s.advance(2_500);
}

#[test]
fn a_holder_that_comes_back_while_another_holds_is_a_hint_only() {
    let mut s = stopped_until_it_lapses();
    taken_by(&mut s, "v:2");
    assert!(has_series(&s, KIND));
    assert_nothing(&s, "it stands still");
    is(&mut s, "w", running(7, 0));
    s.advance(5_000);
    assert_eq!(counted(&s), [(KIND, 1)], "{:#?}", s.lock().transitions);
    assert_eq!((s.signal(Signal::Contested), s.rises(Signal::Contested)), (Some(false), 0));
    let proof = s.lock().contention.remove(0);
    assert!(!proof.kind.is_proof());
    assert_eq!(proof.basis, Basis::Stood(crate::derive::Liveness::Stopped));
    let owners: Vec<_> = proof.owners.iter().map(|o| o.worker.as_deref()).collect();
    assert_eq!(owners, [Some("w"), Some("v")]);
}

#[test]
fn one_that_is_frozen_by_its_heartbeat_too() {
    let mut s = Sim::new(500, Some(2_000), rules());
    let beat = |s: &mut Sim, ms: u64| {
        for _ in 0..ms / 500 {
            s.beat();
            s.advance(500);
        }
    };
    s.beat = Some(0);
    s.acquire("w:1", 8_000);
    beat(&mut s, 4_000);
    s.advance(5_000);
    s.acquire("v:2", 90_000);
    s.advance(1_500);
    assert_nothing(&s, "frozen");
    beat(&mut s, 3_000);
    assert_eq!(counted(&s), [(KIND, 1)], "{:#?}", s.lock().transitions);
    assert_eq!(s.rises(Signal::Contested), 0);
}

#[test]
fn what_is_no_hint() {
    let mut s = stopped_until_it_lapses();
    is(&mut s, "w", running(7, 0));
    s.advance(2_000);
    taken_by(&mut s, "v:2");
    assert_nothing(&s, "it came back before anybody had the lock");
    for (name, seen) in [
        ("it died", ProcessSeen::Gone { named_here: false }),
        ("another process has its name", running(70, 1_012_000)),
    ] {
        let mut s = stopped_until_it_lapses();
        taken_by(&mut s, "v:2");
        is(&mut s, "w", seen);
        s.advance(2_000);
        is(&mut s, "w", running(70, 1_012_000));
        s.advance(3_000);
        assert_nothing(&s, name);
    }
    let mut s = stopped_until_it_lapses();
    taken_by(&mut s, "w:2");
    is(&mut s, "w", running(7, 0));
    s.advance(3_000);
    assert_nothing(&s, "its own other token");
    // One that let go, and stood still only later.
    let mut s = Sim::new(1_000, None, rules());
    s.process = Some(running(7, 0));
    s.advance(2_500);
    s.acquire("w:1", 60_000);
    s.advance(3_000);
    s.release("w:1");
    s.advance(1_500);
    taken_by(&mut s, "v:2");
    is(&mut s, "w", in_state(7, 0, ProcessState::Stopped));
    s.advance(3_000);
    is(&mut s, "w", running(7, 0));
    s.advance(3_000);
    assert_nothing(&s, "released");
}
