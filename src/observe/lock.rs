//! What a lock key showed in one atomic read. Owner tokens are credentials: [`Token`] never prints itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::node::{NodeRef, Role};
use super::time::{ServerTime, Span};
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

/// A value as its library means it.
#[derive(Debug, PartialEq)]
pub struct Decoded {
    /// Key type and coarse shape of the value.
    pub shape: Shape,
    /// The registry name of the format that decoded it, such as `string` or `redisson`.
    pub format: &'static str,
    /// Whether tokens of this format are new for each acquire; the config may overrule it.
    pub tokens: TokenKind,
    /// The lease length that this format uses unless told otherwise.
    pub default_lease: Option<Duration>,
    /// The renewal period as a share of the lease where the format always renews by itself.
    pub always_renews: Option<f64>,
    /// Who holds it. Empty if the value names no owner (a number, a time, a list, undeclared JSON).
    pub holders: Vec<Holding>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Who.
    pub owner: Arc<Owner>,
    /// Hold count of a re-entrant owner, 1 where the format has none.
    pub count: u64,
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
}

/// An owner token. Whoever knows it can release the lock, so it has no `Display` and its `Debug` shows the fingerprint.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token(Arc<[u8]>);

impl Token {
    /// Takes the raw bytes.
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The raw bytes; only for comparison and decoding.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The first 12 hexadecimal digits of the SHA-256 of the raw token: tells tokens apart without giving one away.
    pub fn fingerprint(&self) -> String {
        use sha2::{Digest, Sha256};
        Sha256::digest(&self.0).iter().take(6).map(|b| format!("{b:02x}")).collect()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.fingerprint())
    }
}
