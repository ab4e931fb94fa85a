//! Invented JVMs read at any instants: what is said of them must contain the truth.

use proptest::prelude::*;

use super::*;

fn stop() -> impl Strategy<Value = Stop> {
    let length = || prop_oneof![1u64..100, 1u64..5_000, 1u64..400_000];
    (length(), length(), proptest::option::of(0u8..2), 1u64..50, length(), 1u64..50).prop_map(
        |(gap, sync, collector, before, collection, after)| Stop {
            gap,
            sync: sync / 50 + 1,
            collector,
            before,
            collection,
            after,
        },
    )
}

/// The longest of those that ended between two instants.
fn longest(ends: impl Iterator<Item = (u64, u64)>, after: u64, until: u64) -> Option<Duration> {
    ends.filter(|(_, end)| after < *end && *end <= until).map(|(b, e)| ns(e - b)).max()
}

fn contains(said: Option<Bounds>, truth: Option<Duration>) -> Result<(), TestCaseError> {
    match (said, truth) {
        (None, None) => {}
        (Some(b), Some(t)) => prop_assert!(b.lower <= t && t <= b.upper, "{t:?} in {b:?}"),
        other => prop_assert!(false, "said and true: {other:?}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn bounds_contain_the_truth(
        stops in proptest::collection::vec(stop(), 1..60),
        gaps in proptest::collection::vec(prop_oneof![1u64..3_000, 1u64..500_000], 2..80),
        first in 20u64..300_000,
        ticks: bool,
    ) {
        let times = timeline(&stops);
        let mut history = JvmHistory::default();
        let (mut at, mut before) = (first * 1000, None);
        for gap in gaps {
            let step = history.read(PROCESS, span(at), &counters(&times, at, ticks, "G1"));
            if let Some(before) = before {
                let pauses = times.iter().filter(|t| t.collector.is_some());
                contains(step.pause, longest(pauses.map(|t| (t.entry, t.exit)), before, at))?;
let ended = longest(times.iter().map(|t| (t.begin, t.end)), before, at);
                let pause = step.pause.map(|p| p.lower).unwrap_or_default();
                // Of a stop whose pause has ended and that has not, the pause counts.
                let stop = step.stop.map(|s| if s.lower == pause { Bounds { lower: s.lower.min(ended.unwrap_or_default()), ..s } } else { s });
                contains(stop, ended)?;
            }
            let collected = times.iter().find(|t| t.collector.is_some() && t.entry <= at && at < t.exit);
            prop_assert_eq!(step.collecting.is_some(), collected.is_some());
            if let (Some(age), Some(t)) = (step.collecting, collected) {
                prop_assert!(age <= ns(at - t.entry), "{:?} is more than {}", age, at - t.entry);
            }
            if let Some(b) = step.stopping {
                let stop = times.iter().find(|t| t.begin <= at && at < t.end);
                prop_assert!(stop.is_some(), "no stop goes on");
                let age = ns(at - stop.map_or(0, |t| t.begin));
                prop_assert!(b.lower <= age && age <= b.upper + ns(50_000), "{:?} in {:?}", age, b);
            }
            let now = counters(&times, at, ticks, "G1");
            prop_assert_eq!(history.stopped(), Some(now.safepoint_time.unwrap() + now.sync_time.unwrap()));
            for c in &now.collectors {
                let total = history.totals().find(|(name, _)| **name == c.name).unwrap().1;
                prop_assert_eq!(total, CollectorTotal { time: c.time, collections: c.invocations });
            }
            if let Some(age) = history.last_collection_age(Mono(ORIGIN + at), Mono(0)) {
                let ended = times.iter().filter(|t| t.collector.is_some() && t.exit <= at).map(|t| t.exit).max();
                prop_assert!(age <= ns(at - ended.unwrap()));
            }
            before = Some(at);
            at += gap * 1000;
        }
    }

    /// One stop at a time, each long over when the next read comes.
    #[test]
    fn single_pauses_are_exact(stops in proptest::collection::vec(stop(), 2..20)) {
        let stops: Vec<Stop> = stops.into_iter().map(|s| Stop { gap: s.gap + 2_000_000, ..s }).collect();
        let times = timeline(&stops);
        let mut history = JvmHistory::default();
        let mut at = 1_000_000_000;
        history.read(PROCESS, span(at), &counters(&times, at, true, "G1"));
        at += 900_000_000;
        history.read(PROCESS, span(at), &counters(&times, at, true, "G1"));
        for (i, t) in times.iter().enumerate() {
            at = t.end + 1_000_000;
            let step = history.read(PROCESS, span(at), &counters(&times, at, true, "G1"));
            if t.end - t.begin < 800_000_000 || i > 0 {
                prop_assert_eq!(step.stop, Some(Bounds::exactly(ns(t.end - t.begin))));
            }
            let pause = t.collector.map(|_| Bounds::exactly(ns(t.exit - t.entry)));
            prop_assert_eq!(step.pause, pause);
        }
    }

    #[test]
    fn any_numbers_do_no_harm(numbers in proptest::collection::vec(any::<u64>(), 8..200), included: bool) {
        let mut history = JvmHistory::default();
        let (mut stopped, mut sums) = (Duration::ZERO, Duration::ZERO);
        for n in numbers.chunks_exact(8) {
            let jvm = Jvm {
                ticks: Some(ns(n[0])),
                collectors: vec![Collector {
                    name: "x".into(), number: 0, invocations: n[1],
                    time: ns(n[2]), last_entry: ns(n[3]), last_exit: ns(n[4]),
                }],
                safepoints: Some(n[5]), safepoint_time: Some(ns(n[6])), sync_time: Some(ns(n[7])),
                version: "".into(), sync_is_included: included,
            };
            let step = history.read(PROCESS, Span { sent: Mono(n[3]), done: Mono(n[4]) }, &jvm);
            for b in [step.pause, step.stop, step.stopping].into_iter().flatten() {
                prop_assert!(b.lower <= b.upper, "{:?}", b);
            }
            let total = history.totals().next().unwrap().1.time;
            prop_assert!(total >= sums && history.stopped().unwrap() >= stopped);
            (sums, stopped) = (total, history.stopped().unwrap());
        }
    }
}
