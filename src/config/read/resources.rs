//! Reads who issues and checks a lock's fencing tokens, and the side effects that its holder has.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::checks;
use super::super::cursor::Cursor;
use super::super::mistake::quoted;
use super::super::model::{Effects, Fencing, ResourceSource};
use super::noted;
use super::source::{self, Need};

/// Resources of one kind that a lock has at most; each is a read in every poll.
const MOST: usize = 64;

/// Reads the `fencing` of a lock.
pub(super) fn fencing(at: &Cursor<'_>, need: Need<'_>) -> Option<Fencing> {
    let below = at.table("fencing")?;
    let keys = &["issued", "accepted", "rejected"];
    if below.present(keys).is_empty() && !below.mistyped(keys) {
        below.wrong_here(
            "tells of no token",
            "add where tokens are `issued`, or the resources where they are `accepted` or `rejected`",
        );
    }
    let issued = below.table("issued");
    let has_issued = issued.is_some();
    let issued = issued.and_then(|at| source::read(&at, need));
    let accepted = resources(&below, "accepted", need);
    let rejected = resources(&below, "rejected", need);
    if has_issued && issued.is_none() {
        return None;
    }
    Some(Fencing { issued, accepted, rejected })
}

/// Reads the `effects` of a lock.
pub(super) fn effects(at: &Cursor<'_>, need: Need<'_>) -> Vec<Effects> {
    let mut seen = BTreeSet::new();
    let mut effects = Vec::new();
    for below in bounded(at, "effects") {
        let name = name(&below, &mut seen);
        below.require("total", "add the source of a number that counts side effects");
        let total = below.table("total").and_then(|at| source::read(&at, need));
        let distinct = below.table("distinct").and_then(|at| source::read(&at, need));
        if distinct.is_some() && distinct == total {
            let fix = "name the counter of requests; without one, remove it";
            below.wrong("distinct", "is what `total` is: no duplicate would ever show", fix);
        }
        if let (Some(name), Some(total)) = (name, total) {
            effects.push(Effects { name, total, distinct });
        }
    }
    effects
}

fn resources(at: &Cursor<'_>, key: &'static str, need: Need<'_>) -> Vec<ResourceSource> {
    let mut seen = BTreeSet::new();
    let mut resources = Vec::new();
    for below in bounded(at, key) {
        let name = name(&below, &mut seen);
        let source = source::read(&below, need);
        if let (Some(name), Some(source)) = (name, source) {
            resources.push(ResourceSource { name, source });
        }
    }
    resources
}

fn bounded<'a>(at: &Cursor<'a>, key: &'static str) -> Vec<Cursor<'a>> {
    let list = at.list(key);
    if at.is_empty_list(key) {
        at.wrong(key, "is empty", "add a resource, or remove it");
    }
    if list.len() > MOST {
        at.wrong(key, format!("has more than {MOST} resources"), "watch fewer of them");
    }
    list
}

/// The `resource` label: of two resources of one name, one would overwrite the other.
fn name(at: &Cursor<'_>, seen: &mut BTreeSet<String>) -> Option<Arc<str>> {
    at.require("name", "add the name that the resource has in metrics");
    let name = at.text("name")?;
    noted(at, "name", checks::label_name(name))?;
    if !seen.insert(name.to_owned()) {
        let reason = format!("there is a resource {} in this list already", quoted(name));
        at.wrong("name", reason, "give each its own name");
        return None;
    }
    Some(name.into())
}
