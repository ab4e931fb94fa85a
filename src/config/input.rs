//! What a configuration is made of, before anything is read.

use std::path::PathBuf;

/// What a configuration is made of. It may hold passwords and has no `Debug` for that reason.
#[derive(Clone, Default)]
pub struct Input {
    /// The YAML file, if one is given.
    pub file: Option<PathBuf>,
    /// Server for a start without a file; it is called `main`.
    pub redis_url: Option<String>,
    /// SCAN patterns of the locks for a start without a file.
    pub lock_patterns: Vec<String>,
    /// Which share of the locks is watched, counted from 0.
    pub shard: Option<u32>,
    /// How many shares there are.
    pub total_shards: Option<u32>,
    /// The environment: `DLOCK__STORES__MAIN__LOCKS__0__LEASE` overrides `stores.main.locks[0].lease`.
    pub env: Vec<(String, String)>,
}
