//! A list of live workers: a fleet's own registry, by a preset or in its generic form. Reads nothing.

use std::sync::Arc;
use std::time::Duration;

use super::Source;

/// A fleet's own registry of its live workers.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveList {
    /// Its name; locks name it in `listed_in`.
    pub name: Arc<str>,
    /// The store it is in.
    pub store: Arc<str>,
    /// How it is made.
    pub preset: Preset,
    /// Time between two reads.
    pub refresh: Duration,
}

/// How a registry is made.
#[derive(Clone, Debug, PartialEq)]
pub enum Preset {
    /// Sidekiq: the set `processes`, a hash for each with `beat` and `info`, the jobs each works on in `PROCESS:work`.
    Sidekiq,
    /// RQ: the set `rq:workers`, a hash for each with its host, pid and last heartbeat.
    Rq,
    /// Resque: the set `resque:workers`, members `host:pid:queues`.
    Resque,
    /// BullMQ: the names of its clients, as CLIENT LIST shows them.
    BullMq {
        /// The queue's name.
        queue: String,
    },
    /// Celery: workers that are heard, on channels of the broker.
    Celery {
        /// What the channels begin with; that of the store's database if absent.
        channel: Option<String>,
    },
    /// Members of a set, list, sorted set or hash, and where each beats.
    Members {
        /// The key.
        key: String,
        /// The key's type.
        kind: MembersKind,
        /// Where each member beats; `{member}` stands for its name.
        heartbeat: Option<Box<Source>>,
    },
}

/// The type of the key that members are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembersKind {
    /// A set.
    Set,
    /// A list.
    List,
    /// A sorted set.
    Zset,
    /// The fields of a hash.
    Hash,
}
