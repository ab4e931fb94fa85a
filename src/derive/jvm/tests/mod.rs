//! Invented JVMs, whose pauses are known, and what must be said of some of them.

mod bounds;

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
