//! Which keys the environment overrides, and with what: all variables together, because an element may be added to a
//! list only where the file or another variable has the one before it. Judges names, never values.

use std::collections::{BTreeMap, BTreeSet};

use config::Value;

use super::env::{self, Element, Resolved, Target};
use super::misnamed;
use super::mistake::Report;

/// One key to override.
pub(super) struct Override<'a> {
    /// Its path.
    pub(super) path: String,
    /// The variable.
    pub(super) name: &'a str,
    /// Its value.
    pub(super) value: &'a str,
}

/// The overrides in the order of the variables' names; what is no good is reported and left out.
pub(super) fn all<'a>(
    variables: &'a [(String, String)],
    base: &Value,
    report: &Report,
) -> Vec<Override<'a>> {
    let targets = targets(variables, base, report);
    let lists = Lists::of(targets.iter().flat_map(|(_, _, target)| &target.elements));
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    let mut overrides = Vec::new();
    for (name, value, target) in targets {
        let wrong = |reason: String, fix: String| report.add(Some(name), "", reason, Some(fix));
        if let Some((reason, fix)) = target.elements.iter().find_map(|e| lists.gap(e)) {
            wrong(reason, fix);
            continue;
        }
        if let Some(other) = taken.insert(target.path.clone(), name) {
            wrong(format!("sets the same key as {other}"), "unset one of them".into());
        }
        overrides.push(Override { path: target.path, name, value });
    }
    overrides
}

/// What the variables' names come to.
fn targets<'a>(
    variables: &'a [(String, String)],
    base: &Value,
    report: &Report,
) -> Vec<(&'a str, &'a str, Target)> {
    let mut sorted: Vec<_> = variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    sorted.sort_unstable();
    let mut targets = Vec::new();
    for (name, value) in sorted {
        let wrong = match env::strip(name).map(|rest| env::resolve(rest, base)) {
            Some(Ok(Resolved::Key(target))) => {
                targets.push((name, value, target));
                None
            }
            Some(Ok(Resolved::Unreachable)) => None,
            Some(Err(wrong)) => Some(wrong),
            None => misnamed::check(name),
        };
        if let Some((reason, fix)) = wrong {
            report.add(Some(name), "", reason, Some(fix));
        }
    }
    targets
}

/// How many elements each list has once the environment has added its own.
struct Lists(BTreeMap<String, usize>);

impl Lists {
    fn of<'e>(elements: impl Iterator<Item = &'e Element>) -> Self {
        let mut set: BTreeMap<&str, (usize, BTreeSet<usize>)> = BTreeMap::new();
        for element in elements {
            let (len, indexes) = set.entry(&element.list).or_default();
            *len = element.len;
            indexes.insert(element.index);
        }
        let grown = set.into_iter().map(|(list, (len, indexes))| {
            let added = (len..).take_while(|index| indexes.contains(index)).count();
            (list.to_owned(), len + added)
        });
        Self(grown.collect())
    }

    /// What is wrong with an element that would leave others before it empty.
    fn gap(&self, element: &Element) -> Option<env::Wrong> {
        let len = self.0.get(&element.list).copied().unwrap_or(element.len);
        if element.index < len {
            return None;
        }
        let (has, fix) = match len {
            0 => ("no elements".to_owned(), "position 0 can be set".to_owned()),
            1 => ("1 element".to_owned(), "positions 0 to 1 can be set".to_owned()),
            _ => (format!("{len} elements"), format!("positions 0 to {len} can be set")),
        };
        let reason =
            format!("`{}` has {has}, and none at position {}", element.list, element.index);
        Some((reason, fix))
    }
}
