//! What the config may say in a lock's `format`, and as much of each format as other keys of the lock can contradict. The
//! formats themselves are in the registry of `format`, which the config may not ask; a test there compares the two.

use Names::{Nobody, Process, Worker};

/// A lock format that can be named in `format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFormat {
    /// Its name.
    pub name: &'static str,
    /// Whom it names as the holder without a `holder` pattern.
    pub names: Names,
    /// Its locks are semaphores, or can be.
    pub has_permits: bool,
    /// Its values are strings.
    pub is_string: bool,
}

/// What a format tells of a lock's holder by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Names {
    /// Nothing that is the name of a worker.
    Nobody,
    /// Its worker, or the host that stands for it.
    Worker,
    /// The same, and its pid.
    Process,
}

impl Names {
    /// Its words in the reference of formats.
    pub fn as_str(self) -> &'static str {
        match self {
            Nobody => "",
            Worker => "worker",
            Process => "worker, pid",
        }
    }
}

/// Lock formats that can be named in `format`; `auto` detects them. Those of the registry in `format`, in its order.
pub const FORMATS: &[KnownFormat] = &[
    string("string", Nobody),
    string("redlock", Nobody),
    string("redlock-net", Nobody),
    string("redis-lock-rs", Nobody),
    string("redis-lock-rs-multi", Nobody),
    string("spring-integration", Nobody),
    string("redis-semaphore", Worker),
    semaphore("redis-semaphore-permits", Worker),
    string("quartz", Worker),
    string("jedis-lock", Nobody),
    string("redis-py", Nobody),
    string("redbeat", Nobody),
    string("python-redis-lock", Nobody),
    string("node-redlock", Nobody),
    string("redsync", Nobody),
    string("bsm-redislock", Nobody),
    string("rslock", Nobody),
    string("rueidislock", Nobody),
    string("laravel", Nobody),
    string("laravel-overlap", Nobody),
    string("laravel-unique", Nobody),
    string("laravel-schedule", Nobody),
    string("shedlock", Worker),
    string("bullmq", Worker),
    semaphore("sidekiq-unique-jobs", Nobody),
    string("sidekiq-enterprise", Nobody),
    string("medallion", Process),
    other("medallion-readers", Process),
    semaphore("medallion-semaphore", Process),
    other("symfony", Nobody),
    other("redisson", Nobody),
    other("redisson-rwlock", Nobody),
    semaphore("redisson-multilock", Nobody),
    semaphore("redisson-semaphore", Nobody),
    string("json", Nobody),
];

/// The format of that name.
pub fn known_format(name: &str) -> Option<&'static KnownFormat> {
    FORMATS.iter().find(|f| f.name == name)
}

const fn string(name: &'static str, names: Names) -> KnownFormat {
    KnownFormat { name, names, has_permits: false, is_string: true }
}

/// A lock in a hash, a set or a sorted set.
const fn other(name: &'static str, names: Names) -> KnownFormat {
    KnownFormat { name, names, has_permits: false, is_string: false }
}

const fn semaphore(name: &'static str, names: Names) -> KnownFormat {
    KnownFormat { name, names, has_permits: true, is_string: false }
}
