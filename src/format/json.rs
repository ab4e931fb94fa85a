//! JSON that names its owner somewhere inside: the lock's `owner_json` says where. Without it JSON is no owner, and
//! nothing is searched for one. What else the document says (a time, a beat) may change without changing the owner.

use std::borrow::Cow;

use serde_json::Value;

use crate::observe::Decoded;
use crate::observe::lock::Shape;

use super::holder::{Named, holding_in};
use super::{Fit, Format, PLAIN, Sight};

/// Its entry in the registry.
pub static FORMAT: Format = Format {
    name: "json",
    libraries: "JSON values of any library, with `owner_json`",
    value: "a JSON document; the text or number that `owner_json` points to is the token",
    decode,
    ..PLAIN
};

fn decode(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let pointer = sight.rules.owner_json.as_deref()?;
    let document = sight.whole()?;
    let parsed: Value = serde_json::from_slice(document).ok()?;
    let mut decoded = FORMAT.decoded(Shape::Json);
    let owner = match parsed.pointer(pointer) {
        Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
        Some(Value::Number(number)) => Cow::Owned(number.to_string()),
        _ => Cow::Borrowed(""),
    };
    if !owner.is_empty() {
        let rules = sight.rules;
        // A pattern may be made for the owner or for the whole document.
        let is_for_owner = rules.holder.as_ref().is_none_or(|p| p.0.is_match(owner.as_bytes()));
        let text = if is_for_owner { owner.as_bytes() } else { document };
        decoded.holders.push(holding_in(owner.as_bytes(), text, Named::default(), rules));
    }
    Some((Fit::Certain, decoded))
}
