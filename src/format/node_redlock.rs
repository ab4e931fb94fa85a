//! node-redlock: 16 random bytes in hexadecimal under any key. A digest looks the same, so it is only said to fit.

use crate::config::TokenKind;
use crate::observe::Decoded;
use crate::observe::lock::Shape;

use super::holder::{Named, holding};
use super::{Fit, Format, PLAIN, Sight, value};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "node-redlock",
    libraries: "redlock (npm) 4 and 5",
    value: "16 random bytes in hexadecimal",
    tokens: TokenKind::PerAcquire,
    renewal: "version 5 `using()`: when 500 ms remain; else by hand",
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let token = sight.whole().filter(|v| value::is_hex(v, 32))?;
    let mut decoded = FORMAT.decoded(Shape::Text);
    decoded.holders.push(holding(token, Named::default(), sight.rules));
    Some((Fit::Possible, decoded))
}
