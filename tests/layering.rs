//! Data flows one way; this reads the imports and holds the arrows. A module may use only what its row names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::repository;

/// Each part of the source and what it may import from the others.
const ARROWS: [(&str, &[&str]); 15] = [
    ("secret", &[]),
    ("config", &["secret"]),
    ("observe", &["config"]),
    ("clock", &["observe"]),
    ("logging", &["secret"]),
    ("cli", &["config", "logging"]),
    ("format", &["config", "observe"]),
    ("poll", &["clock", "config", "format", "observe", "secret"]),
    ("derive", &["config", "observe"]),
    ("view", &["config", "derive", "observe"]),
    ("expose", &["clock", "config", "observe", "view"]),
    ("evidence", &["clock", "config", "expose", "observe", "view"]),
    ("http", &["clock", "config", "evidence", "expose", "observe", "view"]),
    (
        "app",
        &[
            "cli", "clock", "config", "derive", "evidence", "expose", "http", "observe", "poll",
            "view",
        ],
    ),
    ("lib", &["app"]),
];

/// What the pure part may not even name.
const IMPURE: [&str; 9] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "tokio",
    "tracing",
    "rustix",
    "Instant::now",
    "println!",
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The product's code of a file: without comments and what only tests compile.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let own = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    own.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn is_test(path: &Path) -> bool {
    let text = path.to_string_lossy();
    ["tests.rs", "_tests.rs", "/tests/", "/example.rs"].iter().any(|t| text.contains(t))
}

fn imports(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for piece in code.split("crate::").skip(1) {
        let names = match piece.strip_prefix('{') {
            Some(group) => {
                let mut depth = 0;
                let mut names = vec![String::new()];
                for c in group.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => names.push(String::new()),
                        c if depth == 0 => names.last_mut().unwrap().push(c),
                        _ => {}
                    }
                }
                names
            }
            None => vec![piece.to_owned()],
        };
        for name in names {
            let name: String =
                name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            found.insert(name);
        }
    }
    found
}

#[test]
fn imports_run_one_way() {
    let src = repository("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let parts: BTreeSet<&str> = ARROWS.iter().map(|(p, _)| *p).collect();
    let mut wrong = Vec::new();
    for path in files.iter().filter(|p| !is_test(p)) {
        let inside = path.strip_prefix(&src).unwrap();
        let part =
            inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        if part == "main" || part == "bin" {
            continue;
        }
        let Some((_, allowed)) = ARROWS.iter().find(|(p, _)| *p == part) else {
            wrong.push(format!("{}: `{part}` has no row here", inside.display()));
            continue;
        };
        let code = code(path);
        for name in imports(&code).iter().filter(|n| parts.contains(n.as_str())) {
            if *name != part && !allowed.contains(&name.as_str()) {
                wrong.push(format!("{}: `{part}` may not import `{name}`", inside.display()));
            }
        }
        if matches!(part.as_str(), "derive" | "view" | "observe") {
            // An address is a value like any other.
            let code = code.replace("std::net::IpAddr", "");
            for word in IMPURE.iter().filter(|w| code.contains(**w)) {
                wrong.push(format!("{}: `{part}` may not use `{word}`", inside.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn rows_have_no_circle() {
    let mut left: Vec<_> = ARROWS.to_vec();
    while !left.is_empty() {
        let names: Vec<&str> = left.iter().map(|(n, _)| *n).collect();
        let before = left.len();
        left.retain(|(_, uses)| uses.iter().any(|u| names.contains(u)));
        assert!(left.len() < before, "a circle among {names:?}");
    }
}

#[test]
fn the_reader_of_imports_reads() {
    let text = "use crate::config::{A, B};\nuse crate::{observe::X, derive::{Y, Z}, view};\nlet x = crate::poll::f();";
    let read = imports(text);
    assert_eq!(
        read.iter().map(String::as_str).collect::<Vec<_>>(),
        ["config", "derive", "observe", "poll", "view"]
    );
}
