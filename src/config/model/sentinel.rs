//! The sentinels of a store: what they call its primary, and how they are reached. Where they are is the store's `url` or
//! `urls`. Holds no connection and reads no file.

use super::{Password, Store, TlsFiles, Topology};

/// Sentinels that name a store's primary and replicas.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentinels {
    /// The name under which they watch the primary.
    pub master: String,
    /// ACL user on the sentinels, if any.
    pub username: Option<String>,
    /// Their password; it need not be the servers'.
    pub password: Password,
    /// TLS to the sentinels, if it is spoken.
    pub tls: Option<TlsFiles>,
}

impl Store {
    /// Its sentinels, where it has any.
    pub fn sentinels(&self) -> Option<&Sentinels> {
        match &self.topology {
            Topology::Sentinel(sentinels) => Some(sentinels),
            _ => None,
        }
    }

    /// The store as its sentinels are to be connected to: their user, password and TLS in place of the servers', and no
    /// database. `None` where it has no sentinels.
    pub fn of_sentinels(&self) -> Option<Store> {
        let theirs = self.sentinels()?;
        let mut store = self.clone();
        store.username.clone_from(&theirs.username);
        store.password = theirs.password.clone();
        store.tls = theirs.tls.clone().unwrap_or_default();
        store.url.tls = theirs.tls.is_some();
        store.url.db = 0;
        Some(store)
    }
}
