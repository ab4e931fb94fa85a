//! Wherever the exporter shows anything: every page and document that can be reached from the first ones, its metrics, its
//! log, its command line, and the files that it writes. Knows nothing of what must not be there.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::support::Exporter;

/// Pages and documents that nothing links to, and where all others begin.
const FIRST: [&str; 9] = [
    "/",
    "/metrics",
    "/-/ready",
    "/-/healthy",
    "/api/v1/locks?limit=2000",
    "/api/v1/incidents?limit=1000",
    "/api/v1/workers",
    "/api/v1/clocks",
    "/none",
];

/// Names and texts of all places.
pub fn all(exporter: &Exporter, dir: Option<&Path>) -> Vec<(String, String)> {
    let mut found = vec![("log".to_owned(), exporter.log())];
    let cmdline = std::fs::read(format!("/proc/{}/cmdline", exporter.pid())).expect("it runs");
    found.push(("cmdline".to_owned(), String::from_utf8_lossy(&cmdline).into_owned()));
    let mut ahead: Vec<String> = FIRST.map(str::to_owned).to_vec();
    let mut seen = BTreeSet::new();
    while let Some(path) = ahead.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let body = exporter.get(&path).body;
        let links = body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        ahead.extend(links.filter(|l| l.starts_with('/')).map(|l| l.replace("&amp;", "&")));
        if let Ok(document) = serde_json::from_str::<Value>(&body) {
            ahead.extend(below(&document));
        }
        found.push((path, body));
    }
    for entry in dir.into_iter().flat_map(|d| std::fs::read_dir(d).expect("it is there")) {
        let path = entry.expect("it can be listed").path();
        let text = std::fs::read(&path).map(|b| String::from_utf8_lossy(&b).into_owned());
        found.push((path.display().to_string(), text.unwrap_or_default()));
    }
    found
}

/// The documents that a list is of.
fn below(list: &Value) -> Vec<String> {
    let of = |name: &str| list[name].as_array().into_iter().flatten();
    let text = |v: &Value, key: &str| v[key].as_str().unwrap_or_default().replace('%', "%25");
    let locks = of("locks").flat_map(|l| {
        let path = format!("/api/v1/locks/{}/{}", text(l, "store"), text(l, "lock"));
        [path.clone() + "/evidence", path]
    });
    let incidents = of("incidents").map(|i| format!("/api/v1/incidents/{}", text(i, "id")));
    locks.chain(incidents).collect()
}

/// Panics if one of these is in one of them.
pub fn shown_nowhere(places: &[(String, String)], canaries: &[(&str, &str)]) {
    let mut leaks = Vec::new();
    for (place, text) in places {
        for (what, canary) in canaries {
            for (number, line) in text.lines().enumerate().filter(|(_, l)| l.contains(canary)) {
                let line: String = line.chars().take(400).collect();
                leaks.push(format!("{what} in {place}, line {}: {line}", number + 1));
            }
        }
    }
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}
