//! What an exporter that is started anew, or is not heard for a while, does to a proof: it may not be given, never wrongly.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::super::{CRITERIA, Proof};
use super::cases::{criterion, held};
use super::sim::World;
use crate::exporter::document::{Counts, Holder, Lease, Lock, LockDocument, Recent, Tenure};
use crate::prove::history::{History, Look};
use crate::prove::reported;

#[test]
fn a_restart_never_proves_what_was_not_seen() {
    let renewed = held().is(10.3, "a", "dead").renew(10.6, 12.0, 1.0);
    let quiet = held().is(10.3, "a", "dead");
    for tenths in 80..180 {
        let at = f64::from(tenths) / 10.0;
        let with = |world: &World| {
            World { restarts: vec![at], ..world.clone() }.judged(criterion("kill")).proof()
        };
        assert_ne!(with(&renewed), Proof::Proven, "at {at}");
        assert_ne!(with(&quiet), Proof::Refuted, "at {at}");
    }
}

#[test]
fn counters_that_begin_anew_are_counted_on() {
    let mut world = held().is(10.3, "a", "dead").set(14.3, "b", "t2").renew(15.0, 40.0, 1.0);
    world.issued = vec![(1.0, 7), (14.35, 8)];
    world.effects = vec![(3.0, 1), (8.0, 2), (14.6, 3)];
    world.restarts = vec![9.0];
    assert_eq!(world.judged(criterion("effects")).proof(), Proof::NotJudged);
    world.effects.push((15.0, 2));
    assert_eq!(world.judged(criterion("effects")).proof(), Proof::Refuted);
}

#[test]
fn a_time_without_looks_is_a_gap() {
    let mut history = History::new(1.0);
    for (generation, seconds) in [(1, 0.0), (2, 1.0), (3, 9.0), (4, 10.0)] {
        history.take(look(generation, seconds, 0), false);
    }
    assert!(history.has_gap_since(1.0) && !history.has_gap_since(9.0));
    let stale = LockDocument { generation: 5, ..LockDocument::default() };
    history.take(Look { seconds: 11.0, document: stale.clone(), ..Look::default() }, false);
    assert!(!history.has_gap_since(10.0), "a moment is none");
    history.take(Look { seconds: 17.0, document: stale, ..Look::default() }, false);
    assert!(history.has_gap_since(10.0), "it was not read lately");
    assert!(!history.has_restart(0.0, 20.0));
}

fn look(generation: u64, seconds: f64, renewals: u64) -> Look {
    let counts = Counts { renewals, ..Counts::default() };
    let lock = Lock { fresh: true, counts, ..Lock::default() };
    let document = LockDocument { generation, lock, ..LockDocument::default() };
    Look { seconds, document, ..Look::default() }
}

#[test]
fn what_is_missing_is_said_once_and_is_not_what_was_seen() {
    let mut cut = held().is(11.0, "a", "frozen").set(13.3, "b", "t2").renew(14.0, 40.0, 1.0);
    cut.still = vec![(10.0, 100.0, "a")];
    cut.refused = vec![15.0, 16.0];
    for name in ["partition", "pause", "effects"] {
        let history = cut.history();
        let report = reported(criterion(name), &history, &cut.judged(criterion(name)), ("m", "o"));
        assert_eq!(report.missing.len(), 1, "{name}: {:?}", report.missing);
        assert!(!report.missing[0].contains("refused since"), "{:?}", report.missing);
        assert!(report.expectations.iter().all(|e| e.seconds != Some(0.0)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    /// What each run of an exporter counted is counted once, and from nothing in a new run.
    #[test]
    fn what_is_counted_is_the_sum_of_all_runs(
        first in 0_u64..1000,
        runs in proptest::collection::vec(proptest::collection::vec(0_u64..50, 1..8), 1..5),
    ) {
        let mut history = History::new(1.0);
        let mut seconds = 0.0;
        let mut sum = 0;
        for (n, run) in runs.iter().enumerate() {
            let mut count = if n == 0 { first } else { 0 };
            for (generation, more) in run.iter().enumerate() {
                let is_baseline = n == 0 && generation == 0;
                count += more;
                sum += if is_baseline { 0 } else { *more };
                history.take(look(generation as u64 + 1, seconds, count), n > 0 && generation == 0);
                seconds += 1.0;
            }
        }
        let renewals = |l: &Look| Some(l.document.lock.counts.renewals);
        prop_assert_eq!(history.risen(0.0, renewals), Some(sum));
        prop_assert_eq!(history.risen(seconds, renewals), None);
        prop_assert_eq!(history.has_gap_since(0.0), runs.len() > 1);
    }

    /// Whatever an exporter tells, in whatever order, costs no more than the verdict.
    #[test]
    fn any_documents_do_no_harm(
        looks in proptest::collection::vec((0_u64..5, 0.0..9.0_f64, any_lock(), any_tenures()), 0..20),
    ) {
        let mut history = History::new(0.5);
        for (generation, seconds, mut lock, tenures) in looks {
            lock.fresh = generation > 0;
            let recent = Recent { tenures, read_timestamp: Some(seconds), ..Recent::default() };
            let document = LockDocument { generation, taken: seconds, lock, recent };
            history.take(Look { seconds, document, ..Look::default() }, generation == 4);
            for criterion in &CRITERIA {
                let judgement = (criterion.judge)(&history);
                let report = reported(criterion, &history, &judgement, ("main", "orders"));
                prop_assert!(crate::report::svg::render(&report).ends_with("</svg>\n"));
            }
        }
    }
}

fn any_lock() -> impl Strategy<Value = Lock> {
    let how = prop_oneof![Just("alive"), Just("dead"), Just("stopped"), Just("unknown"), Just("")];
    (0_usize..3, how, 0..3_u8, proptest::option::of(0.0..20.0_f64)).prop_map(
        |(n, how, who, end)| Lock {
            state: if n > 0 { "held" } else { "free" }.into(),
            holders: vec![
                Holder {
                    fingerprint: format!("t{who}"),
                    liveness: how.into(),
                    ..Holder::default()
                };
                n
            ],
            lease: Lease { expiry_timestamp: end, length_seconds: end, ..Lease::default() },
            ..Lock::default()
        },
    )
}

fn any_tenures() -> impl Strategy<Value = Option<Vec<Tenure>>> {
    let time = || proptest::option::of(0.0..20.0_f64);
    let one = (0..3_u8, time(), time(), time(), time(), proptest::option::of(0..3_u8));
    let one = one.prop_map(|(who, after, first, gone, end, how)| Tenure {
        fingerprint: Some(format!("t{who}")),
        after_timestamp: after,
        first_timestamp: first,
        gone_timestamp: gone,
        expiry_timestamp: end,
        evidence: how.map(|h| ["lapsed", "released", "unknown"][usize::from(h)].into()),
        ..Tenure::default()
    });
    proptest::option::of(proptest::collection::vec(one, 0..5))
}
