//! What sources of heartbeats, claims, tokens and counts give, be it a Redis part, a file or an HTTP body: the JSON reader
//! against serde_json's own, and no error that quotes what was read.

use std::str::FromStr;

use serde_json::Value;

use crate::config::MetricSelector;
use crate::observe::label;
use crate::observe::node::FailReason;
use crate::observe::worker::Beat;
use crate::poll::part::PartValue;
use crate::poll::source::{claims, exposition, file, json, number, value};

/// What no error may tell.
const SECRET: &[u8] = b"hunter2-canary";

/// A line that says where the value is, and a document.
pub fn source(bytes: &[u8]) {
    let mut lines = bytes.splitn(2, |b| *b == b'\n');
    let place = lines.next().and_then(|l| std::str::from_utf8(l).ok()).unwrap_or("/locks");
    let document = lines.next().unwrap_or_default();
    scalar(document, place);
    claimed(document, place);
    counted(document);
    if let Ok(selector) = MetricSelector::parse(place) {
        sample(&selector, document);
    }
    let secret = [document, SECRET].concat();
    let told = [
        json::scalar(&secret, place).err(),
        claims::parse(&secret, place).err(),
        number::parse(&secret).err(),
        MetricSelector::parse(place).ok().and_then(|s| exposition::value(&s, &secret).err()),
    ];
    for (_, detail) in told.into_iter().flatten().filter(|_| !place.contains("hunter2")) {
        assert!(!detail.contains("hunter2"), "{detail}");
    }
}

/// What serde_json takes for a document says at the pointer what ours finds there.
fn scalar(document: &[u8], pointer: &str) {
    let own = json::scalar_or_null(document, pointer);
    assert!(own.as_ref().is_err() || pointer.is_empty() || pointer.starts_with('/'));
    let part = PartValue::Value { bytes: document.to_vec(), expires_at_ms: None };
    match (value::beat(&part, Some(pointer)), &own) {
        (Beat::Value { mark, expires: false }, Ok(Some(text))) => {
            assert_eq!(mark, value::mark(text.as_bytes(), None));
        }
        (Beat::Failed { .. }, Ok(None) | Err(_)) => {}
        (beat, own) => panic!("{beat:?} of {own:?}"),
    }
    let Ok(whole) = serde_json::from_slice::<Value>(document) else { return };
    match (whole.pointer(pointer), own) {
        (Some(Value::Null), own) => assert_eq!(own, Ok(None)),
        (Some(Value::Bool(b)), own) => assert_eq!(own, Ok(Some(b.to_string()))),
        (Some(Value::String(t)), own) => assert_eq!(own.ok().flatten().as_ref(), Some(t)),
        (Some(Value::Number(n)), own) => {
            let text = own.ok().flatten().unwrap_or_default();
            assert!(text == n.to_string() || f64::from_str(&text).ok() == n.as_f64(), "{text} {n}");
        }
        (Some(_), own) => assert!(matches!(own, Err((FailReason::Protocol, _))), "{own:?}"),
        (None, Err((reason, _))) => {
            let is_pointer = pointer.is_empty() || pointer.starts_with('/');
            assert_eq!(reason, if is_pointer { FailReason::Missing } else { FailReason::Other });
        }
        (None, own) => panic!("{own:?}, and there is nothing at {pointer:?}"),
    }
}

fn claimed(document: &[u8], pointer: &str) {
    let Ok(all) = claims::parse(document, pointer) else { return };
    assert!(all.len() <= claims::MAX_CLAIMS && document.len() <= claims::MAX_BYTES);
    for claim in &all {
        assert!([&claim.store, &claim.lock].into_iter().all(|t| is_name(t)), "{claim:?}");
    }
}

/// A name as it may be a label: of each character that is kept, an escape of three bytes at most.
fn is_name(text: &str) -> bool {
    let count = text.chars().count();
    (1..=13 * label::MAX_CHARS).contains(&count) && !text.chars().any(char::is_control)
}

/// A number is the same when it is written and read again; of a pid file the first one counts.
fn counted(document: &[u8]) {
    if let Ok(n) = number::parse(document) {
        assert_eq!(number::parse(n.to_string().as_bytes()), Ok(n));
        assert_eq!(number::parse(format!(" {n}\n").as_bytes()), Ok(n));
    }
    if let Some(pid) = file::first_number(document) {
        assert_eq!(file::first_number(format!("{pid}\n").as_bytes()), Some(pid));
    }
}

/// A sample is a piece of one line, and is found again where it stands alone.
fn sample(selector: &MetricSelector, body: &[u8]) {
    let Ok(value) = exposition::value(selector, body) else { return };
    assert!(!value.is_empty() && !value.contains(|c: char| c.is_ascii_whitespace()));
    let quoted = |t: &str| t.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels: Vec<String> =
        selector.labels.iter().map(|(k, v)| format!("{k}=\"{}\"", quoted(v))).collect();
    let alone = format!("{}{{{}}} {value}\n", selector.name, labels.join(","));
    assert_eq!(exposition::value(selector, alone.as_bytes()), Ok(value));
}
