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
use crate::derive::wanted::Effects;
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

/// What holding `TIME` against chronyd comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Comparison {
    /// One of the two is not known now.
    Unknown,
    /// Both can be true.
    Agree,
    /// They exclude each other; what `TIME` says.
    Disputed(Interval),
}

/// The nodes that have a configured clock.
pub(super) fn comparisons(clocks: &Clocks, walls: &Walls<'_>) -> Vec<(Place, Comparison)> {
    let mut list = Vec::new();
    for store in walls.stores.values() {
        let Some(mapped) = walls.rules.node_clocks.get(&store.name) else { continue };
        for node in mapped.iter().filter_map(|m| store.nodes.get(m.addr.as_str())) {
            let found = match (by_time(walls, node), by_chrony(clocks, walls, &store.name, node)) {
                (Some(time), Some(chrony)) if time.intersect(chrony).is_none() => {
                    Comparison::Disputed(time)
                }
                (Some(_), Some(_)) => Comparison::Agree,
                _ => Comparison::Unknown,
            };
            list.push(((store.name.clone(), node.addr.clone()), found));
        }
    }
    list
}

/// Contradictions that go on.
#[derive(Clone, Debug, Default)]
pub struct Disputes {
    by_place: BTreeMap<Place, Dispute>,
}

#[derive(Clone, Copy, Debug)]
struct Dispute {
    since: Mono,
    is_told: bool,
    /// Both are known now. If not, that is why nothing can be said, and the dispute is open.
    is_known: bool,
}

impl Disputes {
    /// Whether a node's clocks have contradicted each other for longer than two answers take to agree.
    pub fn holds(&self, store: &Arc<str>, addr: &Arc<str>) -> bool {
        let dispute = self.by_place.get(&(store.clone(), addr.clone()));
        dispute.is_some_and(|d| d.is_told && d.is_known)
    }

    /// Takes what was found now of all nodes that there are.
    pub(super) fn learn(
        &mut self,
        now: &[(Place, Comparison)],
        walls: &Walls<'_>,
        fx: &mut Effects,
    ) {
        self.by_place.retain(|place, dispute| {
            let found = now.iter().find(|(p, _)| p == place).map(|(_, found)| found);
            dispute.is_known = matches!(found, Some(Comparison::Disputed(_)));
            match found {
                Some(Comparison::Disputed(_)) => true,
                // What was told stands until the opposite is seen.
                Some(Comparison::Unknown) => dispute.is_told,
                Some(Comparison::Agree) => {
                    if dispute.is_told {
                        let detail = "TIME and chronyd agree on its clock again".to_owned();
                        fx.changed(place.0.clone(), place.1.clone(), "clocks_agree", detail);
                    }
                    false
                }
                None => false,
            }
        });
        for (place, found) in now {
            let Comparison::Disputed(time) = found else { continue };
            let new = Dispute { since: walls.now, is_told: false, is_known: true };
            let dispute = self.by_place.entry(place.clone()).or_insert(new);
            let is_lasting = walls.now.since(dispute.since) >= walls.rules.poll_interval * POLLS;
            if !dispute.is_told && is_lasting {
                dispute.is_told = true;
                let detail = format!(
                    "TIME says its clock is {:+.6} s (within {:.6} s) from this host's, and chronyd on both ends excludes \
                     that: the configured clock is not that node's, something other than chronyd sets one of the two, or \
                     their servers disagree; only TIME is used",
                    time.middle(),
                    time.half()
                );
                fx.changed(place.0.clone(), place.1.clone(), "clocks_disagree", detail);
            }
        }
    }
}
