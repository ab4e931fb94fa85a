//! A parsed Prometheus text exposition. It must be strict: a line that it cannot read fails the test.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The metric's name.
    pub name: String,
    /// Its labels, in the order of the text, unescaped.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: f64,
}

impl Sample {
    fn has(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        self.name == name
            && labels.iter().all(|(k, v)| self.labels.iter().any(|(a, b)| a == k && b == v))
    }

    /// A label's value, empty if it has no such label.
    pub fn label(&self, name: &str) -> &str {
        self.labels.iter().find(|(k, _)| k == name).map_or("", |(_, v)| v)
    }
}

/// All samples of one scrape.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    samples: Vec<Sample>,
}

impl Metrics {
    /// Reads an exposition; the error names the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut samples = Vec::new();
        for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
            samples.push(sample(line).ok_or_else(|| format!("not a sample: {line:?}"))?);
        }
        Ok(Self { samples })
    }

    /// All of them, in the order of the text.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The samples of that name that have (at least) these labels.
    pub fn all(&self, name: &str, labels: &[(&str, &str)]) -> Vec<&Sample> {
        self.samples.iter().filter(|s| s.has(name, labels)).collect()
    }

    /// The value of the one sample of that name with these labels; panics if several fit, since a test that does not
    /// say which one it means proves nothing.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let found = self.all(name, labels);
        assert!(found.len() < 2, "{name}{labels:?} is ambiguous: {found:?}");
        found.first().map(|s| s.value)
    }

    /// Whether there is such a sample and it is `value`.
    pub fn is(&self, name: &str, labels: &[(&str, &str)], value: f64) -> bool {
        self.value(name, labels) == Some(value)
    }

    /// The sum over all samples of that name with these labels, 0 if there are none.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.all(name, labels).iter().map(|s| s.value).sum()
    }

    /// The samples as lines, for messages; at most 60, those that start with `prefix`.
    pub fn lines(&self, prefix: &str) -> String {
        let mut left = 60;
        self.lines_of(|s| {
            let is_shown = left > 0 && s.name.starts_with(prefix);
            left -= i32::from(is_shown);
            is_shown
        })
    }

    /// The samples that are meant as lines, for messages.
    pub fn lines_of(&self, mut is_meant: impl FnMut(&Sample) -> bool) -> String {
        let mut out = String::new();
        for s in self.samples.iter().filter(|s| is_meant(s)) {
            let _ = writeln!(out, "{} {:?} {}", s.name, s.labels, s.value);
        }
        out
    }
}

/// Asks `promtool check metrics`; panics with what it finds.
pub fn promtool_accepts(text: &str) {
    let mut child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool runs; Debian's package prometheus brings it");
    let mut input = child.stdin.take().expect("its input is a pipe");
    input.write_all(text.as_bytes()).expect("promtool reads");
    drop(input);
    let output = child.wait_with_output().expect("promtool ends");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.trim().is_empty(), "promtool check metrics: {said}");
}

fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (key, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.push((key.to_owned(), value));
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = rest.strip_prefix('}')?;
    }
    let value = match rest.trim() {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        text => text.parse().ok()?,
    };
    Some(Sample { name: name.to_owned(), labels, value })
}

/// A label value up to its closing quote, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                c @ ('\\' | '"') => value.push(c),
                _ => return None,
            },
            c => value.push(c),
        }
    }
    None
}
