//! Medallion's DistributedLock.Redis for .NET: `<host>_<pid>_<32 hex>` as a string, as members of the set of readers, or
//! with an expiry each in a semaphore. A writer that waits for readers to leave puts up a mark that is no hold.

use std::time::Duration;

use crate::config::{LockRules, TokenKind};
use crate::observe::Decoded;
use crate::observe::lock::{Endless, Holding, Mode, Shape, Sharing};

use super::holder::{Named, held_by, holding, pid};
use super::value::{is_digits, is_hex, split_last, until_ms};
use super::{Fit, Format, Kind, PLAIN, Raw, Sight};

/// A mutex, and the writer of a read-write lock.
pub static MUTEX: Format = Format {
    name: "medallion",
    libraries: "DistributedLock.Redis (.NET): locks, writers",
    key: "`<name>`, `<name>.writer`",
    value: "`<host>_<pid>_<32 hex>`; with `_WRITERWAITING` it waits",
    tokens: TokenKind::PerAcquire,
    default_lease: Some(Duration::from_secs(30)),
    always_renews: Some(0.3),
    renewal: "always, at 0.3 of the lease",
    decode: decode_mutex,
    ..PLAIN
};

/// The readers of a read-write lock.
pub static READERS: Format = Format {
    name: "medallion-readers",
    libraries: "DistributedLock.Redis (.NET): readers",
    kind: Kind::Set,
    key: "`<name>.readers`",
    value: "members `<host>_<pid>_<32 hex>`",
    sharing: Sharing::ReadWrite,
    decode: decode_readers,
    ..MUTEX
};

/// A semaphore.
pub static SEMAPHORE: Format = Format {
    name: "medallion-semaphore",
    libraries: "DistributedLock.Redis (.NET): semaphores",
    kind: Kind::Zset,
    key: "`<name>`",
    value: "members `<host>_<pid>_<32 hex>`, score: the expiry in milliseconds",
    sharing: Sharing::Permits(None),
    endless: Endless::Carried,
    decode: decode_semaphore,
    ..MUTEX
};

fn decode_mutex(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let value = sight.whole()?;
    let mut decoded = MUTEX.decoded(Shape::Text);
    if let Some(waiting) = value.strip_suffix(b"_WRITERWAITING") {
        parts(waiting)?;
        decoded.waiters = Some(1);
        return Some((Fit::Likely, decoded));
    }
    let mut held = held(value, Mode::Exclusive, sight.rules)?;
    let is_writer = sight.key.ends_with(b".writer");
    if is_writer {
        held.mode = Mode::Write;
    }
    decoded.holders.push(held);
    Some((if is_writer { Fit::Certain } else { Fit::Likely }, decoded))
}

fn decode_readers(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::Set(members) = sight.raw else { return None };
    let holders: Option<Vec<Holding>> =
        members.iter().map(|m| held(m, Mode::Read, sight.rules)).collect();
    Some((Fit::Likely, held_by(READERS.decoded(Shape::Set), holders?)?))
}

fn decode_semaphore(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::Zset(members) = sight.raw else { return None };
    let holders: Option<Vec<Holding>> = members
        .iter()
        .map(|(m, score)| {
            Some(Holding { until: until_ms(*score), ..held(m, Mode::Permit, sight.rules)? })
        })
        .collect();
    Some((Fit::Likely, held_by(SEMAPHORE.decoded(Shape::Zset), holders?)?))
}

fn held(token: &[u8], mode: Mode, rules: &LockRules) -> Option<Holding> {
    let (host, process) = parts(token)?;
    let pid = pid(process);
    let named = Named { host: Some(host), pid, goes_by_host: true, ..Named::default() };
    Some(Holding { mode, ..holding(token, named, rules) })
}

/// Host and process id of a token; the host may have underscores of its own.
fn parts(token: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, id) = split_last(token, b'_')?;
    let (host, process) = split_last(rest, b'_')?;
    let is_host = !host.is_empty() && std::str::from_utf8(host).is_ok();
    (is_host && is_digits(process) && is_hex(id, 32)).then_some((host, process))
}
