//! Redisson's RLock family: a hash whose fields are `<client uuid>:<thread id>` and whose values are hold counts. Plain,
//! fair, spin and fenced locks look the same; what sets them apart is beside them. A hash with any other field (a
//! read-write lock's `mode`, a multi-lock's expiries) is left to its own format: half an answer is a wrong one.

use std::time::Duration;

use crate::observe::Decoded;
use crate::observe::lock::{Companion, CompanionPart, Shape, Tells};

use super::holder::{Named, held_by, holding};
use super::value::{is_hex, positive, uuid_and_number};
use super::{Fit, Format, Kind, PLAIN, Raw, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "redisson",
    libraries: "Redisson RLock, fair lock, RFencedLock, RSpinLock",
    kind: Kind::Hash,
    key: "`<name>`",
    value: "field `<client uuid>:<thread id>`, value: the hold count",
    default_lease: Some(Duration::from_secs(30)),
    renewal: "without a lease time of its own, at a third of the lease",
    companions: "`redisson_lock_token:{name}` (fencing token), `redisson_lock_timeout:{name}` (waiters), \
                 `redisson_lock_queue:{name}`, `redisson_unlock_latch:…`",
    decode,
    is_companion,
    reuses_tokens: true,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::Hash(fields) = sight.raw else { return None };
    let mut holders = Vec::with_capacity(fields.len());
    for (field, value) in fields {
        let thread = thread(field)?;
        let named = Named { thread: Some(thread), ..Named::default() };
        let mut held = holding(field, named, sight.rules);
        held.count = positive(value)?;
        holders.push(held);
    }
    // A thread that takes the lock again writes the same field. Only locks taken without a lease time are renewed, and
    // the hash does not tell which they are.
    let mut decoded = FORMAT.decoded(Shape::OwnerHash);
    decoded.companions = vec![
        beside(b"redisson_lock_token", sight.key, CompanionPart::Text, Tells::FencingToken),
        beside(b"redisson_lock_timeout", sight.key, CompanionPart::CountAhead, Tells::Waiters),
    ];
    Some((Fit::Certain, held_by(decoded, holders)?))
}

/// The thread of `<uuid>:<thread id>`, or of `<uuid>:<thread id>:<transaction>`.
fn thread(field: &[u8]) -> Option<&[u8]> {
    if let Some((_, thread)) = uuid_and_number(field) {
        return Some(thread);
    }
    let (owner, transaction) = super::value::split_last(field, b':')?;
    uuid_and_number(owner).filter(|_| is_hex(transaction, 32)).map(|(_, thread)| thread)
}

/// A key that Redisson names after the lock.
fn beside(prefix: &[u8], name: &[u8], part: CompanionPart, tells: Tells) -> Companion {
    let key = match is_tagged(name) {
        true => [prefix, b":", name].concat(),
        false => [prefix, b":{", name, b"}"].concat(),
    };
    Companion { key: key.into(), part, tells }
}

/// Whether the name decides about its slot itself; Redisson puts others into braces.
pub(super) fn is_tagged(name: &[u8]) -> bool {
    name.contains(&b'{')
}

fn is_companion(key: &[u8]) -> bool {
    key.starts_with(b"redisson_")
        && [
            &b"redisson_lock_queue:"[..],
            b"redisson_lock_timeout:",
            b"redisson_lock_token:",
            b"redisson_unlock_latch:",
        ]
        .iter()
        .any(|p| key.starts_with(p))
}
