//! Addresses in `stores.NAME.clocks` at which no node is seen: a mapping of no use, which nothing else shows. Must not
//! speak before replicas have had the time to be found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::derive::rules::Rules;
use crate::derive::store::Store;
use crate::derive::wanted::Effects;
use crate::observe::{Mono, StoreId};

/// Polls that replicas have to be found in.
const POLLS: u32 = 3;
/// Nodes that are named instead.
const MOST_NAMED: usize = 8;

/// What was told.
#[derive(Clone, Debug, Default)]
pub struct Strays {
    /// By store: under which id, and since when its primary is swept.
    swept: BTreeMap<Arc<str>, (StoreId, Mono)>,
    told: BTreeSet<(Arc<str>, Arc<str>)>,
}

impl Strays {
    /// The primary of a store was swept.
    pub fn swept(&mut self, store: &Store, rules: &Rules, now: Mono, fx: &mut Effects) {
        let Some(mapped) = rules.node_clocks.get(&store.name) else { return };
        let first = self.swept.entry(store.name.clone()).or_insert((store.id, now));
        if first.0 != store.id {
            *first = (store.id, now);
        }
        if now.since(first.1) < rules.poll_interval * POLLS {
            return;
        }
        for node in mapped.iter().filter(|m| !store.nodes.contains_key(m.addr.as_str())) {
            let place = (store.name.clone(), Arc::from(node.addr.as_str()));
            if !self.told.contains(&place) {
                let named: Vec<&str> = store.nodes.keys().map(|a| &**a).take(MOST_NAMED).collect();
                let detail = format!(
                    "no node of this store is seen at {}, which `clocks` of the store names for the clock {}; its nodes are: {}",
                    node.addr,
                    node.clock,
                    named.join(", ")
                );
                fx.changed(place.0.clone(), place.1.clone(), "clock_without_node", detail);
                self.told.insert(place);
            }
        }
    }

    /// Forgets what is not configured any more.
    pub fn keep(&mut self, rules: &Rules) {
        self.swept.retain(|store, _| rules.node_clocks.contains_key(store));
        self.told.retain(|(store, addr)| {
            rules.node_clocks.get(store).is_some_and(|list| list.iter().any(|m| *m.addr == **addr))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeClock;
    use crate::derive::node::Node;

    fn rules(addrs: &[&str]) -> Rules {
        let list = addrs.iter().map(|a| NodeClock { addr: (*a).into(), clock: "c".into() });
        Rules { node_clocks: BTreeMap::from([("main".into(), list.collect())]), ..Rules::default() }
    }

    #[test]
    fn an_address_that_is_no_node_is_told_once_when_replicas_are_found() {
        let (mut strays, mut fx) = (Strays::default(), Effects::default());
        let mut store = Store::new(StoreId(1), "main".into());
        let addr: Arc<str> = "a:6379".into();
        store.nodes.insert(addr.clone(), Node::new(addr));
        let with_typo = rules(&["a:6379", "b:6379", "a:9999"]);
        let mut told = Vec::new();
        for k in 0..20u64 {
            if k == 2 {
                let addr: Arc<str> = "b:6379".into();
                store.nodes.insert(addr.clone(), Node::new(addr));
            }
            strays.swept(&store, &with_typo, Mono::from_secs_f64(100.0 + 2.0 * k as f64), &mut fx);
            told.extend(fx.notices.drain(..).map(|n| (k, n.what, n.subject.to_string())));
        }
        assert_eq!(told, [(3, "clock_without_node", "a:9999".to_owned())]);
        // Another config, and the typo again.
        strays.keep(&rules(&["a:6379"]));
        strays.swept(&store, &with_typo, Mono::from_secs_f64(200.0), &mut fx);
        assert_eq!(fx.notices.len(), 1);
    }
}
