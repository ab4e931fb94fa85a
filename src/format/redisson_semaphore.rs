//! Redisson's RPermitExpirableSemaphore: the permits that are out, in a sorted set `{name}:timeout` of 16 raw bytes each
//! with its expiry. The number of free ones is in a string of its own, and a plain RSemaphore has nothing else: nobody
//! can say who holds that.

use crate::config::TokenKind;
use crate::observe::Decoded;
use crate::observe::lock::{Endless, Holding, Mode, Shape, Sharing};

use super::holder::{Named, held_by, holding};
use super::value::until_ms;
use super::{Fit, Format, Kind, PLAIN, Raw, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "redisson-semaphore",
    libraries: "Redisson RPermitExpirableSemaphore",
    kind: Kind::Zset,
    key: "`{name}:timeout`",
    value: "members: 16 random bytes, score: the expiry in milliseconds",
    tokens: TokenKind::PerAcquire,
    renewal: "by hand: `updateLeaseTime()`",
    sharing: Sharing::Permits(None),
    endless: Endless::Carried,
    companions: "`<name>` (free permits) names nobody",
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::Zset(members) = sight.raw else { return None };
    let is_key = sight.key.ends_with(b":timeout") && sight.key.contains(&b'}');
    let is_permit = |(member, _): &(&[u8], f64)| member.len() == 16;
    if !(sight.is_declared || is_key) || !members.iter().all(is_permit) {
        return None;
    }
    let held = |(member, score): &(&[u8], f64)| Holding {
        mode: Mode::Permit,
        until: until_ms(*score),
        ..holding(member, Named::default(), sight.rules)
    };
    let holders = members.iter().map(held).collect();
    Some((Fit::Certain, held_by(FORMAT.decoded(Shape::Zset), holders)?))
}
