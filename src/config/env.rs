//! Finds the keys that `DLOCK__...` environment variables stand for, by the schema and by the names that the file uses.
//! The stock environment source of the `config` crate lower-cases names and replaces whole lists, so this is our own.
//! Knows no values: it turns names into paths.

use config::{Value, ValueKind};

use super::mistake::{closest, quoted};
use super::schema::{Kind, Section, TOP};
use super::unknown;

/// What a variable's name comes to.
pub(super) enum Resolved {
    /// A key.
    Key(Target),
    /// Something above the key has the wrong type; the reader reports that.
    Unreachable,
}

/// The key that a variable overrides.
pub(super) struct Target {
    /// Its path.
    pub(super) path: String,
    /// The elements of lists on the way to it.
    pub(super) elements: Vec<Element>,
}

/// An element of a list.
pub(super) struct Element {
    /// Path of the list.
    pub(super) list: String,
    /// How many elements it has before anything is overridden.
    pub(super) len: usize,
    /// Which one is meant, counted from 0; it may be far beyond the last.
    pub(super) index: usize,
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
    let mut walk = Walk { rest: &rest, path: String::new(), elements: Vec::new() };
    let reached = walk.descend(Kind::Table(&TOP), Some(base))?;
    let target = Target { path: walk.path, elements: walk.elements };
    Ok(if reached { Resolved::Key(target) } else { Resolved::Unreachable })
}

/// Names are compared without case, and `-` is `_`, because few shells can export a name with `-`.
pub(super) fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

struct Walk<'a> {
    rest: &'a str,
    path: String,
    elements: Vec<Element>,
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
        let variable = |key: &str| unknown::variable(&unknown::join(&self.path, key));
        // What goes on below the name is no single value.
        let fits = |kind| self.rest.is_empty() == is_single(kind);
        let (reason, fix) = unknown::explain(head, section, fits);
        if section.later.contains(&head) {
            let fix = unknown::slip(head, section, fits).map_or(fix, |meant| {
                format!("did you mean {}? If not, remove it", variable(meant))
            });
            return (reason, fix);
        }
        if reason != "unknown key" {
            return (reason, fix);
        }
        let fix = match closest(head, section.keys.iter().map(|k| k.name)) {
            Some(meant) => format!("did you mean {}?", variable(meant)),
            None => fix,
        };
        (format!("no key {} in {}", quoted(head), self.place()), fix)
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
            Ok(index) => {
                let path = format!("{}[{index}]", self.path);
                let list = std::mem::replace(&mut self.path, path);
                self.elements.push(Element { list, len: items.len(), index });
                Ok(Some(items.get(index)))
            }
            Err(_) => Err((
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

fn is_single(kind: Kind) -> bool {
    !matches!(kind, Kind::Table(_) | Kind::Map(_) | Kind::List(_) | Kind::Texts)
}
