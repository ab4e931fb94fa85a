//! Any string: the value is the owner's token. Says which values are no owner at all: numbers, times, JSON, nothing. A
//! declared `format: string` or a matching `holder` pattern overrules that.
//!
//! It fits every string, so what fits no better is called `string` too: a wrong name would be worse than this one.

use crate::observe::Decoded;
use crate::observe::lock::Shape;

use super::holder::{Named, holding};
use super::{Fit, Format, PLAIN, Raw, Sight, value};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "string",
    libraries: "anything that does `SET key token NX PX`; StackExchange.Redis `LockTake`",
    value: "any text or bytes but numbers, times and JSON",
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let Raw::String { bytes, full_len } = sight.raw else { return None };
    let shape = value::shape_of(bytes, full_len);
    let is_named = || sight.rules.holder.as_ref().is_some_and(|p| p.0.is_match(bytes));
    let is_owner = match shape {
        Shape::Empty => false,
        // Of a long value nothing may have been read.
        Shape::Text | Shape::Binary => !bytes.is_empty(),
        _ => sight.is_declared || is_named(),
    };
    let mut decoded = FORMAT.decoded(shape);
    if is_owner {
        decoded.holders.push(holding(bytes, Named::default(), sight.rules));
    }
    Some((Fit::Possible, decoded))
}
