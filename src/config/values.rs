//! Typed getters for single values. A getter that finds a value of the wrong type, or outside its bounds, records the
//! mistake and answers `None`.

use std::time::Duration;

use config::ValueKind;

use super::cursor::{Cursor, described};
use super::mistake::{closest, quoted};
use super::schema::Kind;

impl<'a> Cursor<'a> {
    /// Text.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        let (spec, value) = self.get(key)?;
        debug_assert!(matches!(spec.kind, Kind::Text | Kind::Secret), "{key} is not text");
        match &value.kind {
            ValueKind::String(text) if text.is_empty() => {
                self.wrong(key, "is empty", "give it a value, or remove it");
                None
            }
            ValueKind::String(text) => Some(text),
            // Numbers lose their leading zeros, so what was meant cannot be known any more.
            other => {
                let reason = format!("must be text, not {}", described(other));
                self.wrong(key, reason, "put the value in quotes");
                None
            }
        }
    }

    /// A duration within the bounds of the schema.
    pub(super) fn duration(&self, key: &str) -> Option<Duration> {
        let (spec, value) = self.get(key)?;
        let Kind::Duration(least, most) = spec.kind else { return None };
        let text = match &value.kind {
            ValueKind::String(text) => text.trim(),
            ValueKind::I64(_) | ValueKind::Float(_) => {
                self.unitless(key, &value.kind.to_string());
                return None;
            }
            other => {
                let reason = format!("must be a duration, not {}", described(other));
                self.wrong(key, reason, "write it with a unit, such as `30s`");
                return None;
            }
        };
        if text.parse::<f64>().is_ok() {
            self.unitless(key, text);
            return None;
        }
        let Ok(duration) = humantime::parse_duration(text) else {
            let reason = format!("{} is not a duration", quoted(text));
            self.wrong(key, reason, "write it as `500ms`, `30s`, `1m 30s` or `2h`");
            return None;
        };
        let bound = |text| humantime::parse_duration(text).ok();
        if bound(least).is_some_and(|b| duration < b) || bound(most).is_some_and(|b| duration > b) {
            let fix = format!("it must be from {least} to {most}");
            self.wrong(key, format!("{} is out of range", quoted(text)), fix);
            return None;
        }
        Some(duration)
    }

    fn unitless(&self, key: &str, number: &str) {
        let fix = if number.starts_with('-') {
            "write a duration such as `30s`".to_owned()
        } else {
            format!("write `{number}s` if seconds are meant")
        };
        self.wrong(key, format!("{} has no unit", quoted(number)), fix);
    }

    /// A whole number within the bounds of the schema.
    pub(super) fn whole(&self, key: &str) -> Option<usize> {
        let (spec, value) = self.get(key)?;
        let Kind::Whole(least, most) = spec.kind else { return None };
        let number = match &value.kind {
            ValueKind::I64(n) => Some(i128::from(*n)),
            ValueKind::U64(n) => Some(i128::from(*n)),
            // All that the environment gives is text.
            ValueKind::String(text) if value.origin().is_some() => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            Some(n) if n >= i128::from(least) && n <= i128::from(most) => usize::try_from(n).ok(),
            Some(n) => {
                self.wrong(
                    key,
                    format!("`{n}` is out of range"),
                    format!("it must be from {least} to {most}"),
                );
                None
            }
            None => {
                let reason = format!("must be a whole number, not {}", described(&value.kind));
                self.wrong(key, reason, format!("from {least} to {most}, without quotes"));
                None
            }
        }
    }

    /// `true` or `false`.
    pub(super) fn switch(&self, key: &str) -> Option<bool> {
        let (spec, value) = self.get(key)?;
        debug_assert!(matches!(spec.kind, Kind::Switch), "{key} is not a switch");
        let from_env = value.origin().is_some();
        match &value.kind {
            ValueKind::Boolean(on) => Some(*on),
            ValueKind::String(t) if from_env && t.trim().eq_ignore_ascii_case("true") => Some(true),
            ValueKind::String(t) if from_env && t.trim().eq_ignore_ascii_case("false") => {
                Some(false)
            }
            other => {
                let (reason, fix) = match other {
                    ValueKind::String(word) => no_switch(word),
                    other => (described(other).to_owned(), "write `true` or `false`"),
                };
                self.wrong(key, format!("must be true or false, not {reason}"), fix);
                None
            }
        }
    }

    /// One of the schema's words.
    pub(super) fn one_of(&self, key: &str) -> Option<&'static str> {
        let (spec, value) = self.get(key)?;
        let Kind::OneOf(known, later) = spec.kind else { return None };
        let choices = || format!("it is one of: {}", known.join(", "));
        let ValueKind::String(word) = &value.kind else {
            let reason = format!("must be a word, not {}", described(&value.kind));
            self.wrong(key, reason, choices());
            return None;
        };
        let found = known.iter().find(|k| *k == word).copied();
        if found.is_none() {
            if later.contains(&word.as_str()) {
                let reason = format!("`{word}` is not supported by this version");
                self.wrong(key, reason, choices());
            } else {
                let fix = closest(word, known.iter().copied())
                    .map_or_else(choices, |meant| format!("did you mean `{meant}`?"));
                self.wrong(key, format!("{} is unknown", quoted(word)), fix);
            }
        }
        found
    }
}

/// What a text is that should be a switch, and what to write. YAML 1.1 took some words for switches that are text since.
fn no_switch(text: &str) -> (String, &'static str) {
    match text.trim().to_ascii_lowercase().as_str() {
        "yes" | "y" | "on" => (quoted(text), "write `true`"),
        "no" | "n" | "off" => (quoted(text), "write `false`"),
        _ => ("text".to_owned(), "write `true` or `false` without quotes"),
    }
}
