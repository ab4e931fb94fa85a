//! Redisson's RLock family: a hash whose fields are `<client uuid>:<thread id>` and whose values are hold counts. A hash
//! with any other field (a read-write lock's `mode`, a multi-lock's expiries) is left alone: half an answer is a wrong one.

use crate::observe::Decoded;
use crate::observe::lock::{Holding, Shape};

use super::{Fit, Format, Raw, Sight, THIRTY_SECONDS, holding, is_uuid, no_companion};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "redisson",
    libraries: "Redisson RLock, RSpinLock",
    decode,
    is_companion: no_companion,
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::Hash(fields) = sight.raw else { return None };
    let mut holders: Vec<Holding> = Vec::with_capacity(fields.len());
    for (field, value) in fields {
        match (is_owner(field), hold_count(value)) {
            (true, Some(count)) => {
                holders.push(holding(field, count, sight.rules.holder.as_ref()));
            }
            _ => return None,
        }
    }
    if holders.is_empty() {
        return None;
    }
    holders.sort_by(|a, b| a.owner.token.bytes().cmp(b.owner.token.bytes()));
    // A thread that takes the lock again writes the same field. Only locks taken without a lease time are renewed, and
    // the hash does not tell which they are.
    let decoded = Decoded {
        default_lease: Some(THIRTY_SECONDS),
        holders,
        ..Decoded::nobody(FORMAT.name, Shape::OwnerHash)
    };
    Some((Fit::Certain, decoded))
}

/// `<uuid>:<thread id>`.
fn is_owner(field: &[u8]) -> bool {
    match field.split_at_checked(36) {
        Some((uuid, [b':', thread @ ..])) => {
            is_uuid(uuid) && !thread.is_empty() && thread.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    }
}

/// A positive number.
fn hold_count(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok().filter(|n| *n > 0)
}
