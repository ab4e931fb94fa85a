//! The validated configuration as plain data, one file per section. Imports nothing of ours but
//! [`Secret`](crate::secret::Secret); every value here is usable as it is, so nothing downstream checks it again.

mod clock;
mod evidence;
mod format;
mod list;
mod lock;
mod sentinel;
mod shard;
mod source;
mod store;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use clock::{ChronyAddr, Clock, NodeClock};
pub use evidence::Evidence;
pub use format::{FORMATS, KnownFormat, Names, known_format};
pub use list::{LiveList, MembersKind, Preset};
pub use lock::{
    Effects, Fencing, Group, LockConfig, LockKeys, LockRules, NameTemplate, ResourceSource,
    SeriesTier, TokenKind,
};
pub use sentinel::Sentinels;
pub use shard::Shard;
pub use source::{HttpPart, Place, RedisPart, Source, fill_worker};
pub use store::{
    Clients, Events, Password, RedisAddr, RedisUrl, Slowlog, Store, TlsFiles, Topology,
};
pub use worker::{Heartbeat, JvmMode, ProcessSource, WorkerGroup};

/// Everything that is configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Time between two polls of a target.
    pub poll_interval: Duration,
    /// Time between two reads of a lock that an event feed proves unchanged.
    pub sweep_interval: Duration,
    /// Time between two samples of the stalls of workers' processes.
    pub stall_poll: Duration,
    /// How far back the worst stall is looked for.
    pub stall_window: Duration,
    /// How long a free or vanished lock keeps its series.
    pub retain: Duration,
    /// Workers watched at most; holders beyond it have no worker name.
    pub max_workers: usize,
    /// Lock stores by name.
    pub stores: BTreeMap<String, Arc<Store>>,
    /// Worker groups, in the order of their names; the first whose names fit serves a worker.
    pub workers: Arc<Vec<WorkerGroup>>,
    /// Lists of live workers, in the order of their names.
    pub live_workers: Arc<Vec<LiveList>>,
    /// Clocks, in the order of their names.
    pub clocks: Arc<Vec<Clock>>,
    /// Which of them is this host's.
    pub local_clock: Option<Arc<str>>,
    /// Where evidence is written; nowhere if absent.
    pub evidence: Option<Evidence>,
    /// Which of the locks it watches.
    pub shard: Shard,
}

/// A regular expression over bytes that compares by its text.
#[derive(Clone, Debug)]
pub struct Pattern(pub regex::bytes::Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}
