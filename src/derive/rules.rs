//! What of the config the state machines need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::host::StallRules;
use crate::config::{Clock, Group, LiveList, NodeClock, WorkerGroup};

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
    /// Lists of live workers.
    pub live_workers: Arc<Vec<LiveList>>,
    /// Time between two samples of stalls.
    pub stall_poll: Duration,
    /// How far back the worst stall is looked for.
    pub stall_window: Duration,
    /// Clocks.
    pub clocks: Arc<Vec<Clock>>,
    /// Which of them is this host's.
    pub local_clock: Option<Arc<str>>,
    /// By store: the groups that its locks are told as.
    pub lock_groups: BTreeMap<Arc<str>, Vec<Group>>,
    /// By store: which clock disciplines which node.
    pub node_clocks: BTreeMap<Arc<str>, Vec<NodeClock>>,
    /// Stores that have an owner index.
    pub owner_indexes: BTreeSet<Arc<str>>,
}

impl Rules {
    /// The groups that a store's locks are told as.
    pub fn groups_of(&self, store: &str) -> &[Group] {
        self.lock_groups.get(store).map_or(&[], Vec::as_slice)
    }

    /// What the config says about stalls.
    pub fn stalls(&self) -> StallRules {
        StallRules {
            stall_poll: self.stall_poll,
            poll: self.poll_interval,
            window: self.stall_window,
        }
    }
}

impl Default for Rules {
    /// What the config says when it says nothing.
    fn default() -> Self {
        Self {
            poll_interval: Duration::from_secs(2),
            retain: Duration::from_secs(3600),
            max_workers: 1000,
            groups: Arc::default(),
            live_workers: Arc::default(),
            stall_poll: Duration::from_millis(500),
            stall_window: Duration::from_secs(3600),
            clocks: Arc::default(),
            local_clock: None,
            lock_groups: BTreeMap::new(),
            node_clocks: BTreeMap::new(),
            owner_indexes: BTreeSet::new(),
        }
    }
}
