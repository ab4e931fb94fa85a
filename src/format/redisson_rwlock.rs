//! Redisson's RReadWriteLock: a hash with a `mode`, a field per reader and one for the writer, which may read as well.
//! The hash's expiry is that of the longest hold; each reader has a key of its own that says how long it holds.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::observe::Decoded;
use crate::observe::lock::{Companion, CompanionPart, Mode, Shape, Sharing, Tells};

use super::holder::{Named, held_by, holding};
use super::redisson::is_tagged;
use super::value::{is_digits, positive, split_last, uuid_and_number};
use super::{Fit, Format, Kind, MAX_COMPANIONS, PLAIN, Raw, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "redisson-rwlock",
    libraries: "Redisson RReadWriteLock",
    kind: Kind::Hash,
    key: "`<name>`",
    value: "field `mode`, fields as of an RLock, the writer's ends in `:write`",
    default_lease: Some(Duration::from_secs(30)),
    renewal: "without a lease time of its own, at a third of the lease",
    sharing: Sharing::ReadWrite,
    companions: "`{name}:<uuid>:<thread>:rwlock_timeout:<n>` (each reader's expiry)",
    decode,
    is_companion,
    reuses_tokens: true,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::Hash(fields) = sight.raw else { return None };
    let (_, mode) = fields.iter().find(|(field, _)| *field == b"mode")?;
    if !matches!(*mode, b"read" | b"write") {
        return None;
    }
    // By owner; a writer that reads too is one holder, and writes.
    let mut owners: BTreeMap<&[u8], (Mode, u64)> = BTreeMap::new();
    for (field, value) in fields.iter().filter(|(field, _)| *field != b"mode") {
        let count = positive(value)?;
        match field.strip_suffix(b":write") {
            Some(owner) => {
                owners.insert(owner, (Mode::Write, count));
            }
            None => {
                owners.entry(field).or_insert((Mode::Read, count));
            }
        }
    }
    let mut holders = Vec::with_capacity(owners.len());
    for (owner, (mode, count)) in owners {
        let (_, thread) = uuid_and_number(owner)?;
        let named = Named { thread: Some(thread), ..Named::default() };
        let mut held = holding(owner, named, sight.rules);
        (held.mode, held.count) = (mode, count);
        holders.push(held);
    }
    let mut decoded = held_by(FORMAT.decoded(Shape::OwnerHash), holders)?;
    decoded.companions = companions(sight.key, &decoded);
    Some((Fit::Certain, decoded))
}

/// The key of each reader's last hold; of many readers those that come first.
fn companions(name: &[u8], decoded: &Decoded) -> Vec<Companion> {
    let readers = (0u16..).zip(&decoded.holders).filter(|(_, h)| h.mode == Mode::Read);
    readers
        .take(MAX_COMPANIONS)
        .map(|(index, reader)| {
            let (open, close): (&[u8], &[u8]) =
                if is_tagged(name) { (b"", b"") } else { (b"{", b"}") };
            let hold = reader.count.to_string();
            let owner = reader.owner.token.bytes();
            let key =
                [open, name, close, b":", owner, b":rwlock_timeout:", hold.as_bytes()].concat();
            Companion {
                key: key.into(),
                part: CompanionPart::Expiry,
                tells: Tells::HolderExpiry(index),
            }
        })
        .collect()
}

fn is_companion(key: &[u8]) -> bool {
    split_last(key, b':')
        .is_some_and(|(rest, n)| is_digits(n) && rest.ends_with(b":rwlock_timeout"))
}
