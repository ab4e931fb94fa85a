//! How far a lock server's wall clock can be from this host's: the tighter of what `TIME` shows and what chronyd says on
//! both ends. Both are bounds, so the truth lies in both; where they exclude each other, one of their assumptions is
//! broken and only the measured one (`TIME`) is believed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Clocks;
use super::walls::Walls;
use crate::derive::host_clock::wall_ahead;
use crate::derive::interval::Interval;
use crate::derive::node::Node;
use crate::derive::wanted::{Effects, Notice, Weight};
use crate::observe::Mono;

/// A contradiction that lasts for so many polls is none of two answers from before and after a step.
const POLLS: u32 = 2;

/// What is known of the difference between a server's wall clock and this host's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skew {
    /// Server minus this host.
    pub interval: Interval,
    /// What `TIME` and chronyd say excludes each other.
    pub is_disputed: bool,
}

/// The skew of a node; `None` if nothing is known of its clock, or if it stands still or was just stepped.
pub fn skew(clocks: &Clocks, walls: &Walls<'_>, store: &str, node: &Node) -> Option<Skew> {
    let chrony = by_chrony(clocks, walls, store, node);
    if node.clock.offset_micros().is_none() {
        return chrony.map(|interval| Skew { interval, is_disputed: false });
    }
    let time = by_time(walls, node)?;
    match chrony {
        None => Some(Skew { interval: time, is_disputed: false }),
        Some(chrony) => Some(match time.intersect(chrony) {
            Some(interval) => Skew { interval, is_disputed: false },
            None => Skew { interval: time, is_disputed: true },
        }),
    }
}

/// By `TIME`, and one reading of this host's wall clock.
fn by_time(walls: &Walls<'_>, node: &Node) -> Option<Interval> {
    let offset = node.clock.interval_at(walls.now).filter(|_| node.clock.is_settled())?;
    Some(Interval::from_micros(offset).minus(wall_ahead(walls.host.last()?)))
}

/// By what chronyd says on both ends, each widened by what may have happened since.
fn by_chrony(clocks: &Clocks, walls: &Walls<'_>, store: &str, node: &Node) -> Option<Interval> {
    let theirs = clocks.judge(walls.clock_of(store, &node.addr)?, walls)?.error?;
    let ours = clocks.judge(walls.rules.local_clock.as_deref()?, walls)?.error?;
    Some(theirs.minus(ours))
}

/// A store's name and a node's address.
type Place = (Arc<str>, Arc<str>);

/// The nodes that have a configured clock and are disputed now, and what `TIME` says of each.
pub(super) fn disputes(clocks: &Clocks, walls: &Walls<'_>) -> Vec<(Place, Interval)> {
    let mut list = Vec::new();
    for store in walls.stores.values() {
        let Some(mapped) = walls.rules.node_clocks.get(&store.name) else { continue };
        for node in mapped.iter().filter_map(|m| store.nodes.get(m.addr.as_str())) {
            if let Some(s) = skew(clocks, walls, &store.name, node).filter(|s| s.is_disputed) {
                list.push(((store.name.clone(), node.addr.clone()), s.interval));
            }
        }
    }
    list
}

/// Contradictions that go on.
#[derive(Clone, Debug, Default)]
pub struct Disputes {
    /// Since when, and whether it was told.
    since: BTreeMap<Place, (Mono, bool)>,
}

impl Disputes {
    /// Whether a node's clocks have contradicted each other for longer than two answers take to agree.
    pub fn holds(&self, store: &Arc<str>, addr: &Arc<str>) -> bool {
        self.since.get(&(store.clone(), addr.clone())).is_some_and(|(_, is_told)| *is_told)
    }

    /// Takes the disputes of now.
    pub(super) fn learn(&mut self, now: &[(Place, Interval)], walls: &Walls<'_>, fx: &mut Effects) {
        self.since.retain(|place, (_, was_told)| {
            let goes_on = now.iter().any(|(p, _)| p == place);
            if !goes_on && *was_told {
                let detail = "TIME and chronyd agree on its clock again".to_owned();
                tell(place, "clocks_agree", detail, fx);
            }
            goes_on
        });
        for (place, time) in now {
            let (since, is_told) = self.since.entry(place.clone()).or_insert((walls.now, false));
            if !*is_told && walls.now.since(*since) >= walls.rules.poll_interval * POLLS {
                *is_told = true;
                let detail = format!(
                    "TIME says its clock is {:+.6} s (within {:.6} s) from this host's, and chronyd on both ends excludes \
                     that: the configured clock is not that node's, something other than chronyd sets one of the two, or \
                     their servers disagree; only TIME is used",
                    time.middle(),
                    time.half()
                );
                tell(place, "clocks_disagree", detail, fx);
            }
        }
    }
}

fn tell((store, addr): &Place, what: &'static str, detail: String, fx: &mut Effects) {
    fx.notices.push(Notice {
        weight: Weight::Change,
        store: store.clone(),
        subject: addr.clone(),
        what,
        detail,
    });
}
