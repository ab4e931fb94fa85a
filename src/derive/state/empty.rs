//! Sources that can be read and have nothing, and never had: often a slip in their key. That is told once for each source of
//! the config, not for each of the locks or workers that share it by a pattern.

use std::collections::BTreeSet;
use std::mem::discriminant;
use std::sync::Arc;

use super::State;
use crate::derive::wanted::Effects;
use crate::observe::source::SourceRef;

/// Sources remembered at most; beyond it all are forgotten, which costs a line.
const MOST: usize = 1024;

/// Of which shared sources it was told.
#[derive(Clone, Debug, Default)]
pub(super) struct Told(BTreeSet<String>);

impl Told {
    fn is_new(&mut self, source: String) -> bool {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(source)
    }
}

impl State {
    pub(super) fn source_empty(
        &mut self,
        source: &SourceRef,
        store: Arc<str>,
        lock: Arc<str>,
        detail: String,
        fx: &mut Effects,
    ) {
        let locks = self.stores.values().filter(|s| s.name == store);
        let found = locks.flat_map(|s| s.locks.values()).find(|l| l.name == lock);
        let Some(rules) = found.map(|l| &l.rules) else { return };
        let resource = match source {
            SourceRef::FencingAccepted { resource, .. }
            | SourceRef::FencingRejected { resource, .. }
            | SourceRef::EffectsTotal { resource, .. }
            | SourceRef::EffectsDistinct { resource, .. } => resource,
            SourceRef::FencingIssued { .. } | SourceRef::Claim { .. } => &store,
        };
        let kind = discriminant(source);
        let shared = format!("{:p} {kind:?} {resource}", Arc::as_ptr(rules));
        if rules.by_key || self.empty.is_new(shared) {
            fx.changed(store, lock, "source_empty", detail);
        }
    }

    pub(super) fn claim_empty(&mut self, worker: &Arc<str>, fx: &mut Effects) {
        let Some(w) = self.workers.by_name.get(worker) else { return };
        if w.is_configured || self.empty.is_new(format!("claim {:?}", w.group)) {
            let detail = "no claim seen yet; the source answers that there is nothing".to_owned();
            fx.changed("", worker.clone(), "claim_empty", detail);
        }
    }
}
