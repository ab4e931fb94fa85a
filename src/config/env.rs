//! Finds the keys that `DLOCK__...` environment variables stand for, by the schema and by the names that the file uses.
//! The stock environment source of the `config` crate lower-cases names and replaces whole lists, so this is our own.
//! Knows no values: it turns names into paths.

use config::{Value, ValueKind};

use super::mistake::{closest, quoted};
use super::schema::{Kind, Section, TOP};
use super::unknown;

/// List elements beyond this are refused, so that one name cannot make a list of any length.
const MAX_INDEX: usize = 9_999;

/// What a variable's name comes to.
pub(super) enum Resolved {
    /// The path of the key that it overrides.
    Path(String),
    /// Something above the key has the wrong type; the reader reports that.
    Unreachable,
}

/// A reason and its fix.
pub(super) type Wrong = (String, String);

/// The part of a variable's name after `DLOCK__`, if it is one of ours.
pub(super) fn strip(name: &str) -> Option<&str> {
    let (prefix, rest) = name.split_at_checked("DLOCK__".len())?;
    prefix.eq_ignore_ascii_case("DLOCK__").then_some(rest)
}

/// The key that a variable stands for; `rest` is its name after the prefix.
pub(super) fn resolve(rest: &str, base: &Value) -> Result<Resolved, Wrong> {
    let rest = normal(rest);
    let mut walk = Walk { rest: &rest, path: String::new() };
    let reached = walk.descend(Kind::Table(&TOP), Some(base))?;
    Ok(if reached { Resolved::Path(walk.path) } else { Resolved::Unreachable })
}

/// Names are compared without case, and `-` is `_`, because few shells can export a name with `-`.
fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

struct Walk<'a> {
    rest: &'a str,
    path: String,
}

impl<'a> Walk<'a> {
    fn descend(&mut self, kind: Kind, value: Option<&Value>) -> Result<bool, Wrong> {
        let value = value.filter(|v| v.kind != ValueKind::Nil);
        match kind {
            Kind::Table(section) => self.table(section, value),
            Kind::Map(section) => self.map(section, value),
            Kind::List(section) => {
                let Some(item) = self.index(value)? else { return Ok(false) };
                self.descend(Kind::Table(section), item)
            }
            Kind::Texts => {
                let Some(_) = self.index(value)? else { return Ok(false) };
                self.leaf()
            }
            _ => self.leaf(),
        }
    }

    fn leaf(&self) -> Result<bool, Wrong> {
        if self.rest.is_empty() {
            return Ok(true);
        }
        let reason = format!("`{}` has no keys below it", self.path);
        Err((reason, format!("the variable is {}", unknown::variable(&self.path))))
    }

    fn table(&mut self, section: &Section, value: Option<&Value>) -> Result<bool, Wrong> {
        if self.rest.is_empty() {
            let reason = format!("{} is a table", self.place());
            let first = section.keys.first().map_or("", |k| k.name);
            let name = unknown::variable(&unknown::join(&self.path, first));
            return Err((reason, format!("set its keys one by one, such as {name}")));
        }
        let head = self.take();
        let Some(key) = section.keys.iter().find(|k| k.name == head) else {
            return Err(self.stranger(head, section));
        };
        let Some(below) = entry(value, key.name) else { return Ok(false) };
        self.path = unknown::join(&self.path, key.name);
        self.descend(key.kind, below)
    }

    fn stranger(&self, head: &str, section: &Section) -> Wrong {
        let (reason, fix) = unknown::explain(head, section);
        let place = self.place();
        match closest(head, section.keys.iter().map(|k| k.name)) {
            Some(meant) if reason == "unknown key" => {
                let name = unknown::variable(&unknown::join(&self.path, meant));
                (format!("no key {} in {place}", quoted(head)), format!("did you mean {name}?"))
            }
            _ if reason == "unknown key" => (format!("no key {} in {place}", quoted(head)), fix),
            _ => (reason, fix),
        }
    }

    fn map(&mut self, section: &'static Section, value: Option<&Value>) -> Result<bool, Wrong> {
        let names: Vec<&String> = match value.map(|v| &v.kind) {
            Some(ValueKind::Table(table)) => table.keys().collect(),
            Some(_) => return Ok(false),
            None => Vec::new(),
        };
        if self.rest.is_empty() {
            return Err((
                format!("`{}` is a table", self.path),
                "name an entry and its key".into(),
            ));
        }
        // With entries there, a name that fits none is far more often a typo than a new entry.
        let name = if names.is_empty() {
            self.take().to_owned()
        } else {
            self.existing(&names)?.to_owned()
        };
        let Some(below) = entry(value, &name) else { return Ok(false) };
        self.path = unknown::join(&self.path, &name);
        self.descend(Kind::Table(section), below)
    }

    /// The longest name in use that the rest begins with: names may have `__` in them.
    fn existing<'n>(&mut self, names: &[&'n String]) -> Result<&'n str, Wrong> {
        let fits = |name: &str| {
            let after = self.rest.strip_prefix(normal(name).as_str())?;
            if after.is_empty() { Some(after) } else { after.strip_prefix("__") }
        };
        let mut found: Vec<(&'n str, &'a str)> = names
            .iter()
            .filter_map(|name| fits(name).map(|after| (name.as_str(), after)))
            .collect();
        found.sort_by_key(|(name, after)| (after.len(), *name));
        match found.as_slice() {
            [(a, rest_a), (b, rest_b), ..] if rest_a == rest_b => Err((
                format!("fits both `{}.{a}` and `{}.{b}`", self.path, self.path),
                "rename one of them".into(),
            )),
            [(name, after), ..] => {
                self.rest = after;
                Ok(name)
            }
            [] => {
                let head = self.take();
                let mut sorted: Vec<&str> = names.iter().map(|n| n.as_str()).collect();
                sorted.sort_unstable();
                let fix = match closest(head, sorted.iter().copied()) {
                    Some(meant) => {
                        let name = unknown::variable(&unknown::join(&self.path, meant));
                        format!("did you mean {name}__...?")
                    }
                    None => format!("there are: {}", sorted.join(", ")),
                };
                Err((format!("no entry {} in `{}`", quoted(head), self.path), fix))
            }
        }
    }

    /// The element that the next part of the name counts; `None` if there is no list.
    #[allow(clippy::option_option)]
    fn index<'v>(&mut self, value: Option<&'v Value>) -> Result<Option<Option<&'v Value>>, Wrong> {
        let items = match value.map(|v| &v.kind) {
            Some(ValueKind::Array(items)) => items.as_slice(),
            Some(_) => return Ok(None),
            None => &[],
        };
        let head = self.take();
        let example = || unknown::variable(&format!("{}[0]", self.path));
        match head.parse::<usize>() {
            Ok(i) if i <= MAX_INDEX => {
                self.path = format!("{}[{i}]", self.path);
                Ok(Some(items.get(i)))
            }
            _ => Err((
                format!("`{}` is a list, and {} is no position in it", self.path, quoted(head)),
                format!("positions count from 0, such as {}", example()),
            )),
        }
    }

    /// Takes the next part of the name off.
    fn take(&mut self) -> &'a str {
        let (head, rest) = self.rest.split_once("__").unwrap_or((self.rest, ""));
        self.rest = rest;
        head
    }

    fn place(&self) -> String {
        if self.path.is_empty() { "the top level".into() } else { format!("`{}`", self.path) }
    }
}

/// The value below a name: `None` if what should be a table is something else.
#[allow(clippy::option_option)]
fn entry<'v>(value: Option<&'v Value>, name: &str) -> Option<Option<&'v Value>> {
    match value.map(|v| &v.kind) {
        Some(ValueKind::Table(table)) => Some(table.get(name)),
        Some(_) => None,
        None => Some(None),
    }
}
