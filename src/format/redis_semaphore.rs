//! redis-semaphore for Node: a mutex is a UUID under `mutex:<key>`, a semaphore a sorted set of such ids under
//! `semaphore:<key>`. Ids belong to the object, not to the acquire, and may end in a suffix of the application's.
//!
//! A semaphore's scores are when each member was last refreshed by its client's clock. How long that holds is not in the
//! value, but each refresh gives the key's expiry the same length.

use std::time::Duration;

use crate::observe::Decoded;
use crate::observe::lock::{Endless, Holding, Mode, Shape, Sharing};

use super::holder::{Named, held_by, holding};
use super::value::{is_digits, is_uuid4};
use super::{Fit, Format, Kind, PLAIN, Raw, Sight};

/// Mutex and RedlockMutex.
pub static MUTEX: Format = Format {
    name: "redis-semaphore",
    libraries: "redis-semaphore (npm): Mutex, RedlockMutex",
    key: "`mutex:<key>`",
    value: "a random UUID per object, then `-<identifierSuffix>` (the worker)",
    default_lease: Some(Duration::from_secs(10)),
    renewal: "unless switched off, at 0.8 of the lease",
    decode: decode_mutex,
    ..PLAIN
};

/// Semaphore and MultiSemaphore.
pub static PERMITS: Format = Format {
    name: "redis-semaphore-permits",
    libraries: "redis-semaphore (npm): Semaphore, MultiSemaphore",
    kind: Kind::Zset,
    key: "`semaphore:<key>`",
    value: "members as of a mutex, score: the client's time of the last refresh",
    sharing: Sharing::Permits(None),
    endless: Endless::Carried,
    decode: decode_permits,
    ..MUTEX
};

fn decode_mutex(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let token = sight.whole().filter(|v| v.len() >= 36)?;
    let suffix = suffix(token)?;
    if !sight.is_declared {
        sight.key_after(b"mutex:")?;
    }
    let named = Named { worker: Some(suffix), ..Named::default() };
    let mut decoded = MUTEX.decoded(Shape::Text);
    decoded.holders.push(holding(token, named, sight.rules));
    // A bare UUID is what many write, and anybody may call a key so.
    if suffix.is_empty() && !sight.is_declared {
        decoded.default_lease = None;
        return Some((Fit::Likely, decoded));
    }
    Some((Fit::Certain, decoded))
}

fn decode_permits(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::Zset(members) = sight.raw else { return None };
    if !sight.is_declared {
        sight.key_after(b"semaphore:")?;
    }
    let held = |member: &[u8], refreshed: f64| {
        let named = Named { worker: Some(worker(suffix(member)?)), ..Named::default() };
        Some(Holding {
            mode: Mode::Permit,
            refreshed_ms: Some(refreshed as i64),
            ..holding(member, named, sight.rules)
        })
    };
    let holders: Option<Vec<Holding>> = members.iter().map(|(m, s)| held(m, *s)).collect();
    Some((Fit::Certain, held_by(PERMITS.decoded(Shape::Zset), holders?)?))
}

/// What follows the UUID, without the dash; `None` if it is no such id.
fn suffix(token: &[u8]) -> Option<&[u8]> {
    let (uuid, rest) = token.split_at_checked(36)?;
    if !is_uuid4(uuid) || std::str::from_utf8(rest).is_err() {
        return None;
    }
    match rest {
        [] => Some(rest),
        [b'-', suffix @ ..] if !suffix.is_empty() => Some(suffix),
        // The second and further permits of one object.
        [b'_', number @ ..] if is_digits(number) => Some(&[]),
        _ => None,
    }
}

/// A suffix without the number of the permit.
fn worker(suffix: &[u8]) -> &[u8] {
    match super::value::split_last(suffix, b'_') {
        Some((name, number)) if is_digits(number) => name,
        _ => suffix,
    }
}
