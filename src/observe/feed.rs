//! How a store's event feed stands: what it told of locks comes as reads of them.

use std::time::Duration;

use super::KeyId;
use super::node::{FailReason, NodeRef};
use super::time::{Mono, Span};

/// The feed, as of an instant.
#[derive(Clone, Debug)]
pub struct FeedRead {
    /// The primary that it listens to, or last did.
    pub node: NodeRef,
    /// When.
    pub at: Mono,
    /// How it stands.
    pub standing: Standing,
    /// The config asks for this feed, not for whichever there may be.
    pub is_asked: bool,
    /// It listens to keyspace events alone, and may not ask whether the server sends them.
    pub is_unsure: bool,
    /// Time in which a change may have gone unheard and that was not told of before.
    pub gap: Duration,
}

/// A feed told that any key may have changed: it does of every database that is emptied, and where too many changed at once.
#[derive(Clone, Debug)]
pub struct Emptied {
    /// The primary that it listens to.
    pub node: NodeRef,
    /// When that arrived.
    pub at: Mono,
}

/// How a feed stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Every change is heard.
    Live,
    /// It is interrupted.
    Down(FailReason),
    /// There is none, until something is changed.
    Off(Why),
}

/// Why there is no feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The server refuses us.
    Permission,
    /// The server has no such thing.
    Unsupported,
    /// It would cost the server too much, and nobody asked for it.
    Costly,
}

/// What keyspace events told of watched keys since this was told last.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The primary that it listens to.
    pub node: NodeRef,
    /// All was heard from here on; `None` if not all is.
    pub since: Option<Mono>,
    /// The feed was asked whether it listens, and answered: all that was done before came before.
    pub asked: Span,
    /// What is done to keys up to this number is told from this instant on.
    pub known: Option<(KeyId, Mono)>,
    /// What was done, and when that arrived.
    pub deeds: Vec<(KeyId, Mono, Deed)>,
}

/// What was done to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It may have another owner since.
    Wrote,
    /// The key was gone after it.
    Removed,
    /// The server took the key away to save memory.
    Evicted,
    /// Something that is not known here.
    Unknown,
}
