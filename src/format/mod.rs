//! Lock bytes to owner facts, one file per library family. Pure: no I/O, no clock. Bytes come from a server that anyone
//! may write to, so nothing here trusts them: what is not known to be an owner is none.
//!
//! A new format is one file with a [`Format`] and one line in [`REGISTRY`]; the reference follows from it.

use std::sync::Arc;
use std::time::Duration;

use crate::config::{LockRules, Pattern};
use crate::observe::lock::{Holding, Mode, Shape};
use crate::observe::{Decoded, Owner, Token, label};

pub mod redisson;
pub mod string;

/// All formats. Of two that fit a value equally well the first gives it its name.
pub static REGISTRY: &[&Format] = &[&redisson::FORMAT, &string::FORMAT];

/// One library family.
pub struct Format {
    /// Its name: in the config, in `dlock_lock_info` and in the reference.
    pub name: &'static str,
    /// The libraries whose locks it reads, for the reference.
    pub libraries: &'static str,
    /// Decodes a value, and says how sure it is that it is one of its own. `None`: it is not.
    pub decode: fn(&Sight<'_>) -> Option<(Fit, Decoded)>,
    /// Whether a key belongs to a lock of this family without being one: a queue, a counter, a signal.
    pub is_companion: fn(&[u8]) -> bool,
}

/// A value to be decoded, and what is known beside it.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// The value.
    pub raw: Raw<'a>,
    /// What the config says of the lock.
    pub rules: &'a LockRules,
    /// The config declares the format that is asked: whatever the value can mean in it, it means.
    pub is_declared: bool,
}

/// How well a value fits a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Nothing speaks against it.
    Possible,
    /// The shape of the value is what this family writes, and others may too.
    Likely,
    /// No other family writes that, under such a key.
    Certain,
}

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
    /// All members of a small sorted set with their scores.
    Zset(&'a [(&'a [u8], f64)]),
    /// All members of a small set.
    Set(&'a [&'a [u8]]),
    /// A key that was not read: no format of this version knows its type, or it is too large for a lock.
    Unread(Shape),
}

/// Decodes a value: by the declared format if there is one, else by the one that fits best.
pub fn decode(key: &[u8], raw: Raw<'_>, rules: &LockRules) -> Decoded {
    let sight = Sight { key, raw, rules, is_declared: false };
    let declared = rules.format.as_deref().and_then(|d| REGISTRY.iter().find(|f| f.name == d));
    if let Some(format) = declared {
        return (format.decode)(&Sight { is_declared: true, ..sight })
            .map_or_else(|| misfit(format, raw), |(_, decoded)| decoded);
    }
    let mut best: Option<(Fit, Decoded)> = None;
    let mut equals = Vec::new();
    for (fit, decoded) in REGISTRY.iter().filter_map(|f| (f.decode)(&sight)) {
        match &best {
            Some((known, _)) if fit < *known => {}
            Some((known, _)) if fit == *known => equals.push(decoded.format),
            _ => {
                equals.clear();
                best = Some((fit, decoded));
            }
        }
    }
    match best {
        Some((_, decoded)) => Decoded { also_fits: equals, ..decoded },
        None => Decoded::nobody(undecided(raw), shape_of(raw)),
    }
}

/// A value that is none of the declared format's.
fn misfit(format: &Format, raw: Raw<'_>) -> Decoded {
    Decoded { misfit: true, ..Decoded::nobody(format.name, shape_of(raw)) }
}

/// Whether a key belongs to some lock without being one.
pub fn is_companion(key: &[u8]) -> bool {
    REGISTRY.iter().any(|f| (f.is_companion)(key))
}

/// The format name to print for a value that no format claims.
fn undecided(raw: Raw<'_>) -> &'static str {
    match raw {
        Raw::String { .. } => string::FORMAT.name,
        _ => "unknown",
    }
}

/// Key type and coarse shape.
pub fn shape_of(raw: Raw<'_>) -> Shape {
    match raw {
        Raw::String { bytes, full_len } => string::shape_of(bytes, full_len),
        Raw::Hash(_) => Shape::Hash,
        Raw::Zset(_) => Shape::Zset,
        Raw::Set(_) => Shape::Set,
        Raw::Unread(shape) => shape,
    }
}

/// One owner whose token is `raw`, with what the lock's `holder` pattern finds in it.
fn holding(raw: &[u8], count: u64, holder: Option<&Pattern>) -> Holding {
    let found = holder.and_then(|p| p.0.captures(raw));
    let group = |name| found.as_ref().and_then(|c| c.name(name)).map(|m| m.as_bytes());
    let text = |name| group(name).and_then(printable);
    let pid = group("pid").and_then(pid);
    let owner = Owner {
        token: Token::new(raw),
        worker: text("worker"),
        host: text("host"),
        pid,
        thread: text("thread"),
    };
    Holding { owner: Arc::new(owner), count, mode: Mode::Exclusive, until: None, taken_at: None }
}

/// Bytes as they may be printed; none of nothing.
fn printable(bytes: &[u8]) -> Option<Arc<str>> {
    (!bytes.is_empty()).then(|| Arc::from(label::text(bytes).as_str()))
}

/// A process id.
fn pid(bytes: &[u8]) -> Option<i32> {
    std::str::from_utf8(bytes).ok()?.parse().ok().filter(|pid: &i32| *pid > 0)
}

/// A format without keys beside its locks.
fn no_companion(_: &[u8]) -> bool {
    false
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
