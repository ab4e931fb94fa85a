//! What a Redis or Valkey node says of itself, and how talking to it went.

use std::sync::Arc;
use std::time::Duration;

use super::StoreId;
use super::time::{Mono, ServerTime, Span};

/// A primary with its replicas. A store has one line; a quorum store one for each of its URLs, a cluster one for each shard.
/// What one line says of a lock is never compared with another's as if the second followed the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line(pub u16);

/// A node of a store, by the address we reach it at.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeRef {
    /// The store it belongs to.
    pub store: StoreId,
    /// Its line in that store.
    pub line: Line,
    /// `host:port` or a socket path, as labels print it.
    pub addr: Arc<str>,
}

/// A node's role as it states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// `master`.
    Master,
    /// `slave`; `linked` when its link to its primary is up (`connected`).
    Replica {
        /// Whether the link to the primary is up.
        linked: bool,
    },
    /// `sentinel`: no lock store at all.
    Sentinel,
    /// Not known: `ROLE` was refused or answered something else.
    Unknown,
}

impl Role {
    /// The label value.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Master => "master",
            Role::Replica { .. } => "replica",
            Role::Sentinel => "sentinel",
            Role::Unknown => "unknown",
        }
    }
}

/// Calls that empty databases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushes {
    /// `FLUSHALL`: all of them, ours too.
    pub all: u64,
    /// `FLUSHDB` and `SWAPDB`: one or two, which need not be ours.
    pub one: u64,
    /// `SWAPDB` among those: no feed tells of them.
    pub swaps: u64,
}

/// A node's `INFO`, as far as anything uses it. `None` is a field that this server or permission does not show.
#[derive(Clone, Debug)]
pub struct NodeFacts {
    /// Which node.
    pub node: NodeRef,
    /// Counts the connections to this node, as in `BatchRead`.
    pub connection: u64,
    /// When it was read.
    pub span: Span,
    /// `TIME`, read beside it.
    pub time: Option<ServerTime>,
    /// Server version, such as `7.0.15`; Valkey's own version where it has one.
    pub version: String,
    /// `redis` or `valkey`.
    pub flavor: String,
    /// `standalone`, `sentinel` or `cluster`.
    pub mode: String,
    /// Changes when the server process restarts.
    pub run_id: Option<String>,
    /// Role.
    pub role: Role,
    /// `master_replid`.
    pub replid: Option<String>,
    /// `master_replid2`, absent if all zeros.
    pub replid2: Option<String>,
    /// `second_repl_offset`, absent if -1.
    pub second_offset: Option<u64>,
    /// A primary's `master_repl_offset`, a replica's `slave_repl_offset`.
    pub offset: Option<u64>,
    /// A replica's primary, `host:port`.
    pub primary: Option<String>,
    /// A primary's replicas, `host:port`, with the offset each last acknowledged.
    pub replicas: Vec<(String, Option<u64>)>,
    /// `connected_slaves`.
    pub connected_replicas: Option<u64>,
    /// `min_slaves_to_write` is not in `INFO`; `min_slaves_good_slaves` tells only that it is set. From `CONFIG GET`
    /// where that is allowed.
    pub min_replicas_to_write: Option<u64>,
    /// `aof_enabled`.
    pub aof: Option<bool>,
    /// `rdb_last_load_keys_loaded` (7.0): keys that the server found when it started.
    pub loaded_keys: Option<u64>,
    /// `maxmemory` in bytes, 0 for none.
    pub maxmemory: Option<u64>,
    /// `maxmemory_policy`.
    pub maxmemory_policy: Option<String>,
    /// `evicted_keys`.
    pub evicted_keys: Option<u64>,
    /// `expired_keys`.
    pub expired_keys: Option<u64>,
    /// `connected_clients`.
    pub connected_clients: Option<u64>,
    /// `total_connections_received`.
    pub connections_received: Option<u64>,
    /// `rejected_connections`.
    pub rejected_connections: Option<u64>,
    /// Calls that empty databases, from `commandstats`.
    pub flushes: Option<Flushes>,
    /// Whether the keyspace section shows keys in another database than ours.
    pub has_other_databases: Option<bool>,
    /// Whether each optional command we use was refused: `(command, refused)`.
    pub permissions: Vec<(&'static str, bool)>,
}

impl NodeFacts {
    /// Whether replicas get the instant at which a key expires. Before 7.0 they get the time that remains, and add it to
    /// their own clock when they come to it. Not known where no version is.
    pub fn replicates_instants(&self) -> bool {
        let major = self.version.split('.').next().and_then(|n| n.parse::<u32>().ok());
        self.flavor != "redis" || major.is_some_and(|major| major >= 7)
    }

    /// Whether its memory limit and policy let it evict keys; `None` where it does not show them.
    pub fn evicts_locks(&self) -> Option<bool> {
        Some(self.maxmemory? > 0 && self.maxmemory_policy.as_deref()? != "noeviction")
    }
}

/// Why a node could not be used; the text goes to the log, the reason to a label.
#[derive(Clone, Debug)]
pub struct NodeFailed {
    /// Which node.
    pub node: NodeRef,
    /// When.
    pub at: Mono,
    /// From a closed list, see [`FailReason`].
    pub reason: FailReason,
    /// What exactly, without secrets.
    pub detail: String,
}

/// Closed list of reasons a poll failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailReason {
    /// The name did not resolve.
    Dns,
    /// Connection refused.
    Refused,
    /// No connection, or no reply, in time.
    Timeout,
    /// Network unreachable, reset, closed.
    Network,
    /// TLS handshake failed.
    Tls,
    /// `NOAUTH`, `WRONGPASS`, or a password file that cannot be read.
    Auth,
    /// `NOPERM` for something a poll cannot do without.
    Permission,
    /// `LOADING`, `BUSY`, `MASTERDOWN`, `CLUSTERDOWN`.
    NotReady,
    /// The reply is not what the protocol or the command says.
    Protocol,
    /// A file, pid or metric that is not there.
    Missing,
    /// Anything else.
    Other,
}

impl FailReason {
    /// All of them, for counters that start at 0.
    pub const ALL: [FailReason; 11] = [
        FailReason::Dns,
        FailReason::Refused,
        FailReason::Timeout,
        FailReason::Network,
        FailReason::Tls,
        FailReason::Auth,
        FailReason::Permission,
        FailReason::NotReady,
        FailReason::Protocol,
        FailReason::Missing,
        FailReason::Other,
    ];

    /// The label value.
    pub fn as_str(self) -> &'static str {
        match self {
            FailReason::Dns => "dns",
            FailReason::Refused => "refused",
            FailReason::Timeout => "timeout",
            FailReason::Network => "network",
            FailReason::Tls => "tls",
            FailReason::Auth => "auth",
            FailReason::Permission => "permission",
            FailReason::NotReady => "not_ready",
            FailReason::Protocol => "protocol",
            FailReason::Missing => "missing",
            FailReason::Other => "other",
        }
    }
}

/// A sweep over all keys of a node ended well.
#[derive(Clone, Debug)]
pub struct SweepDone {
    /// Which node.
    pub node: NodeRef,
    /// From the first request to the last reply.
    pub span: Span,
    /// Work and waiting for replies; pauses for pacing excluded.
    pub busy: Duration,
}
