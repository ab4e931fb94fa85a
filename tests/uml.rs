//! What only a machine of the test's own can show: the memory and CPU controllers of cgroup v2 at work, its freezer, a
//! kernel without pressure information, and a real step of the clock that everything goes by. One boot for all of it.
//! The right series move by what the kernel says, and no other.

use crate::support::{Inside, Metrics, not_tested};

/// Each in a cgroup of its own, after which it is named.
const WORKERS: [&str; 3] = ["memory-1", "quota-1", "ice-1"];
const STALL_POLL: f64 = 0.5;

fn of(m: &Metrics, name: &str, worker: &str) -> f64 {
    let found = m.value(name, &[("worker", worker)]);
    found.unwrap_or_else(|| panic!("no {name} of {worker}:\n{}", m.lines("dlock_worker_c")))
}

/// By how much a worker's series moved from one scrape to the other.
fn moved(scrapes: [&Metrics; 2], name: &str, worker: &str) -> f64 {
    of(scrapes[1], name, worker) - of(scrapes[0], name, worker)
}

fn pair(inside: &'static Inside, what: &str) -> [&'static Metrics; 2] {
    [inside.scrape(&format!("{what}-before")), inside.scrape(&format!("{what}-after"))]
}

const KILLS: &str = "dlock_worker_cgroup_oom_kills_total";
const PERIODS: &str = "dlock_worker_cgroup_throttled_periods_total";
const THROTTLED: &str = "dlock_worker_cgroup_throttled_seconds_total";
const FROZEN: &str = "dlock_worker_cgroup_frozen";
const LIMIT: &str = "dlock_worker_cgroup_memory_limit_bytes";
const BYTES: &str = "dlock_worker_cgroup_memory_bytes";

#[test]
fn a_child_killed_for_want_of_memory_is_counted_and_its_worker_lives() {
    let inside = Inside::look();
    let scrapes = pair(inside, "memory");
    let kills = inside.number("/memory/kills");
    assert!(kills >= 1.0, "the kernel killed");
    assert_eq!(moved(scrapes, KILLS, "memory-1"), kills);
    for worker in ["quota-1", "ice-1"] {
        assert_eq!(moved(scrapes, KILLS, worker), 0.0, "{worker}");
        let limit = scrapes[1].value(LIMIT, &[("worker", worker)]);
        assert_eq!(limit, None, "{worker} has no limit");
    }
    let (limit, bytes) = (of(scrapes[1], LIMIT, "memory-1"), of(scrapes[1], BYTES, "memory-1"));
    assert_eq!(limit, inside.number("/memory/limit"));
    assert!((65536.0..=limit).contains(&bytes), "{bytes} of {limit} bytes");
    let really = inside.number("/memory/current");
    assert!((bytes - really).abs() < 4e6, "{bytes} bytes, the kernel says {really}");
    for worker in WORKERS {
        assert_eq!(moved(scrapes, PERIODS, worker), 0.0, "{worker} is not throttled");
        assert_eq!(of(scrapes[1], FROZEN, worker), 0.0, "{worker} is not frozen");
        let process = [("worker", worker), ("source", "process")];
        assert_eq!(scrapes[1].value("dlock_worker_alive", &process), Some(1.0), "{worker}");
        assert_eq!(of(scrapes[1], "dlock_worker_restarts_total", worker), 0.0, "{worker}");
    }
    assert_eq!(scrapes[1].sum("dlock_signal_rises_total", &[]), 0.0);
}

#[test]
fn a_quota_at_work_is_throttling_and_nothing_else() {
    let inside = Inside::look();
    let scrapes = pair(inside, "quota");
    // The kernel was asked after both scrapes: it can have counted one or two periods more.
    let periods = inside.number("/quota/nr_throttled");
    let counted = moved(scrapes, PERIODS, "quota-1");
    assert!(periods >= 20.0);
    assert!((counted - periods).abs() <= 2.0, "{counted} periods, the kernel says {periods}");
    let seconds = inside.number("/quota/throttled_usec") / 1e6;
    let counted = moved(scrapes, THROTTLED, "quota-1");
    assert!((counted - seconds).abs() <= 0.25, "{counted} s, the kernel says {seconds}");
    for worker in ["memory-1", "ice-1"] {
        assert_eq!(moved(scrapes, PERIODS, worker), 0.0, "{worker}");
        assert_eq!(moved(scrapes, THROTTLED, worker), 0.0, "{worker}");
    }
    for worker in WORKERS {
        assert_eq!(moved(scrapes, KILLS, worker), 0.0, "{worker}");
        assert_eq!(of(scrapes[1], FROZEN, worker), 0.0, "{worker}");
    }
    assert_eq!(scrapes[1].sum("dlock_signal_rises_total", &[]), 0.0);
}

#[test]
fn a_freeze_is_seen_while_it_lasts_and_is_a_stall_of_that_length() {
    let inside = Inside::look();
    let [before, after] = pair(inside, "ice");
    let during = inside.scrape("ice-frozen");
    for (m, frozen) in [(before, 0.0), (during, 1.0), (after, 0.0)] {
        assert_eq!(of(m, FROZEN, "ice-1"), frozen);
        for worker in ["memory-1", "quota-1"] {
            assert_eq!(of(m, FROZEN, worker), 0.0, "{worker}");
        }
        for worker in WORKERS {
            assert_eq!(moved([before, m], KILLS, worker), 0.0, "{worker}");
            assert_eq!(moved([before, m], "dlock_worker_restarts_total", worker), 0.0, "{worker}");
        }
    }
    let liveness = [("lock", "ice"), ("state", "stopped")];
    assert!(during.is("dlock_holder_liveness", &liveness, 1.0));
    assert!(after.is("dlock_holder_liveness", &liveness, 0.0));
    for (lock, rises) in [("ice", 1.0), ("memory", 0.0), ("quota", 0.0), ("clock", 0.0)] {
        let signal = [("lock", lock), ("signal", "holder_stale")];
        assert!(after.is("dlock_signal_rises_total", &signal, rises), "{lock}");
    }
    let (least, most) = (inside.number("/ice/least"), inside.number("/ice/most"));
    // Where the machine is busy, processes may not have been sampled lately at the first of these, or not since the thaw; the
    // window is longer.
    let bound = |worker, bound| {
        let labels = [("worker", worker), ("bound", bound)];
        let scrapes = ["ice-after", "clock-before", "settled"].iter().map(|n| inside.scrape(n));
        let worst = scrapes.filter_map(|m| m.value("dlock_worker_worst_stall_seconds", &labels));
        worst.reduce(f64::max)
    };
    // A machine inside a busy one may be too late with its samples to be sure of the least, or of anything, and says so.
    let late = [("worker", "ice-1"), ("aspect", "stall_resolution")];
    let is_late = !after.all("dlock_worker_coverage_lost", &late).is_empty();
    let bounds = (bound("ice-1", "lower"), bound("ice-1", "upper"));
    let (Some(lower), Some(upper)) = bounds else {
        assert!(is_late, "of ice-1's worst stall there are the bounds {bounds:?}");
        return;
    };
    if lower == 0.0 {
        // True, and worth nothing: its samples came too late for more.
        return not_tested("a freeze is a stall of that length: the machine inside was too slow");
    }
    assert!(
        is_late || lower >= least - 2.0 * STALL_POLL - 0.5,
        "frozen for {least} s, a stall of {lower} at least"
    );
    assert!(upper >= least, "frozen for {least} s, a stall of {upper} at most");
    assert!(lower <= most + 0.1, "frozen for {most} s at most, a stall of {lower} at least");
    for worker in WORKERS {
        assert!(bound(worker, "lower") <= bound(worker, "upper"), "{worker}");
    }
}

#[test]
fn a_kernel_without_pressure_has_none_and_says_so() {
    let inside = Inside::look();
    assert_eq!(inside.fact("/has_pressure"), false, "else this proves nothing");
    let m = inside.scrape("clock-before");
    let mut families = vec!["dlock_worker_cgroup_pressure_ratio".to_owned()];
    for resource in ["memory", "cpu", "io"] {
        for kind in ["waiting", "stalled"] {
            families.push(format!("dlock_worker_cgroup_{resource}_{kind}_seconds_total"));
        }
    }
    for name in families {
        assert!(m.all(&name, &[]).is_empty(), "never a zero: {}", m.lines(&name));
    }
    for worker in WORKERS {
        let lost = [("worker", worker), ("aspect", "pressure"), ("reason", "unsupported")];
        let lines = m.lines("dlock_worker_coverage_lost");
        assert!(m.is("dlock_worker_coverage_lost", &lost, 1.0), "{worker}:\n{lines}");
        // What the same cgroups do show is there.
        assert!(of(m, BYTES, worker) > 0.0, "{worker}");
        let lost = [("worker", worker), ("aspect", "cgroup")];
        assert!(m.all("dlock_worker_coverage_lost", &lost).is_empty(), "{worker}:\n{lines}");
    }
}

#[test]
fn a_real_step_of_the_clock_is_counted_for_server_and_host_and_concludes_nothing() {
    let inside = Inside::look();
    let before = inside.scrape("clock-before");
    for (name, steps) in [("forward", (1.0, 0.0)), ("backward", (1.0, 1.0))] {
        let m = inside.scrape(&format!("clock-{name}"));
        for family in ["dlock_store_clock_steps_total", "dlock_exporter_host_clock_steps_total"] {
            let of = |direction| m.value(family, &[("direction", direction)]);
            let seen = (of("forward"), of("backward"));
            assert_eq!(seen, (Some(steps.0), Some(steps.1)), "{family} after {name}");
            assert_eq!(before.sum(family, &[]), 0.0, "{family} before");
        }
        let really = inside.number(&format!("/clock/{name}/step"));
        let size = m.value("dlock_store_clock_step_seconds", &[]).unwrap_or(f64::NAN);
        assert!((size - really).abs() < 0.05, "a step of {really} s, said to be {size} s");
        // One clock for both: they agree before and after.
        let value = |family| m.value(family, &[]).unwrap_or(f64::NAN);
        let offset = value("dlock_store_clock_offset_seconds");
        let error = value("dlock_store_clock_offset_error_seconds");
        assert!(offset.abs() <= error + 0.005, "{offset} s, with an error of {error} s");
        assert_eq!(value("dlock_store_clock_frozen"), 0.0);
        is_as_done(inside, name);
    }
    let log = inside.log();
    assert!(!log.contains("event=shortened"), "nobody let go early");
    assert!(!log.contains("event=renewed_late"), "nobody was late");
    assert_eq!(inside.fact("/ended"), &serde_json::json!([]), "all live to the end");
}

/// That the locks' counters tell what was done to them, and that no signal rose by the step.
fn is_as_done(inside: &Inside, name: &str) {
    let (before, m) = (inside.scrape("clock-before"), inside.scrape(&format!("clock-{name}")));
    let moved =
        |family, lock| m.sum(family, &[("lock", lock)]) - before.sum(family, &[("lock", lock)]);
    assert_eq!(inside.number(&format!("/clock/{name}/lost")), 0.0, "its lease outlives the step");
    let really =
        inside.number(&format!("/clock/{name}/renewed")) - inside.number("/clock/before/renewed");
    let counted = moved("dlock_lease_renewals_total", "clock");
    // Each of the two numbers of each pair was read a moment after the other.
    assert!(counted <= really + 1.0, "{counted} renewals counted, {really} made");
    assert!(counted >= really - 3.0, "{counted} renewals counted, {really} made");
    assert_eq!(moved("dlock_lock_acquisitions_total", "clock"), 0.0);
    // The leases shorter than the step really ended by it, and were taken again.
    let ends = m.value("dlock_store_lease_ends_total", &[("evidence", "clock_step")]);
    assert_eq!(ends, Some(3.0));
    for worker in WORKERS {
        let lock = worker.trim_end_matches("-1");
        assert_eq!(moved("dlock_lock_acquisitions_total", lock), 1.0, "{lock}");
        assert!(m.is("dlock_lock_held", &[("lock", lock)], 1.0), "{lock}");
        let restarts = m.value("dlock_worker_restarts_total", &[("worker", worker)]);
        assert_eq!(restarts, Some(0.0), "{worker}");
    }
    for lock in ["memory", "quota", "ice", "clock"] {
        assert_eq!(moved("dlock_lease_ends_total", lock), 0.0, "{lock}");
        // Set back, the clock leaves more of the lease than it has until it is renewed, which may be before the next poll.
        let absurd = [("lock", lock), ("signal", "lease_absurd")];
        let told = m.sum("dlock_signal_rises_total", &absurd);
        assert!(told == 0.0 || (name == "backward" && told == 1.0), "{lock}: {told}");
        assert_eq!(moved("dlock_signal_rises_total", lock), told, "{lock}");
        assert_eq!(moved("dlock_lease_late_renewals_total", lock), 0.0, "{lock}");
        assert_eq!(moved("dlock_contention_events_total", lock), 0.0, "{lock}");
    }
}
