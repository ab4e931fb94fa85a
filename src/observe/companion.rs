//! Keys beside a lock that tell more of it, and what they showed. Some libraries put owner tokens into the names of such
//! keys, of fields and of members: nothing here prints any bytes of them.

use std::fmt;
use std::sync::Arc;

use super::lock::Expiry;
use super::time::{ServerTime, Span};
use super::{KeyId, StoreId};

/// Another key that tells something of a lock. Some libraries put owner tokens into the names of such keys, of fields and
/// of members, so neither this nor its part prints any bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Companion {
    /// The key.
    pub key: Arc<[u8]>,
    /// What of it.
    pub part: CompanionPart,
    /// What it tells.
    pub tells: Tells,
}

impl fmt::Debug for Companion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Companion({:?} tells {:?})", self.part, self.tells)
    }
}

/// What of a companion key is read.
#[derive(Clone, PartialEq, Eq)]
pub enum CompanionPart {
    /// The string.
    Text,
    /// A hash field.
    Field(Arc<[u8]>),
    /// How many elements the list, set or sorted set has.
    Count(Elements),
    /// How many members of the sorted set have a score, in milliseconds, ahead of the server's clock.
    CountAhead,
    /// Whether it is there, and until when.
    Expiry,
    /// Whether the set has this member.
    Contains(Arc<[u8]>),
}

impl fmt::Debug for CompanionPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "Text",
            Self::Field(_) => "Field",
            Self::Count(_) => "Count",
            Self::CountAhead => "CountAhead",
            Self::Expiry => "Expiry",
            Self::Contains(_) => "Contains",
        })
    }
}

/// The type of a key whose elements are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// A list.
    List,
    /// A set.
    Set,
    /// A sorted set.
    Zset,
}

/// What a companion tells of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tells {
    /// The last fencing token that was issued.
    FencingToken,
    /// How many wait, each with a deadline ahead.
    Waiters,
    /// The name of the worker that holds the lock.
    Worker,
    /// How many hold it, each with an expiry ahead.
    Holders,
    /// Until when one holder holds; the index is that of [`Decoded::holders`].
    HolderExpiry(u16),
    /// The library itself took note that the holder stalled.
    Stalled,
}

/// What the companions of one lock showed.
#[derive(Clone, Debug)]
pub struct CompanionRead {
    /// The store.
    pub store: StoreId,
    /// The lock's key.
    pub key: KeyId,
    /// When they were read: after the lock itself.
    pub span: Span,
    /// The node's `TIME` near by.
    pub time: ServerTime,
    /// What each told, in the order of [`Decoded::companions`]; what could not be read is left out, but for a worker's
    /// name that is refused: without it nobody can be missed.
    pub told: Vec<(Tells, CompanionValue)>,
}

/// What a companion showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompanionValue {
    /// There is none.
    Missing,
    /// The server refuses to show it.
    Refused,
    /// A number, or a count; 1 or 0 for a member that is in its set or not.
    Number(i64),
    /// Text, made printable.
    Text(Arc<str>),
    /// Until when it is there.
    Until(Expiry),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_token_is_not_printed() {
        let token = b"fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47";
        let key: Arc<[u8]> = [b"{rw}:".as_slice(), token, b":rwlock_timeout:1"].concat().into();
        for (part, name) in [
            (CompanionPart::Expiry, "Expiry"),
            (CompanionPart::Field(token.as_slice().into()), "Field"),
            (CompanionPart::Contains(token.as_slice().into()), "Contains"),
        ] {
            let companion = Companion { key: key.clone(), part, tells: Tells::Worker };
            assert_eq!(format!("{companion:?}"), format!("Companion({name} tells Worker)"));
        }
    }
}
