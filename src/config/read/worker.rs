//! Reads the worker groups: who belongs to them, where their processes are and where they beat.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::checks;
use super::super::cursor::Cursor;
use super::super::filling::{Braces, Filling};
use super::super::mistake::quoted;
use super::super::model::{
    Heartbeat, JvmMode, Place, ProcessSource, SeriesTier, Source, WorkerGroup,
};
use super::holder::Holders;
use super::source::{self, Need};
use super::wants::Wants;
use super::{Known, noted};

const PROCESS_KEYS: &[&str] = &["pid_file", "pid_from_holder", "systemd_unit", "command", "cgroup"];

/// Reads all groups, by name.
pub(super) fn read_all(top: &Cursor<'_>, known: &Known) -> Vec<WorkerGroup> {
    let mut seen = BTreeMap::new();
    top.map("workers").iter().map(|(name, at)| read(name, at, known, &mut seen)).collect()
}

fn read(
    name: &str,
    at: &Cursor<'_>,
    known: &Known,
    seen: &mut BTreeMap<String, String>,
) -> WorkerGroup {
    noted_here(at, checks::section_name(name));
    purpose(at, known);
    let matches = at.text("match").and_then(|text| noted(at, "match", checks::whole_pattern(text)));
    let names = names(at, seen);
    let several = at.has("match") || names.len() > 1;
    let filling = Filling { place: Place::Worker, several };
    WorkerGroup {
        name: name.to_owned(),
        names,
        matches,
        series: match at.one_of("series") {
            Some("core") => SeriesTier::Core,
            _ => SeriesTier::Full,
        },
        process: at.table("process").and_then(|below| process(&below, filling, &known.holders)),
        heartbeat: at.table("heartbeat").and_then(|below| heartbeat(&below, filling, known)),
        claim: at.table("claim").and_then(|below| claim(&below, filling, known)),
        jvm: jvm(at),
    }
}

/// Whether the group can ever have a worker, and learn anything of it.
fn purpose(at: &Cursor<'_>, known: &Known) {
    if at.present(&["match", "names"]).is_empty() && !at.mistyped(&["match", "names"]) {
        at.wrong_here(
            "has neither `match` nor `names`",
            "add `match: '^orders-\\d+$'` or `names: [...]`",
        );
    }
    let names = (at.has("names") && !at.is_empty_list("names")) || at.mistyped(&["names"]);
    if at.has("match") && !names && !known.holders.worker && !known.has_lists {
        at.wrong(
            "match",
            "finds nobody: it is held against the holders of locks, and no lock has a `holder`",
            "add `holder: '^(?P<worker>[^:]+)'` to a lock, or list the workers in `names`",
        );
    }
    let means = &["process", "heartbeat", "claim"];
    if at.present(means).is_empty() && !at.mistyped(means) {
        at.wrong_here(
            "has neither `process` nor `heartbeat`",
            "add where its processes are or where it beats; without them nothing is known of its workers",
        );
    }
}

fn jvm(at: &Cursor<'_>) -> JvmMode {
    if at.has("jvm") && !at.has("process") && !at.mistyped(&["process"]) {
        at.wrong(
            "jvm",
            "has no meaning without `process`",
            "remove it, or say where the processes are",
        );
    }
    match at.one_of("jvm") {
        Some("always") => JvmMode::Always,
        Some("never") => JvmMode::Never,
        _ => JvmMode::Auto,
    }
}

fn noted_here(at: &Cursor<'_>, checked: Result<(), checks::Wrong>) {
    if let Err((reason, fix)) = checked {
        at.wrong_here(reason, fix);
    }
}

fn names(at: &Cursor<'_>, seen: &mut BTreeMap<String, String>) -> Vec<Arc<str>> {
    if at.is_empty_list("names") && !at.has("match") {
        at.wrong("names", "is empty", "add a worker's name, or use `match`");
    }
    let mut names: Vec<Arc<str>> = Vec::new();
    for item in at.texts("names") {
        if let Err((reason, fix)) = checks::label_name(item.text) {
            item.wrong(reason, fix);
        } else if let Some(first) = seen.insert(item.text.to_owned(), at.path.clone()) {
            let first = if first == at.path { "listed".into() } else { format!("in `{first}`") };
            item.wrong(
                format!("{} is already {first}", quoted(item.text)),
                "a worker is listed once: remove one of the two",
            );
        } else {
            names.push(item.text.into());
        }
    }
    names
}

fn process(at: &Cursor<'_>, filling: Filling, holders: &Holders) -> Option<ProcessSource> {
    let present = at.present(PROCESS_KEYS);
    let mut sources: Vec<_> =
        present.iter().map(|key| process_by(key, at, filling, holders)).collect();
    if let [_] = present.as_slice() {
        return sources.pop().flatten();
    }
    if !present.is_empty() || !at.mistyped(PROCESS_KEYS) {
        let reason = if present.is_empty() {
            "names no process".to_owned()
        } else {
            format!("has {} at once", present.join(" and "))
        };
        at.wrong_here(reason, format!("give exactly one of: {}", PROCESS_KEYS.join(", ")));
    }
    None
}

fn process_by(
    key: &str,
    at: &Cursor<'_>,
    filling: Filling,
    holders: &Holders,
) -> Option<ProcessSource> {
    if key == "pid_from_holder" {
        if !at.switch(key)? {
            at.wrong(key, "`false` names no process", "write `true`, or remove `process`");
        } else if !holders.pid {
            at.wrong(
                key,
                "no lock has a `holder` with a group named `pid`",
                "add one to a lock, such as `holder: '^(?P<worker>[^:]+):(?P<pid>\\d+)'`",
            );
        }
        return Some(ProcessSource::FromHolder);
    }
    let text = at.text(key)?;
    let braces = if key == "command" { Braces::Shared } else { Braces::Ours };
    noted(at, key, filling.places(text, braces))?;
    noted(at, key, filling.apart(&[text]));
    let filled = filling.sample(text);
    let owned = text.to_owned();
    match key {
        "pid_file" => Some(ProcessSource::PidFile(owned)),
        "systemd_unit" => {
            noted(at, key, systemd_unit(&filled))?;
            Some(ProcessSource::SystemdUnit(owned))
        }
        "command" => {
            noted(at, key, checks::pattern(&filled))?;
            Some(ProcessSource::Command(owned))
        }
        _ => {
            if !text.starts_with('/') {
                at.wrong(
                    key,
                    "is not a path from the root",
                    format!("write `/{text}`, as /proc/PID/cgroup does"),
                );
                return None;
            }
            Some(ProcessSource::Cgroup(owned))
        }
    }
}

fn systemd_unit(unit: &str) -> Result<(), checks::Wrong> {
    let kinds = [".service", ".scope", ".slice"];
    if unit.contains('/') || unit.chars().any(char::is_whitespace) {
        return Err(("is not the name of a unit".into(), "write it as `orders.service`".into()));
    }
    if !kinds.iter().any(|kind| unit.strip_suffix(kind).is_some_and(|name| !name.is_empty())) {
        return Err((
            "does not say which kind of unit it is".into(),
            "end it with .service, .scope or .slice".into(),
        ));
    }
    Ok(())
}

fn heartbeat(at: &Cursor<'_>, filling: Filling, known: &Known) -> Option<Heartbeat> {
    let frozen_after = at.duration("frozen_after");
    let need = Need { filling, wants: Wants::Beat, stores: &known.stores, own: None };
    Some(Heartbeat { source: source::read(at, need)?, frozen_after })
}

fn claim(at: &Cursor<'_>, filling: Filling, known: &Known) -> Option<Source> {
    let need = Need { filling, wants: Wants::Document, stores: &known.stores, own: None };
    source::read(at, need)
}
