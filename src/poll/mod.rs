//! All I/O: each target has its own task, its own timeouts and at most one read outstanding, so that a hung one costs
//! nobody else anything. Pollers turn what they read into [`Observation`]s and never judge; they know nothing of
//! `derive`, whose wanted reads reach them through `app` as plain requests.

pub mod cgroup;
pub mod chrony;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod jvm;
pub mod lane;
pub mod lists;
pub mod mounts;
pub mod names;
mod netlink;
pub mod part;
pub mod process;
pub mod readings;
pub mod redis;
pub mod residents;
pub mod sockets;
pub mod source;
pub mod stalls;
mod tally;
mod tls;
pub mod workers;

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::observe::Observation;

/// Where pollers send what they saw. Bounded: a poller waits rather than piling up facts.
pub type Out = mpsc::Sender<Observation>;

/// Which of a worker's sources to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Look {
    /// Its heartbeat.
    Heartbeat,
    /// Its process.
    Process,
}

/// A worker to watch, found in the config or as a lock's holder.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedWorker {
    /// Its name.
    pub name: Arc<str>,
    /// The first group that serves it.
    pub group: usize,
    /// The pid and host that its owner token names, where a token of it was seen.
    pub token: Option<TokenPid>,
}

/// Process named by an owner token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPid {
    /// The pid, in the numbering of that host or container.
    pub pid: i32,
    /// The host, where the token names one.
    pub host: Option<Arc<str>>,
}
