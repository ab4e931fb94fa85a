//! Lists of live workers as a view shows them: whether they can be read, and how many they name.

use std::sync::Arc;

use crate::config::Preset;
use crate::derive::State;
use crate::derive::store::Store;
use crate::observe::Mono;
use crate::observe::node::FailReason;

/// A list of live workers.
#[derive(Clone, Debug, PartialEq)]
pub struct ListView {
    /// Its name in the config.
    pub name: Arc<str>,
    /// What keeps it: `sidekiq`, `rq` and so on; `members` where the config says how it is made.
    pub preset: &'static str,
    /// Names in the last complete read, and how many seconds ago that was; `None` before one.
    pub read: Option<(u64, f64)>,
    /// Whether that is recent enough for the list to say anything.
    pub fresh: bool,
    /// Why the last read failed, if it did, and what exactly.
    pub failure: Option<(FailReason, String)>,
    /// Whether it ever named anybody; until then it says nothing.
    pub has_named: bool,
}

/// The lists that are in a store, by name.
pub(super) fn lists(state: &State, store: &Store, now: Mono) -> Vec<ListView> {
    let own = state.rules.live_workers.iter().filter(|l| l.store == store.name);
    let mut all: Vec<ListView> = own
        .filter_map(|config| {
            let list = state.workers.lists.get(&config.name)?;
            let failure = list.reads.failure.map(|reason| (reason, list.trouble.clone()));
            Some(ListView {
                name: config.name.clone(),
                preset: preset(&config.preset),
                read: list.last_read().map(|(n, at)| (n as u64, now.secs_since(at).max(0.0))),
                fresh: failure.is_none() && list.is_fresh(now),
                failure,
                has_named: list.has_named(),
            })
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn preset(preset: &Preset) -> &'static str {
    match preset {
        Preset::Sidekiq => "sidekiq",
        Preset::Rq => "rq",
        Preset::Resque => "resque",
        Preset::BullMq { .. } => "bullmq",
        Preset::Celery { .. } => "celery",
        Preset::Members { .. } => "members",
    }
}
