//! Faults seeded into the rules: each rule is changed in one place, and a unit test of the rules must fail. A fault that no
//! test sees is either a gap in the tests or a change that changes nothing; the second kind is listed with its reason.

mod allowed;
mod changes;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::files::{Rule, RuleFile, list, rules, shipped};
use super::lint::parsed;
use super::promtool::{Said, promtool};
use super::unit_tests::{TestFile, rests_on, shipped_tests};
use crate::support::long;
use changes::Change;

/// Kinds of faults of which every run seeds some; the long one seeds all, and the others too.
const QUICK: [&str; 6] = ["by", "threshold", "guard", "max and min", "for", "keep_firing_for"];

struct Mutant {
    /// Index of the file and of the rule in it.
    place: (usize, usize),
    title: String,
    change: Change,
}

impl Mutant {
    /// How it is listed when it survives.
    fn line(&self) -> String {
        format!("{}: {}", self.title, self.change)
    }
}

/// What a change of one rule may show in, so that a run is short: the alerts that rest on it with what they need, and
/// their tests.
struct Excerpt {
    needed: BTreeSet<String>,
    tests: Vec<Value>,
}

impl Excerpt {
    /// What rests on the named rule.
    fn of(name: &str, files: &[RuleFile], tests: &[TestFile]) -> Self {
        let on = rests_on(files);
        let all = rules(files);
        let alerts_that = |looks: &dyn Fn(&Rule<'_>) -> bool| -> BTreeSet<&str> {
            all.iter().filter(|r| r.is_alert() && looks(r)).map(Rule::name).collect()
        };
        let mut alerts = alerts_that(&|r| {
            r.name() == name || on.get(r.name()).is_some_and(|on| on.contains(name))
        });
        if alerts.is_empty() {
            alerts = alerts_that(&|r| r.annotation("description").contains(name));
        }
        let mut needed: BTreeSet<String> = alerts.iter().map(|a| (*a).to_owned()).collect();
        for rule in all.iter().filter(|r| alerts.contains(r.name())) {
            let told = on.keys().filter(|k| rule.annotation("description").contains(k.as_str()));
            let told: BTreeSet<&String> = told.chain(&on[rule.name()]).collect();
            let below = told.iter().filter_map(|name| on.get(*name)).flatten();
            needed.extend(told.iter().map(|n| (*n).clone()).chain(below.cloned()));
        }
        let names: Vec<String> = files.iter().map(|f| f.name.clone()).collect();
        // A fault mostly shows in the first test of a file: those are run before the others.
        let mut firsts = Vec::new();
        let mut others = Vec::new();
        for mut file in tests.iter().filter_map(|file| only(&file.content, &alerts, &names)) {
            let mut tests = list(&file["tests"]).to_vec();
            let rest = tests.split_off(1);
            file["tests"] = tests.into();
            firsts.push(file.clone());
            if !rest.is_empty() {
                file["tests"] = rest.into();
                others.push(file);
            }
        }
        Self { needed, tests: firsts.into_iter().chain(others).collect() }
    }

    /// Runs one test file after the other until one fails; what the last one said.
    fn run(&self, files: &[RuleFile]) -> Said {
        let dir = tempfile::tempdir().expect("a directory");
        for file in files {
            let mut content = file.content.clone();
            for group in content["groups"].as_array_mut().into_iter().flatten() {
                let rules = group["rules"].as_array_mut().expect("a group has rules");
                let name = |rule: &Value| {
                    [&rule["alert"], &rule["record"]].map(|n| n.as_str().map(str::to_owned))
                };
                rules.retain(|rule| {
                    name(rule).into_iter().flatten().any(|n| self.needed.contains(&n))
                });
            }
            std::fs::write(dir.path().join(&file.name), content.to_string()).expect("a file");
        }
        let mut last = None;
        for test in &self.tests {
            std::fs::write(dir.path().join("test.json"), test.to_string()).expect("a file");
            let said = promtool(dir.path(), &["test", "rules", "test.json"]);
            if !said.good {
                return said;
            }
            last = Some(said);
        }
        last.expect("every rule has a test")
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
    let schema = parsed(files, &mut Vec::new()).1;
    let mut all = Vec::new();
    for (f, file) in files.iter().enumerate() {
        for (r, rule) in file.rules().into_iter().enumerate() {
            let title = rule.title();
            all.extend(changes::of(rule, &schema).into_iter().map(|change| Mutant {
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
        // One of each kind in each rule, and none that may survive.
        let mut seen = BTreeSet::new();
        seeded.retain(|m| {
            QUICK.contains(&m.change.kind)
                && !allowed::is(&m.line())
                && seen.insert((m.place, m.change.kind))
        });
        // They keep a processor from the live tests beside them: five of six are left to the long run.
        let mut n = 0;
        seeded.retain(|_| {
            n += 1;
            n % 6 == 1
        });
    }
    assert!(seeded.len() > 40, "too few faults: {}", seeded.len());

    let next = AtomicUsize::new(0);
    let survivors = Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for _ in 0..if long() { 2 } else { 1 } {
            threads.spawn(|| {
                let mut last: Option<(String, Excerpt)> = None;
                while let Some(mutant) = seeded.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (f, r) = mutant.place;
                    let name = files[f].rules()[r].name().to_owned();
                    if last.as_ref().is_none_or(|(of, _)| *of != name) {
                        let excerpt = Excerpt::of(&name, &files, &tests);
                        // The unit tests pass as they are; that the excerpt does too is checked in the long run.
                        if long() {
                            let said = excerpt.run(&files);
                            assert!(said.good, "without a fault, {name}: {}", said.text);
                        }
                        last = Some((name, excerpt));
                    }
                    let mut faulty = files.clone();
                    faulty[f] = faulty[f].with_rule(r, &mutant.change.rule);
                    let said = last.as_ref().expect("just made").1.run(&faulty);
                    let unread = ["parse error", "unmarshal", "could not"];
                    assert!(
                        !unread.iter().any(|w| said.text.contains(w)),
                        "{}, {}: {}",
                        mutant.title,
                        mutant.change,
                        said.text
                    );
                    if said.good {
                        survivors.lock().expect("no thread panicked").push(mutant.line());
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
