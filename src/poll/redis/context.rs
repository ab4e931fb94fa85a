//! What all pollers of a store share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::messages::Report;
use super::silence::Silence;
use crate::clock;
use crate::config::{LockRules, Shard, Store};
use crate::observe::{Line, Mono, StoreId};
use crate::poll::Out;

/// How often and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Between two sweeps.
    pub poll_interval: Duration,
    /// Between two reads of a key that is proven unchanged meanwhile.
    pub sweep_interval: Duration,
    /// How long a key that a pattern found may be away before it is forgotten.
    pub retain: Duration,
    /// Which of the locks are watched.
    pub shard: Shard,
}

/// Polls for which a key of a group may be away: as long as what was settled of it may wait for evidence, and a lock that is
/// taken again at once counts as the same.
const BRIEF_POLLS: u32 = 4;
/// The same for short intervals.
const BRIEF: Duration = Duration::from_secs(5);

impl Settings {
    /// How long a key that a pattern found may be away. Locks of a group are short-lived: there are always new ones, and
    /// those that went are only counted.
    pub fn patience(&self, rules: &LockRules) -> Duration {
        match rules.group {
            Some(_) => self.brief(),
            None => self.retain,
        }
    }

    /// How often a key of a group that needs a look is told to have gone until it has been away as long as any other may.
    pub fn keeps(&self) -> u32 {
        let times = self.retain.as_nanos() / self.brief().as_nanos().max(1);
        u32::try_from(times).unwrap_or(u32::MAX)
    }

    fn brief(&self) -> Duration {
        (self.poll_interval * BRIEF_POLLS).max(BRIEF).min(self.retain)
    }
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
    /// What the feed of each line proves.
    pub silences: Mutex<BTreeMap<Line, Arc<Silence>>>,
}

impl Context {
    /// Sweeps are in step from now on.
    pub fn new(
        (store, id): (Arc<Store>, StoreId),
        settings: Settings,
        out: Out,
        reports: mpsc::Sender<Report>,
        patterns: Vec<Vec<u8>>,
    ) -> Self {
        let (epoch, silences) = (clock::mono(), Mutex::default());
        Self { store, id, settings, out, reports, patterns, epoch, silences }
    }

    /// What the feed of a line proves; nothing while there is none.
    pub fn silence(&self, line: Line) -> Arc<Silence> {
        let mut all = self.silences.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(line).or_default().clone()
    }

    /// The next instant at which a sweep begins.
    pub fn next_tick(&self, now: Mono) -> Mono {
        let interval = self.settings.poll_interval.max(Duration::from_millis(1));
        let done = now.since(self.epoch).as_nanos() / interval.as_nanos();
        let next = (done + 1).saturating_mul(interval.as_nanos());
        Mono(self.epoch.0.saturating_add(u64::try_from(next).unwrap_or(u64::MAX)))
    }
}
