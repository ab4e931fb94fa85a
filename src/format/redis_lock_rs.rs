//! The Rust crate redis-lock: a random UUID under `redlock:<resource>` for one resource, a JSON document under
//! `lock:<resource>` for several. The document is read only if it has exactly the crate's two members.

use std::time::Duration;

use serde::Deserialize;

use crate::config::TokenKind;
use crate::observe::Decoded;
use crate::observe::lock::Shape;

use super::holder::{Named, holding};
use super::redlock::bare_uuid4;
use super::{Fit, Format, PLAIN, Sight, value};

/// `lock_across`.
pub static SINGLE: Format = Format {
    name: "redis-lock-rs",
    libraries: "Rust redis-lock, `lock_across`",
    key: "`redlock:<resource>`",
    value: "a random UUID",
    tokens: TokenKind::PerAcquire,
    default_lease: Some(Duration::from_millis(10)),
    renewal: "none",
    decode: decode_single,
    ..PLAIN
};

/// `MultiResourceLock`.
pub static MULTI: Format = Format {
    name: "redis-lock-rs-multi",
    libraries: "Rust redis-lock, `MultiResourceLock`",
    key: "`lock:<resource>`",
    value: r#"`{"holder": <uuid>, "resources": [...]}`"#,
    tokens: TokenKind::PerAcquire,
    renewal: "none; the lease that it asks for becomes a thousand times as long",
    decode: decode_multi,
    ..PLAIN
};

/// The crate's document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    #[serde(borrow)]
    holder: &'a str,
    #[serde(rename = "resources")]
    _resources: Vec<serde::de::IgnoredAny>,
}

fn decode_single(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    if sight.is_declared || sight.key_after(b"redlock:").is_some() {
        bare_uuid4(&SINGLE, sight, true)
    } else {
        None
    }
}

fn decode_multi(sight: &Sight<'_>) -> Option<(Fit, Decoded)> {
    let bytes = sight.whole().filter(|b| b.first() == Some(&b'{'))?;
    if !sight.is_declared {
        sight.key_after(b"lock:")?;
    }
    let document: Document<'_> = serde_json::from_slice(bytes).ok()?;
    let token = Some(document.holder.as_bytes()).filter(|h| value::is_uuid4(h))?;
    let mut decoded = MULTI.decoded(Shape::Json);
    decoded.holders.push(holding(token, Named::default(), sight.rules));
    Some((Fit::Certain, decoded))
}
