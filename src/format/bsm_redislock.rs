//! bsm/redislock: 16 random bytes in the URL's base64 without padding, and then whatever metadata the application adds,
//! under any key.

use crate::config::TokenKind;
use crate::observe::Decoded;

use super::holder::{Named, holding};
use super::redsync::is_end_of_16_bytes;
use super::value::{looks_random, shape_of};
use super::{Fit, Format, PLAIN, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "bsm-redislock",
    libraries: "bsm/redislock (Go)",
    value: "16 random bytes in URL base64, then metadata",
    tokens: TokenKind::PerAcquire,
    renewal: "by hand: `Refresh()`",
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let value = sight.whole()?;
    let (token, metadata) = value.split_at_checked(22)?;
    let is_digit = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if !token.iter().all(is_digit) || !is_end_of_16_bytes(token.last()) {
        return None;
    }
    // What goes on with letters of any base64 may be the rest of a longer token or name.
    let is_apart =
        !metadata.first().is_some_and(|b| is_digit(b) || matches!(b, b'+' | b'/' | b'='));
    if !sight.is_declared && (!is_apart || !looks_random(token)) {
        return None;
    }
    let mut decoded = FORMAT.decoded(shape_of(value, value.len()));
    decoded.holders.push(holding(value, Named::default(), sight.rules));
    Some((Fit::Likely, decoded))
}
