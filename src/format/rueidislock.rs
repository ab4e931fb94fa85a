//! rueidislock: 24 raw random bytes under each of several keys `rueidislock:<i>:<name>`; whoever has more than half of
//! them holds the lock. Here is one of them; a lock's `keys` in the config make one lock of all.

use std::time::Duration;

use crate::config::TokenKind;
use crate::observe::Decoded;

use super::rslock::raw_bytes;
use super::{Fit, Format, PLAIN, Sight, value};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "rueidislock",
    libraries: "rueidislock (Go)",
    key: "`rueidislock:<i>:<name>`",
    value: "24 random bytes; a majority of the keys counts: name all in `keys`",
    tokens: TokenKind::PerAcquire,
    default_lease: Some(Duration::from_secs(5)),
    always_renews: Some(0.5),
    renewal: "always, at half of the lease",
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    if sight.is_declared || is_key(sight) {
        raw_bytes(&FORMAT, 24, Fit::Certain, sight)
    } else {
        None
    }
}

fn is_key(sight: &Sight<'_>) -> bool {
    let rest = sight.key_after(b"rueidislock:").unwrap_or_default();
    let index: Vec<u8> = rest.iter().copied().take_while(|b| *b != b':').collect();
    value::is_digits(&index) && index.len() < rest.len()
}
