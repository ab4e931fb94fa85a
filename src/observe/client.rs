//! What a server says of the connections of its clients. Names are foreign bytes that were made printable; nothing of what a
//! client sent but the name of its last command.

use std::sync::Arc;
use std::time::Duration;

use super::node::NodeRef;
use super::time::Span;

/// Longest time between two reads of who is connected, of a server's list and of this host's sockets.
pub const EVERY: Duration = Duration::from_secs(10);
/// Shortest.
const LEAST: Duration = Duration::from_secs(1);

/// Time between two such reads: with every fifth poll, and neither rarely nor all the time.
pub fn cadence(poll: Duration) -> Duration {
    (poll * 5).clamp(LEAST, EVERY)
}

/// One read of a node's list of clients.
#[derive(Clone, Debug)]
pub struct ClientsRead {
    /// Which node.
    pub node: NodeRef,
    /// When it was read.
    pub span: Span,
    /// The connections, or why there is no list.
    pub seen: Result<Arc<[Client]>, NoClients>,
}

/// Why a list of clients was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoClients {
    /// The server does not let us.
    Refused,
    /// It has no such command, or answers it in another way.
    Unsupported,
    /// There are so many that listing them would hold it up; so many.
    TooMany(u64),
    /// It does not say how many there are.
    Uncounted,
}

/// One connection to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Its number, which the process that serves uses once.
    pub id: u64,
    /// Where it comes from: `address:port`, or the path of the server's socket and `:0`.
    pub addr: Arc<str>,
    /// Where it came to, in the same form; empty before 6.2.
    pub to: Arc<str>,
    /// The server's file descriptor of it.
    pub descriptor: Option<u32>,
    /// The name that it gave itself.
    pub name: Arc<str>,
    /// The library that it says it is, from 7.2 on.
    pub library: Arc<str>,
    /// That library's version.
    pub library_version: Arc<str>,
    /// Its ACL user.
    pub user: Arc<str>,
    /// Its last command, `set` or `client|list`.
    pub command: Arc<str>,
    /// Single letters, as the server's manual has them.
    pub flags: Arc<str>,
    /// The database that it selected.
    pub db: u32,
    /// The version of the protocol that it speaks, from 7.0 on.
    pub protocol: Option<u8>,
    /// Channels and patterns that it subscribed to.
    pub subscriptions: u64,
    /// Whole seconds since it connected.
    pub age: u64,
    /// Whole seconds since its last command.
    pub idle: u64,
}

impl Client {
    /// Whether it came over a Unix socket.
    pub fn is_unix(&self) -> bool {
        self.addr.starts_with('/')
    }

    /// Whether it is a replica's, or the server's own to its primary.
    pub fn is_replication(&self) -> bool {
        self.flags.contains(['S', 'M'])
    }
}
