//! Each signal of the catalogue, and each family that says something is wrong, has an alert, a runbook and a panel. A
//! signal that a later version adds fails here until it has them.

use std::collections::BTreeSet;
use std::fs;

use dlock_exporter::derive::Signal;
use dlock_exporter::expose::catalogue;
use serde_json::Value;

use super::files::{RuleFile, rules, shipped};
use super::runbooks;
use super::unit_tests::rests_on;
use crate::support::repository;

/// Families besides the signals that an alert must rest on.
const ALERTED: [&str; 39] = [
    "dlock_store_up",
    "dlock_store_primaries",
    "dlock_store_sentinels_disagree",
    "dlock_store_failovers_total",
    "dlock_store_restart_unsafe",
    "dlock_store_replica_link_up",
    "dlock_store_durable",
    "dlock_store_evicts_locks",
    "dlock_store_clock_steps_total",
    "dlock_store_clock_frozen",
    "dlock_store_permission_denied",
    "dlock_store_lease_ends_total",
    "dlock_locks_dropped",
    "dlock_workers_dropped",
    "dlock_locks_flagged",
    "dlock_locks_blind",
    "dlock_lease_least_margin_ratio",
    "dlock_lease_stall_budget_seconds",
    "dlock_lease_late_renewals_total",
    "dlock_lease_renewals_after_lost_liveness_total",
    "dlock_lease_expired_under_holder_total",
    "dlock_signal_rises_total",
    "dlock_group_lease_renewals_after_lost_liveness_total",
    "dlock_group_lease_expired_under_holder_total",
    "dlock_fencing_regressions_total",
    "dlock_fencing_rejections_total",
    "dlock_worker_alive",
    "dlock_worker_coverage_lost",
    "dlock_worker_restarts_total",
    "dlock_worker_cgroup_frozen",
    "dlock_worker_cgroup_oom_kills_total",
    "dlock_worker_cgroup_throttled_seconds_total",
    "dlock_worker_worst_stall_seconds",
    "dlock_worker_skew_bound_seconds",
    "dlock_clock_status",
    "dlock_clock_up",
    "dlock_exporter_host_clock_steps_total",
    "dlock_exporter_config_last_reload_successful",
    "dlock_exporter_shard_info",
];

/// Families besides the signals and those above that a panel must show.
const SHOWN: [&str; 20] = [
    "dlock_locks",
    "dlock_group_locks",
    "dlock_group_flagged",
    "dlock_group_signal_rises_total",
    "dlock_group_lease_remaining_min_seconds",
    "dlock_group_held_max_seconds",
    "dlock_group_lease_ends_total",
    "dlock_lock_held",
    "dlock_lock_holder_info",
    "dlock_lease_remaining_seconds",
    "dlock_lease_length_seconds",
    "dlock_lease_renewal_age_seconds",
    "dlock_worker_heartbeat_age_seconds",
    "dlock_holder_liveness",
    "dlock_skew_bound_seconds",
    "dlock_clock_offset_seconds",
    "dlock_clock_error_bound_seconds",
    "dlock_store_replication_lag_bytes",
    "dlock_exporter_poll_duration_seconds",
    "dlock_exporter_poll_failures_total",
];

fn signals() -> Vec<String> {
    Signal::ALL.iter().map(|s| format!("dlock_{}", s.as_str())).collect()
}

fn exists(name: &str) -> bool {
    catalogue::all().any(|family| family.name == name)
}

/// The names of the alerts that rest on a metric.
fn alerts_on(metric: &str, files: &[RuleFile]) -> BTreeSet<String> {
    let alerts: BTreeSet<&str> =
        rules(files).iter().filter(|r| r.is_alert()).map(super::files::Rule::name).collect();
    let found = rests_on(files).into_iter();
    let found = found.filter(|(name, on)| alerts.contains(name.as_str()) && on.contains(metric));
    found.map(|(name, _)| name).collect()
}

#[test]
fn every_signal_has_an_alert_with_a_runbook() {
    let (files, runbooks) = (shipped(), runbooks());
    let mut lacking = Vec::new();
    for metric in signals().iter().map(String::as_str).chain(ALERTED) {
        assert!(exists(metric), "{metric} is not in the catalogue");
        let alerts = alerts_on(metric, &files);
        if alerts.is_empty() {
            lacking.push(format!("no alert rests on {metric}"));
        } else if !alerts.iter().any(|a| runbooks.contains(a)) {
            lacking.push(format!("no runbook for {metric}: {alerts:?} have none"));
        }
    }
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
}

/// Every query of the dashboards, as one text.
fn queries(node: &Value, found: &mut Vec<String>) {
    match node {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str() {
                    Some(text) if key == "expr" => found.push(text.into()),
                    _ => queries(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| queries(item, found)),
        _ => {}
    }
}

#[test]
fn every_signal_and_every_family_that_matters_has_a_panel() {
    let mut found = Vec::new();
    for entry in fs::read_dir(repository("dashboards")).expect("there are dashboards") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "json") {
            let text = fs::read_to_string(&path).expect("a dashboard can be read");
            let dashboard: Value = serde_json::from_str(&text).expect("a dashboard is JSON");
            queries(&dashboard, &mut found);
        }
    }
    let text = found.join("\n");
    let words: BTreeSet<&str> =
        text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).collect();
    // A recorded name shows what it is made of.
    let files = shipped();
    let recorded = rests_on(&files);
    let shown = |metric: &str| {
        words.contains(metric)
            || words
                .iter()
                .any(|w| w.contains(':') && recorded.get(*w).is_some_and(|r| r.contains(metric)))
    };
    let lacking: Vec<String> = signals()
        .into_iter()
        .chain(ALERTED.iter().chain(&SHOWN).map(|m| (*m).to_owned()))
        .filter(|metric| !shown(metric))
        .collect();
    assert!(lacking.is_empty(), "no panel shows:\n{}", lacking.join("\n"));
}
