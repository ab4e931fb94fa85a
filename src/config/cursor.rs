//! A place in the merged values: its keys, and the tables and lists below it. What is of the wrong type is recorded as
//! a mistake and left out; readers carry on, so that one run finds everything. Single values are in `values`.

use std::collections::BTreeSet;

use config::{Map, Value, ValueKind};

use super::mistake::{Report, closest};
use super::schema::{Key, Kind, Section};
use super::unknown::{holds, join};

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
    /// Where it is.
    pub(super) path: String,
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

    /// Whether one of these keys, or one below them, is probably meant by one that does not exist here, which is
    /// reported already.
    pub(super) fn mistyped(&self, keys: &[&'static str]) -> bool {
        let holds = |key: &str, name: &str| match self.section.key(key).map(|k| k.kind) {
            Some(Kind::Table(inner)) => inner.key(name).is_some(),
            _ => false,
        };
        self.table.keys().any(|name| {
            self.section.later.contains(&name.as_str())
                || (self.section.key(name).is_none()
                    && (closest(name, keys.iter().copied()).is_some()
                        || keys.iter().any(|key| holds(key, name))))
        })
    }

    /// Whether a name that does not exist here is probably this key, misspelt.
    pub(super) fn misspelt(&self, key: &str) -> bool {
        self.table.keys().any(|name| self.is_slip(name, key))
    }

    fn is_slip(&self, name: &str, key: &str) -> bool {
        let known = self.section.keys.iter().map(|k| k.name);
        self.section.key(name).is_none() && closest(name, known) == Some(key)
    }

    /// Whether the key is there and not made of what it should have below it; reading it reports that.
    pub(super) fn unusable(&self, key: &str) -> bool {
        let (Some(spec), Some(value)) = (self.section.key(key), self.table.get(key)) else {
            return false;
        };
        !holds(spec.kind, &value.kind)
    }

    /// Whether the key holds a list without elements.
    pub(super) fn is_empty_list(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|v| matches!(&v.kind, ValueKind::Array(a) if a.is_empty()))
    }

    /// Whether the key holds a table without entries.
    pub(super) fn is_empty_table(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|v| matches!(&v.kind, ValueKind::Table(t) if t.is_empty()))
    }

    /// The key's text, if it is there and right; says nothing if not, as reading it does.
    pub(super) fn word(&self, key: &str) -> Option<&'a str> {
        match self.table.get(key).map(|v| &v.kind) {
            Some(ValueKind::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Records that the key is missing, if it is.
    pub(super) fn require(&self, key: &'static str, fix: &str) {
        if !self.has(key) && !self.mistyped(&[key]) {
            self.wrong(key, "missing", fix);
        }
    }

    /// Where the key's value came from, if not from the base.
    pub(super) fn origin(&self, key: &str) -> Option<&'a str> {
        self.table.get(key).and_then(Value::origin)
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

    /// The texts below a key with names of the user's, by name; those of the wrong type are reported and left out.
    pub(super) fn pairs(&self, key: &str) -> Vec<(&'a str, Item<'a>)> {
        let Some((_, value)) = self.get(key) else { return Vec::new() };
        let ValueKind::Table(table) = &value.kind else {
            let reason = format!("must be a table by name, not {}", described(&value.kind));
            self.wrong(key, reason, "write a name below it, and its text behind that");
            return Vec::new();
        };
        let path = join(&self.path, key);
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| *name);
        entries
            .into_iter()
            .filter_map(|(name, value)| {
                let item = |text| Item {
                    text,
                    path: join(&path, name),
                    origin: value.origin(),
                    report: self.report,
                };
                match &value.kind {
                    ValueKind::String(text) => Some((name.as_str(), item(text))),
                    other => {
                        item("").wrong(
                            format!("must be text, not {}", described(other)),
                            "put the value in quotes",
                        );
                        None
                    }
                }
            })
            .collect()
    }

    /// The names below a key with names of the user's, right or wrong, and those below the key's misspelt twin. `None` if
    /// there is something that has none.
    pub(super) fn names(&self, key: &str) -> Option<BTreeSet<String>> {
        let meant = self.table.iter().filter(|(name, _)| *name == key || self.is_slip(name, key));
        let mut names = BTreeSet::new();
        for (_, value) in meant {
            let ValueKind::Table(table) = &value.kind else { return None };
            names.extend(table.keys().cloned());
        }
        Some(names)
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
    pub(super) fn get(&self, key: &str) -> Option<(&'static Key, &'a Value)> {
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

/// What a value is, in words; never what it says.
pub(super) fn described(kind: &ValueKind) -> &'static str {
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
