//! Reads one entry of a store's `locks`: which keys, and what is said of them.

use std::sync::Arc;

use super::super::checks;
use super::super::cursor::Cursor;
use super::super::filling::Filling;
use super::super::mistake::{closest, quoted};
use super::super::model::{
    FORMATS, LockConfig, LockKeys, LockRules, NameTemplate, Pattern, Place, SeriesTier, TokenKind,
    known_format,
};
use super::super::template;
use super::names::Entries;
use super::seen::Seen;
use super::source::Need;
use super::wants::Wants;
use super::{Told, fits, group, holder, noted, resources};

/// Keys that a pattern finds and that are watched at most.
const MAX_LOCKS: usize = 1000;
/// Keys of one lock at most.
const MAX_KEYS: usize = 31;
/// Longest key or pattern.
const MAX_KEY: usize = 4096;

/// Reads an entry. Everything in it is looked at, also where some of it is wrong already.
pub(super) fn read(
    at: &Cursor<'_>,
    seen: &mut Seen,
    told: &mut Told,
    around: Around<'_>,
) -> Option<LockConfig> {
    let by_key = at.has("key") || at.has("keys");
    let rules = rules(at, by_key, seen, told, around);
    fits::check(at, around.has_index);
    let keys = match at.present(&["key", "keys", "match"]).as_slice() {
        ["key"] => one(at, seen),
        ["keys"] => several(at, seen),
        ["match"] => matching(at, seen),
        _ => undecided(at, seen),
    };
    Some(LockConfig { keys: keys?, rules: Arc::new(rules) })
}

/// What a lock's entry may refer to.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// Its store.
    pub(super) store: &'a str,
    /// The stores there are.
    pub(super) stores: &'a Entries,
    /// The lists of live workers there are.
    pub(super) lists: &'a Entries,
    /// Its store has an owner index.
    pub(super) has_index: bool,
}

fn one(at: &Cursor<'_>, seen: &mut Seen) -> Option<LockKeys> {
    let name = only_name(at, seen, "key");
    let key = key(at, seen);
    Some(LockKeys::One { name: name?.into(), key: key? })
}

fn several(at: &Cursor<'_>, seen: &mut Seen) -> Option<LockKeys> {
    let name = only_name(at, seen, "keys");
    let items = at.texts("keys");
    let mut keys = Vec::new();
    for item in &items {
        let key = item.text.as_bytes().to_vec();
        if key.len() > MAX_KEY {
            item.wrong(format!("longer than {MAX_KEY} bytes"), "a lock's key is not that long");
        } else if keys.contains(&key) {
            item.wrong("is listed twice", "remove one of the two");
        } else {
            seen.one_of_keys(item, &key);
            keys.push(key);
        }
    }
    if items.len() == 1 || at.is_empty_list("keys") {
        at.wrong("keys", "has fewer than two keys", "list all keys of the lock, or use `key`");
        return None;
    }
    if items.len() > MAX_KEYS {
        let fix = "the keys are those of one lock, of which more than half hold it";
        at.wrong("keys", format!("has more than {MAX_KEYS} keys"), fix);
        return None;
    }
    let is_right = !keys.is_empty() && keys.len() == items.len();
    Some(LockKeys::Several { name: name?.into(), keys: is_right.then_some(keys)? })
}

/// The name of a lock that is given by its key or keys.
fn only_name<'a>(at: &Cursor<'a>, seen: &mut Seen, by: &str) -> Option<&'a str> {
    for key in at.present(&["capture", "max_locks"]) {
        let reason = format!("has no meaning beside `{by}`");
        at.wrong(key, reason, format!("remove it, or use `match` instead of `{by}`"));
    }
    at.require("name", "add the name that the lock has in metrics");
    let name = name(at)?;
    seen.name(at, name);
    Some(name)
}

fn matching(at: &Cursor<'_>, seen: &mut Seen) -> Option<LockKeys> {
    let (pattern, capture) = pattern(at, seen);
    // Without a usable capture there is nothing to hold the name against.
    let judged = capture.is_some() || !at.has("capture");
    let name = if at.has("name") { name(at) } else { Some("{0}") };
    if judged && let Some(name) = name {
        noted(at, "name", template::lock_name(name, capture.as_ref().map(|c| &c.0)));
    }
    let max_locks = at.whole("max_locks").unwrap_or(MAX_LOCKS);
    Some(LockKeys::Matching {
        name: NameTemplate(name?.to_owned()),
        pattern: pattern?,
        capture,
        max_locks,
    })
}

/// An entry with more than one of `key`, `keys` and `match`, or with none: what is there is still checked as far as it means
/// the same in all.
fn undecided(at: &Cursor<'_>, seen: &mut Seen) -> Option<LockKeys> {
    if let [first, others @ ..] = at.present(&["key", "keys", "match"]).as_slice() {
        for other in others {
            let reason = format!("is set beside `{first}`");
            at.wrong(other, reason, "keep `key` or `keys` for one lock, or `match` for many");
        }
    } else if !at.mistyped(&["key", "keys", "match"]) {
        at.wrong_here(
            "has neither `key` nor `match`",
            "add `key: lock:orders` or `match: 'lock:*'`",
        );
    }
    // A name without places can only be that of one lock.
    if let Some(name) = name(at).filter(|name| !name.contains('{')) {
        seen.name(at, name);
    }
    key(at, seen);
    pattern(at, seen);
    at.whole("max_locks");
    None
}

fn name<'a>(at: &Cursor<'a>) -> Option<&'a str> {
    let name = at.text("name")?;
    noted(at, "name", checks::label_name(name).map(|()| name))
}

fn key(at: &Cursor<'_>, seen: &mut Seen) -> Option<Vec<u8>> {
    let key = bytes(at, "key")?;
    seen.key(at, &key);
    Some(key)
}

/// The pattern and what it captures.
fn pattern(at: &Cursor<'_>, seen: &mut Seen) -> (Option<Vec<u8>>, Option<Pattern>) {
    let capture = at.text("capture").and_then(|text| noted(at, "capture", checks::pattern(text)));
    let pattern = bytes(at, "match");
    if let Some(pattern) = &pattern
        && (capture.is_some() || !at.has("capture"))
    {
        seen.pattern(at, pattern, capture.as_ref());
    }
    (pattern, capture)
}

fn bytes(at: &Cursor<'_>, key: &str) -> Option<Vec<u8>> {
    let text = at.text(key)?;
    if text.len() > MAX_KEY {
        at.wrong(key, format!("longer than {MAX_KEY} bytes"), "a lock's key is not that long");
        return None;
    }
    Some(text.as_bytes().to_vec())
}

fn rules(
    at: &Cursor<'_>,
    by_key: bool,
    seen: &mut Seen,
    told: &mut Told,
    around: Around<'_>,
) -> LockRules {
    let series = match at.one_of("series") {
        Some("full") => SeriesTier::Full,
        Some("core") => SeriesTier::Core,
        Some("flagged") => SeriesTier::Flagged,
        _ if by_key => SeriesTier::Full,
        _ => SeriesTier::Core,
    };
    let filling = Filling { place: Place::Lock, several: at.has("match") };
    let (stores, own) = (around.stores, Some(around.store));
    let need = Need { filling, wants: Wants::Number, stores, own };
    LockRules {
        format: format(at),
        lease: at.duration("lease"),
        max_hold: at.duration("max_hold"),
        token: at.one_of("token").map(|word| match word {
            "reusable" => TokenKind::Reusable,
            _ => TokenKind::PerAcquire,
        }),
        renewed: at.switch("renewed"),
        ends_by_expiry: at.one_of("ends").map(|ends| ends == "by_expiry"),
        series,
        always_held: at.one_of("expect") == Some("always_held"),
        holder: holder::read(at, &mut told.holders),
        has_index: around.has_index,
        owner_json: owner_json(at),
        limit: at.whole("limit").and_then(|n| u64::try_from(n).ok()),
        listed_in: listed_in(at, told, around),
        workers: workers(at),
        fencing: resources::fencing(at, need),
        effects: resources::effects(at, need),
        group: group::read(at, seen),
        by_key,
        // That is the store's to say.
        servers: None,
        // Without `capture` a pattern may find anything, and one lock says nothing of another.
        pooled: !by_key && at.has("match") && at.has("capture"),
    }
}

fn owner_json(at: &Cursor<'_>) -> Option<String> {
    let text = at.text("owner_json")?;
    noted(at, "owner_json", checks::json_pointer(text)).map(|()| text.to_owned())
}

fn listed_in(at: &Cursor<'_>, told: &mut Told, around: Around<'_>) -> Option<Arc<str>> {
    let list = at.text("listed_in").and_then(|name| {
        noted(at, "listed_in", around.lists.known(name)).map(|()| Arc::from(name))
    });
    told.lists.lock(at, around.store, list.is_some());
    list
}

/// Who is expected to hold it.
fn workers(at: &Cursor<'_>) -> Vec<Arc<str>> {
    if at.is_empty_list("workers") {
        at.wrong("workers", "is empty", "add a worker's name, or remove it");
    }
    let mut workers: Vec<Arc<str>> = Vec::new();
    for item in at.texts("workers") {
        if let Err((reason, fix)) = checks::label_name(item.text) {
            item.wrong(reason, fix);
        } else if workers.iter().any(|w| &**w == item.text) {
            item.wrong("is listed twice", "remove one of the two");
        } else {
            workers.push(item.text.into());
        }
    }
    workers
}

fn format(at: &Cursor<'_>) -> Option<String> {
    let word = at.text("format").filter(|word| *word != "auto")?;
    if known_format(word).is_none() {
        let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
        let known = || format!("it is `auto` or one of: {}", names.join(", "));
        let fix = closest(word, names.iter().copied())
            .map_or_else(known, |meant| format!("did you mean `{meant}`?"));
        at.wrong("format", format!("{} is unknown", quoted(word)), fix);
        return None;
    }
    Some(word.to_owned())
}
