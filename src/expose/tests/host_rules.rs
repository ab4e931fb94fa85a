//! What is shown of hosts and clocks when: absent stays absent, no upper bound without a lower, states are one-hot.

use super::printed;
use crate::config::SeriesTier;
use crate::expose::catalogue::{Tier, host};
use crate::view::*;

const ORDERS: [(&str, &str); 1] = [("worker", "orders-1")];

/// The families of the host part that the worker of the example has.
fn of_host(view: &View) -> Vec<&'static str> {
    let shown = printed(view);
    let has = shown.families_with("worker", "orders-1");
    host::HOST.iter().map(|e| e.name).filter(|n| has.contains(n)).collect()
}

fn seen(view: &mut View) -> &mut WorkerHostView {
    view.workers[0].host.as_mut().expect("the example has a host part")
}

#[test]
fn a_core_worker_has_the_core_families_of_its_host() {
    let mut view = View::example();
    assert_eq!(of_host(&view).len(), host::HOST.len());
    view.workers[0].tier = SeriesTier::Core;
    let core: Vec<_> = host::HOST.iter().filter(|e| e.tier == Tier::Core).map(|e| e.name).collect();
    assert_eq!(of_host(&view), core);
}

#[test]
fn what_is_not_seen_has_no_series() {
    let mut view = View::example();
    *seen(&mut view) = WorkerHostView::default();
    view.workers[0].skew_bounds.clear();
    assert_eq!(of_host(&view), [""; 0]);

    let mut view = View::example();
    seen(&mut view).cgroup = Some(CgroupView { oom_kills: Some(0), ..CgroupView::default() });
    let shown = printed(&view);
    assert_eq!(shown.get("dlock_worker_cgroup_oom_kills_total", &ORDERS), Some(0.0));
    assert_eq!(shown.get("dlock_worker_cgroup_throttled_seconds_total", &ORDERS), None);
    assert_eq!(shown.get("dlock_worker_cgroup_memory_waiting_seconds_total", &ORDERS), None);
}

#[test]
fn pressure_goes_to_the_family_of_its_resource_and_kind() {
    let shown = printed(&View::example());
    for (family, total) in [
        ("dlock_worker_cgroup_memory_waiting_seconds_total", 9.5),
        ("dlock_worker_cgroup_memory_stalled_seconds_total", 4.25),
        ("dlock_worker_cgroup_cpu_waiting_seconds_total", 30.0),
        ("dlock_worker_cgroup_cpu_stalled_seconds_total", 12.0),
        ("dlock_worker_cgroup_io_waiting_seconds_total", 1.5),
        ("dlock_worker_cgroup_io_stalled_seconds_total", 0.5),
    ] {
        assert_eq!(shown.get(family, &ORDERS), Some(total), "{family}");
    }
    let full = [("worker", "orders-1"), ("resource", "memory"), ("kind", "full")];
    assert_eq!(shown.get("dlock_worker_cgroup_pressure_ratio", &full), Some(0.0625));
}

#[test]
fn a_stall_has_a_lower_bound_also_while_none_is_known_above() {
    let bound = |view: &View, bound: &'static str| {
        printed(view).get("dlock_worker_worst_stall_seconds", &[ORDERS[0], ("bound", bound)])
    };
    let mut view = View::example();
    assert_eq!((bound(&view, "lower"), bound(&view, "upper")), (Some(20.25), Some(21.5)));
    for upper in [None, Some((f64::INFINITY, StallSource::BetweenSamples))] {
        seen(&mut view).worst_stall.as_mut().expect("a stall").upper = upper;
        assert_eq!((bound(&view, "lower"), bound(&view, "upper")), (Some(20.25), None));
    }
    seen(&mut view).worst_stall.as_mut().expect("a stall").lower_seconds = f64::NAN;
    assert_eq!((bound(&view, "lower"), bound(&view, "upper")), (None, None));
}

#[test]
fn a_clock_is_in_one_state_and_one_without_an_answer_in_none() {
    let shown = printed(&View::example());
    for (clock, state) in [("here", "synchronized"), ("adrift", "free_running"), ("alone", "local")]
    {
        for each in ClockStatus::ALL {
            let labels = [("clock", clock), ("status", each.as_str())];
            let value = if each.as_str() == state { 1.0 } else { 0.0 };
            assert_eq!(shown.get("dlock_clock_status", &labels), Some(value), "{clock}");
        }
    }
    let silent = crate::expose::example::HOSTILE;
    assert_eq!(shown.families_with("clock", silent), ["dlock_clock_up"]);
    assert_eq!(shown.get("dlock_clock_up", &[("clock", silent)]), Some(0.0));
}

#[test]
fn a_clock_that_serves_its_own_time_has_no_bound() {
    let shown = printed(&View::example());
    let alone = shown.families_with("clock", "alone");
    assert!(alone.contains(&"dlock_clock_stratum"), "{alone:?}");
    assert!(!alone.contains(&"dlock_clock_error_bound_seconds"), "{alone:?}");
    assert!(!alone.contains(&"dlock_clock_offset_seconds"), "{alone:?}");
}

#[test]
fn a_clock_that_was_never_set_has_no_reference_time() {
    let mut view = View::example();
    view.clocks[0].tracking.as_mut().expect("an answer").ref_time = 0.0;
    let shown = printed(&view);
    let here = [("clock", "here")];
    assert_eq!(shown.get("dlock_clock_reference_timestamp_seconds", &here), None);
    assert_eq!(shown.get("dlock_clock_frequency_ratio", &here), Some(4.0 * 1e-6));
}

#[test]
fn steps_of_this_hosts_clock_are_counted_from_zero() {
    let shown = printed(&View::default());
    for direction in ["forward", "backward"] {
        let labels = [("direction", direction)];
        assert_eq!(shown.get("dlock_exporter_host_clock_steps_total", &labels), Some(0.0));
    }
}
