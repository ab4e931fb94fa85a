//! A strict reader of the text format, written from its description and not from the encoder.

use std::collections::BTreeMap;

/// A series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    pub name: String,
    pub labels: BTreeMap<String, String>,
}

/// All of an answer.
#[derive(Debug, Default)]
pub struct Exposition {
    pub types: BTreeMap<String, String>,
    pub samples: BTreeMap<Series, f64>,
}

impl Exposition {
    /// A sample by its labels.
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        self.samples.get(&Series { name: name.to_owned(), labels }).copied()
    }

    /// The values of one label of a family, sorted, as often as they are there.
    pub fn values_of(&self, name: &str, label: &str) -> Vec<String> {
        let of = self.samples.keys().filter(|s| s.name == name);
        let mut values: Vec<String> = of.map(|s| s.labels[label].clone()).collect();
        values.sort();
        values
    }

    /// Names of the families that have a sample with this label value.
    pub fn families_with(&self, label: &str, value: &str) -> Vec<&str> {
        let with = self.samples.keys().filter(|s| s.labels.get(label).is_some_and(|v| v == value));
        let mut names: Vec<&str> = with.map(|s| s.name.as_str()).collect();
        names.dedup();
        names
    }
}

/// Reads a whole answer; panics on whatever Prometheus would refuse or silently drop.
pub fn exposition(text: &str) -> Exposition {
    let mut out = Exposition::default();
    let mut family = String::new();
    let mut lines = text.split('\n');
    assert_eq!(lines.next_back(), Some(""), "the last line must end");
    while let Some(line) = lines.next() {
        let (name, help) =
            line.strip_prefix("# HELP ").and_then(|l| l.split_once(' ')).unwrap_or_else(|| {
                read_sample(&mut out, &family, line);
                ("", "")
            });
        if name.is_empty() {
            continue;
        }
        assert!(!help.is_empty());
        let kind =
            lines.next().and_then(|l| l.strip_prefix("# TYPE ")?.strip_prefix(name)).expect(line);
        family = name.to_owned();
        assert!(out.types.insert(family.clone(), kind.trim_start().to_owned()).is_none(), "{line}");
    }
    out
}

fn read_sample(out: &mut Exposition, family: &str, line: &str) {
    let (series, value) = read_series(line);
    assert_eq!(series.name, family, "a sample outside of its family: {line}");
    let value: f64 = value.parse().expect(line);
    assert!(value.is_finite(), "{line}");
    assert!(out.samples.insert(series, value).is_none(), "twice: {line}");
}

fn read_series(line: &str) -> (Series, &str) {
    let end = line.find(['{', ' ']).expect(line);
    let (name, mut rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").expect(line);
            let (value, after) = read_value(after);
            assert!(labels.insert(label.to_owned(), value).is_none(), "a label twice: {line}");
            if let Some(done) = after.strip_prefix('}') {
                rest = done;
                break;
            }
            rest = after.strip_prefix(',').expect(line);
        }
    }
    (Series { name: name.to_owned(), labels }, rest.strip_prefix(' ').expect(line))
}

fn read_value(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.chars();
    loop {
        match chars.next().expect("an open label value") {
            '"' => return (value, chars.as_str()),
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some(c @ ('\\' | '"')) => value.push(c),
                other => panic!("bad escape {other:?}"),
            },
            c => value.push(c),
        }
    }
}
