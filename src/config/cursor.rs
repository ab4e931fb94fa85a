//! A place in the merged values with typed getters. A getter that finds a value of the wrong type, or outside its
//! bounds, records the mistake and answers `None`; readers carry on, so that one run finds everything.

use std::time::Duration;

use config::{Map, Value, ValueKind};

use super::mistake::{Report, closest, quoted};
use super::schema::{Key, Kind, Section};
use super::unknown::join;

/// A table, its section of the schema and the path to it.
pub(super) struct Cursor<'a> {
    table: &'a Map<String, Value>,
    section: &'static Section,
    /// Path of the table.
    pub(super) path: String,
    report: &'a Report,
}

/// A text and where it came from.
pub(super) struct Item<'a> {
    /// The text.
    pub(super) text: &'a str,
    path: String,
    origin: Option<&'a str>,
    report: &'a Report,
}

impl Item<'_> {
    /// Records that this element is wrong.
    pub(super) fn wrong(&self, reason: impl Into<String>, fix: impl Into<String>) {
        self.report.add(self.origin, &self.path, reason.into(), Some(fix.into()));
    }
}

impl<'a> Cursor<'a> {
    /// The top of the configuration.
    pub(super) fn top(
        root: &'a Value,
        section: &'static Section,
        report: &'a Report,
    ) -> Option<Self> {
        Self::at(root, section, String::new(), report)
    }

    fn at(
        value: &'a Value,
        section: &'static Section,
        path: String,
        report: &'a Report,
    ) -> Option<Self> {
        match &value.kind {
            ValueKind::Table(table) => Some(Self { table, section, path, report }),
            other => {
                let known = section.keys.iter().map(|k| k.name).collect::<Vec<_>>().join(", ");
                let reason = format!("must be a table of keys, not {}", described(other));
                report.add(value.origin(), &path, reason, Some(format!("its keys are: {known}")));
                None
            }
        }
    }

    /// Whether the key is there, right or wrong.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Which of these keys are there.
    pub(super) fn present(&self, keys: &[&'static str]) -> Vec<&'static str> {
        keys.iter().copied().filter(|k| self.has(k)).collect()
    }

    /// Records that the key is wrong.
    pub(super) fn wrong(&self, key: &str, reason: impl Into<String>, fix: impl Into<String>) {
        self.report.add(self.origin(key), &join(&self.path, key), reason.into(), Some(fix.into()));
    }

    /// Records that something about this table as a whole is wrong.
    pub(super) fn wrong_here(&self, reason: impl Into<String>, fix: impl Into<String>) {
        self.report.add(None, &self.path, reason.into(), Some(fix.into()));
    }

    /// Records that the key is missing, if it is.
    pub(super) fn require(&self, key: &str, fix: &str) {
        if !self.has(key) {
            self.wrong(key, "missing", fix);
        }
    }

    /// Where the key's value came from, if not from the base.
    pub(super) fn origin(&self, key: &str) -> Option<&'a str> {
        self.table.get(key).and_then(Value::origin)
    }

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
                let reason = format!("must be true or false, not {}", described(other));
                self.wrong(key, reason, "write `true` or `false` without quotes");
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

    /// The texts of a list; those of the wrong type are reported and left out.
    pub(super) fn texts(&self, key: &str) -> Vec<Item<'a>> {
        self.items(key, "a list of texts")
            .into_iter()
            .filter_map(|(path, value)| match &value.kind {
                ValueKind::String(text) if !text.is_empty() => {
                    Some(Item { text, path, origin: value.origin(), report: self.report })
                }
                other => {
                    let reason = format!("must be text, not {}", described(other));
                    let fix = "put the value in quotes".to_owned();
                    self.report.add(value.origin(), &path, reason, Some(fix));
                    None
                }
            })
            .collect()
    }

    /// The table below a key.
    pub(super) fn table(&self, key: &str) -> Option<Cursor<'a>> {
        let (spec, value) = self.get(key)?;
        let Kind::Table(section) = spec.kind else { return None };
        Self::at(value, section, join(&self.path, key), self.report)
    }

    /// The tables below a key with names of the user's, by name.
    pub(super) fn map(&self, key: &str) -> Vec<(&'a str, Cursor<'a>)> {
        let Some((spec, value)) = self.get(key) else { return Vec::new() };
        let (Kind::Map(section), ValueKind::Table(table)) = (spec.kind, &value.kind) else {
            let reason = format!("must be a table by name, not {}", described(&value.kind));
            self.wrong(
                key,
                reason,
                "write a name of your choice below it, and its keys below that",
            );
            return Vec::new();
        };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| *name);
        let path = join(&self.path, key);
        entries
            .into_iter()
            .filter_map(|(name, value)| {
                let below = Self::at(value, section, join(&path, name), self.report)?;
                Some((name.as_str(), below))
            })
            .collect()
    }

    /// The tables of a list.
    pub(super) fn list(&self, key: &str) -> Vec<Cursor<'a>> {
        let Some(Kind::List(section)) = self.section.key(key).map(|k| k.kind) else {
            return Vec::new();
        };
        self.items(key, "a list of tables")
            .into_iter()
            .filter_map(|(path, value)| Self::at(value, section, path, self.report))
            .collect()
    }

    fn items(&self, key: &str, what: &str) -> Vec<(String, &'a Value)> {
        let Some((_, value)) = self.get(key) else { return Vec::new() };
        let ValueKind::Array(items) = &value.kind else {
            let reason = format!("must be {what}, not {}", described(&value.kind));
            self.wrong(key, reason, "begin each element with `- `");
            return Vec::new();
        };
        let path = join(&self.path, key);
        items.iter().enumerate().map(|(i, v)| (format!("{path}[{i}]"), v)).collect()
    }

    /// The key's schema and value. A key without a value is a mistake: its children may all be commented out.
    fn get(&self, key: &str) -> Option<(&'static Key, &'a Value)> {
        let spec = self.section.key(key);
        debug_assert!(spec.is_some(), "{key} is not in the schema of {}", self.path);
        let value = self.table.get(key)?;
        if value.kind == ValueKind::Nil {
            self.wrong(key, "has no value", "give it one, or remove the key");
            return None;
        }
        Some((spec?, value))
    }
}

fn described(kind: &ValueKind) -> &'static str {
    match kind {
        ValueKind::Nil => "nothing",
        ValueKind::Boolean(_) => "true or false",
        ValueKind::I64(_) | ValueKind::I128(_) | ValueKind::U64(_) | ValueKind::U128(_) => {
            "a number"
        }
        ValueKind::Float(_) => "a number with a fraction",
        ValueKind::String(_) => "text",
        ValueKind::Table(_) => "a table",
        ValueKind::Array(_) => "a list",
    }
}
