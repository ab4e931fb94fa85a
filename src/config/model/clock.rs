//! A clock: a chronyd that can be asked how wrong its host's clock is. Asks nobody.

use std::path::PathBuf;
use std::sync::Arc;

/// A configured clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Its name, the `clock` label.
    pub name: Arc<str>,
    /// Where its chronyd answers.
    pub chrony: ChronyAddr,
}

/// Where a chronyd answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChronyAddr {
    /// `udp://HOST:PORT`; the port is 323 unless given.
    Udp {
        /// Host name or address, without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// `unix:///PATH`: chronyd's command socket on this host.
    Unix(PathBuf),
}

/// Which of the configured clocks disciplines the host of a store's node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClock {
    /// The node, `host:port` or the path of its socket, as its `addr` label says.
    pub addr: String,
    /// The clock's name.
    pub clock: Arc<str>,
}
