//! Redlock in its common form: one random UUID under the same key of each server. Several libraries write exactly that,
//! and others write a UUID that stands for a process, so a bare one is told from plain strings only under the key that
//! the Redlock libraries like.

use crate::config::TokenKind;
use crate::observe::Decoded;
use crate::observe::lock::Shape;

use super::holder::{Named, holding};
use super::{Fit, Format, PLAIN, Sight, value};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "redlock",
    libraries: "pottery, aioredlock, redlock-rb",
    key: "`redlock:<name>` (pottery), any",
    value: "a random UUID",
    tokens: TokenKind::PerAcquire,
    renewal: "aioredlock: at 0.6 of the lease, unless told a lease; others by hand",
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    bare_uuid4(&FORMAT, sight, sight.key_after(b"redlock:").is_some())
}

/// A string that is a random UUID and nothing else. Unless the format is declared it may as well be the name of a
/// process that uses it for every acquire.
pub(super) fn bare_uuid4(
    format: &Format,
    sight: &Sight<'_>,
    is_likely: bool,
) -> Option<(Fit, Decoded)> {
    let token = sight.whole().filter(|v| value::is_uuid4(v))?;
    let mut decoded = format.decoded(Shape::Text);
    decoded.holders.push(holding(token, Named::default(), sight.rules));
    if !sight.is_declared {
        decoded.tokens = TokenKind::Reusable;
    }
    Some((if is_likely { Fit::Likely } else { Fit::Possible }, decoded))
}
