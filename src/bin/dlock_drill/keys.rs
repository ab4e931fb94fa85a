//! The names of everything that a rehearsal writes or that its exporter watches. Every key begins with the drill's prefix;
//! nothing else makes a key.

/// What every key of the drill begins with.
pub const PREFIX: &str = "dlock_drill:";

/// Whose rehearsal the server has at the moment.
pub const CLAIM: &str = "dlock_drill:rehearsal";

/// The lock of the n-th run of a scenario, as the exporter calls it.
pub fn lock_name(scenario: &str, run: u32) -> String {
    format!("drill-{scenario}-{run}")
}

/// The key of a lock so called.
pub fn lock_key(lock: &str) -> String {
    format!("{PREFIX}lock:{lock}")
}

/// The counter that a lock's fencing tokens come from.
pub fn fence_key(lock: &str) -> String {
    format!("{PREFIX}fence:{lock}")
}

/// The n-th worker of a lock. It has no colon: the token's first part is the worker.
pub fn worker_name(lock: &str, n: u32) -> String {
    format!("{lock}-w{n}")
}

/// Where a worker beats.
pub fn heartbeat_key(worker: &str) -> String {
    format!("{PREFIX}hb:{worker}")
}
