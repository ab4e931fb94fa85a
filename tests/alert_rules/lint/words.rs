//! Names, labels and annotations: what a person reads of an alert, and what Alertmanager sorts it by.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::Parsed;
use crate::alert_rules::files::{RuleFile, list};
use crate::promql::{Schema, labels_of, parse};

/// Where runbooks are read.
pub const RUNBOOKS: &str =
    "https://github.com/dlock-exporter/dlock_exporter/blob/main/alerts/runbooks/";

const SEVERITIES: [&str; 3] = ["critical", "warning", "info"];
const ANNOTATIONS: [&str; 3] = ["description", "runbook_url", "summary"];
const ALERT_KEYS: [&str; 6] = ["alert", "expr", "for", "keep_firing_for", "labels", "annotations"];

/// Labels that an alert may have besides its severity, whatever raised it.
const LABELS: [&str; 11] = [
    "store", "lock", "worker", "addr", "clock", "signal", "evidence", "aspect", "reason",
    "command", "resource",
];
/// Labels of alerts that are about one exporter.
const EXPORTER_LABELS: [&str; 6] = ["instance", "job", "poller", "target", "shard", "total"];

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

static CAMEL: LazyLock<Regex> = LazyLock::new(|| pattern("^Dlock([A-Z][a-z]+)+$"));
static LABEL_OF_ALERT: LazyLock<Regex> = LazyLock::new(|| pattern(r"\$labels\.(\w+)"));
static LABEL_OF_QUERY: LazyLock<Regex> = LazyLock::new(|| pattern(r"[^$\w]\.Labels\.(\w+)"));
static ACTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)\{\{(.*?)\}\}"));
static LITERAL: LazyLock<Regex> = LazyLock::new(|| pattern(r#""((?:[^"\\]|\\.)*)"|`([^`]*)`"#));
static LOOKED_UP: LazyLock<Regex> = LazyLock::new(|| pattern("dlock_|dlock:"));

/// Groups follow the server's interval, and have names that are unique in their file.
pub fn groups(file: &RuleFile) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut names = BTreeSet::new();
    for group in list(&file.content["groups"]) {
        let name = group["name"].as_str().unwrap_or_default();
        let keys = group.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        for key in keys.filter(|k| !["name", "rules"].contains(k)) {
            wrong.push(format!("{}: group {name} sets {key}", file.name));
        }
        if !name.starts_with("dlock.") {
            wrong.push(format!(
                "{}: the name of group {name} does not start with dlock.",
                file.name
            ));
        }
        if !names.insert(name) {
            wrong.push(format!("{}: group {name} is there twice", file.name));
        }
    }
    wrong
}

/// What every alert says of itself.
pub fn alert(one: &Parsed<'_>, runbooks: &BTreeSet<String>, wrong: &mut Vec<String>) {
    let (rule, name) = (one.rule, one.rule.name());
    if !CAMEL.is_match(name) {
        wrong.push("the name is not CamelCase that begins with Dlock".into());
    }
    let keys = rule.content.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    for key in keys.filter(|k| !ALERT_KEYS.contains(k)) {
        wrong.push(format!("the key {key}"));
    }
    if !SEVERITIES.contains(&rule.severity()) {
        wrong.push(format!("severity must be one of {}", SEVERITIES.join(", ")));
    }
    for (label, value) in rule.pairs("labels") {
        if label != "severity" {
            wrong.push(format!("sets the label {label}: only severity may be set"));
        }
        if value.contains("{{") || value.contains('$') {
            wrong.push(format!("the label {label} has a template: each value would be an alert"));
        }
    }
    let there: Vec<&str> = rule.pairs("annotations").into_iter().map(|(key, _)| key).collect();
    if there.iter().collect::<BTreeSet<_>>() != ANNOTATIONS.iter().collect() {
        wrong.push(format!("annotations are {} and not {ANNOTATIONS:?}", there.join(", ")));
    }
    summary(rule.annotation("summary"), wrong);
    let expected = format!("{RUNBOOKS}{name}.md");
    if rule.annotation("runbook_url") != expected {
        wrong.push(format!("runbook_url is not {expected}"));
    }
    if !runbooks.contains(name) {
        wrong.push(format!("there is no alerts/runbooks/{name}.md"));
    }
    carried(one, wrong);
}

/// One sentence, the same for all that Alertmanager may show together.
fn summary(text: &str, wrong: &mut Vec<String>) {
    if text.contains("{{") {
        wrong.push("the summary has a template".into());
    }
    let sentences = text.matches(['.', '!', '?']).count();
    if !text.starts_with(char::is_uppercase) || !text.ends_with('.') || sentences != 1 {
        wrong.push("the summary is not one sentence with a capital letter and a full stop".into());
    }
    if text.contains('\n') || text.len() > 100 {
        wrong.push("the summary is not one line of at most 100 letters".into());
    }
}

/// An alert carries what is wrong and not who saw it, so that two exporters page once.
fn carried(one: &Parsed<'_>, wrong: &mut Vec<String>) {
    let about_one = EXPORTER_LABELS.iter().any(|l| one.labels.must.contains(*l));
    for label in &one.labels.may {
        let fine = LABELS.contains(&label.as_str())
            || about_one && EXPORTER_LABELS.contains(&label.as_str());
        if !fine {
            wrong.push(format!("carries the label {label}"));
        }
    }
    if one.labels.open {
        wrong.push("carries whatever labels the scrape adds: aggregate".into());
    }
    if one.labels.may != one.labels.must {
        wrong.push(format!("does not always carry {:?}", one.labels.may));
    }
    if about_one && one.labels.must.contains("store") {
        wrong.push("is about an exporter and about a store at once".into());
    }
}

/// The description names what the alert is about, from labels and queries that are there.
pub fn templates(one: &Parsed<'_>, schema: &Schema, wrong: &mut Vec<String>) {
    let text = one.rule.annotation("description");
    if text.matches("{{").count() != text.matches("}}").count() {
        wrong.push("the description's braces do not match".into());
    }
    if !text.trim_end_matches("{{ end }}").ends_with('.') {
        wrong.push("the description does not end with a full stop".into());
    }
    for (_, [label]) in LABEL_OF_ALERT.captures_iter(text).map(|c| c.extract()) {
        if !one.labels.must.contains(label) {
            wrong.push(format!("the description uses the label {label}, which the query drops"));
        }
    }
    for label in one.labels.must.iter().filter(|l| *l != "job") {
        if !text.contains(&format!("$labels.{label}")) {
            wrong.push(format!("the description does not name the {label}"));
        }
    }
    let mut of_queries = BTreeSet::new();
    for (_, [action]) in ACTION.captures_iter(text).map(|c| c.extract()) {
        for literal in LITERAL.captures_iter(action) {
            let query = literal.get(1).or(literal.get(2)).map_or("", |m| m.as_str());
            if LOOKED_UP.is_match(query) {
                of_queries.extend(looked_up(query, action, schema, wrong));
            }
        }
    }
    for (_, [label]) in LABEL_OF_QUERY.captures_iter(text).map(|c| c.extract()) {
        if !of_queries.contains(label) {
            wrong.push(format!("no query of the description has the label {label}"));
        }
    }
}

/// The labels of what a template's query finds. Values come in by `%q`, which also quotes what a name may hold.
fn looked_up(
    query: &str,
    action: &str,
    schema: &Schema,
    wrong: &mut Vec<String>,
) -> BTreeSet<String> {
    let query = query.replace("\\\"", "\"");
    let given = LABEL_OF_ALERT.find_iter(action).count();
    if query.matches("%q").count() != given {
        wrong.push(format!("{given} labels are given to the query {query}"));
    }
    if query.contains("%s") || query.contains("%v") {
        wrong.push(format!("a name with a quote in it breaks the query {query}: use %q"));
    }
    let mut found = Vec::new();
    let labels = match parse(&query.replace("%q", "\"\"")) {
        Ok(expr) => labels_of(&expr, schema, &mut found).may,
        Err(why) => {
            found.push(why);
            BTreeSet::new()
        }
    };
    wrong.extend(found.into_iter().map(|what| format!("a query of the description: {what}")));
    labels
}

/// Alerts of one name: the same summary and labels, so that the critical one can inhibit the others; each severity once.
pub fn twins(parsed: &[Parsed<'_>]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut by_name: BTreeMap<&str, Vec<&Parsed<'_>>> = BTreeMap::new();
    for one in parsed.iter().filter(|p| p.rule.is_alert()) {
        by_name.entry(one.rule.name()).or_default().push(one);
    }
    for (name, all) in by_name {
        let distinct = |of: &dyn Fn(&Parsed<'_>) -> String| {
            all.iter().map(|p| of(p)).collect::<BTreeSet<_>>().len()
        };
        if distinct(&|p| p.rule.annotation("summary").into()) > 1 {
            wrong.push(format!("{name}: twins with different summaries"));
        }
        if distinct(&|p| format!("{:?}", p.labels.may)) > 1 {
            wrong.push(format!("{name}: twins with different labels"));
        }
        if distinct(&|p| p.rule.severity().into()) < all.len() {
            wrong.push(format!("{name}: one severity twice"));
        }
        if distinct(&|p| p.rule.file.into()) > 1 {
            wrong.push(format!("{name}: in two files"));
        }
    }
    wrong
}
