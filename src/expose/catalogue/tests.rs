//! Holds the catalogue against the rules of `promtool check metrics`, against the published contract, and against the
//! reference that is made from it.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

const CONTRACT: &str = include_str!("../../../tests/fixtures/contract.tsv");
const REFERENCE: &str = include_str!("../metrics.md");

/// Label names that clash with target labels, or mean nothing.
const FORBIDDEN_LABELS: [&str; 16] = [
    "instance",
    "job",
    "owner",
    "type",
    "cluster",
    "service",
    "namespace",
    "pod",
    "env",
    "le",
    "quantile",
    "region",
    "zone",
    "customer",
    "stage",
    "environment",
];

/// Units and abbreviations that are not base units, as promtool knows them.
const FORBIDDEN_SEGMENTS: [&str; 43] = [
    "minutes",
    "hours",
    "days",
    "weeks",
    "months",
    "years",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "millis",
    "bits",
    "kilobytes",
    "megabytes",
    "gigabytes",
    "kibibytes",
    "mebibytes",
    "percent",
    "percents",
    "fahrenheit",
    "kelvin",
    "s",
    "ms",
    "us",
    "ns",
    "sec",
    "secs",
    "b",
    "kb",
    "mb",
    "gb",
    "tb",
    "pb",
    "m",
    "h",
    "d",
    "gauge",
    "counter",
    "histogram",
    "summary",
    "bucket",
    "count",
    "sum",
    "untyped",
];

#[test]
fn names_and_labels_follow_the_rules() {
    let plain = |s: &str| {
        s.starts_with(|c: char| c.is_ascii_lowercase())
            && s.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && !s.contains("__")
    };
    for entry in all() {
        let name = entry.name;
        assert!(plain(name), "{name}");
        assert!(name.starts_with("dlock_") || name.starts_with("process_"), "{name}");
        assert_eq!(
            entry.kind == Kind::Counter,
            name.ends_with("_total"),
            "{name}: type and suffix"
        );
        // A hold count is what the field calls it, not the type of the family.
        let is_hold_count = name == "dlock_hold_count_creep";
        for segment in name.split('_').filter(|s| !(is_hold_count && *s == "count")) {
            assert!(!FORBIDDEN_SEGMENTS.contains(&segment), "{name}: {segment}");
        }
        if name.ends_with("_info") {
            assert_eq!(entry.kind, Kind::Gauge, "{name}");
        }
        for label in entry.labels {
            assert!(plain(label) && !FORBIDDEN_LABELS.contains(label), "{name}: label {label}");
        }
        let labels: BTreeSet<_> = entry.labels.iter().collect();
        assert_eq!(labels.len(), entry.labels.len(), "{name}: a label twice");
    }
}

#[test]
fn every_help_is_a_sentence_that_names_unit_and_clock() {
    for entry in all() {
        let (name, help) = (entry.name, entry.help);
        assert!(help.len() > 30 && help.ends_with('.'), "{name}: {help}");
        assert!(!help.contains('\n') && !help.contains("  "), "{name}: {help}");
        if name.contains("_seconds") {
            assert!(help.contains("econds"), "{name} must name its unit: {help}");
        }
        if name.contains("timestamp") {
            assert!(
                help.contains("on this host's clock")
                    || help.contains("on the lock server's clock")
                    || help.contains("on that host's clock"),
                "{name} must name its clock: {help}"
            );
        }
        if name.ends_with("_bytes") {
            assert!(help.contains("bytes"), "{name} must name its unit: {help}");
        }
    }
}

#[test]
fn no_name_is_there_twice() {
    let mut seen = BTreeSet::new();
    for entry in all() {
        assert!(seen.insert(entry.name), "{}", entry.name);
    }
}

#[test]
fn the_catalogue_is_a_part_of_the_contract() {
    let contract: BTreeMap<&str, (&str, BTreeSet<&str>, &str)> = CONTRACT
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [name, kind, labels, tier] = cells[..] else { panic!("{line}") };
            (name, (kind, labels.split_whitespace().collect(), tier))
        })
        .collect();
    for entry in all().filter(|e| e.name.starts_with("dlock_")) {
        let (kind, labels, tier) = contract
            .get(entry.name)
            .unwrap_or_else(|| panic!("{} is not in the contract", entry.name));
        assert_eq!(entry.kind.as_str(), *kind, "{}", entry.name);
        assert_eq!(
            entry.labels.iter().copied().collect::<BTreeSet<_>>(),
            *labels,
            "{}",
            entry.name
        );
        if !tier.is_empty() {
            assert_eq!(entry.tier.as_str(), *tier, "{}", entry.name);
        }
    }
}

#[test]
fn the_reference_is_made_from_the_catalogue() {
    let made = reference::markdown();
    if std::env::var_os("UPDATE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/expose/metrics.md");
        std::fs::write(path, &made).unwrap();
        return;
    }
    assert!(
        made == REFERENCE,
        "src/expose/metrics.md is out of date: run UPDATE=1 cargo test --lib reference"
    );
}
