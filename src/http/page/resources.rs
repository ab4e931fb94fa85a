//! What sources tell of a lock: fencing tokens, side effects and claims, a row for each resource. A lock of which nothing
//! is told has no such section.

use std::collections::BTreeMap;

use super::escape::Broken;
use super::frame::UNKNOWN;
use super::row::Row;
use super::{facts, when, words};
use crate::view::{EffectsView, LockView, View};

const COLUMNS: [&str; 6] = [
    "Resource",
    "Last token",
    "Tokens that went down",
    "Writes refused",
    "Side effects",
    "Duplicates",
];

/// What is told of one resource.
#[derive(Default)]
struct Told<'a> {
    token: Option<u64>,
    regressions: Option<u64>,
    rejections: Option<u64>,
    effects: Option<&'a EffectsView>,
}

/// The section.
pub fn section(out: &mut String, row: &Row<'_>, view: &View) {
    let rows = rows(row);
    let claims = claims(row, view);
    if rows.is_empty() && claims.is_empty() {
        return;
    }
    out.push_str("<h2>Fencing and side effects</h2>\n");
    if !rows.is_empty() {
        facts::table(out, &COLUMNS);
        for (resource, told) in &rows {
            line(out, resource, told);
        }
        out.push_str("</tbody></table>\n");
    }
    if !claims.is_empty() {
        put!(out, "<p>Says that it holds it: {}</p>\n", claims.join(", "));
    }
}

/// By resource; under the empty name the counter that tokens are taken from.
fn rows<'a>(row: &Row<'a>) -> BTreeMap<&'a str, Told<'a>> {
    let mut rows: BTreeMap<&str, Told<'_>> = BTreeMap::new();
    let lock = row.lock;
    if let Some(fencing) = &lock.told.fencing {
        for (resource, n) in &fencing.regressions {
            rows.entry(resource).or_default().regressions = Some(*n);
        }
        if let Some(issued) = rows.get_mut("") {
            issued.token = row.now(fencing.issued);
        }
        for (resource, token) in &fencing.accepted {
            rows.entry(resource).or_default().token = row.now(*token);
        }
        for (resource, n) in &fencing.rejections {
            rows.entry(resource).or_default().rejections = Some(*n);
        }
    }
    for effects in &lock.told.effects {
        rows.entry(&effects.resource).or_default().effects = Some(effects);
    }
    rows
}

fn line(out: &mut String, resource: &str, told: &Told<'_>) {
    let number = |n: Option<u64>| n.map_or(UNKNOWN.to_owned(), |n| n.to_string());
    let bad = |n: Option<u64>| match n {
        Some(n) if n > 0 => format!("<b class=\"down\">{n}</b>"),
        n => number(n),
    };
    let name = match resource {
        "" => "issued, by the counter".to_owned(),
        resource => format!("<b>{}</b>", Broken(resource)),
    };
    facts::begin(out, false);
    facts::cell(out, "Resource", &name);
    facts::cell(out, "Last token", &number(told.token));
    facts::cell(out, "Tokens that went down", &bad(told.regressions));
    facts::cell(out, "Writes refused", &number(told.rejections));
    facts::cell(out, "Side effects", &number(told.effects.map(|e| e.total)));
    facts::cell(out, "Duplicates", &bad(told.effects.and_then(|e| e.duplicates)));
    out.push_str("</tr>\n");
}

/// Workers that say they hold it.
fn claims(row: &Row<'_>, view: &View) -> Vec<String> {
    let is_this = |(store, lock): &(_, _)| *store == row.store.name && *lock == row.lock.name;
    let claiming = view.workers.iter().filter(|w| w.claims.iter().any(is_this));
    claiming.map(|w| Broken(&w.name).to_string()).collect()
}

/// What happened lately that no signal tells, each as a sentence.
pub fn notes(lock: &LockView) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((resource, age)) = lock.told.fencing.as_ref().and_then(|f| f.fell.as_ref()) {
        let which = match &**resource {
            "" => "the last fencing token issued".to_owned(),
            resource => format!("the fencing token that {} accepted", Broken(resource)),
        };
        notes.push(format!("{which} went down {} ago", when::seconds(*age)));
    }
    for effects in &lock.told.effects {
        let Some((n, age)) = effects.duplicates.zip(effects.duplicated_seconds) else { continue };
        let said = words::count(n, "side effect", "side effects");
        notes.push(format!(
            "{said} on {} beyond one for each request, the last {} ago",
            Broken(&effects.resource),
            when::seconds(age)
        ));
    }
    notes
}
