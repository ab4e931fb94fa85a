//! Reads one entry of a store's `locks`: which keys, and what is said of them.

use std::sync::Arc;

use super::super::checks;
use super::super::cursor::Cursor;
use super::super::mistake::{closest, quoted};
use super::super::model::{
    FORMATS, LockConfig, LockKeys, LockRules, NameTemplate, Pattern, SeriesTier, TokenKind,
};
use super::super::template;
use super::noted;

/// Keys that a pattern finds and that are watched at most.
const MAX_LOCKS: usize = 1000;
/// Longest key or pattern.
const MAX_KEY: usize = 4096;
/// Groups of `holder` that mean something.
const HOLDER_GROUPS: &[&str] = &["worker", "host", "pid", "thread"];

/// Reads an entry.
pub(super) fn read(at: &Cursor<'_>) -> Option<LockConfig> {
    let by_key = at.has("key");
    // Read before the keys, so that nothing in here goes unseen because those are wrong.
    let rules = rules(at, by_key);
    let keys = match (by_key, at.has("match")) {
        (true, true) => {
            at.wrong("match", "is set beside `key`", "keep `key` for one lock or `match` for many");
            return None;
        }
        (false, false) if at.mistyped(&["key", "match"]) => return None,
        (false, false) => {
            at.wrong_here(
                "has neither `key` nor `match`",
                "add `key: lock:orders` or `match: 'lock:*'`",
            );
            return None;
        }
        (true, false) => one(at)?,
        (false, true) => matching(at)?,
    };
    Some(LockConfig { keys, rules: Arc::new(rules) })
}

fn one(at: &Cursor<'_>) -> Option<LockKeys> {
    for key in at.present(&["capture", "max_locks"]) {
        at.wrong(key, "has no meaning beside `key`", "remove it, or use `match` instead of `key`");
    }
    at.require("name", "add the name that the lock has in metrics");
    let name = at.text("name").and_then(|n| noted(at, "name", checks::label_name(n).map(|()| n)));
    let key = bytes(at, "key");
    Some(LockKeys::One { name: name?.into(), key: key? })
}

fn matching(at: &Cursor<'_>) -> Option<LockKeys> {
    let pattern = bytes(at, "match");
    let capture = at.text("capture").and_then(|text| noted(at, "capture", checks::pattern(text)));
    // Without a usable capture there is nothing to hold the name against.
    let judged = capture.is_some() || !at.has("capture");
    let name = if at.has("name") { at.text("name") } else { Some("{0}") };
    if let Some(name) = name {
        noted(at, "name", checks::label_name(name));
        if judged {
            noted(at, "name", template::lock_name(name, capture.as_ref().map(|c| &c.0)));
        }
    }
    let max_locks = at.whole("max_locks").unwrap_or(MAX_LOCKS);
    Some(LockKeys::Matching {
        name: NameTemplate(name?.to_owned()),
        pattern: pattern?,
        capture,
        max_locks,
    })
}

fn bytes(at: &Cursor<'_>, key: &str) -> Option<Vec<u8>> {
    let text = at.text(key)?;
    if text.len() > MAX_KEY {
        at.wrong(key, format!("longer than {MAX_KEY} bytes"), "a lock's key is not that long");
        return None;
    }
    Some(text.as_bytes().to_vec())
}

fn rules(at: &Cursor<'_>, by_key: bool) -> LockRules {
    let series = match at.one_of("series") {
        Some("full") => SeriesTier::Full,
        Some("core") => SeriesTier::Core,
        Some("flagged") => SeriesTier::Flagged,
        _ if by_key => SeriesTier::Full,
        _ => SeriesTier::Core,
    };
    LockRules {
        format: format(at),
        lease: at.duration("lease"),
        max_hold: at.duration("max_hold"),
        token: at.one_of("token").map(|word| match word {
            "reusable" => TokenKind::Reusable,
            _ => TokenKind::PerAcquire,
        }),
        renewed: at.switch("renewed"),
        ends_by_expiry: at.one_of("ends") == Some("by_expiry"),
        series,
        always_held: at.one_of("expect") == Some("always_held"),
        holder: at.text("holder").and_then(|text| holder(at, text)),
        by_key,
        // Without `capture` a pattern may find anything, and one lock says nothing of another.
        pooled: !by_key && at.has("match") && at.has("capture"),
    }
}

fn format(at: &Cursor<'_>) -> Option<String> {
    let word = at.text("format").filter(|word| *word != "auto")?;
    if !FORMATS.contains(&word) {
        let known = || format!("it is `auto` or one of: {}", FORMATS.join(", "));
        let fix = closest(word, FORMATS.iter().copied())
            .map_or_else(known, |meant| format!("did you mean `{meant}`?"));
        at.wrong("format", format!("{} is unknown", quoted(word)), fix);
        return None;
    }
    Some(word.to_owned())
}

fn holder(at: &Cursor<'_>, text: &str) -> Option<Pattern> {
    let pattern = noted(at, "holder", checks::pattern(text))?;
    let groups: Vec<&str> = pattern.0.capture_names().flatten().collect();
    let mut right = true;
    for group in &groups {
        if !HOLDER_GROUPS.contains(group) {
            let known = || format!("groups are: {}", HOLDER_GROUPS.join(", "));
            let fix = closest(group, HOLDER_GROUPS.iter().copied())
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
