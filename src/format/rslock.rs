//! rslock: 20 raw random bytes under any key, as the description of Redlock itself has them, so other libraries that
//! follow it to the letter write the same.

use crate::config::TokenKind;
use crate::observe::Decoded;
use crate::observe::lock::Shape;

use super::holder::{Named, holding};
use super::{Fit, Format, PLAIN, Sight, value};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "rslock",
    libraries: "rslock (Rust)",
    value: "20 random bytes",
    tokens: TokenKind::PerAcquire,
    renewal: "by hand: `extend()`",
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    raw_bytes(&FORMAT, 20, Fit::Likely, sight)
}

/// A value of so many bytes that are no text. Unless the key says so too, a process may have drawn them once for all its
/// locks.
pub(super) fn raw_bytes(
    format: &Format,
    len: usize,
    fit: Fit,
    sight: &Sight<'_>,
) -> Option<(Fit, Decoded)> {
    let token = sight.whole().filter(|v| v.len() == len)?;
    if value::shape_of(token, len) != Shape::Binary {
        return None;
    }
    let mut decoded = format.decoded(Shape::Binary);
    decoded.holders.push(holding(token, Named::default(), sight.rules));
    if fit != Fit::Certain && !sight.is_declared {
        decoded.tokens = TokenKind::Reusable;
    }
    Some((fit, decoded))
}
