//! The task that polls one node: connects, hands over to a session, and when that ends says why and
//! tries again. A node that hangs costs nobody else anything; whoever asks for a read meanwhile is told no at once.

use tokio::sync::{mpsc, oneshot};
use tracing::info;

use super::batch::Dialect;
use super::cluster;
use super::facts::FactsReader;
use super::failure::{Failure, MASTERDOWN};
use super::handshake;
use super::messages::{End, Report, Request, Seen};
use super::parts::PartsFailed;
use super::session::Session;
use super::task::NodeTask;
use crate::clock;
use crate::config::Topology;
use crate::observe::node::FailReason;
use crate::observe::{NodeFacts, Observation, Role};

impl NodeTask {
    /// Polls until nobody needs it any more.
    pub async fn run(mut self) {
        loop {
            self.active = clock::mono();
            let end = match self.connect().await {
                Ok(session) => session.run().await,
                Err(end) => end,
            };
            let End::Failed(failure) = end else { return };
            let reason = failure.reason;
            if self.failed(failure).await.is_err() {
                return;
            }
            let pause = self.backoff(reason);
            if while_refusing(&mut self.requests, reason, tokio::time::sleep(pause)).await.is_none()
            {
                return;
            }
        }
    }

    async fn connect(&mut self) -> Result<Session<'_>, End> {
        let refusing = self.outage.unwrap_or(FailReason::NotReady);
        let connecting = handshake::connect(&self.context.store, &self.addr, &mut self.abilities);
        let connected = while_refusing(&mut self.requests, refusing, connecting).await;
        let (mut conn, hello) = connected.ok_or(End::Stop)??;
        self.connections += 1;
        let number = self.connections;
        let list = self.keys.borrow_and_update().clone();
        let probe_key = list.first().map_or(&b"dlock_exporter"[..], |w| &w.key);
        let mut reader = FactsReader::new(self.node.clone(), number, hello, probe_key);
        if self.awaits_link {
            let facts = reader.read(&mut conn, &mut self.abilities);
            let facts =
                while_refusing(&mut self.requests, refusing, facts).await.ok_or(End::Stop)??;
            if facts.role == (Role::Replica { linked: false }) {
                self.keep(&facts).await?;
                self.send(Observation::Node(Box::new(facts))).await?;
                return Err(Failure::server("a read before", MASTERDOWN).into());
            }
        }
        let first = reader.first(&mut conn, &mut self.abilities);
        let facts =
            while_refusing(&mut self.requests, refusing, first).await.ok_or(End::Stop)??;
        self.keep(&facts).await?;
        if number == 1 {
            info!(store = %self.context.store.name, node = %self.node.addr, version = %facts.version,
                flavor = %facts.flavor, role = facts.role.as_str(), "connected");
        }
        let is_cluster =
            facts.mode == "cluster" || self.context.store.topology == Topology::Cluster;
        let membership = match is_cluster {
            true => {
                let joining = cluster::join(&mut conn, &mut self.abilities);
                Some(
                    while_refusing(&mut self.requests, refusing, joining)
                        .await
                        .ok_or(End::Stop)??,
                )
            }
            false => None,
        };
        let is_replica = matches!(facts.role, Role::Replica { .. });
        self.sweeper.is_shut_out = is_replica && membership.is_some_and(|m| !m.readonly);
        self.sweeper.connected(number, Dialect::of(&self.abilities), membership);
        self.sweeper.note_facts(&facts);
        self.sweeper.sync(&list);
        self.scan.restart();
        self.send(Observation::Node(Box::new(facts))).await?;
        Ok(Session::new(self, conn, reader))
    }

    /// Tells whom we are connected to; ends if that server is watched already by another name.
    async fn keep(&self, facts: &NodeFacts) -> Result<(), End> {
        let (keep, kept) = oneshot::channel();
        self.report(Report::Up(self.node.addr.clone(), Seen::from(facts), keep)).await?;
        if kept.await.unwrap_or(false) { Ok(()) } else { Err(End::Stop) }
    }
}

/// Waits for something while there is no connection; reads that are asked for meanwhile are refused at once. `None` when
/// nobody can ask any more.
async fn while_refusing<T>(
    requests: &mut mpsc::Receiver<Request>,
    reason: FailReason,
    what: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(what);
    loop {
        tokio::select! {
            biased;
            done = &mut what => return Some(done),
            request = requests.recv() => {
                if let Request::Parts(_, reply) = request? {
                    let detail = "this node is not connected".to_owned();
                    // Whoever asked may have given up.
                    let _ = reply.send(Err(PartsFailed { reason, detail }));
                }
            }
        }
    }
}
