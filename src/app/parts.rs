//! Lets the worker pollers read heartbeats over the stores' own connections.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::observe::node::FailReason;
use crate::poll::part::{PartRequest, PartsFailed, PartsFuture, ReadParts};
use crate::poll::redis::StoreHandle;

/// The running stores by name.
#[derive(Clone, Default)]
pub struct Parts(Arc<ArcSwap<BTreeMap<String, StoreHandle>>>);

impl Parts {
    /// Replaces the set of stores.
    pub fn set(&self, stores: BTreeMap<String, StoreHandle>) {
        self.0.store(Arc::new(stores));
    }
}

impl ReadParts for Parts {
    fn read<'a>(&'a self, store: &'a str, parts: Vec<PartRequest>) -> PartsFuture<'a> {
        let handle = self.0.load().get(store).cloned();
        Box::pin(async move {
            match handle {
                Some(handle) => handle.read_parts(parts).await,
                None => Err(PartsFailed {
                    reason: FailReason::Missing,
                    detail: format!("store `{store}` is not running"),
                }),
            }
        })
    }
}
