//! Connected sockets of processes on this host, and whose they are. Addresses and the short names of programs only.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::time::Span;

/// One look at the sockets of this host.
#[derive(Clone, Debug)]
pub struct SocketsRead {
    /// When.
    pub span: Span,
    /// What was there, or why it cannot be told.
    pub seen: Result<Arc<Sockets>, String>,
}

/// The connected sockets of this host, as far as they may be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// The exporter's own pid.
    pub own: Option<i32>,
    /// Processes whose sockets are here, and those whose sockets may not be seen.
    pub processes: BTreeMap<i32, SocketUser>,
    /// TCP, by its two ends as the process sees them: near, far.
    pub tcp: BTreeMap<(SocketAddr, SocketAddr), Vec<OpenSocket>>,
    /// Connections through Unix sockets, by the path that the server gave its own; `None` where the kernel does not tell. Only
    /// those that began in the exporter's own network namespace.
    pub unix: Option<BTreeMap<Arc<str>, Vec<UnixLink>>>,
    /// There are more than were looked at.
    pub is_cut: bool,
    /// Processes whose network namespace may not be seen: others may be connected from there.
    pub hidden_namespaces: u64,
}

/// A process with sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketUser {
    /// Start time in clock ticks since boot; with the pid it identifies the process.
    pub start_ticks: u64,
    /// The short name of its program.
    pub comm: Arc<str>,
    /// Its descriptors may not be read.
    pub is_hidden: bool,
}

/// One socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSocket {
    /// Its network namespace.
    pub namespace: u64,
    /// Who has it open; nobody that may be seen, if empty.
    pub pids: BTreeSet<i32>,
}

/// A connection through a Unix socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnixLink {
    /// Who has the server's end open, with the number of the descriptor; nobody that may be seen, if empty.
    pub server: BTreeSet<(i32, u32)>,
    /// Who has the other one.
    pub pids: BTreeSet<i32>,
}
