//! Reads a lock's `holder`, and keeps what the holders of all locks can tell: worker groups live on it.

use super::super::checks;
use super::super::cursor::Cursor;
use super::super::mistake::{closest, quoted};
use super::super::model::{Names, Pattern, known_format};
use super::noted;

/// Groups that mean something.
const GROUPS: &[&str] = &["worker", "host", "pid", "thread"];

/// What the `holder`s of all locks tell together.
#[derive(Default)]
pub(super) struct Holders {
    /// Some lock names its holder.
    pub(super) worker: bool,
    /// Some lock tells its holder's pid.
    pub(super) pid: bool,
}

impl Holders {
    /// Something could not be read that may have told all of it. That is reported, and nothing is to follow from it.
    pub(super) fn doubt(&mut self) {
        *self = Self { worker: true, pid: true };
    }
}

/// Reads the `holder` of a lock, if it has one.
pub(super) fn read(at: &Cursor<'_>, holders: &mut Holders) -> Option<Pattern> {
    let pattern = at.text("holder").and_then(|text| checked(at, text));
    match &pattern {
        Some(pattern) => {
            holders.worker = true;
            holders.pid |= pattern.0.capture_names().flatten().any(|group| group == "pid");
        }
        None if at.has("holder") || at.misspelt("holder") => holders.doubt(),
        None => {
            let names = by_format(at);
            holders.worker |= names >= Names::Worker;
            holders.pid |= names >= Names::Process;
        }
    }
    pattern
}

/// What the lock's format may tell of its holder without a pattern. One that is yet to be detected may tell all.
fn by_format(at: &Cursor<'_>) -> Names {
    match at.word("format").filter(|word| *word != "auto") {
        Some(word) => known_format(word).map_or(Names::Process, |f| f.names),
        None if at.has("owner_json") => Names::Nobody,
        None => Names::Process,
    }
}

fn checked(at: &Cursor<'_>, text: &str) -> Option<Pattern> {
    let pattern = noted(at, "holder", checks::pattern(text))?;
    let groups: Vec<&str> = pattern.0.capture_names().flatten().collect();
    let mut right = true;
    for group in &groups {
        if !GROUPS.contains(group) {
            let known = || format!("groups are: {}", GROUPS.join(", "));
            let fix = closest(group, GROUPS.iter().copied())
                .map_or_else(known, |meant| format!("did you mean `{meant}`?"));
            at.wrong("holder", format!("the group {} means nothing", quoted(group)), fix);
            right = false;
        }
    }
    if right && !groups.contains(&"worker") {
        let fix = "name one `worker`, such as `^(?P<worker>[^:]+):`";
        at.wrong("holder", "has no group that names the worker", fix);
        right = false;
    }
    right.then_some(pattern)
}
