//! `deploy/dlock.example.yml` as it is, and with everything in it that is commented out: what it shows must be right, and it
//! must show every key.

use super::*;
use crate::config::schema::{SECTIONS, Section};

const EXAMPLE: &str = "deploy/dlock.example.yml";

/// Keys of which a table has one; the example has one of them, and the others in comments near by.
const EXCLUSIVE: [&[&str]; 3] = [
    &["pid_file", "pid_from_holder", "systemd_unit", "command", "cgroup"],
    &["redis", "file", "http"],
    &["url", "urls"],
];

/// What a line of the example is.
#[derive(Clone, Debug, PartialEq)]
enum Line {
    /// In force, or prose.
    Plain(String),
    /// Commented out, as it would be in force.
    Off(String),
    /// The same, in place of the line of this number.
    Instead(String, usize),
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The key that a line begins with.
fn key_of(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let text = text.strip_prefix("- ").unwrap_or(text).trim_start_matches("{ ");
    let (word, rest) = text.split_once(':')?;
    let is_key = SECTIONS.iter().any(|s| s.key(word).is_some());
    (is_key && (rest.is_empty() || rest.starts_with(' '))).then_some(word)
}

fn lines(text: &str) -> Vec<Line> {
    let all: Vec<&str> = text.lines().collect();
    let mut lines = Vec::new();
    // Where the block that is commented out began, if one goes on.
    let mut block = None;
    for (number, line) in all.iter().enumerate() {
        let Some((before, comment)) = line.split_once('#').filter(|(b, _)| b.trim().is_empty())
        else {
            block = None;
            lines.push(Line::Plain((*line).to_owned()));
            continue;
        };
        let off = format!("{before}{}", comment.strip_prefix(' ').unwrap_or(comment));
        block = block.filter(|begin| indent(&off) > *begin);
        lines.push(match key_of(&off) {
            _ if block.is_some() => Line::Off(off),
            None => Line::Plain((*line).to_owned()),
            Some(key) => match other_of(key, number, &all) {
                Some(other) => {
                    let place = " ".repeat(indent(all[other]));
                    Line::Instead(format!("{place}{}", off.trim_start()), other)
                }
                None => {
                    block = Some(indent(&off));
                    Line::Off(off)
                }
            },
        });
    }
    lines
}

/// The nearest line in force whose key this one would replace.
fn other_of(key: &str, number: usize, all: &[&str]) -> Option<usize> {
    let set = EXCLUSIVE.iter().find(|set| set.contains(&key))?;
    let in_force = |line: &str| !line.trim_start().starts_with('#');
    let others = all.iter().enumerate().filter(|(_, line)| in_force(line));
    let others = others.filter(|(_, line)| key_of(line).is_some_and(|k| set.contains(&k)));
    others.map(|(i, _)| i).min_by_key(|i| i.abs_diff(number))
}

/// All that is commented out in force, and of what excludes each other this one.
fn in_force(lines: &[Line], chosen: Option<&Line>) -> String {
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let line = match (line, chosen) {
            (_, Some(Line::Instead(instead, at))) if *at == number => instead,
            (Line::Plain(line) | Line::Off(line), _) => line,
            (Line::Instead(..), _) => continue,
        };
        text += line;
        text.push('\n');
    }
    // Files that are there, and the URL and topology that go with `tls` and `sentinel`.
    let there = |file: &str| format!("{FIXTURES}/files/{file}");
    text.replace("redis://127.0.0.1", "rediss://127.0.0.1")
        .replace("topology: auto", "topology: sentinel")
        .replace("/var/lib/dlock_exporter", "/tmp")
        .replace("/etc/dlock_exporter/redis.pass", &there("secret"))
        .replace("/etc/dlock_exporter/sentinel.pass", &there("secret"))
        .replace("/etc/dlock_exporter/client.key", &there("secret"))
        .replace("/etc/dlock_exporter/client.pem", &there("ca.pem"))
        .replace("/etc/dlock_exporter/ca.pem", &there("ca.pem"))
}

fn loads(text: &str) -> Config {
    load_text(text, &[]).unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"))
}

#[test]
fn the_example_loads() {
    let config = load_file(EXAMPLE).unwrap_or_else(|m| panic!("{m}"));
    assert!(!config.stores.is_empty() && !config.workers.is_empty());
}

#[test]
fn all_that_the_example_has_in_comments_is_right() {
    let lines = lines(&std::fs::read_to_string(EXAMPLE).unwrap());
    let off = lines.iter().filter(|l| matches!(l, Line::Off(_))).count();
    let instead: Vec<&Line> = lines.iter().filter(|l| matches!(l, Line::Instead(..))).collect();
    assert!(off > 30 && instead.len() > 9, "{off} and {instead:#?}");
    let config = loads(&in_force(&lines, None));
    let store = &config.stores["main"];
    assert!(
        store.owner_index.is_some() && store.tls.key_file.is_some() && store.username.is_some()
    );
    assert!(config.live_workers.len() > 3 && config.local_clock.is_some());
    for chosen in instead {
        loads(&in_force(&lines, Some(chosen)));
    }
}

#[test]
fn the_example_shows_every_key() {
    let lines = lines(&std::fs::read_to_string(EXAMPLE).unwrap());
    let mut text = in_force(&lines, None);
    for line in &lines {
        if let Line::Instead(line, _) = line {
            text = text + line + "\n";
        }
    }
    let code = text.lines().filter(|l| !l.trim_start().starts_with('#'));
    let code: String = code.map(|l| l.to_owned() + "\n").collect();
    let has = |key: &str| {
        let written = format!("{key}:");
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        code.match_indices(&written).any(|(at, _)| !code[..at].ends_with(is_word))
    };
    // A password is for the environment; a file's content and credentials for HTTP are told in words.
    const NOT_SHOWN: [&str; 5] = ["password", "content", "basic_auth", "bearer_token_file", "url"];
    let missing: Vec<(&str, &str)> = SECTIONS
        .iter()
        .flat_map(|s: &&Section| s.keys.iter().map(|k| (s.title, k.name)))
        .filter(|(_, key)| !NOT_SHOWN.contains(key) && !has(key))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
