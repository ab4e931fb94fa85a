//! redsync: 16 random bytes in base64 with its two equals signs, under any key.

use std::time::Duration;

use crate::config::TokenKind;
use crate::observe::Decoded;
use crate::observe::lock::Shape;

use super::holder::{Named, holding};
use super::value::{is_base64, looks_random};
use super::{Fit, Format, PLAIN, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "redsync",
    libraries: "redsync (Go)",
    value: "16 random bytes in base64",
    tokens: TokenKind::PerAcquire,
    default_lease: Some(Duration::from_secs(8)),
    renewal: "by hand: `Extend()`",
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let token = sight.whole().filter(|v| is_base64(v, 22, 2) && is_end_of_16_bytes(v.get(21)))?;
    if !sight.is_declared && !looks_random(token) {
        return None;
    }
    let mut decoded = FORMAT.decoded(Shape::Text);
    decoded.holders.push(holding(token, Named::default(), sight.rules));
    Some((Fit::Likely, decoded))
}

/// The last of 22 characters of base64 stands for the last 2 bits of 16 bytes: there are only four of them.
pub(super) fn is_end_of_16_bytes(last: Option<&u8>) -> bool {
    matches!(last, Some(b'A' | b'Q' | b'g' | b'w'))
}
