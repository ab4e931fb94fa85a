//! Whom a store follows that has sentinels: only facts of nodes and the sentinels' word, on invented time.

use std::sync::Arc;

use super::sim::{STORE, Sim, rules};
use crate::observe::{NodeFacts, Observation, Role, SentinelsSay};
use crate::view::{Instant, View};

/// The node that the simulated store begins with.
const OLD: &str = "redis:6379";
const NEW: &str = "new:6379";
const FOREIGN: &str = "foreign:6379";

struct World(Sim);

impl World {
    /// All sentinels name the old one.
    fn new() -> Self {
        let mut world = Self(Sim::new(1_000, None, rules()));
        world.say(Some((OLD, true)), Some(false));
        world.node(OLD, Role::Master);
        assert_eq!(world.primary().as_deref(), Some(OLD));
        world
    }

    fn node(&mut self, addr: &str, role: Role) {
        let mut facts = NodeFacts { role, connection: 7, ..self.0.node_facts() };
        facts.node.addr = addr.into();
        facts.run_id = Some(addr.into());
        self.0.step(Observation::Node(Box::new(facts)));
    }

    fn say(&mut self, named: Option<(&str, bool)>, disagree: Option<bool>) {
        self.0.step(Observation::Sentinels(SentinelsSay {
            store: STORE,
            at: self.0.now(),
            primary: named.map(|(addr, _)| addr.into()),
            is_majority: named.is_some_and(|(_, most)| most),
            disagree: Some(disagree),
        }));
    }

    fn primary(&self) -> Option<Arc<str>> {
        self.0.state.stores[&STORE].lines.values().find_map(|l| l.primary.clone())
    }

    fn view(&self, after_ms: u64) -> crate::view::StoreView {
        let mono = self.0.now().plus(std::time::Duration::from_millis(after_ms));
        View::of(&self.0.state, Instant { mono, wall: 0.0 }, 1).stores.remove(0)
    }
}

#[test]
fn one_that_nobody_names_never_takes_over() {
    let mut w = World::new();
    w.node(OLD, Role::Replica { linked: true });
    w.node(FOREIGN, Role::Master);
    assert_eq!(w.primary(), None, "it says master, and no sentinel names it");
    w.node(NEW, Role::Master);
    assert_eq!(w.primary(), None, "promoted, and not named yet");
    w.say(Some((NEW, true)), Some(false));
    w.node(FOREIGN, Role::Master);
    w.node(NEW, Role::Master);
    assert_eq!(w.primary().as_deref(), Some(NEW));
    w.node(OLD, Role::Master);
    assert_eq!(w.primary().as_deref(), Some(NEW), "the old one is back");
    assert_eq!(w.view(0).failovers, 1);
}

#[test]
fn one_that_lives_gives_way_to_a_majority_only() {
    let mut w = World::new();
    w.say(Some((NEW, false)), Some(true));
    w.node(NEW, Role::Master);
    assert_eq!(w.primary().as_deref(), Some(OLD), "some cannot be asked");
    w.say(Some((NEW, true)), Some(false));
    w.node(OLD, Role::Master);
    assert_eq!(w.primary().as_deref(), Some(OLD), "the named one has not said so again");
    w.node(NEW, Role::Replica { linked: true });
    assert_eq!(w.primary().as_deref(), Some(OLD));
    w.node(NEW, Role::Master);
    assert_eq!((w.primary().as_deref(), w.view(0).failovers), (Some(NEW), 1));
}

#[test]
fn without_a_word_of_theirs_it_is_as_without_sentinels() {
    let mut w = World::new();
    w.say(None, None);
    w.node(FOREIGN, Role::Master);
    assert_eq!(w.primary().as_deref(), Some(OLD));
    w.node(OLD, Role::Replica { linked: true });
    w.node(FOREIGN, Role::Master);
    assert_eq!(w.primary().as_deref(), Some(FOREIGN));
}

#[test]
fn one_that_does_not_tell_its_role_is_what_they_say() {
    let mut w = World::new();
    w.node(OLD, Role::Replica { linked: true });
    w.node(NEW, Role::Unknown);
    assert_eq!(w.primary(), None);
    w.say(Some((NEW, true)), Some(false));
    w.node(FOREIGN, Role::Unknown);
    w.node(NEW, Role::Unknown);
    assert_eq!(w.primary().as_deref(), Some(NEW));
}

#[test]
fn their_disagreement_is_shown_while_it_is_fresh() {
    let mut w = World::new();
    assert_eq!(w.view(0).sentinels_disagree, Some(false));
    w.say(Some((OLD, true)), Some(true));
    assert_eq!(w.view(0).sentinels_disagree, Some(true));
    assert_eq!(w.view(60_000).sentinels_disagree, None, "old");
    w.say(None, None);
    assert_eq!(w.view(0).sentinels_disagree, None, "nobody answers");
}

#[test]
fn a_sentinel_has_no_lease_to_lose_by_a_restart() {
    let mut w = World::new();
    w.node("s:26379", Role::Sentinel);
    let mut facts = NodeFacts { role: Role::Sentinel, connection: 8, ..w.0.node_facts() };
    facts.node.addr = "s:26379".into();
    facts.run_id = Some("another".into());
    w.0.step(Observation::Node(Box::new(facts)));
    let view = w.view(0);
    let sentinel = view.nodes.iter().find(|n| &*n.addr == "s:26379").unwrap();
    let shown = sentinel.facts.as_ref().unwrap();
    assert_eq!((shown.role, shown.restart_unsafe, sentinel.restarts), ("sentinel", None, 1));
    assert_eq!(w.primary().as_deref(), Some(OLD));
}
