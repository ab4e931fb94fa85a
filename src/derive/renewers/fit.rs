//! Whether one connection can have made one renewal.

use crate::derive::connections::Connection;
use crate::observe::Mono;

/// Commands that write a key or its expiry, or may, as lists of clients have them.
const WRITES: [&str; 24] = [
    "set",
    "setex",
    "psetex",
    "setnx",
    "getset",
    "getex",
    "mset",
    "expire",
    "pexpire",
    "expireat",
    "pexpireat",
    "eval",
    "evalsha",
    "fcall",
    "exec",
    "hset",
    "hsetex",
    "hmset",
    "hincrby",
    "hexpire",
    "hpexpire",
    "zadd",
    "incr",
    "msetex",
];

/// What exporters call themselves. They write nothing, but `exec` is what they read by.
const EXPORTER: &str = "dlock_exporter";

/// How well a connection fits a renewal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It did not make it: it was idle since before, began after, or cannot write.
    #[default]
    Excluded,
    /// It may have.
    Possible,
    /// Its last command is one that writes, and came when the lease was renewed.
    Match,
}

impl Fit {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Fit::Excluded => "excluded",
            Fit::Possible => "possible",
            Fit::Match => "match",
        }
    }
}

/// How well it fits a renewal between two reads.
pub fn fit(connection: &Connection, (earlier, later): (Mono, Mono)) -> Fit {
    let Connection { client, began, used, .. } = connection;
    // Over RESP2 a subscriber can do nothing else.
    let is_subscriber = client.subscriptions > 0 && client.protocol != Some(3);
    if used.until < earlier || began.from > later || is_subscriber || client.is_replication() {
        return Fit::Excluded;
    }
    // Anybody can call himself so: it is not enough to exclude him.
    let is_write = WRITES.contains(&&*client.command) && &*client.name != EXPORTER;
    if is_write && used.from <= later { Fit::Match } else { Fit::Possible }
}
