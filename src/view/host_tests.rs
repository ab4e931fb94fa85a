//! Views of an invented process: what is shown while it is sampled, and what is withheld when it is not.

use std::time::Duration;

use super::*;
use crate::observe::stall::{HostUnknown, SampleWay, Scheduling, StallSample, Threads};
use crate::observe::{CgroupRead, ProcessId, Span};

const RULES: StallRules = StallRules {
    stall_poll: Duration::from_millis(500),
    poll: Duration::from_secs(2),
    window: Duration::from_secs(3600),
};
const PROCESS: ProcessId = ProcessId { pid: 7, start_ticks: 1 };

fn at(ms: u64) -> Mono {
    Mono((1_000_000 + ms) * 1_000_000)
}

fn sample(worker: &mut Worker, ms: u64, with_threads: bool) {
    let span = Span { sent: at(ms), done: at(ms + 1) };
    let each = with_threads.then(|| Threads {
        since: Span { sent: at(ms - 500), done: at(ms - 499) },
        most_waited: Duration::from_millis(40),
        mean_wait: Duration::from_millis(10),
        longest_wait: Some(Duration::from_millis(30)),
        wait_limit: Some(Duration::from_millis(30)),
        busiest: Duration::from_millis(490),
        unmoved_runnable: None,
        kept_since: None,
        runnable: 3,
        beyond_cap: 5,
    });
    let seen = Ok(Scheduling {
        way: SampleWay::Taskstats,
        on_cpu: Duration::from_millis(ms),
        waited: Duration::from_millis(ms / 10),
        slices: ms,
        involuntary: Some(ms),
        threads: 4,
        state: None,
        frozen: None,
        each,
    });
    let sample = StallSample { worker: worker.name.clone(), process: PROCESS, span, seen };
    worker.host.stall(&sample, RULES);
}

#[test]
fn what_is_sampled_is_shown_and_withheld_when_it_is_too_old() {
    let mut worker = Worker::new("orders-1".into(), Some(0), true, at(0));
    assert_eq!(host_view(&worker, at(0), RULES), None);
    for ms in [1000, 1500, 2000] {
        sample(&mut worker, ms, ms > 1000);
    }
    let view = host_view(&worker, at(2100), RULES).expect("it is sampled");
    assert_eq!((view.runnable_threads, view.threads_beyond_cap), (Some(3), 5));
    assert_eq!((view.run_delay_seconds, view.involuntary_switches), (Some(0.1), Some(1000)));
    assert_eq!((&view.cgroup, &view.jvm), (&None, &None));
    let worst = view.worst_stall.expect("both bounds");
    assert_eq!((worst.lower_seconds, worst.lower_source), (0.03, StallSource::RunQueue));
    let (upper, _) = worst.upper.expect("it is sampled");
    assert!(upper >= worst.lower_seconds && upper < 1.5, "{worst:?}");
    assert!((worst.lower_age_seconds - 0.099).abs() < 0.6, "{worst:?}");
    let view = host_view(&worker, at(60_000), RULES).expect("there was a stall in the window");
    let worst = view.worst_stall.expect("which is as true as before");
    assert_eq!((worst.lower_seconds, worst.upper), (0.03, None));
    let only = WorkerHostView { worst_stall: Some(worst), ..WorkerHostView::default() };
    assert_eq!(view, only, "too old to say anything else of now");
    let view = host_view(&worker, at(3_700_000), RULES);
    assert_eq!(view, None, "too old for the window");
}

#[test]
fn a_count_of_threads_that_were_not_looked_at_is_no_zero() {
    let mut worker = Worker::new("orders-1".into(), Some(0), true, at(0));
    for ms in [1000, 1500] {
        sample(&mut worker, ms, false);
    }
    let view = host_view(&worker, at(1600), RULES).expect("it is sampled");
    assert_eq!(view.runnable_threads, None);
}

#[test]
fn a_pressure_that_cannot_be_read_is_not_shown() {
    let mut worker = Worker::new("orders-1".into(), Some(0), true, at(0));
    let some = |total| Waiting { share: 0.25, total: Duration::from_millis(total) };
    for (ms, total) in [(1000, 7000), (3000, 7500)] {
        let seen = Ok(Cgroup {
            path: "/a".into(),
            memory: Ok(Pressure { some: some(total), full: None }),
            cpu: Err(HostUnknown::Unsupported),
            io: Err(HostUnknown::Permission),
            oom_kills: Err(HostUnknown::Unsupported),
            throttling: Err(HostUnknown::Unsupported),
            frozen: Ok(false),
            frozen_total: None,
            memory_bytes: Ok(9),
            memory_limit: Ok(None),
        });
        let span = Span { sent: at(ms), done: at(ms + 1) };
        let name = worker.name.clone();
        let detail = String::new();
        let read = CgroupRead { worker: name, process: PROCESS, span, seen, detail };
        worker.host.cgroup(&read, RULES);
    }
    let view = host_view(&worker, at(3100), RULES).and_then(|v| v.cgroup).expect("it is read");
    assert_eq!(view.pressure, [("memory", "some", Some(0.25), 0.5)]);
    assert_eq!(
        (view.oom_kills, view.throttled_seconds, view.throttled_periods),
        (None, None, None)
    );
    assert_eq!((view.memory_bytes, view.memory_limit_bytes), (Some(9), None));
}

#[test]
fn totals_of_a_worker_that_was_killed_stay_and_all_else_goes() {
    let mut worker = Worker::new("orders-1".into(), Some(0), true, at(0));
    let name = worker.name.clone();
    let look = |worker: &mut Worker, ms: u64, seen| {
        let span = Span { sent: at(ms), done: at(ms + 1) };
        let (worker_name, detail) = (name.clone(), String::new());
        let read = CgroupRead { worker: worker_name, process: PROCESS, span, seen, detail };
        worker.host.cgroup(&read, RULES);
    };
    let some = Waiting { share: 0.25, total: Duration::from_secs(7) };
    let cgroup = |kills| Cgroup {
        path: "/a".into(),
        memory: Ok(Pressure { some, full: None }),
        cpu: Err(HostUnknown::Unsupported),
        io: Err(HostUnknown::Unsupported),
        oom_kills: Ok(kills),
        throttling: Err(HostUnknown::Unsupported),
        frozen: Ok(false),
        frozen_total: None,
        memory_bytes: Ok(9),
        memory_limit: Ok(Some(10)),
    };
    let view = |worker: &Worker, ms| host_view(worker, at(ms), RULES).and_then(|v| v.cgroup);
    assert_eq!(view(&worker, 500), None, "nothing was ever read");
    look(&mut worker, 1000, Ok(cgroup(4)));
    look(&mut worker, 3000, Ok(cgroup(5)));
    look(&mut worker, 5000, Err(HostUnknown::Gone));
    let shown = view(&worker, 600_000).expect("its totals");
    let left = CgroupView {
        path: "/a".into(),
        pressure: vec![("memory", "some", None, 0.0)],
        oom_kills: Some(1),
        ..CgroupView::default()
    };
    assert_eq!(shown, left);
    // One that lives and cannot be read is another matter.
    look(&mut worker, 700_000, Err(HostUnknown::Permission));
    assert_eq!(view(&worker, 700_100), None);
}
