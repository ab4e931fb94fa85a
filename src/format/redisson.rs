//! Redisson's RLock family: a hash whose fields are `<client uuid>:<thread id>` and whose values are hold counts. A hash
//! with any other field (a read-write lock's `mode`, a multi-lock's expiries) is left alone: half an answer is a wrong one.

use crate::config::{LockRules, TokenKind};
use crate::observe::Decoded;
use crate::observe::lock::{Holding, Shape};

use super::{THIRTY_SECONDS, family, holding, is_uuid, nobody};

/// Its name in the registry.
pub const NAME: &str = "redisson";

/// Decodes the fields of a hash.
pub(super) fn decode(fields: &[(&[u8], &[u8])], rules: &LockRules) -> Decoded {
    let mut holders: Vec<Holding> = Vec::with_capacity(fields.len());
    for (field, value) in fields {
        match (is_owner(field), hold_count(value)) {
            (true, Some(count)) => holders.push(holding(field, count, rules.holder.as_ref())),
            _ => return nobody(family(rules.format.as_deref(), Shape::Hash), Shape::Hash),
        }
    }
    if holders.is_empty() {
        return nobody(family(rules.format.as_deref(), Shape::Hash), Shape::Hash);
    }
    holders.sort_by(|a, b| a.owner.token.bytes().cmp(b.owner.token.bytes()));
    Decoded {
        shape: Shape::OwnerHash,
        format: NAME,
        // A thread that takes the lock again writes the same field.
        tokens: TokenKind::Reusable,
        default_lease: Some(THIRTY_SECONDS),
        // Only locks taken without a lease time are renewed, and the hash does not tell which they are.
        always_renews: None,
        holders,
    }
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
