//! Configurations of stores and locks.

use std::sync::Arc;
use std::time::Duration;

use crate::config::{
    LockConfig, LockKeys, LockRules, NameTemplate, Password, RedisAddr, RedisUrl, Store, TlsFiles,
    Topology,
};

fn rules() -> Arc<LockRules> {
    Arc::new(LockRules::default())
}

/// A lock called as its key.
pub fn one(key: impl AsRef<[u8]>) -> LockConfig {
    let key = key.as_ref().to_vec();
    let name = String::from_utf8_lossy(&key).into_owned().into();
    LockConfig { keys: LockKeys::One { name, key }, rules: rules() }
}

/// Locks called as their keys.
pub fn many(pattern: &str, max_locks: usize) -> LockConfig {
    let name = NameTemplate("{0}".into());
    let pattern = pattern.as_bytes().to_vec();
    LockConfig {
        keys: LockKeys::Matching { name, pattern, capture: None, max_locks },
        rules: rules(),
    }
}

pub fn store(port: u16, locks: Vec<LockConfig>) -> Store {
    Store {
        name: "main".into(),
        url: RedisUrl {
            addr: RedisAddr::Tcp { host: "127.0.0.1".into(), port },
            tls: false,
            db: 0,
        },
        topology: Topology::Standalone,
        further_urls: Vec::new(),
        replicas: Vec::new(),
        username: None,
        password: Password::None,
        tls: TlsFiles::default(),
        connect_timeout: Duration::from_secs(2),
        response_timeout: Duration::from_secs(2),
        events: crate::config::Events::Off,
        clients: crate::config::Clients::Auto,
        slowlog: crate::config::Slowlog::Off,
        owner_index: None,
        clocks: Vec::new(),
        locks,
    }
}
