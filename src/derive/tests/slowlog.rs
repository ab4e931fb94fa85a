//! Slow logs as the whole state sees them: each entry once, whatever restarts, and two owners' acquires as a hint that raises
//! nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::sim::{KEY, Sim, node, rules};
use crate::config::LockRules;
use crate::derive::{Aspect, BlindReason, ContentionKind, Signal};
use crate::observe::Observation;
use crate::observe::slowlog::{Entries, Found, SlowCommand, SlowlogRead, Touch, Why};
use crate::view::{Instant, View};

/// A command on the lock's key, by whom if it acquires it.
fn slow(id: u64, at_secs: i64, owner: Option<&str>) -> SlowCommand {
    SlowCommand {
        id,
        at_secs,
        took: Duration::from_millis(20),
        command: "SET".into(),
        client_addr: Some("10.0.0.7:4000".into()),
        client_name: None,
        is_cut: false,
        keys: vec![(KEY, Touch::Key)],
        acquires: owner.map(|o| (KEY, o.into())),
    }
}

/// A log with these entries and no others beside them.
fn log(slow: &[SlowCommand], cut: &[u64]) -> Entries {
    let ids = || slow.iter().map(|s| s.id).chain(cut.iter().copied());
    let (newest, oldest) = (ids().max(), ids().min());
    Entries { newest, oldest, slow: slow.to_vec(), cut: cut.to_vec() }
}

fn look(s: &mut Sim, process: Option<&str>, is_asked: bool, found: Found) {
    let (at, process) = (s.now(), process.map(Arc::from));
    let read = SlowlogRead { node: node(), process, at, is_asked, found };
    s.step(Observation::Slowlog(Box::new(read)));
}

fn read(s: &mut Sim, process: &str, entries: Entries) {
    look(s, Some(process), false, Found::Read(entries));
}

fn view(s: &Sim) -> View {
    View::of(&s.state, Instant { mono: s.now(), wall: 0.0 }, 1)
}

/// Entries on locks, cut ones, lost ones.
fn counts(s: &Sim) -> (Option<u64>, u64, u64) {
    let log = view(s).stores[0].nodes[0].slowlog.clone().expect("it was looked at");
    (log.entries, log.cut, log.missed)
}

fn hints(s: &Sim) -> Option<u64> {
    let all = s.lock().counts.contentions;
    all.into_iter().find(|(k, _)| *k == ContentionKind::Slowlog).map(|(_, n)| n)
}

fn held() -> Sim {
    let rules = LockRules { lease: Some(Duration::from_secs(30)), ..rules() };
    let mut s = Sim::new(1000, None, rules);
    s.acquire("a", 30_000);
    s.advance(3_000);
    s
}

fn secs(s: &Sim) -> i64 {
    s.server_ms() / 1000
}

#[test]
fn an_entry_is_told_once_and_what_was_there_before_is_not_counted() {
    let mut s = held();
    assert_eq!(hints(&s), None, "there is no such sensor");
    let at = secs(&s);
    read(&mut s, "r1", log(&[slow(4, at, None), slow(5, at, None)], &[3]));
    assert_eq!(counts(&s), (Some(0), 0, 0));
    assert_eq!(s.lock().slow_commands.len(), 2, "it is shown");
    let more = [slow(4, at, None), slow(5, at, None), slow(6, at, None)];
    for _ in 0..3 {
        read(&mut s, "r1", log(&more, &[3, 7]));
        assert_eq!(counts(&s), (Some(1), 1, 0));
    }
    read(&mut s, "r1", log(&[slow(20, at, None)], &[]));
    assert_eq!(counts(&s), (Some(2), 1, 12), "8 to 19 were never seen");
    let shown = s.lock().slow_commands;
    let last = shown.last().expect("four");
    assert_eq!((shown.len(), last.timestamp, last.duration_seconds), (4, at as f64, 0.02));
    assert_eq!((last.touches, last.client_address.as_deref()), ("key", Some("10.0.0.7:4000")));
}

#[test]
fn another_process_begins_at_0_and_is_counted_from_there() {
    let mut s = held();
    let at = secs(&s);
    read(&mut s, "r1", log(&[slow(40, at, None)], &[]));
    read(&mut s, "r2", log(&[slow(0, at, None), slow(40, at, None)], &[]));
    assert_eq!(counts(&s), (Some(2), 0, 0));
    // Where nothing names the process, ids that fall do.
    look(&mut s, None, false, Found::Read(log(&[slow(1, at, None)], &[])));
    assert_eq!(counts(&s), (Some(3), 0, 0));
}

#[test]
fn an_empty_log_is_read_and_its_first_entry_counted() {
    let mut s = held();
    read(&mut s, "r1", Entries::default());
    assert_eq!(counts(&s), (Some(0), 0, 0));
    let at = secs(&s);
    read(&mut s, "r1", log(&[slow(0, at, None)], &[]));
    assert_eq!(counts(&s), (Some(1), 0, 0));
}

#[test]
fn what_may_touch_the_key_is_shown_and_not_counted() {
    let mut s = held();
    read(&mut s, "r1", Entries::default());
    let at = secs(&s);
    let maybe = SlowCommand { keys: vec![(KEY, Touch::Maybe)], is_cut: true, ..slow(0, at, None) };
    read(&mut s, "r1", log(&[maybe], &[]));
    assert_eq!(counts(&s), (Some(0), 0, 0));
    let shown = &s.lock().slow_commands[0];
    assert_eq!((shown.touches, shown.truncated), ("maybe", true));
}

#[test]
fn two_owners_acquires_within_one_lease_are_a_hint_that_raises_nothing() {
    let mut s = held();
    read(&mut s, "r1", Entries::default());
    assert_eq!(hints(&s), Some(0));
    let at = secs(&s);
    let by = |id, after, owner| slow(id, at + after, Some(owner));
    read(&mut s, "r1", log(&[by(0, 0, "aa"), by(1, 5, "aa")], &[]));
    assert_eq!(hints(&s), Some(0), "one owner's");
    read(&mut s, "r1", log(&[by(2, 6, "bb"), by(3, 7, "bb")], &[]));
    assert_eq!(hints(&s), Some(1));
    // 30 s of lease, and 30 to 31 between the two.
    read(&mut s, "r1", log(&[by(4, 37, "aa")], &[]));
    assert_eq!(hints(&s), Some(1));
    s.advance(2_000);
    assert_eq!(s.signal(Signal::Contested), Some(false));
    s.assert_quiet();
    assert!(s.lock().transitions.iter().any(|t| t.what == "slow_acquires"));
}

#[test]
fn acquires_of_before_the_first_look_hint_at_nothing() {
    let mut s = held();
    let at = secs(&s);
    read(&mut s, "r1", log(&[slow(0, at, Some("aa")), slow(1, at, Some("bb"))], &[]));
    read(&mut s, "r1", log(&[slow(2, at, Some("cc"))], &[]));
    assert_eq!(hints(&s), Some(0));
}

#[test]
fn a_refused_slow_log_is_lost_coverage_where_it_is_asked_for() {
    for (is_asked, why, lost) in [
        (false, Why::Permission, None),
        (true, Why::Permission, Some(BlindReason::Permission)),
        (true, Why::Unsupported, Some(BlindReason::Unsupported)),
    ] {
        let mut s = held();
        look(&mut s, Some("r1"), is_asked, Found::Off(why));
        let found = s.lock().coverage_lost.into_iter().find(|(a, _)| *a == Aspect::Slowlog);
        assert_eq!(found.map(|(_, reason)| reason), lost);
        assert_eq!((hints(&s), counts(&s).0), (None, None), "nothing is known");
        look(&mut s, Some("r1"), is_asked, Found::Read(Entries::default()));
        assert!(s.lock().coverage_lost.iter().all(|(a, _)| *a != Aspect::Slowlog));
        assert_eq!(counts(&s).0, Some(0));
    }
}

proptest! {
    // Failures are kept beside this file, not in a directory of their own at the top.
    #![proptest_config(ProptestConfig::with_failure_persistence(FileFailurePersistence::WithSource("regressions")))]

    /// However a log is looked at, each entry counts once, and the lists stay bounded.
    #[test]
    fn each_entry_counts_once(ends in proptest::collection::vec((1_u64..40, 1_u64..200), 1..12)) {
        let mut s = held();
        read(&mut s, "r1", Entries::default());
        let at = secs(&s);
        let (mut newest, mut seen, mut missed) = (0, BTreeSet::new(), 0);
        for (more, shown) in ends {
            let end = newest + more;
            let from = end.saturating_sub(shown.min(128));
            if newest > 0 {
                missed += from.saturating_sub(newest);
            }
            newest = end;
            seen.extend(from..end);
            let all: Vec<_> = (from..end).map(|id| slow(id, at, None)).collect();
            read(&mut s, "r1", log(&all, &[]));
        }
        prop_assert_eq!(counts(&s), (Some(seen.len() as u64), 0, missed));
        prop_assert!(s.lock().slow_commands.len() <= 8);
    }
}
