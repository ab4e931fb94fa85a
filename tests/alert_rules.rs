//! The alert rules: our own lint, promtool's checks and unit tests, and faults seeded into the rules that the unit tests
//! must see. It runs no exporter; what the metrics mean is tested elsewhere.

mod coverage;
mod faults;
mod files;
mod lint;
mod lint_tests;
mod promtool;
mod readme;
mod unit_tests;

use std::collections::BTreeSet;

use crate::support::repository;

/// The names of the runbooks that exist.
fn runbooks() -> BTreeSet<String> {
    let entries = std::fs::read_dir(repository("alerts/runbooks")).into_iter().flatten();
    let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.strip_suffix(".md").map(str::to_owned)).collect()
}

#[test]
fn the_rules_are_as_rules_should_be() {
    let wrong = lint::lint(&files::shipped(), &runbooks());
    assert!(wrong.is_empty(), "{} complaints:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_runbook_belongs_to_an_alert() {
    let files = files::shipped();
    let alerts: BTreeSet<String> =
        files::rules(&files).iter().filter(|r| r.is_alert()).map(|r| r.name().into()).collect();
    let stray: Vec<_> =
        runbooks().into_iter().filter(|r| !alerts.contains(r) && r != "README").collect();
    assert!(stray.is_empty(), "runbooks of no alert: {stray:?}");
}
