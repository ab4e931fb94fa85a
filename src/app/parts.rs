//! Lets the pollers of workers and sources read over the stores' own connections.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::observe::node::FailReason;
use crate::poll::part::{PartRequest, PartsFailed, PartsFuture, PartsReply, ReadParts};
use crate::poll::redis::StoreHandle;

/// How long a store that a reload has stopped is waited for to begin anew.
const REPLACED: Duration = Duration::from_secs(2);

/// The running stores by name.
#[derive(Clone)]
pub struct Parts(Arc<watch::Sender<BTreeMap<String, StoreHandle>>>);

impl Default for Parts {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(BTreeMap::new())))
    }
}

impl Parts {
    /// Replaces the set of stores.
    pub fn set(&self, stores: BTreeMap<String, StoreHandle>) {
        self.0.send_replace(stores);
    }

    async fn read_at(
        &self,
        store: &str,
        parts: Vec<PartRequest>,
    ) -> Result<PartsReply, PartsFailed> {
        let mut stores = self.0.subscribe();
        let handle = stores.borrow_and_update().get(store).cloned();
        let missing = || PartsFailed {
            reason: FailReason::Missing,
            detail: format!("store `{store}` is not running"),
        };
        let handle = handle.ok_or_else(missing)?;
        let read = handle.read_parts(parts.clone()).await;
        if read.is_ok() || !handle.is_stopped() {
            return read;
        }
        // In the middle of a reload: that is no failure of the store.
        let _ = timeout(REPLACED, stores.changed()).await;
        let handle = stores.borrow().get(store).cloned();
        handle.ok_or_else(missing)?.read_parts(parts).await
    }
}

impl ReadParts for Parts {
    fn read<'a>(&'a self, store: &'a str, parts: Vec<PartRequest>) -> PartsFuture<'a> {
        Box::pin(self.read_at(store, parts))
    }
}
