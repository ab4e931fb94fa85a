//! Whose wall clock can be read on the observer's clock, and with what error: this host's own, and those of hosts whose
//! Redis node tells its `TIME`. Of any other host nothing is known; its clock must not be compared with ours.

use std::collections::BTreeMap;

use crate::derive::fresh::is_fresh;
use crate::derive::host_clock::{HostSteps, wall_at};
use crate::derive::interval::Interval;
use crate::derive::node::Node;
use crate::derive::rules::Rules;
use crate::derive::state::State;
use crate::derive::store::Store;
use crate::derive::wanted::Effects;
use crate::observe::{ClockRead, Mono, StoreId};

/// All wall clocks at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Walls<'a> {
    /// What the config says.
    pub rules: &'a Rules,
    /// Stores, with the clocks of their nodes.
    pub stores: &'a BTreeMap<StoreId, Store>,
    /// This host's.
    pub host: &'a HostSteps,
    /// The instant.
    pub now: Mono,
}

/// The wall clock of the host that a configured clock is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wall {
    /// It can be read.
    Known {
        /// What it shows, seconds since the epoch.
        wall: Interval,
        /// When it was last seen to be set.
        moved_at: Option<Mono>,
    },
    /// It cannot.
    Foreign {
        /// What this host's shows instead: a hint at best.
        ours: Option<f64>,
    },
}

impl State {
    /// The wall clocks of all hosts at an instant.
    pub fn walls(&self, now: Mono) -> Walls<'_> {
        Walls { rules: &self.rules, stores: &self.stores, host: &self.host_clock, now }
    }

    /// Takes one answer of a chronyd.
    pub(in crate::derive) fn read_clock(&mut self, read: &ClockRead, fx: &mut Effects) {
        let State { rules, stores, host_clock: host, clocks, .. } = self;
        clocks.read(read, &Walls { rules, stores, host, now: read.span.done }, fx);
    }
}

impl Walls<'_> {
    /// The wall clock that a configured clock's chronyd disciplines.
    pub fn of(&self, clock: &str) -> Wall {
        let own = self.host.last().map(|read| wall_at(read, self.now));
        if self.rules.local_clock.as_deref() == Some(clock) {
            return match own {
                Some(wall) => Wall::Known { wall, moved_at: self.host.moved_at },
                None => Wall::Foreign { ours: None },
            };
        }
        let known = self.nodes_of(clock).filter_map(|node| {
            let offset = node.clock.interval_at(self.now)?;
            is_fresh(node.clock.last_asked(), self.now, self.rules.poll_interval).then_some(offset)
        });
        // Several servers of one host: the one that is known best.
        match known.min_by_key(|(lo, hi)| hi.saturating_sub(*lo)) {
            Some(offset) => {
                let since_boot = self.now.secs_since(Mono(0));
                let offset = Interval::from_micros(offset);
                let wall = Interval { lo: offset.lo + since_boot, hi: offset.hi + since_boot };
                let moved_at = self.nodes_of(clock).filter_map(|n| n.clock.stepped_at).max();
                Wall::Known { wall, moved_at }
            }
            None => Wall::Foreign { ours: own.map(Interval::middle) },
        }
    }

    /// The nodes on the host of a clock.
    fn nodes_of<'b>(&'b self, clock: &'b str) -> impl Iterator<Item = &'b Node> {
        self.rules.node_clocks.iter().flat_map(move |(store, list)| {
            let store = self.stores.values().find(|s| s.name == *store);
            list.iter()
                .filter(move |n| &*n.clock == clock)
                .filter_map(move |n| store?.nodes.get(n.addr.as_str()))
        })
    }

    /// The clock that the config names for a node.
    pub fn clock_of(&self, store: &str, addr: &str) -> Option<&str> {
        let list = self.rules.node_clocks.get(store)?;
        list.iter().find(|n| n.addr == addr).map(|n| &*n.clock)
    }
}
