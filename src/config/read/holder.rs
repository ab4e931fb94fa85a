//! Reads a lock's `holder`, and keeps what the holders of all locks can tell: worker groups live on it.

use super::super::checks;
use super::super::cursor::Cursor;
use super::super::mistake::{closest, quoted};
use super::super::model::Pattern;
use super::noted;

/// Groups that mean something.
const GROUPS: &[&str] = &["worker", "host", "pid", "thread"];

/// Formats whose values tell nothing of their holder by themselves. Others, and one that is yet to be detected, may.
const NAMELESS: &[&str] = &["string", "redisson"];

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
        None if at.has("holder") || at.mistyped(&["holder"]) || may_name(at) => holders.doubt(),
        None => {}
    }
    pattern
}

/// Whether the lock's format may name the holder without a pattern.
fn may_name(at: &Cursor<'_>) -> bool {
    match at.word("format") {
        Some(word) => !NAMELESS.contains(&word),
        None => true,
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
