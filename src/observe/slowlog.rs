//! What a node's slow log told of watched keys. No argument of a command is in here but the key, which has a number: what else
//! stands in a slow log may be an owner's token.

use std::sync::Arc;
use std::time::Duration;

use super::KeyId;
use super::node::NodeRef;
use super::time::Mono;

/// One look at a node's slow log.
#[derive(Clone, Debug)]
pub struct SlowlogRead {
    /// Which node.
    pub node: NodeRef,
    /// The process that serves there, as `INFO` names it: ids begin at 0 in each.
    pub process: Option<Arc<str>>,
    /// When.
    pub at: Mono,
    /// The config asks for the slow log, instead of leaving it to what the server allows.
    pub is_asked: bool,
    /// What it showed.
    pub found: Found,
}

/// What a look showed.
#[derive(Clone, Debug)]
pub enum Found {
    /// It is not to be had.
    Off(Why),
    /// Its newest entries. What was told before may be among them.
    Read(Entries),
}

/// Why there is no slow log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The server refuses us.
    Permission,
    /// The answer is none that a slow log gives.
    Unsupported,
}

/// The newest entries of a slow log.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// The id of the newest; `None` if the log is empty.
    pub newest: Option<u64>,
    /// The id of the oldest that was looked at, or of the newest if nothing has come since the last look.
    pub oldest: Option<u64>,
    /// Those that touch watched keys, or may, by rising id.
    pub slow: Vec<SlowCommand>,
    /// Ids of those that show no watched key and whose arguments were cut where one may have stood.
    pub cut: Vec<u64>,
}

/// A slow command on watched keys.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowCommand {
    /// Its id in the log.
    pub id: u64,
    /// When it ended, in seconds since the epoch on the server's clock.
    pub at_secs: i64,
    /// How long the server was busy with it.
    pub took: Duration,
    /// Its name, as it may be printed.
    pub command: Arc<str>,
    /// Whose it was, as it may be printed; `None` where the server does not say, as of a command inside a script.
    pub client_addr: Option<Arc<str>>,
    /// The name of that client's connection, as it may be printed.
    pub client_name: Option<Arc<str>>,
    /// The server cut some of its arguments.
    pub is_cut: bool,
    /// The keys, and how each is touched.
    pub keys: Vec<(KeyId, Touch)>,
    /// Of a command that acquires one of them: the key, and the fingerprint of the owner's token.
    pub acquires: Option<(KeyId, Arc<str>)>,
}

/// Whether a command touches a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// The key is one of its arguments.
    Key,
    /// One of its arguments was cut, begins as the key does and is as long.
    Maybe,
}

impl Touch {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Touch::Key => "key",
            Touch::Maybe => "maybe",
        }
    }
}
