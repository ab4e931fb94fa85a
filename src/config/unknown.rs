//! Goes over what the file says before anything is laid on top of it, and reports keys that do not exist, that a later
//! version has, or that must not be in a file. Looks at names only, never quotes a value.

use config::{Map, Value, ValueKind};

use super::mistake::{Report, closest, quoted};
use super::schema::{Key, Kind, Section};

/// Reports every key below `table` that does not belong there.
pub(super) fn check(table: &Map<String, Value>, section: &Section, path: &str, report: &Report) {
    let mut names: Vec<&String> = table.keys().collect();
    names.sort();
    for name in names {
        let Some(value) = table.get(name) else { continue };
        let at = join(path, name);
        match section.key(name).map(|k| k.kind) {
            Some(Kind::Secret) => refuse_secret(value.origin(), &at, report),
            Some(kind) => descend(value, kind, &at, report),
            None => {
                let (reason, fix) = explain(name, section, |kind| holds(kind, &value.kind));
                report.add(value.origin(), &at, reason, Some(fix));
            }
        }
    }
}

fn descend(value: &Value, kind: Kind, at: &str, report: &Report) {
    match (kind, &value.kind) {
        (Kind::Table(section), ValueKind::Table(table)) => check(table, section, at, report),
        (Kind::Map(section), ValueKind::Table(table)) => {
            let mut names: Vec<_> = table.iter().collect();
            names.sort_by_key(|(name, _)| *name);
            for (name, value) in names {
                descend(value, Kind::Table(section), &join(at, name), report);
            }
        }
        (Kind::List(section), ValueKind::Array(items)) => {
            for (i, item) in items.iter().enumerate() {
                descend(item, Kind::Table(section), &format!("{at}[{i}]"), report);
            }
        }
        // A value of the wrong type is reported by its reader.
        _ => {}
    }
}

fn refuse_secret(origin: Option<&str>, at: &str, report: &Report) {
    let fix = format!("remove it and use `password_file`, or set {} instead", variable(at));
    report.add(origin, at, "a password is taken from the environment only".into(), Some(fix));
}

/// Whether a value has the shape of this kind.
pub(super) fn holds(kind: Kind, value: &ValueKind) -> bool {
    match kind {
        Kind::Table(_) | Kind::Map(_) | Kind::Hashes => matches!(value, ValueKind::Table(_)),
        Kind::List(_) | Kind::Texts => matches!(value, ValueKind::Array(_)),
        _ => !matches!(value, ValueKind::Table(_) | ValueKind::Array(_) | ValueKind::Nil),
    }
}

/// Why a name is not a key of this section, and what to do. `fits` says whether the value is one for a kind of key.
pub(super) fn explain(
    name: &str,
    section: &Section,
    fits: impl Fn(Kind) -> bool,
) -> (String, String) {
    if section.later.contains(&name) {
        let reason = format!("{} is not supported by this version", quoted(name));
        let fix = match slip(name, section, fits) {
            Some(meant) => format!("did you mean `{meant}`? If not, remove it"),
            None => "remove it".into(),
        };
        return (reason, fix);
    }
    let unknown = "unknown key".to_owned();
    let known = || section.keys.iter().map(|k| k.name);
    if name == "password" && section.key("password_file").is_some() {
        return ("a password does not belong here".into(), "use `password_file`".into());
    }
    if let Some(meant) = closest(name, known()) {
        return (unknown, format!("did you mean `{meant}`?"));
    }
    for key in section.keys {
        if let Kind::Table(inner) = key.kind
            && inner.key(name).is_some()
        {
            return (unknown, format!("it belongs under `{}`", key.name));
        }
    }
    if let Some(meant) = closest(name, section.later.iter().copied()) {
        return (unknown, format!("`{meant}` is not supported by this version; remove it"));
    }
    (unknown, format!("known here: {}", known().collect::<Vec<_>>().join(", ")))
}

/// The key that is one slip of the hand from one of a later version, and that this value would fit.
pub(super) fn slip(
    name: &str,
    section: &Section,
    fits: impl Fn(Kind) -> bool,
) -> Option<&'static str> {
    let near = |key: &&Key| strsim::damerau_levenshtein(name, key.name) == 1 && fits(key.kind);
    section.keys.iter().find(near).map(|key| key.name)
}

/// A key's path below another.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The environment variable that overrides the key at this path.
pub(super) fn variable(path: &str) -> String {
    let name = path.replace(['.', '['], "__").replace(']', "").replace('-', "_");
    format!("DLOCK__{}", name.to_ascii_uppercase())
}
