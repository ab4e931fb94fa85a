//! A primary and its replica on invented time, with the one lock of [`Sim`]: replication that can be cut, a primary that
//! dies, a replica that is promoted. Owners keep to the lock: each takes it only where the primary that it talks to shows
//! it free.

use std::time::Duration;

use super::sim::{Sim, held_by, node, rules};
use crate::derive::ContentionKind;
use crate::observe::node::{FailReason, NodeFailed, NodeRef, SweepDone};
use crate::observe::{
    BatchRead, Expiry, Found, KeyId, KeyRead, NodeFacts, Observation, Role, ServerTime, Span,
};

pub const POLL_MS: u64 = 1_000;

/// A server: its history and what it has.
#[derive(Clone)]
struct Server {
    at: NodeRef,
    is_master: bool,
    is_up: bool,
    run: u64,
    connection: u64,
    replid: u64,
    /// The history before, and up to where it is this one's too.
    before: Option<(u64, u64)>,
    offset: u64,
    key: Option<(String, i64)>,
}

pub struct Pair {
    pub sim: Sim,
    servers: [Server; 2],
    /// Which of them owners talk to.
    leads: usize,
    is_linked: bool,
    histories: u64,
}

impl Pair {
    /// Both were polled and follow each other.
    pub fn new() -> Self {
        let sim = Sim::new(POLL_MS, None, rules());
        let offset = sim.ms;
        let server = |at: NodeRef, is_master: bool| Server {
            at,
            is_master,
            is_up: true,
            run: u64::from(!is_master) + 1,
            connection: 1,
            replid: 1,
            before: None,
            offset,
            key: None,
        };
        let replica = NodeRef { addr: "replica:6379".into(), ..node() };
        let servers = [server(node(), true), server(replica, false)];
        let mut pair = Self { sim, servers, leads: 0, is_linked: true, histories: 1 };
        pair.tick(3);
        pair
    }

    // What owners do.

    /// Takes the lock if it is free there.
    pub fn acquire(&mut self, token: &str, lease_ms: i64) -> bool {
        let is_free = self.servers[self.leads].key.is_none();
        if is_free {
            self.write(Some((token.into(), self.sim.server_ms() + lease_ms)));
        }
        is_free
    }

    pub fn renew(&mut self, token: &str, lease_ms: i64) {
        if self.holder() == Some(token) {
            self.write(Some((token.into(), self.sim.server_ms() + lease_ms)));
        }
    }

    pub fn release(&mut self, token: &str) {
        if self.holder() == Some(token) {
            self.write(None);
        }
    }

    pub fn holder(&self) -> Option<&str> {
        self.servers[self.leads].key.as_ref().map(|(token, _)| token.as_str())
    }

    fn write(&mut self, key: Option<(String, i64)>) {
        let primary = &mut self.servers[self.leads];
        if primary.is_up {
            primary.key = key;
            primary.offset += 60;
        }
        self.replicate();
    }

    // What happens to servers.

    pub fn cut(&mut self) {
        self.is_linked = false;
    }

    pub fn kill(&mut self) {
        self.servers[self.leads].is_up = false;
        self.is_linked = false;
    }

    /// The replica becomes the primary with all that it has.
    pub fn promote(&mut self) {
        self.histories += 1;
        self.leads = 1 - self.leads;
        self.is_linked = false;
        let new = &mut self.servers[self.leads];
        new.before = Some((new.replid, new.offset + 1));
        (new.is_master, new.replid) = (true, self.histories);
    }

    /// The other one follows the primary, with nothing of its own.
    pub fn follow(&mut self) {
        let replid = self.servers[self.leads].replid;
        let other = &mut self.servers[1 - self.leads];
        other.connection += u64::from(!other.is_up);
        (other.is_master, other.is_up, other.replid) = (false, true, replid);
        self.is_linked = true;
        self.replicate();
    }

    fn replicate(&mut self) {
        if self.is_linked && self.servers.iter().all(|s| s.is_up) {
            let (offset, key) =
                (self.servers[self.leads].offset, self.servers[self.leads].key.clone());
            let replica = &mut self.servers[1 - self.leads];
            (replica.offset, replica.key) = (offset, key);
        }
    }

    // What the exporter does.

    /// Lets so many polls pass.
    pub fn tick(&mut self, polls: u64) {
        for _ in 0..polls {
            self.sim.ms += POLL_MS;
            let now = self.sim.server_ms();
            let primary = &mut self.servers[self.leads];
            if primary.is_up {
                primary.offset += 14;
                if primary.key.as_ref().is_some_and(|(_, e)| *e <= now) {
                    primary.key = None;
                    primary.offset += 40;
                }
            }
            self.replicate();
            for server in self.servers.clone() {
                self.poll(&server);
            }
            for server in self.servers.iter_mut().filter(|s| !s.is_up) {
                server.connection += 1;
            }
        }
    }

    fn poll(&mut self, server: &Server) {
        let (span, time) = (self.sim.span(), ServerTime::from_ms(self.sim.server_ms()));
        let node = server.at.clone();
        if !server.is_up {
            let (reason, detail) = (FailReason::Refused, String::new());
            self.sim.step(Observation::NodeFailed(NodeFailed {
                node,
                at: span.done,
                reason,
                detail,
            }));
            return;
        }
        let role = match server.is_master {
            true => Role::Master,
            false => Role::Replica { linked: self.is_linked },
        };
        let shown = server.key.as_ref().filter(|(_, e)| *e > self.sim.server_ms());
        let found = shown.map_or(Found::Absent, |(token, e)| Found::Present {
            value: held_by(token).into(),
            expiry: Expiry::At(ServerTime::from_ms(*e)),
        });
        let connection = server.connection;
        // `ROLE` does not tell it while the link is down.
        let offset = (server.is_master || self.is_linked).then_some(server.offset);
        let reads = vec![KeyRead { key: KeyId(0), found }];
        let batch = BatchRead { node: node.clone(), connection, span, time, role, offset, reads };
        self.sim.step(Observation::Batch(batch));
        let facts = NodeFacts {
            node: node.clone(),
            connection,
            run_id: Some(format!("run{}", server.run)),
            role,
            replid: Some(format!("repl{}", server.replid)),
            replid2: server.before.map(|(id, _)| format!("repl{id}")),
            second_offset: server.before.map(|(_, at)| at),
            offset: Some(server.offset),
            ..self.sim.node_facts()
        };
        self.sim.step(Observation::Node(Box::new(facts)));
        let span = Span { sent: span.sent, done: span.done.plus(Duration::from_millis(2)) };
        let busy = Duration::from_millis(1);
        self.sim.step(Observation::SweepDone(SweepDone { node, span, busy }));
    }

    // What is shown.

    /// Proofs that two owners were valid at once.
    pub fn proofs(&self) -> Vec<(ContentionKind, u64)> {
        let all = self.sim.lock().counts.contentions;
        all.into_iter().filter(|(_, n)| *n > 0).collect()
    }
}
