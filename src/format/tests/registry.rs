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

#[test]
fn what_is_none_of_the_declared_format_is_told_as_what_it_looks_like() {
    let redisson = declared("redisson");
    let looks_like = |d: Decoded| (d.misfit, d.format, d.looks_like);
    let key = "myLock";
    let redsync = string(key, BASE64_16, &redisson);
    assert_eq!(looks_like(redsync), (true, "redisson", Some("redsync")));
    let owner = format!("{OTHER}:47");
    let field = hash(key, &[(&owner, "1")], &declared("string"));
    assert_eq!(looks_like(field), (true, "string", Some("redisson")));
    // A number is nobody's, what no format knows neither, and any text is a string.
    for nothing in [
        string(key, "4711", &redisson),
        string(key, "holder-1", &redisson),
        hash(key, &[("a", "b")], &redisson),
    ] {
        assert_eq!(looks_like(nothing), (true, "redisson", None));
    }
    assert_eq!(looks_like(hash(key, &[(&owner, "1")], &redisson)), (false, "redisson", None));
}

#[test]
fn only_what_is_certain_is_said_to_use_tokens_again_by_design() {
    let owner = format!("{OTHER}:47");
    assert!(hash("myLock", &[(&owner, "1")], &auto()).reuses_tokens);
    assert!(string("r:a", UUID, &declared("spring-integration")).reuses_tokens);
    for guess in [
        string("r:a", UUID, &auto()),
        string("a", "holder-1", &auto()),
        string("lock:a", BASE64_18, &auto()),
        string("a", [0xff; 20], &auto()),
    ] {
        assert_eq!((guess.tokens, guess.reuses_tokens), (TokenKind::Reusable, false), "{guess:?}");
    }
    assert_eq!(string("a", [0xff; 20], &declared("rslock")).tokens, TokenKind::PerAcquire);
}
