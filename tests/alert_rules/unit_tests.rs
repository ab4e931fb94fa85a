//! What the promtool unit tests cover, read from their YAML: each alert of each severity fires in one and stays silent in
//! another that could have made it fire.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use super::files::{RuleFile, list, read, rules, shipped, yaml, yaml_files};
use super::lint::parsed;
use crate::promql;

/// A file of unit tests.
pub struct TestFile {
    /// Where it is.
    pub path: PathBuf,
    /// All of it.
    pub content: Value,
}

impl TestFile {
    fn name(&self) -> String {
        self.path.file_name().expect("a file has a name").to_string_lossy().into_owned()
    }
}

/// The shipped unit tests.
pub fn shipped_tests() -> Vec<TestFile> {
    let read_one = |path: PathBuf| {
        let content = yaml(&path.display().to_string(), &read(&path));
        TestFile { path, content }
    };
    yaml_files("alerts/tests").into_iter().map(read_one).collect()
}

/// For each recorded name and each alert, the metrics and recorded names that it rests on, however deep.
pub fn rests_on(files: &[RuleFile]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in parsed(files, &mut Vec::new()).0 {
        let direct: BTreeSet<String> = promql::metrics(&one.expr).map(str::to_owned).collect();
        let mut all = direct.clone();
        for name in &direct {
            all.extend(found.get(name).into_iter().flatten().cloned());
        }
        found.entry(one.rule.name().into()).or_default().extend(all);
    }
    found
}

/// How often an alert of one severity fires in the tests, and how often it does not although its metrics are there.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    firing: usize,
    silent: usize,
}

fn seen(files: &[RuleFile], tests: &[TestFile]) -> BTreeMap<(String, String), Seen> {
    let rests_on = rests_on(files);
    let alerts = rules(files).into_iter().filter(|r| r.is_alert());
    let key = |r: super::files::Rule<'_>| (r.name().to_owned(), r.severity().to_owned());
    let mut seen: BTreeMap<_, _> = alerts.map(|r| (key(r), Seen::default())).collect();
    for test in tests.iter().flat_map(|file| list(&file.content["tests"])) {
        let series = list(&test["input_series"]).iter().filter_map(|s| s["series"].as_str());
        let fed: BTreeSet<&str> = series.map(|s| s.split('{').next().unwrap_or(s)).collect();
        for check in list(&test["alert_rule_test"]) {
            let name = check["alertname"].as_str().unwrap_or_default();
            let expected: BTreeSet<&str> = list(&check["exp_alerts"])
                .iter()
                .filter_map(|a| a["exp_labels"]["severity"].as_str())
                .collect();
            let could = rests_on.get(name).is_some_and(|on| on.iter().any(|m| fed.contains(&**m)));
            for ((alert, severity), seen) in &mut seen {
                if alert == name && expected.contains(severity.as_str()) {
                    seen.firing += 1;
                } else if alert == name && could {
                    seen.silent += 1;
                }
            }
        }
    }
    seen
}

#[test]
fn every_alert_fires_in_a_unit_test_and_stays_silent_in_another() {
    let mut lacking = Vec::new();
    for ((alert, severity), seen) in seen(&shipped(), &shipped_tests()) {
        eprintln!("{alert} ({severity}): fires {}, silent {}", seen.firing, seen.silent);
        if seen.firing == 0 || seen.silent == 0 {
            lacking.push(format!("{alert} ({severity}): {seen:?}"));
        }
    }
    assert!(lacking.is_empty(), "not covered:\n{}", lacking.join("\n"));
}

#[test]
fn the_unit_tests_test_what_there_is() {
    let files = shipped();
    let alerts: BTreeSet<String> =
        rules(&files).iter().filter(|r| r.is_alert()).map(|r| r.name().into()).collect();
    let schema = promql::Schema::of_the_catalogue();
    let groups: BTreeSet<String> = rules(&files).iter().map(|r| r.group.into()).collect();
    let mut wrong = Vec::new();
    for file in shipped_tests() {
        let order: BTreeSet<String> = list(&file.content["group_eval_order"])
            .iter()
            .filter_map(|g| g.as_str().map(str::to_owned))
            .collect();
        if !order.is_subset(&groups) || order.is_empty() {
            wrong.push(format!("{}: group_eval_order names no group of the rules", file.name()));
        }
        for test in list(&file.content["tests"]) {
            let title = format!("{}: {}", file.name(), test["name"].as_str().unwrap_or("no name"));
            for series in list(&test["input_series"]).iter().filter_map(|s| s["series"].as_str()) {
                // A series is written like a selector with equal signs, and is checked like one.
                match promql::parse(series) {
                    Ok(expr) => {
                        let mut found = Vec::new();
                        promql::labels_of(&expr, &schema, &mut found);
                        wrong.extend(found.iter().map(|w| format!("{title}: {series}: {w}")));
                    }
                    Err(why) => wrong.push(format!("{title}: {why}")),
                }
            }
            for check in list(&test["alert_rule_test"]) {
                let name = check["alertname"].as_str().unwrap_or_default();
                if !alerts.contains(name) {
                    wrong.push(format!("{title}: there is no alert {name:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
