//! What of the config the state machines need.

use std::sync::Arc;
use std::time::Duration;

use crate::config::WorkerGroup;

/// What of the config the state machines need.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Time between two polls.
    pub poll_interval: Duration,
    /// How long what is free or gone is kept.
    pub retain: Duration,
    /// Workers at most.
    pub max_workers: usize,
    /// Worker groups.
    pub groups: Arc<Vec<WorkerGroup>>,
}
