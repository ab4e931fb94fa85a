//! What is printed of a view: held against the catalogue, the rules of tiers and freshness, promtool, and any view that
//! proptest can think of.

pub(crate) mod any_view;
mod host_rules;
mod parse;
mod rules;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use proptest::prelude::*;

use super::example::HOSTILE;
use super::*;
use crate::view::View;

fn own() -> SelfFacts {
    let process = OwnProcess::read();
    let evidence = Some(EvidenceCounts { writes: 3, failures: [0, 1, 0, 0, 0, 0] });
    SelfFacts { process, evidence, ..SelfFacts::new(Duration::from_secs(2), 1_789_999_000.0) }
}

fn printed(view: &View) -> parse::Exposition {
    parse::exposition(&String::from_utf8(render(view, &own()).to_vec()).expect("UTF-8"))
}

#[test]
fn the_example_shows_every_family_of_the_catalogue() {
    let shown = printed(&View::example());
    for entry in catalogue::all() {
        assert!(shown.types.contains_key(entry.name), "{} has no sample", entry.name);
    }
}

#[test]
fn families_and_samples_are_sorted() {
    let mut view = View::example();
    view.stores.reverse();
    let text = String::from_utf8(render(&view, &own()).to_vec()).unwrap();
    let names: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert!(names.is_sorted(), "{names:?}");
    for family in ["dlock_store_up{", "dlock_lock_held{", "dlock_lease_ends_total{"] {
        let lines: Vec<&str> = text.lines().filter(|l| l.starts_with(family)).collect();
        assert!(lines.len() > 1 && lines.is_sorted(), "{lines:?}");
    }
}

#[test]
fn hostile_names_come_back_as_they_were() {
    let shown = printed(&View::example());
    let locks = shown.values_of("dlock_lock_held", "lock");
    assert!(locks.contains(&HOSTILE.to_owned()), "{locks:?}");
}

#[test]
fn promtool_has_nothing_to_say() {
    let mut child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool runs; Debian's package prometheus brings it");
    child.stdin.take().unwrap().write_all(&render(&View::example(), &own()).to_vec()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn an_empty_view_shows_the_exporter_itself() {
    let shown = printed(&View::default());
    assert_eq!(shown.get("dlock_exporter_config_last_reload_successful", &[]), Some(1.0));
    assert!(shown.types.keys().all(|n| n.contains("_exporter_") || n.starts_with("process_")));
}

#[test]
fn compressed_and_plain_are_the_same() {
    use std::io::Read;
    let rendered = Rendered::new(example::shared(), own());
    let (text, gzip) = (rendered.text(), rendered.gzip().unwrap().to_vec());
    let mut back = Vec::new();
    flate2::read::GzDecoder::new(&*gzip).read_to_end(&mut back).unwrap();
    assert_eq!(back, text.to_vec());
    let place = |text: &Pieces| text.get(0).unwrap().as_ptr();
    assert_eq!(place(&rendered.text()), place(&text), "made once");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_view_prints_unique_finite_series_of_the_catalogue(view in any_view::views()) {
        // The parser fails on anything malformed, on a family or a series that is there twice, and on NaN.
        let shown = printed(&view);
        let known: std::collections::BTreeMap<_, _> =
            catalogue::all().map(|e| (e.name, e)).collect();
        for (name, kind) in &shown.types {
            prop_assert_eq!(known[name.as_str()].kind.as_str(), kind);
        }
        for series in shown.samples.keys() {
            let labels: Vec<&str> = series.labels.keys().map(String::as_str).collect();
            let mut expected = known[series.name.as_str()].labels.to_vec();
            expected.sort_unstable();
            prop_assert_eq!(labels, expected);
        }
        prop_assert!(serde_json::to_vec(&json::document(&view, 0, json::LOCKS)).is_ok());
        prop_assert!(serde_json::to_vec(&json::workers(&view)).is_ok());
        prop_assert!(serde_json::to_vec(&json::clocks(&view)).is_ok());
    }
}
