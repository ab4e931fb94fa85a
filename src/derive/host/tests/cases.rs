//! Single cases: restarts, counters, cgroups that are shared, samples that fail.

use std::sync::Arc;
use std::time::Duration;

use super::model::{RULES, worker};
use crate::derive::StallSource;
use crate::derive::host::Host;
use crate::observe::cgroup::{Cgroup, Pressure, Throttling, Waiting};
use crate::observe::stall::{HostUnknown, SampleWay, Scheduling, StallSample, Threads};
use crate::observe::worker::ProcessState;
use crate::observe::{CgroupRead, Mono, ProcessId, Span};

fn at(ms: u64) -> Mono {
    Mono((1_000_000 + ms) * 1_000_000)
}

fn span(ms: u64) -> Span {
    Span { sent: at(ms), done: at(ms + 1) }
}

/// On the CPU and waiting in milliseconds, slices.
fn counters(on_cpu: u64, waited: u64, slices: u64) -> Scheduling {
    Scheduling {
        way: SampleWay::Taskstats,
        on_cpu: Duration::from_millis(on_cpu),
        waited: Duration::from_millis(waited),
        slices,
        involuntary: Some(slices / 2),
        threads: 1,
        state: None,
        frozen: None,
        each: None,
    }
}

fn still(seen: &Scheduling, state: ProcessState, frozen: bool) -> Scheduling {
    Scheduling { state: Some(state), frozen: Some(frozen), ..seen.clone() }
}

fn sample(host: &mut Host, pid: i32, ms: u64, seen: Result<Scheduling, HostUnknown>) -> bool {
    let process = ProcessId { pid, start_ticks: 1 };
    host.stall(&StallSample { worker: worker(), process, span: span(ms), seen }, RULES)
}

fn lower(host: &Host, ms: u64) -> (u128, StallSource) {
    let worst = host.worst_stall(at(ms), RULES).expect("something is known");
    (worst.lower.length.as_millis(), worst.lower.source)
}

fn upper(host: &Host, ms: u64) -> Option<(u128, StallSource)> {
    let worst = host.worst_stall(at(ms), RULES)?;
    worst.upper.map(|u| (u.length.as_millis(), u.source))
}

#[test]
fn a_stop_is_proven_by_the_second_sample_that_shows_it() {
    let mut host = Host::default();
    let moved = counters(20, 0, 3);
    sample(&mut host, 1, 0, Ok(counters(10, 0, 2)));
    sample(&mut host, 1, 500, Ok(moved.clone()));
    let stopped = still(&moved, ProcessState::Stopped, false);
    assert!(!sample(&mut host, 1, 1000, Ok(stopped.clone())), "it may just have begun");
    assert!(sample(&mut host, 1, 1500, Ok(stopped.clone())));
    assert_eq!(lower(&host, 1600), (999, StallSource::Stopped));
    // It began after the first sample and goes on.
    assert_eq!(upper(&host, 1600), Some((1501, StallSource::Stopped)));
    sample(&mut host, 1, 2000, Ok(counters(21, 0, 4)));
    assert_eq!(lower(&host, 2100), (999, StallSource::Stopped), "until just after the last");
    let (most, source) = upper(&host, 2100).unwrap();
    assert!((2000..2020).contains(&most) && source == StallSource::Stopped, "{most}");
}

#[test]
fn a_sleeper_that_a_v1_freezer_takes_is_frozen_from_the_sample_that_shows_it() {
    let moved = counters(20, 0, 3);
    for (state, least) in [(ProcessState::Sleeping, 1499), (ProcessState::DiskSleep, 999)] {
        let mut host = Host::default();
        sample(&mut host, 1, 0, Ok(counters(10, 0, 2)));
        sample(&mut host, 1, 500, Ok(moved.clone()));
        for ms in [1000, 1500, 2000] {
            sample(&mut host, 1, ms, Ok(still(&moved, state, true)));
        }
        assert_eq!(lower(&host, 2100), (least, StallSource::Frozen), "{state:?}");
    }
}

/// Ten seconds of a process that ran last before the second sample and is found like this since.
fn unmoved(state: ProcessState, frozen: Option<bool>) -> Host {
    let mut host = Host::default();
    let moved = counters(20, 0, 3);
    sample(&mut host, 1, 0, Ok(counters(10, 0, 2)));
    sample(&mut host, 1, 500, Ok(moved.clone()));
    for ms in (1000..=10_000).step_by(500) {
        let seen = Scheduling { state: Some(state), frozen, ..moved.clone() };
        sample(&mut host, 1, ms, Ok(seen));
    }
    host
}

#[test]
fn a_sleeper_may_be_frozen_where_that_cannot_be_read() {
    let host = unmoved(ProcessState::Sleeping, None);
    assert_eq!(upper(&host, 10_100), Some((10_001, StallSource::BetweenSamples)));
    assert_eq!(lower(&host, 10_100).0, 0, "nobody saw it frozen");
    let host = unmoved(ProcessState::Sleeping, Some(false));
    assert!(upper(&host, 10_100).unwrap().0 < 1100, "it sleeps of its own will");
}

#[test]
fn state_d_may_be_a_stall_that_no_pressure_books() {
    for frozen in [None, Some(false)] {
        let host = unmoved(ProcessState::DiskSleep, frozen);
        let (most, source) = upper(&host, 10_100).unwrap();
        assert_eq!(most, 10_001, "{frozen:?}");
        assert!(matches!(source, StallSource::DiskSleep | StallSource::BetweenSamples));
        assert_eq!(lower(&host, 10_100).0, 0);
    }
}

#[test]
fn one_of_several_threads_in_state_d_counts_until_a_look_finds_it_elsewhere() {
    let mut host = Host::default();
    let seen = |i: u64, kept_since: Option<Option<Mono>>| {
        let each = kept_since.map(|kept_since| Threads {
            since: span(500 * (i - 1)),
            most_waited: Duration::ZERO,
            mean_wait: Duration::ZERO,
            longest_wait: None,
            wait_limit: None,
            busiest: Duration::from_millis(500),
            unmoved_runnable: None,
            kept_since,
            runnable: 1,
            beyond_cap: 0,
        });
        Ok(Scheduling { threads: 4, each, ..counters(500 * i, 0, 2 + i) })
    };
    sample(&mut host, 1, 0, seen(0, None));
    sample(&mut host, 1, 500, seen(1, Some(None)));
    sample(&mut host, 1, 1000, seen(2, Some(Some(at(500)))));
    assert_eq!(upper(&host, 1100), Some((501, StallSource::DiskSleep)));
    // No look at threads: it may be so still.
    sample(&mut host, 1, 1500, seen(3, None));
    sample(&mut host, 1, 2000, seen(4, None));
    assert_eq!(upper(&host, 2100), Some((1501, StallSource::DiskSleep)));
    // It was until just now at the latest.
    sample(&mut host, 1, 2500, seen(5, Some(None)));
    for i in 6..20 {
        sample(&mut host, 1, 500 * i, seen(i, None));
    }
    assert_eq!(upper(&host, 9600), Some((2001, StallSource::DiskSleep)));
    assert_eq!(lower(&host, 9600).0, 0);
}

#[test]
fn a_freeze_that_cannot_be_read_is_told_and_one_that_cannot_be_is_not() {
    for (frozen, told) in [
        (Ok(false), None),
        (Err(HostUnknown::Hidden), Some(HostUnknown::Hidden)),
        (Err(HostUnknown::Unsupported), None),
    ] {
        let mut host = Host::default();
        look(&mut host, 1, 0, Ok(Cgroup { frozen, ..cgroup("/a", 0, 0) }));
        assert_eq!(host.failures(at(100), RULES.poll).cgroup, told);
    }
}

#[test]
fn a_sleeper_that_wakes_has_not_waited_since_the_sample_before() {
    let mut host = Host::default();
    let seen = counters(20, 0, 3);
    sample(&mut host, 1, 0, Ok(counters(10, 0, 2)));
    sample(&mut host, 1, 500, Ok(seen.clone()));
    sample(&mut host, 1, 1000, Ok(still(&seen, ProcessState::Sleeping, false)));
    sample(&mut host, 1, 1500, Ok(still(&seen, ProcessState::Running, false)));
    assert_eq!(lower(&host, 1600).0, 0, "it may have woken just now");
    assert_eq!(host.ongoing(at(1600), RULES), None);
    sample(&mut host, 1, 2000, Ok(still(&seen, ProcessState::Running, false)));
    assert_eq!(lower(&host, 2100), (499, StallSource::OngoingRunQueue));
    assert_eq!(host.ongoing(at(2100), RULES), Some(Duration::from_millis(499)));
    // Booked when it ends, with all that came before.
    sample(&mut host, 1, 2500, Ok(counters(21, 1300, 4)));
    assert!(upper(&host, 2600).unwrap().0 >= 1300);
    assert_eq!(host.ongoing(at(2600), RULES), None);
}

#[test]
fn a_process_that_starts_again_begins_anew_and_what_was_seen_stays() {
    let mut host = Host::default();
    sample(&mut host, 1, 0, Ok(counters(10, 0, 2)));
    sample(&mut host, 1, 500, Ok(counters(20, 400, 3)));
    assert_eq!(lower(&host, 600), (200, StallSource::RunQueue));
    assert_eq!(host.run_delay(), Some(Duration::from_millis(400)));
    assert_eq!(host.involuntary(), Some(0));
    sample(&mut host, 1, 1000, Err(HostUnknown::Gone));
    // Its counters are smaller, and what they say of its time before is not ours to tell.
    sample(&mut host, 2, 1500, Ok(counters(5, 300, 9)));
    sample(&mut host, 2, 2000, Ok(counters(6, 310, 13)));
    assert_eq!(host.run_delay(), Some(Duration::from_millis(410)));
    assert_eq!(host.involuntary(), Some(2));
    assert_eq!(lower(&host, 2100), (200, StallSource::RunQueue));
}

#[test]
fn nothing_is_at_most_so_long_while_nobody_looks() {
    let mut host = Host::default();
    assert_eq!(host.worst_stall(at(0), RULES), None);
    sample(&mut host, 1, 0, Ok(counters(10, 0, 2)));
    assert_eq!(host.worst_stall(at(10), RULES), None, "one sample is no interval");
    sample(&mut host, 1, 500, Ok(counters(20, 100, 3)));
    assert!(upper(&host, 600).is_some());
    assert_eq!(upper(&host, 20_000), None);
    assert_eq!(lower(&host, 20_000), (50, StallSource::RunQueue));
    // Of two processes one can be looked at: the other may be anything.
    sample(&mut host, 1, 20_000, Ok(counters(30, 100, 4)));
    assert!(upper(&host, 20_100).is_some());
    sample(&mut host, 2, 20_000, Err(HostUnknown::Permission));
    assert_eq!(upper(&host, 20_100), None);
    assert_eq!(host.refusal(at(20_100), RULES), Some(HostUnknown::Permission));
    // While nobody looked, it may have been stopped all the time.
    sample(&mut host, 2, 20_500, Err(HostUnknown::Gone));
    assert!(upper(&host, 20_600).unwrap().0 > 19_000);
}

fn cgroup(path: &str, memory_ms: u64, kills: u64) -> Cgroup {
    let some = Waiting { share: 0.1, total: Duration::from_millis(memory_ms) };
    Cgroup {
        path: Arc::from(path),
        memory: Ok(Pressure { some, full: None }),
        cpu: Err(HostUnknown::Unsupported),
        io: Err(HostUnknown::Unsupported),
        oom_kills: Ok(kills),
        throttling: Ok(Throttling { periods: 0, throttled: Duration::ZERO, period: None }),
        frozen: Ok(false),
        frozen_total: None,
        memory_bytes: Ok(1),
        memory_limit: Ok(None),
    }
}

fn look(host: &mut Host, pid: i32, ms: u64, seen: Result<Cgroup, HostUnknown>) {
    let process = ProcessId { pid, start_ticks: 1 };
    let detail = String::new();
    host.cgroup(&CgroupRead { worker: worker(), process, span: span(ms), seen, detail }, RULES);
}

#[test]
fn a_cgroup_counts_once_however_many_processes_share_it() {
    let mut host = Host::default();
    for (ms, memory, kills) in [(0, 1000, 5), (2000, 1400, 6), (4000, 1500, 6)] {
        look(&mut host, 1, ms, Ok(cgroup("/a", memory, kills)));
        look(&mut host, 2, ms, Ok(cgroup("/a", memory, kills)));
        look(&mut host, 3, ms, Ok(cgroup("/b", memory, kills)));
    }
    let totals = host.cgroups().totals();
    assert_eq!(totals.memory, [Some(Duration::from_secs(1)), None]);
    assert_eq!(totals.oom_kills, Some(2));
    assert_eq!((totals.cpu, totals.io), ([None; 2], [None; 2]), "what nobody tells is no zero");
    // Removed and made again under its name.
    look(&mut host, 1, 6000, Ok(cgroup("/a", 30, 1)));
    let totals = host.cgroups().totals();
    assert_eq!(totals.memory[0], Some(Duration::from_millis(1030)));
    assert_eq!(totals.oom_kills, Some(3));
    let gone = Cgroup { oom_kills: Err(HostUnknown::Gone), ..cgroup("/a", 0, 0) };
    look(&mut host, 1, 6050, Ok(gone));
    look(&mut host, 1, 6060, Ok(cgroup("/a", 10, 0)));
    assert_eq!(host.cgroups().totals().memory[0], Some(Duration::from_millis(1040)));
    assert_eq!(host.failures(at(6100), RULES.poll).pressure, Some(HostUnknown::Unsupported));
    look(&mut host, 1, 8000, Err(HostUnknown::Hidden));
    assert_eq!(host.failures(at(8100), RULES.poll).cgroup, Some(HostUnknown::Hidden));
}

#[test]
fn too_many_cgroups_are_told_and_those_that_are_followed_go_on() {
    let mut host = Host::default();
    let round = |host: &mut Host, ms: u64, cgroups: u64, kills: u64| {
        for n in 0..cgroups {
            look(
                host,
                i32::try_from(n).unwrap(),
                ms + n,
                Ok(cgroup(&format!("/{n:04}"), 0, kills)),
            );
        }
        let failure = host.failures(at(ms + cgroups), RULES.poll).cgroup;
        (host.cgroups().totals().oom_kills.unwrap(), failure)
    };
    assert_eq!(round(&mut host, 0, 512, 5), (0, None));
    assert_eq!(round(&mut host, 2000, 512, 6), (512, None));
    // One more, read in turn with the others, costs none of them its counters.
    assert_eq!(round(&mut host, 4000, 513, 7), (1024, Some(HostUnknown::Unsupported)));
    assert_eq!(round(&mut host, 6000, 513, 8), (1536, Some(HostUnknown::Unsupported)));
    // Those that went long ago make room.
    assert_eq!(round(&mut host, 1_000_000, 0, 0), (1536, None));
    look(&mut host, 600, 1_000_000, Ok(cgroup("/other", 0, 1)));
    look(&mut host, 600, 1_002_000, Ok(cgroup("/other", 0, 2)));
    assert_eq!(host.cgroups().totals().oom_kills, Some(1537));
    assert_eq!(host.failures(at(1_002_100), RULES.poll).cgroup, None);
}

#[test]
fn waiting_for_memory_lengthens_what_may_have_been_and_proves_nothing() {
    let mut host = Host::default();
    for i in 0..8u64 {
        sample(&mut host, 1, i * 500, Ok(counters(500 * i, 0, 2 + i)));
        if i % 4 == 0 {
            look(&mut host, 1, i * 500 + 2, Ok(cgroup("/a", if i < 4 { 0 } else { 1500 }, 0)));
        }
    }
    assert_eq!(lower(&host, 3600).0, 0);
    let (most, source) = upper(&host, 3600).unwrap();
    assert!(most >= 1500 && source == StallSource::MemoryPressure, "{most} {source:?}");
}

#[test]
fn followed_processes_are_bounded() {
    let mut host = Host::default();
    for pid in 0..2000 {
        sample(&mut host, pid, u64::from(pid.unsigned_abs()), Ok(counters(1, 1, 1)));
    }
    assert!(host.processes.len() <= 512);
}

#[test]
fn looks_that_come_no_more_are_overdue() {
    let mut host = Host::default();
    assert!(!host.is_overdue(at(0), RULES.poll), "none was expected");
    sample(&mut host, 1, 0, Ok(counters(10, 0, 2)));
    let polls = |n: u32| Mono(at(1).0 + (RULES.poll * n).as_nanos() as u64);
    assert!(!host.is_overdue(polls(3), RULES.poll));
    assert!(host.is_overdue(polls(4), RULES.poll));
}
