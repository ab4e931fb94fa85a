//! One lock store: which node is the primary, where breaks lie, and its locks. Verdicts on a lock come only from the
//! primary's reads.

mod hearing;
mod others;
mod settle;
mod succession;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::feed::Feed;
use super::groups::Gone;
use super::host::StallRules;
use super::lock::{Lock, Missed, ReadContext};
use super::node::Node;
use super::owners::OwnerIndex;
use super::pool::Pool;
use super::rules::Rules;
use super::tenure::Seen;
use super::wanted::{Effects, Notice, Wanted, Weight};
use super::words::Evidence;
use super::workers::Workers;
use crate::observe::lock::CompanionRead;
use crate::observe::node::{NodeFailed, SweepDone};
use crate::observe::{BatchRead, KeyId, Mono, NodeFacts, Role, StoreId};

use hearing::Hearing;
use settle::{marks, pool_of};
use succession::Succession;

/// A lock store.
#[derive(Clone, Debug)]
pub struct Store {
    /// Its id.
    pub id: StoreId,
    /// Its name.
    pub name: Arc<str>,
    /// Nodes by address.
    pub nodes: BTreeMap<Arc<str>, Node>,
    /// The node whose reads are judged.
    pub primary: Option<Arc<str>>,
    /// The last node that was.
    pub(super) led_by: Option<Arc<str>>,
    pub(super) breaks: u64,
    failover_marks: u64,
    /// `breaks` as of the primary's last facts.
    facts_breaks: u64,
    /// The primary became another node.
    pub failovers: u64,
    /// The histories of its primaries.
    pub succession: Succession,
    /// Ends by evidence.
    pub lease_ends: [u64; Evidence::ALL.len()],
    /// Locks by key id.
    pub locks: BTreeMap<KeyId, Box<Lock>>,
    /// Further keys of locks that have several, with the first.
    pub(super) further: BTreeMap<KeyId, KeyId>,
    /// Locks of an earlier id of this store, until they are announced again.
    pub(super) parked_since: Option<Mono>,
    /// See `parked_since`, the end of the first sweep under the new id.
    pub(super) parked: HashMap<Arc<str>, Box<Lock>>,
    /// Whom its owner index names.
    pub owners: OwnerIndex,
    pub(super) pools: HashMap<usize, Pool>,
    /// What locks of groups had counted before they went.
    pub(super) gone: Gone,
    /// Where `owner_json` found no owner.
    pub(super) missed: Missed,
    /// Keys found and not watched.
    pub dropped: Vec<(&'static str, u64)>,
    /// The last sweep over the primary.
    pub swept: Option<SweepDone>,
    /// Its event feed, if it ever told of itself.
    pub feed: Option<Feed>,
    hearing: Option<Hearing>,
}

impl Store {
    /// A store that nothing is known of.
    pub fn new(id: StoreId, name: Arc<str>) -> Self {
        Self {
            id,
            name,
            nodes: BTreeMap::new(),
            primary: None,
            led_by: None,
            breaks: 0,
            failover_marks: 0,
            facts_breaks: 0,
            failovers: 0,
            succession: Succession::default(),
            lease_ends: [0; Evidence::ALL.len()],
            locks: BTreeMap::new(),
            further: BTreeMap::new(),
            parked_since: None,
            parked: HashMap::new(),
            owners: OwnerIndex::default(),
            pools: HashMap::new(),
            gone: Gone::default(),
            missed: Missed::default(),
            dropped: Vec::new(),
            swept: None,
            feed: None,
            hearing: None,
        }
    }

    pub(super) fn node(&mut self, addr: &Arc<str>) -> &mut Node {
        self.nodes.entry(addr.clone()).or_insert_with(|| Node::new(addr.clone()))
    }

    /// Takes one batch of reads.
    pub fn batch(
        &mut self,
        batch: &BatchRead,
        rules: StallRules,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let addr = batch.node.addr.clone();
        let node = self.node(&addr);
        let reconnected = node.answered(batch.connection, batch.role, batch.span);
        node.clock.observe(batch.time, batch.span);
        self.follow_primary(&addr, batch.role, reconnected, fx);
        if self.primary.as_ref() == Some(&addr) {
            self.succession.wrote(&addr, batch.offset);
            self.read_locks(batch, rules, workers, fx);
        } else if batch.role == Role::Master {
            self.read_rival(batch);
        } else if let Role::Replica { linked: true } = batch.role {
            self.read_replica(batch);
        }
    }

    /// Decides which node is the primary. A node that says master takes the place only when there is none: an old
    /// primary that comes back says master too, for seconds.
    fn follow_primary(&mut self, addr: &Arc<str>, role: Role, reconnected: bool, fx: &mut Effects) {
        let is_primary = self.primary.as_ref() == Some(addr);
        if is_primary && role != Role::Master && role != Role::Unknown {
            self.breaks += 1;
            self.primary = None;
            return;
        }
        if is_primary {
            self.breaks += u64::from(reconnected);
            return;
        }
        let is_vacant =
            self.primary.as_ref().is_none_or(|p| self.nodes.get(p).is_none_or(|n| !n.is_up));
        let says_master = role == Role::Master || (role == Role::Unknown && self.nodes.len() == 1);
        if says_master && is_vacant {
            if self.led_by.as_ref().is_some_and(|before| before != addr) {
                self.failovers += 1;
                self.failover_marks += 1;
                self.say(fx, Weight::Change, "failover", format!("{addr} is the primary now"));
            }
            self.breaks += 1;
            self.primary = Some(addr.clone());
            self.led_by = Some(addr.clone());
        }
    }

    fn read_locks(
        &mut self,
        batch: &BatchRead,
        stalls: StallRules,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let Some(node) = self.nodes.get(&batch.node.addr) else { return };
        let marks = marks(node, self.breaks, self.failover_marks);
        let hears = self.hears_overwrites();
        // Nothing about leases can be judged by a clock that stands still.
        if node.clock.is_standing() {
            return;
        }
        let seen = Seen { span: batch.span, time: batch.time, marks };
        for read in &batch.reads {
            let key = self.further.get(&read.key).unwrap_or(&read.key);
            let Some(lock) = self.locks.get_mut(key) else { continue };
            let (poll, clock) = (stalls.poll, &node.clock);
            let whole;
            let (found, seen) = match &mut lock.spread {
                None => (&read.found, seen),
                Some(spread) => match spread.take(read, seen, poll) {
                    Some((found, seen)) => {
                        whole = found;
                        (&whole, seen)
                    }
                    None => continue,
                },
            };
            let pool = self.pools.get(&pool_of(&lock.rules));
            let owners = &self.owners;
            let c = ReadContext { seen, offset: batch.offset, clock, poll, pool, stalls, owners };
            let unknown = lock.counts.ends[Evidence::Unknown as usize];
            lock.read(found, &c, workers, fx);
            if hears && lock.may_have_been_overwritten(seen.span.done) {
                fx.wanted.push(Wanted::Facts { store: self.id });
            }
            lock.count_votes(seen.span.done, fx);
            self.missed.tell(lock, fx);
            // Ends that waited too long for facts are given up there and then.
            self.lease_ends[Evidence::Unknown as usize] +=
                lock.counts.ends[Evidence::Unknown as usize] - unknown;
        }
    }

    /// Takes what the keys beside a lock told.
    pub fn companions(
        &mut self,
        read: &CompanionRead,
        stalls: StallRules,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let Some(node) = self.primary.as_ref().and_then(|p| self.nodes.get(p)) else { return };
        let Some(lock) = self.locks.get_mut(&read.key) else { return };
        if node.clock.is_standing() {
            return;
        }
        let marks = marks(node, self.breaks, self.failover_marks);
        let seen = Seen { span: read.span, time: read.time, marks };
        let pool = self.pools.get(&pool_of(&lock.rules));
        let (poll, clock, owners) = (stalls.poll, &node.clock, &self.owners);
        let c = ReadContext { seen, offset: None, clock, poll, pool, stalls, owners };
        lock.told_beside(read, &c, workers, fx);
    }

    /// The primary's tightest recent round trip.
    pub fn rtt(&self) -> Option<Duration> {
        self.nodes.get(self.primary.as_ref()?)?.clock.rtt()
    }

    /// Takes a node's facts.
    pub fn facts(&mut self, facts: &NodeFacts, fx: &mut Effects) {
        let addr = facts.node.addr.clone();
        let longest = self.longest_lease();
        let node = self.node(&addr);
        let reconnected = node.answered(facts.connection, facts.role, facts.span);
        let changed = node.learn(facts, longest);
        if self.primary.as_ref() == Some(&addr) && (changed.restarted || changed.new_lineage) {
            if changed.restarted && !reconnected {
                self.restarted_before();
            }
            self.breaks += 1;
            self.failover_marks += 1;
        }
        if changed.restarted {
            self.say(fx, Weight::Change, "server_restarted", format!("{addr} has a new run id"));
        }
        self.follow_primary(&addr, facts.role, reconnected, fx);
        if self.primary.as_ref() == Some(&addr) {
            self.facts_breaks = self.breaks;
            self.succession.led_by(facts);
            self.settle_ends(facts, fx);
        } else {
            self.succession.other(facts);
        }
    }

    /// A node could not be used. The poller tells of it.
    pub fn failed(&mut self, failed: &NodeFailed) {
        let addr = failed.node.addr.clone();
        self.node(&addr).failed(failed);
        if self.primary.as_ref() == Some(&addr) {
            self.breaks += 1;
        }
    }

    /// A sweep over a node ended.
    pub fn swept(&mut self, done: &SweepDone, rules: &Rules, workers: &mut Workers) {
        let addr = done.node.addr.clone();
        let node = self.node(&addr);
        node.failure = None;
        node.clock.sweep_ended();
        if self.primary.as_ref() == Some(&addr) {
            self.swept = Some(done.clone());
            self.drop_parked(workers, done.span.done, rules.retain);
            self.drop_silent_nodes(rules.poll_interval, done.span.done);
        }
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
