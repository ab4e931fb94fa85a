//! Faults seeded into the rules: each rule is changed in one place, and a unit test of the rules must fail. A fault that no
//! test sees is either a gap in the tests or a change that changes nothing; the second kind is listed with its reason.

mod allowed;
mod changes;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::files::{Rule, RuleFile, list, rules, shipped};
use super::promtool::promtool;
use super::unit_tests::{TestFile, rests_on, shipped_tests};
use crate::support::long;
use changes::Change;

/// Faults that every run seeds; the long one seeds the others too.
const QUICK: [&str; 6] = ["by", "threshold", "guard", "max and min", "for", "keep_firing_for"];

struct Mutant {
    /// Index of the file and of the rule in it.
    place: (usize, usize),
    title: String,
    change: Change,
}

/// The rules and tests that a change of one rule may show in, and nothing else, so that a run is short.
struct Excerpt {
    rules: Vec<RuleFile>,
    tests: Vec<Value>,
}

impl Excerpt {
    /// What rests on the named rule.
    fn of(name: &str, files: &[RuleFile], tests: &[TestFile]) -> Self {
        let on = rests_on(files);
        let looks = |rule: &Rule<'_>| {
            rule.name() == name
                || on.get(rule.name()).is_some_and(|on| on.contains(name))
                || name.contains(':') && rule.annotation("description").contains(name)
        };
        let alerts: BTreeSet<&str> = rules(files)
            .into_iter()
            .filter(|rule| rule.is_alert() && looks(rule))
            .map(|rule| rule.name())
            .collect();
        let kept = |rule: &Value| rule["alert"].as_str().is_none_or(|name| alerts.contains(name));
        let mut excerpt: Vec<RuleFile> = files.to_vec();
        for group in excerpt.iter_mut().filter_map(|f| f.content["groups"].as_array_mut()).flatten()
        {
            // An alert that is left out keeps its place, so that rules are found by their number.
            for rule in group["rules"].as_array_mut().into_iter().flatten().filter(|r| !kept(r)) {
                *rule = json!({"record": "left:out:rule", "expr": "vector(0) > 1"});
            }
        }
        let names: Vec<String> = files.iter().map(|f| f.name.clone()).collect();
        let tests = tests.iter().filter_map(|file| only(&file.content, &alerts, &names)).collect();
        Self { rules: excerpt, tests }
    }

    /// Runs the tests with one file replaced.
    fn run(&self, file: usize, replaced: &RuleFile) -> super::promtool::Said {
        let dir = tempfile::tempdir().expect("a directory");
        for (i, original) in self.rules.iter().enumerate() {
            let shown = if i == file { replaced } else { original };
            std::fs::write(dir.path().join(&shown.name), shown.content.to_string())
                .expect("a file");
        }
        let mut args = vec!["test".to_owned(), "rules".to_owned()];
        for (i, test) in self.tests.iter().enumerate() {
            args.push(format!("test-{i}.json"));
            std::fs::write(dir.path().join(&args[i + 2]), test.to_string()).expect("a file");
        }
        promtool(dir.path(), &args.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// The tests of a file that look at one of the alerts; `None` if there is none.
fn only(file: &Value, alerts: &BTreeSet<&str>, rule_files: &[String]) -> Option<Value> {
    let checks = |test: &Value| {
        let about = |c: &&Value| c["alertname"].as_str().is_some_and(|name| alerts.contains(name));
        list(&test["alert_rule_test"]).iter().filter(about).cloned().collect::<Vec<_>>()
    };
    let tests: Vec<Value> = list(&file["tests"])
        .iter()
        .filter(|test| !checks(test).is_empty())
        .map(|test| {
            let mut test = test.clone();
            test["alert_rule_test"] = checks(&test).into();
            test
        })
        .collect();
    if tests.is_empty() {
        return None;
    }
    let mut file = file.clone();
    file["tests"] = tests.into();
    file["rule_files"] = json!(rule_files);
    Some(file)
}

fn mutants(files: &[RuleFile]) -> Vec<Mutant> {
    let mut all = Vec::new();
    for (f, file) in files.iter().enumerate() {
        for (r, rule) in file.rules().into_iter().enumerate() {
            let title = rule.title();
            all.extend(changes::of(rule).into_iter().map(|change| Mutant {
                place: (f, r),
                title: title.clone(),
                change,
            }));
        }
    }
    all
}

#[test]
fn the_unit_tests_of_the_rules_see_seeded_faults() {
    let (files, tests) = (shipped(), shipped_tests());
    let mut seeded = mutants(&files);
    if !long() {
        seeded.retain(|m| QUICK.contains(&m.change.kind));
    }
    assert!(seeded.len() > 100, "too few faults: {}", seeded.len());

    let next = AtomicUsize::new(0);
    let survivors = Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let mut last: Option<(String, Excerpt)> = None;
                while let Some(mutant) = seeded.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (f, r) = mutant.place;
                    let name = files[f].rules()[r].name().to_owned();
                    if last.as_ref().is_none_or(|(of, _)| *of != name) {
                        let excerpt = Excerpt::of(&name, &files, &tests);
                        let said = excerpt.run(f, &excerpt.rules[f]);
                        assert!(said.good, "without a fault, {name}: {}", said.text);
                        last = Some((name, excerpt));
                    }
                    let excerpt = &last.as_ref().expect("just made").1;
                    let said = excerpt.run(f, &excerpt.rules[f].with_rule(r, &mutant.change.rule));
                    let loads = !["parse error", "unmarshal", "could not"]
                        .iter()
                        .any(|w| said.text.contains(w));
                    assert!(loads, "{}, {}: {}", mutant.title, mutant.change, said.text);
                    if said.good {
                        let line = format!("{}: {}", mutant.title, mutant.change);
                        survivors.lock().expect("no thread panicked").push(line);
                    }
                }
            });
        }
    });

    let mut survivors = survivors.into_inner().expect("no thread panicked");
    survivors.sort();
    let unseen: Vec<_> = survivors.iter().filter(|line| !allowed::is(line)).collect();
    eprintln!("{} faults, {} survive and may", seeded.len(), survivors.len() - unseen.len());
    let shown = unseen.iter().map(|line| line.as_str()).collect::<Vec<_>>().join("\n");
    assert!(
        unseen.is_empty(),
        "{} of {} faults are seen by no test:\n{shown}",
        unseen.len(),
        seeded.len()
    );
    // In the long run everything is seeded, so that a reason that is no longer needed shows.
    if long() {
        let idle = allowed::idle(&survivors);
        assert!(idle.is_empty(), "allowed, and yet seen by a test:\n{}", idle.join("\n"));
    }
}
