//! Redisson's RReadWriteLock: a hash with a `mode`, a field per reader and one for the writer, which may read as well.
//! The hash's expiry is that of the longest hold; each reader has a key for each of its holds that says how long that lasts.

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
    companions: "`{name}:<uuid>:<thread>:rwlock_timeout:<n>` (the expiry of each reader's n-th hold)",
    decode,
    is_companion,
    reuses_tokens: true,
    ..PLAIN
};

/// Readers whose expiries are read; as many holders are followed.
const MAX_READERS: usize = 64;
/// Of a reader's holds, the first so many and the last are read.
const MAX_HOLDS: u64 = 8;

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

/// The keys of the readers' holds: a reader that took the lock n times has n of them, each with an expiry of its own, and
/// holds until the latest. First comes the last hold of each reader, then the others in turn, so that every reader has one
/// before any has two; of many readers those that come first.
fn companions(name: &[u8], decoded: &Decoded) -> Vec<Companion> {
    let readers = (0u16..).zip(&decoded.holders).filter(|(_, h)| h.mode == Mode::Read);
    let readers: Vec<_> = readers.take(MAX_READERS).collect();
    let last = readers.iter().map(|(index, reader)| (*index, reader, reader.count));
    let others = (1..=MAX_HOLDS).flat_map(|n| {
        let again = readers.iter().filter(move |(_, reader)| n < reader.count);
        again.map(move |(index, reader)| (*index, reader, n))
    });
    let (open, close): (&[u8], &[u8]) = if is_tagged(name) { (b"", b"") } else { (b"{", b"}") };
    last.chain(others)
        .take(MAX_COMPANIONS)
        .map(|(index, reader, n)| {
            let (owner, n) = (reader.owner.token.bytes(), n.to_string());
            let key = [open, name, close, b":", owner, b":rwlock_timeout:", n.as_bytes()].concat();
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
