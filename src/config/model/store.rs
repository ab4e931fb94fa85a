//! A lock store and how to reach it. Holds no connection and reads no file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{LockConfig, NodeClock, Sentinels};
use crate::secret::Secret;

/// One lock store: servers that hold the same locks.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// Its name, the `store` label.
    pub name: Arc<str>,
    /// How its servers belong together.
    pub topology: Topology,
    /// Where to begin; what else there is, is found from it. With sentinels the address is one of theirs, TLS and database
    /// are the servers'.
    pub url: RedisUrl,
    /// Further addresses that the user gave; they differ from the first in nothing but the address.
    pub further_urls: Vec<RedisUrl>,
    /// Replicas in addition to those the server announces, `host:port`.
    pub replicas: Vec<String>,
    /// ACL user, if any.
    pub username: Option<String>,
    /// Where the password comes from.
    pub password: Password,
    /// TLS, when the URL says so.
    pub tls: TlsFiles,
    /// Longest time to a usable connection.
    pub connect_timeout: Duration,
    /// Longest wait for a reply.
    pub response_timeout: Duration,
    /// Whether slow commands on locks are read of the servers' slow logs.
    pub slowlog: Slowlog,
    /// A hash that names the worker of each opaque token.
    pub owner_index: Option<String>,
    /// Which clock disciplines which node, as far as is known.
    pub clocks: Vec<NodeClock>,
    /// How the server tells of changes between two polls.
    pub events: Events,
    /// Whether the servers are asked who is connected to them, and processes here are looked up.
    pub clients: Clients,
    /// The locks.
    pub locks: Vec<LockConfig>,
}

/// How the server tells of changes between two polls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Events {
    /// As it can, and where that costs it little.
    #[default]
    Auto,
    /// By broadcasts for client-side caches.
    Tracking,
    /// By keyspace notifications, which the server has to have on.
    Notifications,
    /// Not at all.
    Off,
}

/// Whether the servers are asked who is connected to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clients {
    /// Yes; which processes of this host they are is looked up where workers' processes are watched.
    #[default]
    Auto,
    /// Yes, and processes are looked up in any case.
    On,
    /// No.
    Off,
}

/// Whether slow commands on locks are read of the servers' slow logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slowlog {
    /// Where the server allows it.
    #[default]
    Auto,
    /// Yes: where it does not, something is missing.
    On,
    /// No.
    Off,
}

/// How the servers of a store belong together.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Topology {
    /// A primary with its replicas.
    #[default]
    Standalone,
    /// Not said: a primary with its replicas, or a cluster if the server says so.
    Auto,
    /// Shards with a part of the keys each.
    Cluster,
    /// A primary with its replicas, as sentinels name them; the addresses are the sentinels'.
    Sentinel(Box<Sentinels>),
    /// Servers of their own, each of which has every lock; who has more than half of them holds it.
    Quorum,
}

/// A parsed `redis://`, `rediss://` or `redis+unix://` URL without user information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisUrl {
    /// Host and port, or a socket path.
    pub addr: RedisAddr,
    /// Whether to speak TLS.
    pub tls: bool,
    /// Database number.
    pub db: u32,
}

/// How to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedisAddr {
    /// TCP.
    Tcp {
        /// Host name or address, without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// Unix socket.
    Unix(PathBuf),
}

impl RedisAddr {
    /// Whether both name one place: names of hosts are the same in small letters and in capitals.
    pub fn is_same(&self, other: &RedisAddr) -> bool {
        match (self, other) {
            (RedisAddr::Tcp { host: a, port: p }, RedisAddr::Tcp { host: b, port: q }) => {
                p == q && a.eq_ignore_ascii_case(b)
            }
            _ => self == other,
        }
    }
}

/// Where a store's password comes from. Files are read at every connect, so that a rotated one is picked up.
#[derive(Clone, Debug, PartialEq)]
pub enum Password {
    /// None.
    None,
    /// Given in the environment.
    Value(Secret),
    /// In this file; its trailing line end is cut.
    File(PathBuf),
}

/// Files for TLS; all optional.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TlsFiles {
    /// Trusted authorities (PEM); the system's own if absent.
    pub ca_file: Option<PathBuf>,
    /// Client certificate chain (PEM).
    pub cert_file: Option<PathBuf>,
    /// Its key (PEM).
    pub key_file: Option<PathBuf>,
    /// Name to verify instead of the host.
    pub server_name: Option<String>,
}
