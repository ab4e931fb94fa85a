//! One Redis or Valkey node: identity, facts, clock, and what changed.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::clock::NodeClock;
use super::connections::Connections;
use super::slowlog::NodeSlowlog;
use crate::observe::client::{Client, ClientsRead, EVERY};
use crate::observe::node::{FailReason, NodeFailed};
use crate::observe::{Line, Mono, NodeFacts, Role, SocketsRead, Span};

/// What is known of a node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its address.
    pub addr: Arc<str>,
    /// Its line in its store.
    pub line: Line,
    /// It answered since it last failed.
    pub is_up: bool,
    /// Why its last poll that ended failed, and since when. A server may answer when connected to, and fail each poll.
    pub failure: Option<Failure>,
    /// The connection its last answer came over.
    pub connection: Option<u64>,
    /// The role it last stated.
    pub role: Role,
    /// Its last facts.
    pub facts: Option<NodeFacts>,
    /// Some facts showed keys in another database than ours.
    pub has_other_databases: bool,
    /// Its replication offset, and when it stated it.
    pub offset: Option<(u64, Mono)>,
    /// Who is connected to it, as it last said.
    pub clients: Option<ClientsRead>,
    /// The same, with the processes of this host behind them.
    pub connections: Option<Connections>,
    /// How many connections it had received by its last facts before that.
    pub received: Option<u64>,
    /// Some came and went between its last two lists of clients, or may have.
    pub has_churn: bool,
    /// Its clock.
    pub clock: NodeClock,
    /// Run id changes.
    pub restarts: u64,
    /// Until when a restart without durable data is unsafe.
    pub unsafe_until: Option<Mono>,
    /// Comparisons of locks with this replica: tried, not decided.
    pub confirmations: (u64, u64),
    /// Seconds in which an event feed there heard nothing; `None` where there never was one.
    pub event_gap: Option<f64>,
    /// Its slow log.
    pub slowlog: NodeSlowlog,
    /// When it last answered or failed; `None` for one of an earlier config that nobody spoke of since.
    pub heard: Option<Mono>,
}

/// An outage of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Why the last try failed.
    pub reason: FailReason,
    /// What exactly; no secrets.
    pub detail: String,
    /// The first failure of this outage.
    pub since: Mono,
}

/// What facts showed to have changed since the last ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Changed {
    /// The process is another one.
    pub restarted: bool,
    /// The replication history is another one.
    pub new_lineage: bool,
    /// Databases were emptied or swapped.
    pub emptied: bool,
}

impl Node {
    /// A node that nothing is known of.
    pub fn new(addr: Arc<str>) -> Self {
        Self {
            addr,
            line: Line::default(),
            is_up: false,
            failure: None,
            connection: None,
            role: Role::Unknown,
            facts: None,
            has_other_databases: false,
            offset: None,
            clients: None,
            connections: None,
            received: None,
            has_churn: true,
            clock: NodeClock::default(),
            restarts: 0,
            unsafe_until: None,
            confirmations: (0, 0),
            event_gap: None,
            slowlog: NodeSlowlog::default(),
            heard: None,
        }
    }

    /// Takes an answer's connection; returns whether it is a new one after an earlier.
    pub fn answered(&mut self, connection: u64, role: Role, span: Span) -> bool {
        self.is_up = true;
        self.role = role;
        self.heard = Some(span.done);
        self.connection.replace(connection).is_some_and(|before| before != connection)
    }

    /// Who is connected to it, if it said so lately.
    pub fn clients_at(&self, now: Mono) -> Option<&[Client]> {
        let read = self.clients.as_ref().filter(|r| now.since(r.span.done) <= EVERY * 3)?;
        read.seen.as_deref().ok()
    }

    /// Takes a list of its clients.
    pub fn list(&mut self, read: &ClientsRead, sockets: Option<&SocketsRead>) {
        let received = self.facts.as_ref().and_then(|f| f.connections_received);
        let before = self.clients.as_ref().and_then(|c| c.seen.as_ref().ok());
        self.has_churn = match (before, &read.seen, self.received, received) {
            (Some(before), Ok(now), Some(then), Some(received)) => {
                let known: HashSet<u64> = before.iter().map(|c| c.id).collect();
                let fresh = now.iter().filter(|c| !known.contains(&c.id)).count() as u64;
                received.saturating_sub(then) > fresh
            }
            _ => true,
        };
        self.received = received;
        self.connections = Connections::of(read, sockets);
        self.clients = Some(read.clone());
    }

    /// Takes a failed try.
    pub fn failed(&mut self, failed: &NodeFailed) {
        let since = self.failure.as_ref().map_or(failed.at, |f| f.since);
        self.is_up = false;
        self.heard = Some(failed.at);
        self.failure =
            Some(Failure { reason: failed.reason, detail: failed.detail.clone(), since });
    }

    /// Whether the process that these facts are of is another one than at the last ones.
    pub fn is_another(&self, facts: &NodeFacts) -> bool {
        self.facts.as_ref().is_some_and(|before| differ(&before.run_id, &facts.run_id))
    }

    /// Takes facts.
    pub fn learn(&mut self, facts: &NodeFacts, longest_lease: Duration) -> Changed {
        let mut changed = Changed::default();
        if let Some(before) = &self.facts {
            changed.restarted = self.is_another(facts);
            // A promotion brings a new history of its own; only a primary that changes it meanwhile was away.
            let is_primary = |f: &NodeFacts| f.role == Role::Master;
            changed.emptied = facts.flushes.is_some() && before.flushes != facts.flushes;
            changed.new_lineage =
                is_primary(before) && is_primary(facts) && differ(&before.replid, &facts.replid);
        }
        if changed.restarted {
            self.restarts += 1;
            self.clock.server_restarted();
            if facts.aof != Some(true) && facts.role != Role::Sentinel {
                self.unsafe_until = Some(facts.span.done.plus(longest_lease));
            }
        }
        if let Some(time) = facts.time {
            self.clock.observe(time, facts.span);
        }
        // `ROLE` has no offset while the link is down, `INFO` has.
        self.offset = facts.offset.map(|offset| (offset, facts.span.done)).or(self.offset);
        self.has_other_databases |= facts.has_other_databases == Some(true);
        self.facts = Some(facts.clone());
        changed
    }
}

fn differ(a: &Option<String>, b: &Option<String>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a != b)
}

/// Whether both are of one replication history.
pub fn is_kin(a: &NodeFacts, b: &NodeFacts) -> bool {
    let ids = |f: &NodeFacts| [f.replid.clone(), f.replid2.clone()];
    ids(a).iter().flatten().any(|x| ids(b).iter().flatten().any(|y| x == y))
}

/// The largest number of nodes of one replication history that say master.
pub fn primaries<'a>(nodes: impl Iterator<Item = &'a Node>) -> u64 {
    let masters: Vec<&NodeFacts> = nodes
        .filter(|n| n.is_up && n.role == Role::Master)
        .filter_map(|n| n.facts.as_ref())
        .collect();
    masters
        .iter()
        .map(|a| masters.iter().filter(|b| is_kin(a, b)).count() as u64)
        .max()
        .unwrap_or(0)
}
