//! What may be read from a source depends on what for: a heartbeat may be anything that changes, a token must be a number,
//! a claim a document. Says so where the config is read, not where it fails poll after poll.

use super::super::cursor::Cursor;
use super::super::model::RedisPart;

/// What is to be found in a source.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    /// Anything that changes.
    Beat,
    /// A number.
    Number,
    /// JSON.
    Document,
}

impl Wants {
    fn as_str(self) -> &'static str {
        match self {
            Wants::Beat => "heartbeat",
            Wants::Number => "number",
            Wants::Document => "JSON",
        }
    }
}

/// A file's modification time is a beat and nothing else.
pub(super) fn file(at: &Cursor<'_>, wants: Wants) {
    if wants != Wants::Beat && !at.has("content") && !at.mistyped(&["content"]) {
        let reason = format!("missing: the modification time of a file is no {}", wants.as_str());
        at.wrong("content", reason, "add `content: true`, so that the file's text is read");
    }
}

/// That a key exists is a beat and nothing else; a score is no document.
pub(super) fn redis(at: &Cursor<'_>, wants: Wants, part: &RedisPart) {
    let wrong = |key: &str, what: &str| {
        at.wrong(key, format!("{what} is no {}", wants.as_str()), "remove it");
    };
    match (wants, part) {
        (Wants::Number | Wants::Document, RedisPart::Exists) => {
            wrong("exists", "that a key exists")
        }
        (Wants::Document, RedisPart::Member(_)) => wrong("member", "a score"),
        _ => {}
    }
}

/// That an endpoint answers is a beat and nothing else; a metric is no document.
pub(super) fn http(at: &Cursor<'_>, wants: Wants) {
    let parts = &["json", "metric"];
    if wants == Wants::Number && at.present(parts).is_empty() && !at.mistyped(parts) {
        at.wrong_here(
            "that an endpoint answers is no number",
            "add `json: /pointer` or `metric: name`, which say where in the answer it is",
        );
    }
    if wants == Wants::Document && at.has("metric") {
        at.wrong("metric", "a sample is no JSON", "use `json: /pointer`");
    }
}
