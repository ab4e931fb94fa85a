//! What a runbook is made of: one for each alert, of the form that an engineer finds her way in at night, without a command
//! that must not be given, and with names that the exporter knows. It must not run anything.

use std::collections::BTreeSet;

use regex::Regex;

use super::page::{Block, Kind, page, runbooks};
use crate::support::{repository, shipped};

const SECTIONS: [&str; 7] =
    ["What it means", "Confirm", "Record", "Do", "Do not", "Prove it fixed", "False positives"];

/// What a block may ask a server for, and what a change may do to it.
const READS: [&str; 16] = [
    "--scan",
    "ACL DRYRUN",
    "ACL LIST",
    "CLIENT LIST",
    "EXISTS",
    "GET",
    "INFO",
    "LATENCY LATEST",
    "OBJECT IDLETIME",
    "PEXPIRETIME",
    "PING",
    "PTTL",
    "ROLE",
    "SLOWLOG LEN",
    "TIME",
    "TYPE",
];
const CHANGES: [&str; 5] = ["ACL SETUSER", "EVAL", "GET", "HKEYS", "REPLICAOF"];

/// Commands of blocks that are not run here, and why.
const ELSEWHERE: [(&str, &str); 4] = [
    ("systemctl ", "there need not be a systemd, and its units are the reader's"),
    ("journalctl ", "the journal of those units and of the kernel"),
    ("redis-cli -h SENTINEL -p 26379 ", "the sentinels are the reader's"),
    ("mv /var/lib/redis/", "the data directory of a server that systemd runs"),
];

#[test]
fn each_alert_has_a_runbook_and_each_runbook_an_alert() {
    let alerts: BTreeSet<_> = shipped::alert_names().into_iter().map(|(name, _)| name).collect();
    let pages: BTreeSet<_> = runbooks().into_iter().map(|page| page.name).collect();
    assert_eq!(alerts, pages);
    for file in shipped::rule_files() {
        let text = std::fs::read_to_string(&file).expect("a rule file can be read");
        let mut name = String::new();
        for line in text.lines().map(str::trim) {
            if let Some(alert) = line.trim_start_matches("- ").strip_prefix("alert: ") {
                alert.clone_into(&mut name);
            } else if let Some(url) = line.strip_prefix("runbook_url: ") {
                assert!(url.ends_with(&format!("/alerts/runbooks/{name}.md")), "{name}: {url}");
            }
        }
    }
}

#[test]
fn each_runbook_has_the_same_sections_and_is_short() {
    let link = Regex::new(r"\]\(([^)#]+)\)").expect("a good pattern");
    for page in runbooks() {
        let (name, lines) = (&page.name, page.text.lines().count());
        let first = page.text.lines().next().unwrap_or_default();
        let says = first.strip_prefix(&format!("# {name}: ")).unwrap_or_default();
        assert!(says.len() > 20 && says.ends_with('.'), "{name} begins with {first:?}");
        assert_eq!(page.sections(), SECTIONS, "{name}");
        assert!((40..=110).contains(&lines), "{name} has {lines} lines");
        for (number, line) in (1..).zip(page.text.lines()) {
            assert!(line.chars().count() <= 124, "{name}:{number} is too long");
        }
        for section in ["Confirm", "Record", "Prove it fixed"] {
            let count = page.blocks.iter().filter(|b| b.section == section).count();
            assert!(count > 0, "{name}: no command under {section}");
        }
        let reads = |b: &&Block| matches!(b.section.as_str(), "Confirm" | "Record");
        for block in page.blocks.iter().filter(reads) {
            assert_ne!(block.kind, Kind::Changes, "{name}:{}", block.line);
        }
        for found in link.captures_iter(&page.text) {
            let file = repository("alerts/runbooks").join(&found[1]);
            assert!(file.exists(), "{name}: {} is not there", &found[1]);
        }
    }
}

#[test]
fn no_block_does_what_must_not_be_done() {
    let call =
        Regex::new(r"redis-cli (?:\$(?:REDIS|REPLICA|node) )?(?:-x )?([^\s;]+)(?: +([^\s;]+))?");
    let call = call.expect("a good pattern");
    let loud = Regex::new(r"\b(KEYS \*|MONITOR|FLUSH[A-Z]+|CONFIG SET|SHUTDOWN|SWAPDB|DEBUG)\b");
    let loud = loud.expect("a good pattern");
    let posts =
        Regex::new(r#"-X |--data|\bkill\b|> *"?[/$]|amtool .*add"#).expect("a good pattern");
    let mut pages = runbooks();
    pages.push(page("README"));
    for page in &pages {
        if page.name != "README" {
            let text = page.without("Do not");
            assert!(!loud.is_match(&text), "{}: {:?}", page.name, loud.find(&text));
        }
        for block in page.blocks.iter().filter(|b| b.kind != Kind::Elsewhere) {
            let at = format!("{}:{}", page.name, block.line);
            for found in call.captures_iter(&block.script) {
                let one = &found[1];
                let two = format!("{one} {}", found.get(2).map_or("", |m| m.as_str()));
                let known = |list: &[&str]| list.iter().any(|c| *c == one || *c == two);
                let may = known(&READS) || block.kind == Kind::Changes && known(&CHANGES);
                assert!(may, "{at}: {}", &found[0]);
            }
            let calls = block.script.matches("redis-cli ").count();
            assert_eq!(calls, call.captures_iter(&block.script).count(), "{at}: not understood");
            if block.kind == Kind::Reads {
                let writes = posts.find(&block.script).map(|m| m.as_str());
                assert_eq!(writes, None, "{at} changes something");
            }
            // A key is deleted only where the owner was compared in the same script.
            let deletes = block.script.matches("'DEL'").count();
            let compares = block.script.matches("== ARGV[1]").count()
                + block.script.matches("'HEXISTS', KEYS[1], ARGV[1]) == 1").count();
            assert_eq!(deletes, compares, "{at}: deletes without comparing");
        }
    }
}

#[test]
fn every_variable_is_explained() {
    let used = Regex::new(r"\$\{?([A-Z]+)\b").expect("a good pattern");
    let readme = page("README");
    for block in runbooks().into_iter().flat_map(|page| page.blocks) {
        for name in used.captures_iter(&block.script).map(|found| found[1].to_owned()) {
            assert!(readme.text.contains(&format!("`{name}`")), "README does not explain {name}");
        }
    }
}

/// A field that is not there is `null` in jq, and a metric that is not there an empty answer: neither fails by itself.
#[test]
fn fields_and_metrics_are_those_of_the_exporter() {
    let read = |path: &str| std::fs::read_to_string(repository(path)).expect("it can be read");
    let (api, metrics) = (read("src/expose/api.md"), read("src/expose/metrics.md"));
    let pattern = |p: &str| Regex::new(p).expect("a good pattern");
    let (program, literal) =
        (pattern(r"jq (?:-\w+ |--arg \w \S+ )*'([^']*)'"), pattern(r#""[^"]*""#));
    let (word, metric) =
        (pattern(r"(\$?)\b([a-z_]{2,})\b(:?)"), pattern(r"\bdlock_([a-z_]+)([{\[)]?)"));
    let of_jq = [
        "select", "any", "map", "max", "group_by", "length", "empty", "inside", "null", "true",
        "false", "and", "or",
    ];
    let known =
        |name: &str| pattern(&format!(r"\b{name}\b")).is_match(&api) || of_jq.contains(&name);
    for page in runbooks().into_iter().chain([page("README")]) {
        for block in &page.blocks {
            let at = format!("{}:{}", page.name, block.line);
            // What asks Prometheus itself has other fields.
            let script = block.script.replace("|\n", "| ");
            let own = script.lines().filter(|l| !l.contains("$PROMETHEUS/api"));
            let own = own.collect::<Vec<_>>();
            for found in program.captures_iter(&own.join("\n")) {
                let code = literal.replace_all(&found[1], "");
                for word in word.captures_iter(&code).filter(|w| w[1].is_empty() && w[3].is_empty())
                {
                    assert!(known(&word[2]), "{at}: the API has no {}", &word[2]);
                }
            }
        }
        for found in metric.captures_iter(&page.text) {
            let name = format!("dlock_{}", &found[1]);
            let whole = metrics.contains(&format!("`{name}`"));
            let begins = metrics.contains(&format!("`{name}")) && found[2].is_empty();
            assert!(whole || begins, "{}: there is no {name}", page.name);
        }
    }
}

#[test]
fn what_is_not_run_is_known() {
    for page in runbooks().into_iter().chain([page("README")]) {
        for block in page.blocks.iter().filter(|b| b.kind == Kind::Elsewhere) {
            for line in block.script.lines() {
                let known = ELSEWHERE.iter().any(|(begin, _)| line.starts_with(begin));
                assert!(known, "{}:{}: {line}", page.name, block.line);
            }
        }
    }
}
