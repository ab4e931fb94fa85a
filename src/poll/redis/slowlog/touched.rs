//! Which watched keys the entries of a slow log touch, and what may be kept of each: never an argument, only the number of
//! the key and the fingerprint of whose token the command would have put there.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::entry::{Arg, Entry, SHOWN};
use crate::format::{self, Raw, scripts};
use crate::observe::slowlog::{Entries, SlowCommand, Touch};
use crate::observe::{KeyId, ServerTime, Token, label};
use crate::poll::redis::handshake::CLIENT_NAME;
use crate::poll::redis::keys::WatchedKey;
use crate::secret;

/// Keys of one entry that are told.
const MOST_KEYS: usize = 32;
/// What an exporter sends. A connection of ours is known by its name, through proxies and after it is gone, but anybody may
/// take that name: what writes is told of all the same.
const OURS: [&str; 24] = [
    "MGET",
    "GETRANGE",
    "STRLEN",
    "PTTL",
    "PEXPIRETIME",
    "TYPE",
    "EXISTS",
    "HGET",
    "HGETALL",
    "HLEN",
    "HSTRLEN",
    "HMGET",
    "ZSCORE",
    "ZRANGE",
    "ZCARD",
    "ZCOUNT",
    "SMEMBERS",
    "SCARD",
    "SISMEMBER",
    "SSCAN",
    "HSCAN",
    "ZSCAN",
    "LRANGE",
    "LLEN",
];
/// What takes no keys, whatever it is given: a prefix that is tracked or a channel may read like one.
const KEYLESS: [&str; 16] = [
    "ACL",
    "AUTH",
    "CLIENT",
    "COMMAND",
    "COMMANDLOG",
    "CONFIG",
    "ECHO",
    "HELLO",
    "INFO",
    "PING",
    "PSUBSCRIBE",
    "PUBLISH",
    "SCAN",
    "SCRIPT",
    "SLOWLOG",
    "SUBSCRIBE",
];
/// What a client's address is where a command has none of its own, as inside a script.
const NO_ADDRESS: [&[u8]; 2] = [b"", b"?:0"];

/// What entries, newest first, tell of keys. `ours` is the address of our connection as the server may see it.
pub fn told<'k>(
    entries: &[Entry<'_>],
    keys: impl Iterator<Item = &'k WatchedKey>,
    ours: Option<&str>,
) -> Entries {
    let is_meant = |e: &&Entry<'_>| !e.is_any_of(&KEYLESS) && !is_ours(e, ours);
    let others: Vec<&Entry<'_>> = entries.iter().filter(is_meant).collect();
    let touched = touched(&others, keys);
    let mut slow = Vec::new();
    let mut cut = Vec::new();
    for (index, entry) in others.iter().enumerate().rev() {
        match touched.get(&index) {
            Some(keys) => slow.push(describe(entry, keys)),
            None if entry.may_hide_keys() => cut.push(entry.id),
            None => {}
        }
    }
    let id = |e: &Entry<'_>| e.id;
    Entries {
        newest: entries.iter().map(id).max(),
        oldest: entries.iter().map(id).min(),
        slow,
        cut,
    }
}

fn is_ours(entry: &Entry<'_>, ours: Option<&str>) -> bool {
    let is_named = entry.name == CLIENT_NAME && entry.is_any_of(&OURS);
    is_named || ours.is_some_and(|ours| entry.addr == ours.as_bytes())
}

/// By the place of an entry: the keys that it touches.
fn touched<'k>(
    entries: &[&Entry<'_>],
    keys: impl Iterator<Item = &'k WatchedKey>,
) -> BTreeMap<usize, Vec<(&'k WatchedKey, Touch)>> {
    // The arguments are few and the keys may be many: each key is looked up once.
    let mut whole: HashMap<&[u8], Vec<usize>> = HashMap::new();
    let mut parts: HashMap<&[u8], Vec<(usize, u64)>> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        for Arg { bytes, beyond } in entry.args.iter().skip(1) {
            match beyond {
                0 => whole.entry(bytes).or_default().push(index),
                beyond => parts.entry(bytes).or_default().push((index, *beyond)),
            }
        }
    }
    let mut found: BTreeMap<usize, Vec<(&'k WatchedKey, Touch)>> = BTreeMap::new();
    let mut add = |index, watched: &'k WatchedKey, touch| {
        let keys = found.entry(index).or_default();
        let is_new = !keys.iter().any(|(k, _)| k.id == watched.id);
        if is_new && keys.len() < MOST_KEYS {
            keys.push((watched, touch));
        }
    };
    for watched in keys {
        let key = watched.key.as_slice();
        for index in whole.get(key).into_iter().flatten() {
            add(*index, watched, Touch::Key);
        }
        let Some((begin, rest)) = key.split_at_checked(SHOWN) else { continue };
        for (index, beyond) in parts.get(begin).into_iter().flatten() {
            if usize::try_from(*beyond) == Ok(rest.len()) {
                add(*index, watched, Touch::Maybe);
            }
        }
    }
    found
}

fn describe(entry: &Entry<'_>, keys: &[(&WatchedKey, Touch)]) -> SlowCommand {
    let named =
        |bytes: &[u8]| (!bytes.is_empty()).then(|| Arc::from(label::text(&secret::blot(bytes))));
    SlowCommand {
        id: entry.id,
        at_secs: entry.at_secs,
        took: Duration::from_micros(entry.micros),
        command: label::text(&secret::blot(entry.command()).to_ascii_uppercase()).into(),
        client_addr: named(entry.addr).filter(|_| !NO_ADDRESS.contains(&entry.addr)),
        client_name: named(entry.name),
        is_cut: entry.is_cut(),
        keys: keys.iter().map(|(k, touch)| (k.id, *touch)).collect(),
        acquires: keys.iter().find_map(|(k, touch)| acquires(entry, k, *touch)),
    }
}

/// The fingerprint of the owner that a command acquires a key for, if that is what it does and its arguments show whose.
fn acquires(entry: &Entry<'_>, watched: &WatchedKey, touch: Touch) -> Option<(KeyId, Arc<str>)> {
    if touch != Touch::Key {
        return None;
    }
    let owner = set_for(entry, watched).or_else(|| script_for(entry, watched))?;
    Some((watched.id, owner.into()))
}

/// Of `SET NX` and `SETNX`: the value that they would write, as the lock's format reads it.
fn set_for(entry: &Entry<'_>, watched: &WatchedKey) -> Option<String> {
    let options = entry.args.get(3..).unwrap_or_default();
    let is_set = entry.is_any_of(&["SET"])
        && !entry.is_short
        && options.iter().any(|o| o.bytes.eq_ignore_ascii_case(b"NX"));
    if !(is_set || entry.is_any_of(&["SETNX"])) {
        return None;
    }
    let value = entry.whole(2).filter(|_| entry.whole(1) == Some(&watched.key))?;
    let raw = Raw::String { bytes: value, full_len: value.len() };
    let now = ServerTime::from_ms(entry.at_secs.saturating_mul(1000));
    let decoded = format::decode(&watched.key, raw, &watched.rules, now);
    match decoded.holders.as_slice() {
        [only] => Some(only.owner.token.fingerprint()),
        _ => None,
    }
}

/// Of a library's script that acquires: the argument that is the owner's token.
fn script_for(entry: &Entry<'_>, watched: &WatchedKey) -> Option<String> {
    let script = entry.args.get(1)?;
    let place = if entry.is_any_of(&["EVALSHA"]) {
        scripts::owner_by_sha1(entry.whole(1)?)?
    } else if entry.is_any_of(&["EVAL"]) {
        scripts::owner_by_text(script.bytes, script.beyond)?
    } else {
        return None;
    };
    let behind = entry.numkeys()?.checked_add(3)?;
    let is_key = (3..behind).take(MOST_KEYS).any(|at| entry.whole(at) == Some(&watched.key));
    let token = entry.whole(behind.checked_add(place)?).filter(|_| is_key)?;
    Some(Token::new(token).fingerprint())
}

#[cfg(test)]
mod tests;
