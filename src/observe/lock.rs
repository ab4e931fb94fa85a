//! What a lock key showed in one atomic read, as its library means it.

use std::sync::Arc;
use std::time::Duration;

pub use super::companion::{
    Companion, CompanionPart, CompanionRead, CompanionValue, Elements, Tells,
};
use super::node::{NodeRef, Role};
use super::time::{ServerTime, Span};
use super::token::Token;
use super::{KeyId, StoreId};
use crate::config::{LockRules, TokenKind};

/// A watched key and the lock it stands for.
#[derive(Clone, Debug)]
pub struct KeyWatched {
    /// The store the key is in.
    pub store: StoreId,
    /// The id that reads of it will carry.
    pub key: KeyId,
    /// The key as it may be printed (sanitised).
    pub key_text: Arc<str>,
    /// The lock's name: configured, or captured from the key by its pattern (sanitised). Unique within the store.
    pub lock: Arc<str>,
    /// What the config says of this lock.
    pub rules: Arc<LockRules>,
    /// The first key of a lock over several keys; the others follow it, each with this set. `None` for any other key, and
    /// for the first one itself.
    pub with: Option<KeyId>,
    /// A pattern found it, and the whole round before did not see it: it is new in the store.
    pub has_appeared: bool,
}

/// Several keys of one node read in one transaction, or in pipelined transactions so close that one span covers them.
#[derive(Clone, Debug)]
pub struct BatchRead {
    /// Which node answered.
    pub node: NodeRef,
    /// Counts the connections to this node; a new number means that the connection was rebuilt.
    pub connection: u64,
    /// From before the request left until the reply was complete, on the observer's clock.
    pub span: Span,
    /// The node's `TIME` in the same transaction.
    pub time: ServerTime,
    /// The node's role in the same transaction.
    pub role: Role,
    /// The node's replication offset in the same transaction, where `ROLE` gave one.
    pub offset: Option<u64>,
    /// What each key showed.
    pub reads: Vec<KeyRead>,
}

/// Keys that one read would have shown as their last ones did: those of this line that a pattern found and that are told as one
/// of a group, if they are there.
#[derive(Clone, Debug)]
pub struct Unchanged {
    /// The read, which has no keys.
    pub probe: BatchRead,
    /// Of keys up to this number.
    pub last: KeyId,
    /// Not of these, of which it cannot be told and which are read; by rising number.
    pub except: Vec<KeyId>,
}

/// One key in a [`BatchRead`].
#[derive(Clone, Debug)]
pub struct KeyRead {
    /// Which key.
    pub key: KeyId,
    /// What it showed.
    pub found: Found,
}

/// What a key showed.
#[derive(Clone, Debug)]
pub enum Found {
    /// The server said that there is no such key (or that it has expired).
    Absent,
    /// The key exists.
    Present {
        /// Decoded value. The same `Arc` is handed out again while the bytes have not changed.
        value: Arc<Decoded>,
        /// The key's expiry.
        expiry: Expiry,
    },
    /// This key could not be read although its node answered; its series are withheld.
    Unreadable(Unreadable),
}

/// Why one key could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unreadable {
    /// The ACL user may not read this key or run a command it needs.
    Permission,
    /// The server answered something else than the command's documented reply.
    Unexpected,
}

/// When a key ends, on its server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// `PTTL` -1.
    Never,
    /// `PEXPIRETIME`, or `TIME` + `PTTL` below 7.0 (then exact to 1 ms only).
    At(ServerTime),
}

/// A value as its library means it. What a format does not say is as in [`Decoded::nobody`].
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// Key type and coarse shape of the value.
    pub shape: Shape,
    /// The registry name of the format that decoded it, such as `string` or `redisson`.
    pub format: &'static str,
    /// Whether tokens of this format are new for each acquire; the config may overrule it.
    pub tokens: TokenKind,
    /// Where tokens are not new for each acquire: whether that is so by the format's design. If not, nobody knows.
    pub reuses_tokens: bool,
    /// The lease length that this format uses unless told otherwise.
    pub default_lease: Option<Duration>,
    /// The renewal period as a share of the lease where the format always renews by itself.
    pub always_renews: Option<f64>,
    /// Who holds it. Empty if the value names no owner (a number, a time, a list, undeclared JSON).
    pub holders: Vec<Holding>,
    /// Members beyond those, which are not read: their shares end no later.
    pub beyond: u64,
    /// Whether more than one may hold it at once.
    pub sharing: Sharing,
    /// What it means that the key has no expiry.
    pub endless: Endless,
    /// When the lease ends, where the value says so instead of the key's expiry.
    pub expiry_inside: Option<ServerTime>,
    /// Locks of this format are left to run out on purpose; nobody releases them.
    pub ends_by_expiry: bool,
    /// Who waits, as far as the value itself shows.
    pub waiters: Option<u64>,
    /// The config declares this format, and the value or a part of it is none of its.
    pub misfit: bool,
    /// Members of a collection that are no holders and that its format does not write.
    pub strangers: u64,
    /// What a misfit looks like instead, if it looks like anything.
    pub looks_like: Option<&'static str>,
    /// Other formats that the value fits as well: its format's name is a guess then.
    pub also_fits: Vec<&'static str>,
    /// Other keys that tell more of this lock: read after it, not in the same transaction.
    pub companions: Vec<Companion>,
}

impl Decoded {
    /// A value of this format that names no owner.
    pub fn nobody(format: &'static str, shape: Shape) -> Self {
        Self {
            shape,
            format,
            tokens: TokenKind::Reusable,
            reuses_tokens: false,
            default_lease: None,
            always_renews: None,
            holders: Vec::new(),
            beyond: 0,
            sharing: Sharing::Exclusive,
            endless: Endless::Abnormal,
            expiry_inside: None,
            ends_by_expiry: false,
            waiters: None,
            misfit: false,
            strangers: 0,
            looks_like: None,
            also_fits: Vec::new(),
            companions: Vec::new(),
        }
    }
}

/// How many may hold a lock at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// One.
    Exclusive,
    /// Any number of readers, or one writer.
    ReadWrite,
    /// As many as there are permits; how many, where the value tells.
    Permits(Option<u64>),
}

/// What a key without an expiry means for its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endless {
    /// If its holder dies, nobody gets the lock.
    Abnormal,
    /// The library's own default: only a hold that lasts too long tells.
    Usual,
    /// The lease ends elsewhere: inside the value, or per holder.
    Carried,
}

/// Whom a store's owner index names for the tokens that hold locks now.
#[derive(Clone, Debug)]
pub struct OwnersNamed {
    /// The store.
    pub store: StoreId,
    /// When it was read.
    pub span: Span,
    /// Worker by token; `None` if the index does not have it.
    pub names: Vec<(Token, Option<Arc<str>>)>,
}

/// Key type, and for a string what kind of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// Text that can be a token.
    Text,
    /// Bytes that are not UTF-8 text.
    Binary,
    /// A decimal number (a counter or a time), not an owner.
    Number,
    /// A JSON object or array.
    Json,
    /// The empty string.
    Empty,
    /// A hash whose fields are owners.
    OwnerHash,
    /// Any other hash.
    Hash,
    /// A sorted set.
    Zset,
    /// A set.
    Set,
    /// A list.
    List,
    /// A stream or a module's type.
    Other,
}

/// One owner of a lock.
#[derive(Clone, Debug, PartialEq)]
pub struct Holding {
    /// Who.
    pub owner: Arc<Owner>,
    /// Hold count of a re-entrant owner, 1 where the format has none.
    pub count: u64,
    /// In what way.
    pub mode: Mode,
    /// When this holder's own share ends, where each has its own expiry: one that is past holds nothing any more.
    pub until: Option<ServerTime>,
    /// When it last refreshed its share, in milliseconds of its own clock, where that is all the value says of the end: each
    /// refresh gives the key's expiry one lease, so shares end as long before the key as they were refreshed before the
    /// last of them.
    pub refreshed_ms: Option<i64>,
    /// When it was acquired, as the token says, in seconds since the epoch on its clock: for people, never for a verdict.
    pub taken_at: Option<f64>,
}

/// In what way an owner holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Alone.
    Exclusive,
    /// As one of several readers.
    Read,
    /// As the writer.
    Write,
    /// One of a semaphore's permits.
    Permit,
}

impl Mode {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Read => "read",
            Self::Write => "write",
            Self::Permit => "permit",
        }
    }
}

/// An owner as its token names it.
#[derive(Debug, PartialEq, Eq)]
pub struct Owner {
    /// The raw token: a credential.
    pub token: Token,
    /// The worker's stable name, where the format or the lock's `holder` pattern gives it (sanitised).
    pub worker: Option<Arc<str>>,
    /// The host in the token.
    pub host: Option<Arc<str>>,
    /// The process id in the token, in that host's (or container's) numbering.
    pub pid: Option<i32>,
    /// The thread in the token, as it may be printed.
    pub thread: Option<Arc<str>>,
}
