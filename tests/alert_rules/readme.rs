//! The tables of `alerts/README.md`: made from the rules, so that they cannot differ. `UPDATE=1` writes them anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use super::files::{RuleFile, read, shipped};
use crate::support::repository;

const BEGIN: &str =
    "<!-- made from the rules; UPDATE=1 cargo test --test suite alert_rules writes it anew -->\n";
const END: &str = "<!-- end -->\n";

fn table(files: &[RuleFile]) -> String {
    let mut out = String::new();
    for file in files.iter().filter(|f| f.rules().iter().any(|r| r.is_alert())) {
        // Twins share a row.
        let mut rows: Vec<(&str, &str)> = Vec::new();
        let mut severities: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for rule in file.rules() {
            let after = rule.text("for").map_or_else(String::new, |t| format!(" after {t}"));
            let of = severities.entry(rule.name()).or_default();
            if of.is_empty() {
                rows.push((rule.name(), rule.annotation("summary")));
            }
            of.push(format!("{}{after}", rule.severity()));
        }
        let _ = writeln!(
            out,
            "\n**[{0}]({0})**\n\n| alert | severity | says |\n|---|---|---|",
            file.name
        );
        for (name, summary) in rows {
            let severity = severities[name].join(", ");
            let _ = writeln!(out, "| [{name}](runbooks/{name}.md) | {severity} | {summary} |");
        }
    }
    out.push('\n');
    out
}

#[test]
fn the_readme_lists_the_alerts_as_they_are() {
    let path = repository("alerts/README.md");
    let text = read(&path);
    let wanted = table(&shipped());
    let (before, rest) = text.split_once(BEGIN).expect("the beginning of the table is marked");
    let (found, after) = rest.split_once(END).expect("the end of the table is marked");
    if std::env::var("UPDATE").is_ok_and(|v| v == "1") {
        fs::write(&path, format!("{before}{BEGIN}{wanted}{END}{after}")).expect("a file");
    } else {
        assert_eq!(found, wanted, "alerts/README.md is not up to date: run with UPDATE=1");
    }
}
