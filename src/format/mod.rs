//! Lock bytes to owner facts, one file per library family. Pure: no I/O, no clock. Bytes come from a server that anyone
//! may write to, so nothing here trusts them: what is not known to be an owner is none.
//!
//! A new format is one file with a [`Format`] and one line in [`REGISTRY`]; the reference follows from it. How that is
//! done is shown in `developing.md`, what there is in `formats.md`.

use std::time::Duration;

use crate::config::{LockRules, TokenKind};
use crate::observe::lock::{Endless, Shape, Sharing};
use crate::observe::{Decoded, ServerTime};

pub mod bsm_redislock;
pub mod bullmq;
mod detect;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod holder;
pub mod jedis_lock;
pub mod json;
pub mod laravel;
pub mod medallion;
pub mod node_redlock;
pub mod python_redis_lock;
pub mod quartz;
pub mod redbeat;
pub mod redis_lock_rs;
pub mod redis_py;
pub mod redis_semaphore;
pub mod redisson;
pub mod redisson_multilock;
pub mod redisson_rwlock;
pub mod redisson_semaphore;
pub mod redlock;
pub mod redlock_net;
pub mod redsync;
pub mod reference;
pub mod rslock;
pub mod rueidislock;
pub mod scripts;
pub mod shedlock;
pub mod sidekiq;
pub mod spring;
mod strangers;
pub mod string;
pub mod symfony;
mod value;

pub use detect::{cut, decode, is_companion, shape_of};

/// All formats. Of several that fit a value equally well the first gives it its name, so those that claim least come
/// first.
pub static REGISTRY: &[&Format] = &[
    &string::FORMAT,
    &redlock::FORMAT,
    &redlock_net::FORMAT,
    &redis_lock_rs::SINGLE,
    &redis_lock_rs::MULTI,
    &spring::FORMAT,
    &redis_semaphore::MUTEX,
    &redis_semaphore::PERMITS,
    &quartz::FORMAT,
    &jedis_lock::FORMAT,
    &redis_py::FORMAT,
    &redbeat::FORMAT,
    &python_redis_lock::FORMAT,
    &node_redlock::FORMAT,
    &redsync::FORMAT,
    &bsm_redislock::FORMAT,
    &rslock::FORMAT,
    &rueidislock::FORMAT,
    &laravel::CACHE,
    &laravel::OVERLAP,
    &laravel::UNIQUE,
    &laravel::SCHEDULE,
    &shedlock::FORMAT,
    &bullmq::FORMAT,
    &sidekiq::UNIQUE_JOBS,
    &sidekiq::ENTERPRISE,
    &medallion::MUTEX,
    &medallion::READERS,
    &medallion::SEMAPHORE,
    &symfony::FORMAT,
    &redisson::FORMAT,
    &redisson_rwlock::FORMAT,
    &redisson_multilock::FORMAT,
    &redisson_semaphore::FORMAT,
    &json::FORMAT,
];

/// Holders of one lock that are told apart; a value with more members than that is left alone.
pub const MAX_HOLDERS: usize = 256;

/// Companions of one lock: one for each of 64 readers, and as many again for those that took it more than once.
pub const MAX_COMPANIONS: usize = 128;

/// One library family: how its locks are read, and what is known of all of them.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name: in the config, in `dlock_lock_info` and in the reference.
    pub name: &'static str,
    /// The libraries whose locks it reads, for the reference.
    pub libraries: &'static str,
    /// The type of its keys.
    pub kind: Kind,
    /// What its keys are called, for the reference.
    pub key: &'static str,
    /// What its values look like, for the reference.
    pub value: &'static str,
    /// Whether tokens are new for each acquire, where it is certain that they are this family's.
    pub tokens: TokenKind,
    /// Whether a holder's tokens are the same for every acquire by design; else some users of the family may use one again.
    pub reuses_tokens: bool,
    /// The lease length that it uses unless told otherwise.
    pub default_lease: Option<Duration>,
    /// The longest renewal period as a share of the lease, where it always renews by itself.
    pub always_renews: Option<f64>,
    /// What renews it, for the reference.
    pub renewal: &'static str,
    /// Whether more than one may hold it at once.
    pub sharing: Sharing,
    /// What it means that a key has no expiry.
    pub endless: Endless,
    /// Its locks are left to run out.
    pub ends_by_expiry: bool,
    /// The keys beside its locks, for the reference.
    pub companions: &'static str,
    /// Decodes a value of its type, and says how sure it is that it is one of its own. `None`: it is not.
    pub decode: fn(&Sight<'_>) -> Option<(Fit, Decoded)>,
    /// Whether a key belongs to a lock of this family without being one: a queue, a counter, a signal.
    pub is_companion: fn(&[u8]) -> bool,
}

/// What most formats have in common, to begin one with.
const PLAIN: Format = Format {
    name: "",
    libraries: "",
    kind: Kind::String,
    key: "any",
    value: "",
    tokens: TokenKind::Reusable,
    reuses_tokens: false,
    default_lease: None,
    always_renews: None,
    renewal: "by the application, if at all",
    sharing: Sharing::Exclusive,
    endless: Endless::Abnormal,
    ends_by_expiry: false,
    companions: "",
    decode: |_| None,
    is_companion: |_| false,
};

impl Format {
    /// A value of this format, as far as the format says; the holders are to be added.
    fn decoded(&self, shape: Shape) -> Decoded {
        Decoded {
            tokens: self.tokens,
            reuses_tokens: self.reuses_tokens,
            default_lease: self.default_lease,
            always_renews: self.always_renews,
            sharing: self.sharing,
            endless: self.endless,
            ends_by_expiry: self.ends_by_expiry,
            ..Decoded::nobody(self.name, shape)
        }
    }
}

/// Types of keys that locks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    String,
    /// A hash.
    Hash,
    /// A sorted set.
    Zset,
    /// A set.
    Set,
}

/// A value to be decoded, and what is known beside it.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// The value.
    pub raw: Raw<'a>,
    /// What the config says of the lock.
    pub rules: &'a LockRules,
    /// The time of the server that has it, by which a time inside a token can be told from a random number.
    pub now: ServerTime,
    /// The config declares the format that is asked: whatever the value can mean in it, it means.
    pub is_declared: bool,
}

/// How well a value fits a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Nothing speaks against it.
    Possible,
    /// The shape of the value is what this family writes, and others may too.
    Likely,
    /// No other family writes that, under such a key.
    Certain,
}

/// A value as the server gave it.
#[derive(Clone, Copy, Debug)]
pub enum Raw<'a> {
    /// A string; of a long one only the beginning.
    String {
        /// Its first bytes.
        bytes: &'a [u8],
        /// How long it is on the server.
        full_len: usize,
    },
    /// All fields of a small hash with their values.
    Hash(&'a [(&'a [u8], &'a [u8])]),
    /// All members of a small sorted set with their scores; of a large one those with the highest.
    Zset(&'a [(&'a [u8], f64)]),
    /// All members of a small set.
    Set(&'a [&'a [u8]]),
    /// A key that was not read: no format of this version knows its type, or it is too large for a lock.
    Unread(Shape),
}

#[cfg(test)]
mod tests;
