//! The validated configuration as plain data. Imports nothing of ours but [`Secret`]; every value here is usable as it
//! is, so nothing downstream checks it again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::secret::Secret;

/// Lock formats that can be named in `format`; `auto` detects them.
pub const FORMATS: &[&str] = &["string", "redisson"];

/// Everything that is configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Time between two polls of a target.
    pub poll_interval: Duration,
    /// How long a free or vanished lock keeps its series.
    pub retain: Duration,
    /// Workers watched at most; holders beyond it have no worker name.
    pub max_workers: usize,
    /// Lock stores by name.
    pub stores: BTreeMap<String, Arc<Store>>,
    /// Worker groups, in the order of their names; the first whose names fit serves a worker.
    pub workers: Arc<Vec<WorkerGroup>>,
}

/// One lock store: a server or a primary with its replicas.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// Its name, the `store` label.
    pub name: Arc<str>,
    /// Where to begin; replicas are found from it.
    pub url: RedisUrl,
    /// Replicas in addition to those the server announces, `host:port`.
    pub replicas: Vec<String>,
    /// ACL user, if any.
    pub username: Option<String>,
    /// Where the password comes from.
    pub password: Password,
    /// TLS, when the URL's scheme is `rediss`.
    pub tls: TlsFiles,
    /// Longest time to a usable connection.
    pub connect_timeout: Duration,
    /// Longest wait for a reply.
    pub response_timeout: Duration,
    /// The locks.
    pub locks: Vec<LockConfig>,
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

/// One entry of a store's `locks`.
#[derive(Clone, Debug, PartialEq)]
pub struct LockConfig {
    /// Which keys.
    pub keys: LockKeys,
    /// What is said of each lock.
    pub rules: Arc<LockRules>,
}

/// Which keys an entry stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum LockKeys {
    /// One key; the lock is called `name`.
    One {
        /// The lock's name.
        name: Arc<str>,
        /// The exact key.
        key: Vec<u8>,
    },
    /// All keys that a SCAN pattern matches.
    Matching {
        /// The lock's name with `{1}` or `{name}` for captured groups; `{0}` is the whole key.
        name: NameTemplate,
        /// Redis glob pattern.
        pattern: Vec<u8>,
        /// Applied to the key; a key that does not match it is not a lock of this entry.
        capture: Option<Pattern>,
        /// Keys watched at most.
        max_locks: usize,
    },
}

/// A name with places for captured groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTemplate(pub String);

/// What the config says of a lock. The default is what a `match` without more says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockRules {
    /// Which format to decode with; `None` detects it.
    pub format: Option<String>,
    /// Lease length.
    pub lease: Option<Duration>,
    /// Longest time one tenure may last.
    pub max_hold: Option<Duration>,
    /// Overrules the format's own answer.
    pub token: Option<TokenKind>,
    /// Whether something renews it; learned if absent.
    pub renewed: Option<bool>,
    /// The lease runs out on its own when the work is done, nobody releases it.
    pub ends_by_expiry: bool,
    /// Which series it has.
    pub series: SeriesTier,
    /// Somebody should always hold it.
    pub always_held: bool,
    /// How a token names its worker, host, pid and thread (named groups of these names).
    pub holder: Option<Pattern>,
    /// Configured by its `key`; a lock found by a pattern may turn out to be something else.
    pub by_key: bool,
}

/// Whether a token tells two acquires of one holder apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenKind {
    /// New for every acquire.
    PerAcquire,
    /// The same holder may use it again; a later expiry may be a re-acquire.
    Reusable,
}

/// Which series a lock or worker has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesTier {
    /// Core series, and only while (and for `retain` after) a signal is up.
    Flagged,
    /// Core series.
    #[default]
    Core,
    /// All series.
    Full,
}

/// A regular expression over bytes that compares by its text.
#[derive(Clone, Debug)]
pub struct Pattern(pub regex::bytes::Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

/// A group of workers: where their heartbeats and processes are.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerGroup {
    /// The group's name in the config.
    pub name: String,
    /// Workers known by name from the start.
    pub names: Vec<Arc<str>>,
    /// Serves every worker whose whole name matches, found as a lock's holder.
    pub matches: Option<Pattern>,
    /// Which series its workers have.
    pub series: SeriesTier,
    /// Where its process is, if it is on this host.
    pub process: Option<ProcessSource>,
    /// Where it beats.
    pub heartbeat: Option<Heartbeat>,
}

impl WorkerGroup {
    /// Whether this group serves the worker of that name.
    pub fn serves(&self, worker: &str) -> bool {
        self.names.iter().any(|n| &**n == worker)
            || self.matches.as_ref().is_some_and(|p| {
                p.0.find(worker.as_bytes()).is_some_and(|m| m.len() == worker.len())
            })
    }
}

/// How to find a worker's process. `{worker}` in a template stands for its name.
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessSource {
    /// The pid is the first number in this file.
    PidFile(String),
    /// The pid in the owner token.
    FromHolder,
    /// All processes of this systemd unit's cgroup.
    SystemdUnit(String),
    /// All processes whose command line (arguments joined by spaces) matches this regular expression.
    Command(String),
    /// All processes of this cgroup, as `/proc/<pid>/cgroup` writes it.
    Cgroup(String),
}

/// A worker's heartbeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Heartbeat {
    /// Where it is.
    pub source: Source,
    /// Age from which it counts as frozen; derived from the usual beat if absent.
    pub frozen_after: Option<Duration>,
}

/// Something outside that has a value. `{worker}` in keys, paths and URLs stands for the worker's name.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// In a configured store.
    Redis {
        /// The store's name.
        store: Arc<str>,
        /// The key.
        key: String,
        /// What of it.
        part: RedisPart,
        /// JSON pointer into the value.
        json: Option<String>,
    },
    /// A file: its modification time, or its content.
    File {
        /// Path.
        path: String,
        /// Its text counts instead of its modification time.
        content: bool,
    },
    /// An HTTP endpoint.
    Http {
        /// URL, `http` or `https`.
        url: String,
        /// What of the answer.
        part: HttpPart,
        /// TLS files for `https`.
        tls: TlsFiles,
        /// User and the file with the password.
        basic_auth: Option<(String, PathBuf)>,
        /// File with a bearer token.
        bearer_token_file: Option<PathBuf>,
    },
}

/// What of a Redis key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedisPart {
    /// The string.
    Text,
    /// A hash field.
    Field(String),
    /// The score of a sorted set's member.
    Member(String),
    /// That the key exists.
    Exists,
}

/// What of an HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpPart {
    /// That it is 2xx.
    Success,
    /// A JSON pointer into the body.
    Json(String),
    /// A sample of a Prometheus exposition: `name` or `name{label="x"}`.
    Metric(String),
}

/// A template with its `{worker}` places filled.
pub fn fill_worker(template: &str, worker: &str) -> String {
    template.replace("{worker}", worker)
}
