//! One lock store: its lines and nodes, where breaks lie, and its locks. Verdicts on a lock come only from the reads of its
//! line's primary.

mod hearing;
mod line;
pub mod locks;
mod others;
mod reads;
pub mod rest;
pub mod sentinels;
mod settle;
mod succession;
mod unchanged;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::groups::Gone;
use super::host::StallRules;
use super::lock::{Kept, Missed};
use super::node::Node;
use super::owners::OwnerIndex;
use super::pool::Pool;
use super::quorum;
use super::rules::Rules;
use super::servers::Common;
use super::wanted::{Effects, Notice, Weight};
use super::words::Evidence;
use super::workers::Workers;
use crate::observe::node::{NodeFailed, SweepDone};
use crate::observe::{BatchRead, KeyId, Line, Mono, NodeFacts, NodeRef, Role, StoreId};

use line::{Follows, LineState};
use locks::Locks;
use sentinels::Sentinels;

/// A lock store.
#[derive(Clone, Debug)]
pub struct Store {
    /// Its id.
    pub id: StoreId,
    /// Its name.
    pub name: Arc<str>,
    /// Nodes by address.
    pub nodes: BTreeMap<Arc<str>, Node>,
    /// Its lines: a primary with its replicas each.
    pub lines: BTreeMap<Line, LineState>,
    /// How many servers of their own have its locks, if it is a store of several.
    pub(super) servers: Option<u16>,
    /// One clock for them.
    common: Common,
    /// Failovers and lost bytes of lines that are no more.
    past: (u64, u64),
    /// Breaks in the records of all lines.
    breaks: u64,
    /// When it was last seen that a primary was restarted, or became another node.
    pub restarted: Option<Mono>,
    /// When it was last seen that databases of a primary were emptied or swapped.
    pub emptied: Option<Mono>,
    /// What sentinels say of its primary.
    pub sentinels: Sentinels,
    /// Ends by evidence.
    pub lease_ends: [u64; Evidence::ALL.len()],
    /// Locks by key id.
    pub locks: Locks,
    /// Further keys of locks that have several, with the first.
    pub(super) further: BTreeMap<KeyId, KeyId>,
    /// Locks of an earlier id of this store, until they are announced again.
    pub(super) parked_since: Option<Mono>,
    /// See `parked_since`, the end of the first sweep under the new id.
    pub(super) parked: HashMap<Arc<str>, Kept>,
    /// Whom its owner index names.
    pub owners: OwnerIndex,
    pub(super) pools: HashMap<usize, Pool>,
    /// What locks of groups had counted before they went.
    pub(super) gone: Gone,
    /// Where `owner_json` found no owner.
    pub(super) missed: Missed,
    /// Keys found and not watched.
    pub dropped: Vec<(&'static str, u64)>,
}

impl Store {
    /// A store that nothing is known of.
    pub fn new(id: StoreId, name: Arc<str>) -> Self {
        Self {
            id,
            name,
            nodes: BTreeMap::new(),
            lines: BTreeMap::new(),
            past: (0, 0),
            sentinels: Sentinels::default(),
            servers: None,
            common: Common::default(),
            breaks: 0,
            restarted: None,
            emptied: None,
            lease_ends: [0; Evidence::ALL.len()],
            locks: Locks::default(),
            further: BTreeMap::new(),
            parked_since: None,
            parked: HashMap::new(),
            owners: OwnerIndex::default(),
            pools: HashMap::new(),
            gone: Gone::default(),
            missed: Missed::default(),
            dropped: Vec::new(),
        }
    }

    /// A node, which tells that it belongs to this line.
    pub(super) fn node(&mut self, node: &NodeRef) -> &mut Node {
        let known = self.nodes.entry(node.addr.clone());
        let known = known.or_insert_with(|| Node::new(node.addr.clone()));
        known.line = node.line;
        known
    }

    /// Takes one batch of reads.
    pub fn batch(
        &mut self,
        batch: &BatchRead,
        rules: StallRules,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let node = self.node(&batch.node);
        let reconnected = node.answered(batch.connection, batch.role, batch.span);
        node.clock.observe(batch.time, batch.span);
        let offset = batch.offset.map(|offset| (offset, batch.span.done));
        let is_newer = |(_, at): (u64, Mono)| node.offset.is_none_or(|(_, last)| at >= last);
        node.offset = offset.filter(|o| is_newer(*o)).or(node.offset);
        self.follow_primary(&batch.node, batch.role, reconnected, batch.span.done, fx);
        if batch.role == Role::Master && self.nodes.len() > 1 {
            self.note_owners(batch);
        }
        if self.leads(&batch.node) {
            let line = self.lines.entry(batch.node.line).or_default();
            line.succession.wrote(&batch.node.addr, batch.offset);
            self.read_locks(batch, rules, workers, fx);
        } else if batch.role == Role::Master {
            self.read_rival(batch);
        } else if let Role::Replica { linked } = batch.role {
            self.read_replica(batch, linked);
        }
    }

    fn follow_primary(
        &mut self,
        node: &NodeRef,
        role: Role,
        reconnected: bool,
        at: Mono,
        fx: &mut Effects,
    ) {
        let is_vacant = self.may_take_over(node, self.primary(node.line).is_none_or(|n| !n.is_up));
        let is_alone = self.is_only_one(node);
        let line = self.lines.entry(node.line).or_default();
        let follows = line.follow(&node.addr, role, reconnected, is_vacant, is_alone);
        if follows == Follows::Succeeds {
            self.restarted = Some(at);
            let detail = format!("{} is the primary now", node.addr);
            self.say(fx, Weight::Change, "failover", detail);
        }
        if follows != Follows::Nothing {
            self.breaks(node.line);
        }
    }

    /// The tightest recent round trip to a line's primary.
    pub fn rtt(&self, line: Line) -> Option<Duration> {
        self.primary(line)?.clock.rtt()
    }

    /// Takes a node's facts.
    pub fn facts(&mut self, facts: &NodeFacts, fx: &mut Effects) {
        let addr = &facts.node.addr;
        // All locks are asked for it.
        let is_another = self.nodes.get(addr).is_some_and(|n| n.is_another(facts));
        let longest = if is_another { self.longest_lease() } else { Duration::ZERO };
        let node = self.node(&facts.node);
        let reconnected = node.answered(facts.connection, facts.role, facts.span);
        let changed = node.learn(facts, longest);
        if self.leads(&facts.node) && (changed.restarted || changed.new_lineage) {
            if changed.restarted && !reconnected {
                self.restarted_before(facts.node.line);
            }
            self.breaks(facts.node.line).failover_marks += 1;
            self.restarted = Some(facts.span.done);
        }
        if self.leads(&facts.node) && changed.emptied {
            self.emptied = Some(facts.span.done);
        }
        if changed.restarted {
            self.say(fx, Weight::Change, "server_restarted", format!("{addr} has a new run id"));
        }
        self.follow_primary(&facts.node, facts.role, reconnected, facts.span.done, fx);
        let leads = self.leads(&facts.node);
        let line = self.lines.entry(facts.node.line).or_default();
        if leads {
            line.facts_breaks = line.breaks;
            line.succession.led_by(facts);
            self.settle_ends(facts, fx);
        } else {
            line.succession.other(facts);
        }
    }

    /// A node could not be used. The poller tells of it.
    pub fn failed(&mut self, failed: &NodeFailed) {
        self.node(&failed.node).failed(failed);
        if self.leads(&failed.node) {
            self.breaks(failed.node.line);
            if self.servers.is_some() {
                let servers = self.locks.values_mut().filter_map(|l| l.servers.as_mut());
                servers.for_each(|s| s.lost_contact(failed.node.line));
            }
        }
    }

    /// A sweep over a node ended. Returns whether it was over a line's primary.
    pub fn swept(&mut self, done: &SweepDone, rules: &Rules, workers: &mut Workers) -> bool {
        let node = self.node(&done.node);
        node.failure = None;
        node.clock.sweep_ended();
        if !self.leads(&done.node) {
            return false;
        }
        self.lines.entry(done.node.line).or_default().swept = Some(done.clone());
        self.locks.swept(done.node.line);
        self.drop_parked(workers, done.span.done, rules.retain);
        self.drop_silent_nodes(rules.poll_interval, done.span.done);
        true
    }

    /// When the last sweep over a primary ended. A line that is not swept any more costs its own locks, each of which says
    /// itself when it was read.
    pub fn swept_at(&self) -> Option<Mono> {
        self.lines.values().filter_map(|l| Some(l.swept.as_ref()?.span.done)).max()
    }

    /// The same of as many lines as tell who holds its locks: of servers of their own those that are not needed do not count.
    pub fn counted_at(&self) -> Option<Mono> {
        let Some(servers) = self.servers.map(usize::from) else { return self.swept_at() };
        let ends = self.lines.values().filter_map(|l| Some(l.swept.as_ref()?.span.done));
        let mut ends: Vec<_> = ends.collect();
        ends.sort_unstable_by(|a, b| b.cmp(a));
        ends.get(quorum::needed(servers) - 1).copied()
    }

    fn say(&self, fx: &mut Effects, weight: Weight, what: &'static str, detail: String) {
        fx.notices.push(Notice {
            weight,
            store: self.name.clone(),
            subject: "".into(),
            what,
            detail,
        });
    }
}
