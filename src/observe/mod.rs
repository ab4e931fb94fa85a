//! Plain facts, each with the time it was taken. Nothing here reads anything, decides anything or knows a metric.
//!
//! Pollers make these, `derive` consumes them. A fact says what was seen ([`lock`], [`node`], [`worker`]) and when
//! ([`time`]); what could not be seen is a value of its own, never a zero. [`label`] is the one place where bytes from
//! outside become text that may be printed.

pub mod cgroup;
pub mod client;
pub mod clock;
pub mod companion;
pub mod feed;
pub mod jvm;
pub mod label;
pub mod lock;
pub mod node;
pub mod poll;
pub mod sentinel;
pub mod slowlog;
pub mod socket;
pub mod source;
pub mod stall;
pub mod time;
pub mod token;
pub mod worker;

use std::sync::Arc;

pub use cgroup::CgroupRead;
pub use client::ClientsRead;
pub use clock::{ClockRead, HostClock};
pub use feed::FeedRead;
pub use jvm::JvmRead;
pub use lock::{BatchRead, Decoded, Expiry, Found, Holding, KeyRead, Owner};
pub use node::{Line, NodeFacts, NodeRef, Role};
pub use sentinel::SentinelsSay;
pub use socket::SocketsRead;
pub use source::{ListRead, SourceRead};
pub use stall::{ProcessId, StallRead};
pub use time::{Mono, ServerTime, Span};
pub use token::Token;
pub use worker::{HeartbeatRead, ProcessRead};

/// A configured lock store, numbered by the run that polls it. A reload that changes a store gives it a new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreId(pub u32);

/// A watched key of a store, numbered by its poller and never reused within a [`StoreId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub u64);

/// Everything that can reach `derive`.
#[derive(Clone, Debug)]
pub enum Observation {
    /// A store's poller began; facts with its id follow. An earlier id of the same name is replaced, its state kept.
    StoreStarted {
        /// The id that the facts will carry.
        store: StoreId,
        /// The configured name.
        name: Arc<str>,
        /// When.
        at: Mono,
    },
    /// A store is no longer configured.
    StoreStopped {
        /// Its id.
        store: StoreId,
    },
    /// A key is watched from now on.
    KeyWatched(lock::KeyWatched),
    /// A pattern's key was absent for the whole retention and is no longer watched.
    KeyForgotten {
        /// Its store.
        store: StoreId,
        /// Its id.
        key: KeyId,
    },
    /// How many keys a store's patterns found and did not watch, by reason; replaces the earlier numbers.
    KeysDropped {
        /// The store.
        store: StoreId,
        /// `max_locks`, `duplicate_name`; the whole set each time.
        counts: Vec<(&'static str, u64)>,
    },
    /// One atomic read of some keys of one node.
    Batch(BatchRead),
    /// Keys that are as they were.
    Unchanged(Box<lock::Unchanged>),
    /// The batches before were read because their keys are said to have changed: what they show is news.
    Changed {
        /// Their store.
        store: StoreId,
    },
    /// What a node says of itself (`INFO`), taken after the reads of a sweep or right after connecting.
    Node(Box<NodeFacts>),
    /// A node could not be reached or refused us.
    NodeFailed(node::NodeFailed),
    /// What a node says of the connections of its clients.
    Clients(ClientsRead),
    /// Whose the connected sockets of this host are.
    Sockets(SocketsRead),
    /// What the sentinels of a store say of its primary.
    Sentinels(SentinelsSay),
    /// A sweep over all keys of a node ended.
    SweepDone(node::SweepDone),
    /// How a store's event feed stands.
    Feed(FeedRead),
    /// A store's event feed told that any key may have changed.
    Emptied(feed::Emptied),
    /// What a store's event feed heard.
    Heard(Box<feed::Heard>),
    /// A poll of a target ended; tells about the exporter, not about locks.
    Poll(poll::PollDone),
    /// One read of a worker's heartbeat.
    Heartbeat(HeartbeatRead),
    /// One look at a worker's process or processes.
    Process(ProcessRead),
    /// One sample of the scheduling of workers' processes.
    Stalls(StallRead),
    /// One look at the cgroup of a worker's process.
    Cgroup(Box<CgroupRead>),
    /// One look at the counters of a worker's JVM.
    Jvm(Box<JvmRead>),
    /// One answer, or none, of a chronyd.
    Clock(Box<ClockRead>),
    /// One reading of this host's wall clock.
    HostClock(HostClock),
    /// What keys beside a lock's own told.
    Companions(Box<lock::CompanionRead>),
    /// One look at a node's slow log.
    Slowlog(Box<slowlog::SlowlogRead>),
    /// Whom an owner index names.
    Owners(Box<lock::OwnersNamed>),
    /// One read of a configured source.
    Source(Box<SourceRead>),
    /// One read of a list of live workers.
    List(Box<ListRead>),
}
