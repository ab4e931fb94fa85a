//! An entry of a store's `locks`: which keys it stands for and what is said of each lock. Decodes nothing.

use std::sync::Arc;
use std::time::Duration;

use super::{Pattern, Source};

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
    /// Several keys of one lock, which who has more than half of them holds.
    Several {
        /// The lock's name.
        name: Arc<str>,
        /// The exact keys, at least two.
        keys: Vec<Vec<u8>>,
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
    /// The lease runs out on its own when the work is done, nobody releases it. Overrules the format's own answer.
    pub ends_by_expiry: Option<bool>,
    /// Which series it has.
    pub series: SeriesTier,
    /// Somebody should always hold it.
    pub always_held: bool,
    /// How a token names its worker, host, pid and thread (named groups of these names).
    pub holder: Option<Pattern>,
    /// Its store has an `owner_index`, which may name the worker of a token that does not.
    pub has_index: bool,
    /// Configured by its `key`; a lock found by a pattern may turn out to be something else.
    pub by_key: bool,
    /// Where a JSON value names its owner: a JSON pointer.
    pub owner_json: Option<String>,
    /// Holders of a semaphore at most.
    pub limit: Option<u64>,
    /// Which list of live workers must know its holder; of a group of formats with a registry of their own, that one.
    pub listed_in: Option<Arc<str>>,
    /// Who is expected to hold it; nobody in particular if empty.
    pub workers: Vec<Arc<str>>,
    /// Who checks its fencing tokens.
    pub fencing: Option<Fencing>,
    /// Side effects that its holder has.
    pub effects: Vec<Effects>,
    /// One set of series for all locks of the entry, single ones only for this many that need a look.
    pub group: Option<Group>,
    /// How many servers of their own each have its key, in a store of several.
    pub servers: Option<u16>,
    /// Keys of one kind: what is learned of the others' holds applies to a lock that has too few of its own.
    pub pooled: bool,
}

/// Where fencing tokens are issued and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Fencing {
    /// The last token issued; a format with a counter of its own needs none.
    pub issued: Option<Source>,
    /// The largest token that each resource accepted.
    pub accepted: Vec<ResourceSource>,
    /// Writes that each resource refused for an old token.
    pub rejected: Vec<ResourceSource>,
}

/// A number that a protected resource tells.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceSource {
    /// The resource, the `resource` label.
    pub name: Arc<str>,
    /// Where the number is.
    pub source: Source,
}

/// Side effects on a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// The resource, the `resource` label.
    pub name: Arc<str>,
    /// How many there were.
    pub total: Source,
    /// For how many logical requests; duplicates are not told without it.
    pub distinct: Option<Source>,
}

/// Many short-lived locks behind one pattern, told as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The group's name, the `group` label.
    pub name: Arc<str>,
    /// Single locks that have series of their own at most: those that need a look first.
    pub top: usize,
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
