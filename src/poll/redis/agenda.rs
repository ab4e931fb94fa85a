//! What the nodes of one line are to read: their keys, and the patterns that they look for. The supervisor changes it, the
//! nodes follow. Plain data.

use std::sync::Arc;

use tokio::sync::watch;

use super::keys::KeyList;

/// Patterns for `SCAN`.
pub type Patterns = Arc<[Vec<u8>]>;

/// What one line reads.
#[derive(Clone)]
pub struct Agenda {
    /// Keys.
    pub keys: watch::Sender<KeyList>,
    /// Patterns.
    pub patterns: watch::Sender<Patterns>,
}

impl Agenda {
    /// This from the start.
    pub fn new(keys: KeyList, patterns: &[Vec<u8>]) -> Self {
        Self { keys: watch::Sender::new(keys), patterns: watch::Sender::new(patterns.into()) }
    }
}
