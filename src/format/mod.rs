//! Lock bytes to owner facts, one file per library family. Pure: no I/O, no clock. Bytes come from a server that anyone
//! may write to, so nothing here trusts them: what is not known to be an owner is none.

use std::sync::Arc;
use std::time::Duration;

use crate::config::{LockRules, Pattern, TokenKind};
use crate::observe::lock::{Holding, Shape};
use crate::observe::{Decoded, Owner, Token, label};

pub mod redisson;
pub mod string;

/// The formats that a lock may declare.
pub const NAMES: &[&str] = &[string::NAME, redisson::NAME];

/// A value as the server gave it.
#[derive(Clone, Copy, Debug)]
pub enum Raw<'a> {
    /// A string; of a long one only the beginning.
    String {
        /// Its first bytes.
        bytes: &'a [u8],
        /// How long it is on the server.
        full_len: usize,
    },
    /// All fields of a small hash with their values.
    Hash(&'a [(&'a [u8], &'a [u8])]),
    /// A key that was not read because no format of this version knows its type.
    Unread(Shape),
}

/// Decodes a value. `hint` is the declared format; without it the lock's own rules are asked, then the bytes.
pub fn decode(hint: Option<&str>, raw: Raw<'_>, rules: &LockRules) -> Decoded {
    let declared = hint.or(rules.format.as_deref());
    match raw {
        Raw::String { bytes, full_len } => string::decode(declared, bytes, full_len, rules),
        Raw::Hash(fields) => redisson::decode(fields, rules),
        Raw::Unread(shape) => nobody(family(declared, shape), shape),
    }
}

/// The format name to print for a value that has no owner.
fn family(declared: Option<&str>, shape: Shape) -> &'static str {
    let known = declared.and_then(|d| NAMES.iter().find(|n| **n == d));
    match (known, shape) {
        (Some(name), _) => name,
        (None, Shape::Text | Shape::Binary | Shape::Number | Shape::Json | Shape::Empty) => {
            string::NAME
        }
        (None, _) => "unknown",
    }
}

/// A value that names no owner.
fn nobody(format: &'static str, shape: Shape) -> Decoded {
    Decoded {
        shape,
        format,
        tokens: TokenKind::Reusable,
        default_lease: None,
        always_renews: None,
        holders: Vec::new(),
    }
}

/// One owner whose token is `raw`, with what the lock's `holder` pattern finds in it.
fn holding(raw: &[u8], count: u64, holder: Option<&Pattern>) -> Holding {
    let found = holder.and_then(|p| p.0.captures(raw));
    let group = |name| found.as_ref().and_then(|c| c.name(name)).map(|m| m.as_bytes());
    let text = |name| {
        group(name).filter(|b| !b.is_empty()).map(|b| Arc::<str>::from(label::text(b).as_str()))
    };
    let pid = group("pid")
        .and_then(|b| std::str::from_utf8(b).ok())
        .and_then(|t| t.parse().ok())
        .filter(|pid: &i32| *pid > 0);
    let owner = Owner { token: Token::new(raw), worker: text("worker"), host: text("host"), pid };
    Holding { owner: Arc::new(owner), count }
}

/// Whether `text` has the shape of a UUID of any version.
fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Lease that Redisson and others use unless told otherwise.
const THIRTY_SECONDS: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
