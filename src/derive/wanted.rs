//! What a step asks for and what it noticed: plain data that `app` carries to the pollers and to the log.

use std::sync::Arc;

use super::words::LivenessSource;
use crate::observe::{KeyId, Mono, StoreId};

/// A read that some verdict needs at a certain instant; one in the past means at once. Best effort: a verdict that
/// misses its read says less, never something wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// Read this key on its primary.
    Key {
        /// Its store.
        store: StoreId,
        /// Which key.
        key: KeyId,
        /// When the request should leave.
        at: Mono,
    },
    /// Read what the primary says of itself, now.
    Facts {
        /// Its store.
        store: StoreId,
    },
    /// Look at this worker.
    Look {
        /// Its name.
        worker: Arc<str>,
        /// At what.
        what: LivenessSource,
        /// When the read should begin.
        at: Mono,
    },
}

/// Something worth a line in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// How loud.
    pub weight: Weight,
    /// The store's name; empty for a worker.
    pub store: Arc<str>,
    /// The lock's or the worker's name.
    pub subject: Arc<str>,
    /// One word, as in the lock's timeline.
    pub what: &'static str,
    /// For a person; no secrets.
    pub detail: String,
}

/// How loud a [`Notice`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Daily life of a lock.
    Routine,
    /// A state of something watched changed.
    Change,
    /// A signal rose.
    Alarm,
}

/// All that a step leaves behind besides the state.
#[derive(Debug, Default)]
pub struct Effects {
    /// Reads to be made.
    pub wanted: Vec<Wanted>,
    /// Keys found by a pattern that should stay watched for a while should they go: somebody will want to look at them.
    pub keep: Vec<(StoreId, KeyId)>,
    /// Lines for the log.
    pub notices: Vec<Notice>,
    /// The set of workers to watch has changed.
    pub watch_changed: bool,
}

impl Effects {
    /// Something watched changed. `store` is empty for what belongs to none.
    pub fn changed(
        &mut self,
        store: impl Into<Arc<str>>,
        subject: impl Into<Arc<str>>,
        what: &'static str,
        detail: String,
    ) {
        let (store, subject) = (store.into(), subject.into());
        self.notices.push(Notice { weight: Weight::Change, store, subject, what, detail });
    }
}
