//! The registry as a whole: its names, its reference, and that every format is what it says it is.

use std::path::Path;

use super::*;
use crate::config::FORMATS;

#[test]
fn the_config_knows_the_same_formats() {
    let names: Vec<&str> = REGISTRY.iter().map(|f| f.name).collect();
    let known: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
    assert_eq!(names, known, "FORMATS in src/config/model/format.rs");
    for (format, known) in REGISTRY.iter().zip(FORMATS) {
        let name = format.name;
        assert_eq!(format.kind == Kind::String, known.is_string, "{name}");
        // Of these the value tells how many may hold it.
        let may_be = name == "sidekiq-unique-jobs";
        let has_permits = matches!(format.sharing, Sharing::Permits(_)) || may_be;
        assert_eq!(has_permits, known.has_permits, "{name}");
    }
}

#[test]
fn names_are_words_and_each_once() {
    let mut seen = std::collections::BTreeSet::new();
    for format in REGISTRY {
        let is_word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        assert!(format.name.bytes().all(is_word) && seen.insert(format.name), "{}", format.name);
        assert!(!["auto", "unknown"].contains(&format.name));
        let texts = [format.libraries, format.value, format.key, format.renewal];
        assert!(texts.iter().all(|t| !t.is_empty()), "{}", format.name);
        assert!(format.always_renews.is_none_or(|r| r > 0.0 && r < 1.0));
    }
}

#[test]
fn reference_is_what_the_registry_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/format/formats.md");
    let now = reference::markdown();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(committed, now, "run `UPDATE=1 cargo test --lib reference`");
    for format in REGISTRY {
        assert_eq!(now.matches(&format!("\n| `{}` |", format.name)).count(), 1, "one row each");
    }
}

/// Every file that has a format is in the registry.
#[test]
fn no_format_is_left_out() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/format");
    let declared: usize = std::fs::read_dir(&dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "rs"))
        .map(|p| std::fs::read_to_string(p).unwrap().matches(": Format = Format {").count())
        .sum();
    // One of them is the constant that formats begin with.
    assert_eq!(declared - 1, REGISTRY.len());
}
