//! Invented JVMs, whose pauses are known, read at any instants: what is said of them must contain the truth.

use proptest::prelude::*;

use super::*;

const PROCESS: ProcessId = ProcessId { pid: 7, start_ticks: 9 };
/// When the JVM's clock began, on ours.
const ORIGIN: u64 = 5_000_000_000;

/// A safepoint, in microseconds: time before it, to reach it, in it before a collection, the collection, after it.
#[derive(Clone, Debug)]
struct Stop {
    gap: u64,
    sync: u64,
    collector: Option<u8>,
    before: u64,
    collection: u64,
    after: u64,
}

/// Instants of a stop in nanoseconds of the JVM's clock.
#[derive(Clone, Copy, Debug)]
struct Times {
    begin: u64,
    synced: u64,
    entry: u64,
    exit: u64,
    end: u64,
    collector: Option<u8>,
}

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

fn timeline(stops: &[Stop]) -> Vec<Times> {
    let mut at = 0;
    let mut on = |us: u64| {
        at += us * 1000;
        at
    };
    stops
        .iter()
        .map(|s| Times {
            begin: on(s.gap),
            synced: on(s.sync),
            entry: on(s.before),
            exit: on(s.collection),
            end: on(s.after),
            collector: s.collector,
        })
        .collect()
}

fn ns(n: u64) -> Duration {
    Duration::from_nanos(n)
}

/// What the counters show at that instant.
fn counters(times: &[Times], at: u64, ticks: bool, name: &str) -> Jvm {
    let mut jvm = Jvm {
        ticks: ticks.then(|| ns(at / 50_000_000 * 50_000_000)),
        collectors: (0..2)
            .map(|number| Collector {
                name: format!("{name} {number}").into(),
                number,
                invocations: 0,
                time: Duration::ZERO,
                last_entry: Duration::ZERO,
                last_exit: Duration::ZERO,
            })
            .collect(),
        safepoints: Some(0),
        safepoint_time: Some(Duration::ZERO),
        sync_time: Some(Duration::ZERO),
        version: "".into(),
        sync_is_included: false,
    };
    for t in times {
        if t.begin <= at {
            jvm.safepoints = jvm.safepoints.map(|n| n + 1);
        }
        if t.synced <= at {
            jvm.sync_time = jvm.sync_time.map(|s| s + ns(t.synced - t.begin));
        }
        if t.end <= at {
            jvm.safepoint_time = jvm.safepoint_time.map(|s| s + ns(t.end - t.synced));
        }
        let Some(c) = t.collector.map(|c| &mut jvm.collectors[usize::from(c)]) else { continue };
        if t.entry <= at {
            c.invocations += 1;
            c.last_entry = ns(t.entry);
        }
        if t.exit <= at {
            c.time += ns(t.exit - t.entry);
            c.last_exit = ns(t.exit);
        }
    }
    jvm
}

fn span(at: u64) -> Span {
    Span { sent: Mono(ORIGIN + at - 20_000), done: Mono(ORIGIN + at + 30_000) }
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
                contains(step.stop, longest(times.iter().map(|t| (t.begin, t.end)), before, at))?;
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

fn simple(stops: &[(u64, u64, Option<u8>)]) -> Vec<Times> {
    let stops: Vec<Stop> = stops
        .iter()
        .map(|&(gap, collection, collector)| Stop {
            gap,
            sync: 10,
            collector,
            before: 10,
            collection,
            after: 10,
        })
        .collect();
    timeline(&stops)
}

#[test]
fn totals_survive_a_restart() {
    let times = simple(&[(1000, 5000, Some(0)), (1000, 7000, Some(1))]);
    let jvm = counters(&times, 1_000_000_000, true, "Serial");
    let mut history = JvmHistory::default();
    let step = history.read(PROCESS, span(1_000_000_000), &jvm);
    assert_eq!(
        (step.pause, step.stop, step.stopped),
        (None, None, None),
        "nothing was read before"
    );
    history.read(PROCESS, span(1_500_000_000), &jvm);
    let once: Vec<_> = history.totals().map(|(n, t)| (Arc::clone(n), t)).collect();
    assert_eq!(
        once.iter().map(|(_, t)| t.time).collect::<Vec<_>>(),
        [ns(5_000_000), ns(7_000_000)]
    );
    history.read(ProcessId { pid: 7, start_ticks: 10 }, span(2_000_000_000), &jvm);
    for ((_, twice), (_, once)) in history.totals().zip(&once) {
        assert_eq!((twice.time, twice.collections), (once.time * 2, once.collections * 2));
    }
    let sums = jvm.safepoint_time.unwrap() + jvm.sync_time.unwrap();
    assert_eq!(history.stopped(), Some(sums * 2));
}

#[test]
fn a_concurrent_cycle_is_no_pause() {
    let times = simple(&[(2_000_000, 300, None), (1_000_000, 700_000, Some(1))]);
    let mut history = JvmHistory::default();
    let read = |history: &mut JvmHistory, at: u64| {
        let mut jvm = counters(&times, at, true, "Shenandoah");
        // The cycle runs beside the program.
        jvm.safepoint_time = Some(ns(if at > 2_100_000_000 { 320_000 } else { 0 }));
        jvm.safepoints = Some(u64::from(at > 2_100_000_000));
        jvm.sync_time = Some(Duration::ZERO);
        history.read(PROCESS, span(at), &jvm)
    };
    read(&mut history, 1_000_000_000);
    read(&mut history, 1_900_000_000);
    assert_eq!(read(&mut history, 2_500_000_000).pause, Some(Bounds::exactly(ns(320_000))));
    let cycle = read(&mut history, 3_200_000_000);
    assert_eq!((cycle.collecting, cycle.stopping), (None, None));
    assert_eq!(read(&mut history, 4_200_000_000).pause, None);
}

#[test]
fn a_pause_that_goes_on_is_told_with_its_age() {
    let times = simple(&[(2_000_000, 3_000_000, Some(1))]);
    for ticks in [true, false] {
        let mut history = JvmHistory::default();
        for at in (1..=12).map(|n| n * 500_000_000) {
            let step = history.read(PROCESS, span(at), &counters(&times, at, ticks, "G1"));
            let inside = times[0].entry <= at && at < times[0].exit;
            assert_eq!(step.collecting.is_some(), inside, "at {at}");
            assert_eq!(history.is_collecting(Mono(0)), inside);
            if inside {
                let age = at - times[0].entry;
                let slack = if ticks { 60_000_000 } else { 550_000_000 };
                assert!(step.collecting.unwrap() + ns(slack) >= ns(age), "{step:?} at {at}");
                let stopping = step.stopping.unwrap();
                assert!(stopping.lower >= step.collecting.unwrap() && stopping.upper >= ns(age));
            }
            if at == 5_500_000_000 {
                assert_eq!(step.pause, Some(Bounds::exactly(ns(3_000_000_000))));
                assert!(step.stop.unwrap().is_exact());
            }
        }
        let age = history.last_collection_age(Mono(ORIGIN + 9_000_000_000), Mono(0)).unwrap();
        let truth = ns(9_000_000_000 - times[0].exit);
        assert!(age <= truth && age + ns(550_000_000) >= truth, "{age:?} of {truth:?}");
        assert_eq!(history.last_collection_age(Mono(0), Mono(u64::MAX)), None, "not read since");
    }
}

#[test]
fn processes_are_bounded_and_none_is_counted_twice() {
    let times = simple(&[(1000, 1000, Some(0))]);
    let jvm = counters(&times, 1_000_000_000, true, "G1");
    let mut history = JvmHistory::default();
    for round in 0..2u64 {
        for pid in 0..600 {
            let at = span(1_000_000_000 + round * 1_000_000_000);
            history.read(ProcessId { pid, start_ticks: 1 }, at, &jvm);
        }
    }
    assert_eq!(history.totals().next().unwrap().1.collections, 512);
    // A place is free once its process is long out of sight.
    history.read(ProcessId { pid: 600, start_ticks: 1 }, span(700_000_000_000), &jvm);
    assert_eq!(history.totals().next().unwrap().1.collections, 513);
    assert_eq!(history.processes.len(), MAX_PROCESSES);
}
