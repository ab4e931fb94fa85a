//! Whether the keys of a lock's entry fit together: a format leaves no room for some of what others say. Each key by itself
//! is right, so nothing else would tell. Says nothing of a format that is yet to be detected.

use super::super::cursor::Cursor;
use super::super::model::{FORMATS, KnownFormat, Names, known_format};

/// Looks at the entry of a lock whose store has an owner index, or not.
pub(super) fn check(at: &Cursor<'_>, has_index: bool) {
    pointer(at);
    let format = format(at);
    limit(at, format.as_ref());
    let Some((format, by)) = format else { return };
    if at.has("keys") && !format.is_string {
        let fix = "give each of them an entry of its own, with `key`";
        at.wrong("keys", format!("no lock has several with {by}"), fix);
    }
    if at.has("key") && format.name == "rueidislock" {
        at.wrong("key", "is one of several keys of this lock", all_keys(at));
    }
    let is_named = at.has("holder") || at.misspelt("holder") || has_index;
    if at.has("workers") && format.names == Names::Nobody && !is_named {
        let fix = "add a `holder` with a group named `worker`, or an `owner_index` to the store";
        at.wrong("workers", format!("is never judged: with {by} nothing names a holder"), fix);
    }
}

/// The format that is declared, and what declares it.
fn format(at: &Cursor<'_>) -> Option<(&'static KnownFormat, String)> {
    match at.word("format").filter(|word| *word != "auto") {
        Some(word) => Some((known_format(word)?, format!("`format: {word}`"))),
        None if at.has("owner_json") => Some((known_format("json")?, "`owner_json`".into())),
        None => None,
    }
}

/// A pointer and JSON need each other.
fn pointer(at: &Cursor<'_>) {
    let declared = at.word("format").and_then(known_format);
    match declared.map(|f| f.name) {
        Some("json") if !at.has("owner_json") && !at.misspelt("owner_json") => at.wrong(
            "owner_json",
            "missing beside `format: json`: where the owner is in the document is not known",
            "add a JSON pointer to it, such as `owner_json: /holder`",
        ),
        Some("json") | None => {}
        Some(other) if at.has("owner_json") => at.wrong(
            "owner_json",
            format!("has no meaning with `format: {other}`"),
            "remove it; or remove `format`, if the values are JSON",
        ),
        Some(_) => {}
    }
}

fn limit(at: &Cursor<'_>, format: Option<&(&KnownFormat, String)>) {
    if at.has("limit") && at.has("keys") {
        let reason = "has no meaning beside `keys`: one holder has more than half of them";
        at.wrong("limit", reason, "remove it");
    } else if let Some((format, by)) = format
        && at.has("limit")
        && !format.has_permits
    {
        let semaphores = FORMATS.iter().filter(|f| f.has_permits).map(|f| f.name);
        let semaphores = semaphores.collect::<Vec<_>>().join(", ");
        let fix = format!("remove it (several may hold those of {semaphores})");
        at.wrong("limit", format!("has no meaning with {by}, which has one holder"), fix);
    }
}

/// What to write in place of the one key of several.
fn all_keys(at: &Cursor<'_>) -> String {
    let numbered = at.word("key").and_then(|key| {
        let (prefix, rest) = key.split_once(':')?;
        let (number, name) = rest.split_once(':')?;
        number.parse::<u8>().ok().map(|_| (prefix, name))
    });
    let (prefix, name) = numbered.unwrap_or(("rueidislock", "orders"));
    let keys = [0, 1, 2].map(|i| format!("'{prefix}:{i}:{name}'")).join(", ");
    format!("list all in place of it, `keys: [{keys}]`; with KeyMajority 1, remove `format`")
}
