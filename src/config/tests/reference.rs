//! The key reference and the schema say the same, and every key of the schema is read.

use std::collections::BTreeMap;

use super::*;
use crate::config::schema::{Kind, SECTIONS, Section, TOP, WEB, WEB_SECTIONS};
use crate::config::web;

const REFERENCE: &str = include_str!("../reference.md");
const WEB_REFERENCE: &str = include_str!("../web.md");

/// The table rows of the reference by heading: name, type, default.
fn documented(reference: &'static str) -> BTreeMap<&'static str, Vec<(String, String, String)>> {
    let mut sections: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut heading = "";
    for line in reference.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            heading = title.trim_matches('`');
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if let [name, kind, default, _meaning, _example] = cells.as_slice()
            && let Some(name) = name.strip_prefix('`').and_then(|n| n.strip_suffix('`'))
        {
            let row = (name.to_owned(), (*kind).to_owned(), (*default).to_owned());
            sections.entry(heading).or_default().push(row);
        }
    }
    sections
}

fn kind_words(kind: Kind) -> String {
    match kind {
        Kind::Text => "text".into(),
        Kind::Secret => "text, environment only".into(),
        Kind::Duration(least, most) => format!("duration, {least} to {most}"),
        Kind::Size(least, most) => format!("bytes, {least} to {most}"),
        Kind::Whole(least, most) => format!("number, {least} to {most}"),
        Kind::Switch => "true or false".into(),
        Kind::OneOf(words, _) => {
            words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Texts => "list of texts".into(),
        Kind::Table(_) => "table".into(),
        Kind::Map(_) => "tables by name".into(),
        Kind::List(_) => "list of tables".into(),
        Kind::Hashes => "hashes by name".into(),
    }
}

#[test]
fn the_reference_has_every_key_and_no_other() {
    same(REFERENCE, SECTIONS);
    same(WEB_REFERENCE, WEB_SECTIONS);
}

fn same(reference: &'static str, sections: &[&Section]) {
    let mut documented = documented(reference);
    for section in sections {
        let expected: Vec<_> = section
            .keys
            .iter()
            .map(|k| (k.name.to_owned(), kind_words(k.kind), k.default.to_owned()))
            .collect();
        let found = documented.remove(section.title).unwrap_or_default();
        assert_eq!(found, expected, "section {} of the reference", section.title);
    }
    assert!(documented.is_empty(), "sections that do not exist: {documented:?}");
}

#[test]
fn the_reference_names_what_comes_later() {
    let later = REFERENCE.split("## Not in this version").nth(1);
    let names: Vec<&str> = SECTIONS.iter().flat_map(|s| s.later).copied().collect();
    assert_eq!(later.is_some(), !names.is_empty(), "{names:?}");
    for name in names {
        assert!(later.unwrap_or_default().contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn names_of_a_section_are_unique_and_can_be_overridden() {
    for section in SECTIONS {
        let mut names: Vec<&str> =
            section.keys.iter().map(|k| k.name).chain(section.later.iter().copied()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{}", section.title);
        assert!(names.iter().all(|n| !n.contains("__") && *n == n.to_ascii_lowercase()));
    }
}

/// Puts a value of the wrong type at every path of the schema: a key that nobody reads would go unnoticed.
#[test]
fn every_key_of_the_schema_is_read() {
    read_whole(&TOP, 60, |text| load_text(text, &[]).err());
    read_whole(&WEB, 20, |text| web::parse(text).err());
}

fn read_whole(top: &'static Section, least: usize, load: impl Fn(&str) -> Option<Mistakes>) {
    let mut paths = Vec::new();
    collect(top, "", &mut paths);
    assert!(paths.len() > least, "{}", paths.len());
    for (path, kind) in paths {
        let wrong = match kind {
            Kind::Table(_) | Kind::Map(_) | Kind::List(_) | Kind::Texts | Kind::Hashes => "true",
            _ => "[[]]",
        };
        let text = nest(&path, wrong);
        let said = load(&text).unwrap_or_else(|| panic!("{text} loaded"));
        let at = path.join(".").replace(".[0]", "[0]");
        assert!(said.iter().any(|m| m.key == at), "{at} is not told for {text}:\n{said}");
    }
}

fn collect(section: &'static Section, at: &str, paths: &mut Vec<(Vec<String>, Kind)>) {
    for key in section.keys {
        let path = if at.is_empty() { key.name.to_owned() } else { format!("{at} {}", key.name) };
        paths.push((path.split(' ').map(str::to_owned).collect(), key.kind));
        match key.kind {
            Kind::Table(inner) => collect(inner, &path, paths),
            Kind::Map(inner) => collect(inner, &format!("{path} x"), paths),
            Kind::List(inner) => collect(inner, &format!("{path} [0]"), paths),
            _ => {}
        }
    }
}

/// YAML with this value at the path, and what it needs beside it to be reached.
fn nest(path: &[String], value: &str) -> String {
    let Some((head, rest)) = path.split_first() else { return value.to_owned() };
    let inner = nest(rest, value);
    if head == "[0]" {
        return format!("[{inner}]");
    }
    let beside = match (head.as_str(), rest.is_empty()) {
        ("capture" | "max_locks", true) => ", match: 'a*'",
        ("name", true) => ", key: x",
        ("content", true) => ", file: /x",
        _ => "",
    };
    format!("{{{head}: {inner}{beside}}}")
}
