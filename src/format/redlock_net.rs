//! RedLock.net: a random UUID under `redlock:<resource>`, renewed by a timer at half of its expiry for as long as the
//! process lives, whoever holds the key by then. pottery and a Rust crate use the same key and the same value.

use crate::config::TokenKind;
use crate::observe::Decoded;

use super::redlock::bare_uuid4;
use super::{Fit, Format, PLAIN, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "redlock-net",
    libraries: "RedLock.net",
    key: "`redlock:<resource>`",
    value: "a random UUID",
    tokens: TokenKind::PerAcquire,
    always_renews: Some(0.5),
    renewal: "always, at half of the lease; it creates a lost key again",
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    if sight.is_declared || sight.key_after(b"redlock:").is_some() {
        bare_uuid4(&FORMAT, sight, true)
    } else {
        None
    }
}
