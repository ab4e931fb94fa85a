//! One sample out of a Prometheus text exposition: `name` or `name{label="value"}`. Reads line by line and stores nothing;
//! lines that are no samples are passed over.

use crate::config::MetricSelector;
use crate::observe::node::FailReason;

/// The value of the one sample that fits, as it is written.
pub fn value<'a>(
    selector: &MetricSelector,
    body: &'a [u8],
) -> Result<&'a str, (FailReason, String)> {
    let mut found = None;
    for line in body.split(|b| *b == b'\n') {
        let Some(value) = sample(selector, line) else { continue };
        if found.replace(value).is_some() {
            let detail =
                format!("several samples fit {}; name more of their labels", selector.name);
            return Err((FailReason::Other, detail));
        }
    }
    found.ok_or_else(|| {
        let labels = if selector.labels.is_empty() { "" } else { " with these labels" };
        (FailReason::Missing, format!("no sample of {}{labels} in the answer", selector.name))
    })
}

fn sample<'a>(selector: &MetricSelector, line: &'a [u8]) -> Option<&'a str> {
    if !line.starts_with(selector.name.as_bytes()) {
        return None;
    }
    let (name, labels, rest) = series(std::str::from_utf8(line).ok()?)?;
    let fits = name == selector.name && selector.labels.iter().all(|l| labels.contains(l));
    rest.split_ascii_whitespace().next().filter(|_| fits)
}

/// A name, its labels, and what follows them.
pub type Series<'a> = (&'a str, Vec<(String, String)>, &'a str);

/// `name{label="value",...} rest` in its three parts.
pub fn series(text: &str) -> Option<Series<'_>> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, mut rest) = text.split_at_checked(end)?;
    let mut labels = Vec::new();
    rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            let (label, after) = rest.split_once('=')?;
            let quoted = after.trim_start().strip_prefix('"')?;
            let (value, after) = unquote(quoted)?;
            labels.push((label.trim().to_owned(), value));
            rest = after;
        }
    }
    (!name.is_empty()).then_some((name, labels, rest))
}

/// A label value up to its closing quote, its escapes undone.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, text.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                c => out.push(c),
            },
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BODY: &[u8] = b"# HELP beat_total x\n# TYPE beat_total counter\nbeat_total{w=\"a\",z=\"q\\\"}\\n\"} 5 1700\n\
        beat_total{w=\"b\",} 6\nbeat_total_created 9\n\xff\xfe\nplain 1.5e3\r\nbeat_total{w=\"a\n";

    fn get(selector: &str) -> Result<&'static str, FailReason> {
        value(&MetricSelector::parse(selector).unwrap(), BODY).map_err(|(reason, _)| reason)
    }

    #[test]
    fn finds_the_one_sample() {
        assert_eq!(get("plain"), Ok("1.5e3"));
        assert_eq!(get("beat_total{w=\"a\"}"), Ok("5"));
        assert_eq!(get("beat_total{z=\"q\\\"}\\n\", w=\"a\"}"), Ok("5"));
        assert_eq!(get("beat_total { w = \"b\" }"), Ok("6"));
        assert_eq!(get("beat_total"), Err(FailReason::Other));
        assert_eq!(get("beat_total{w=\"c\"}"), Err(FailReason::Missing));
        assert_eq!(get("beat"), Err(FailReason::Missing));
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(body: Vec<u8>, tail: String) {
            let mut text = b"beat".to_vec();
            text.extend_from_slice(tail.as_bytes());
            text.extend(body);
            let _ = value(&MetricSelector { name: "beat".to_owned(), labels: vec![] }, &text);
        }
    }
}
