//! What all pollers of a store share.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::messages::{Report, Request};
use crate::config::Store;
use crate::observe::node::FailReason;
use crate::observe::{Mono, StoreId};
use crate::poll::Out;

/// How often and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Between two sweeps.
    pub poll_interval: Duration,
    /// How long a key that a pattern found may be away before it is forgotten.
    pub retain: Duration,
}

/// What all pollers of a store share.
pub(super) struct Context {
    pub store: Arc<Store>,
    pub id: StoreId,
    pub settings: Settings,
    pub out: Out,
    pub reports: mpsc::Sender<Report>,
    pub patterns: Vec<Vec<u8>>,
    /// All nodes sweep in step from here on, so that primary and replicas are read together.
    pub epoch: Mono,
}

impl Context {
    /// The next instant at which a sweep begins.
    pub fn next_tick(&self, now: Mono) -> Mono {
        let interval = self.settings.poll_interval.max(Duration::from_millis(1));
        let done = now.since(self.epoch).as_nanos() / interval.as_nanos();
        let next = (done + 1).saturating_mul(interval.as_nanos());
        Mono(self.epoch.0.saturating_add(u64::try_from(next).unwrap_or(u64::MAX)))
    }
}

/// Where requests go at present.
#[derive(Clone, Default)]
pub(super) struct Links {
    pub primary: Option<mpsc::Sender<Request>>,
    /// Where it is.
    pub primary_at: Option<Arc<str>>,
    pub all: Vec<mpsc::Sender<Request>>,
    /// Why there is no primary.
    pub why: Option<FailReason>,
}
