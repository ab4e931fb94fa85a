//! The task that polls one node: connects, hands over to a session, and when that ends says why and
//! tries again. A node that hangs costs nobody else anything; whoever asks for a read meanwhile is told no at once.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tracing::{info, warn};

use super::ability::Abilities;
use super::batch::{BATCH, Dialect};
use super::facts::FactsReader;
use super::failure::Failure;
use super::handshake;
use super::keys::KeyList;
use super::parts::{PartReader, PartRequest, PartsFailed, PartsReply};
use super::scan::Scan;
use super::session::Session;
use super::store::Context;
use super::sweep::Sweeper;
use crate::clock;
use crate::config::RedisAddr;
use crate::observe::node::{FailReason, NodeFacts, NodeFailed, Role};
use crate::observe::poll::PollDone;
use crate::observe::{KeyId, Mono, NodeRef, Observation, Span};

/// Shortest and longest pause before connecting again.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// What a node can be asked for.
pub enum Request {
    /// Read these keys as near to this instant as possible.
    Read(Vec<KeyId>, Mono),
    /// Read `INFO` soon.
    Facts,
    /// Try again what was refused: rights may have been granted.
    RetryRefused,
    /// Read parts of keys now.
    Parts(Vec<PartRequest>, oneshot::Sender<Result<PartsReply, PartsFailed>>),
}

/// What a node tells its store.
pub enum Report {
    /// Connected; the answer says whether to go on, or that this server is watched already under another address.
    Up(Arc<str>, Seen, oneshot::Sender<bool>),
    /// Facts were read again.
    Facts(Arc<str>, Seen),
    /// Not connected any more, or still not.
    Down(Arc<str>, FailReason),
    /// SCAN saw these keys; whether they are the last of a round.
    Found(Vec<Vec<u8>>, bool),
    /// These were away for the whole retention.
    Gone(Vec<KeyId>),
}

/// What of a node's facts its store goes by.
pub struct Seen {
    /// Role.
    pub role: Role,
    /// Identifies the server process.
    pub run_id: Option<String>,
    /// Replicas that it announces.
    pub replicas: Vec<String>,
    /// The primary that it follows.
    pub primary: Option<String>,
}

impl From<&NodeFacts> for Seen {
    fn from(facts: &NodeFacts) -> Self {
        Self {
            role: facts.role,
            run_id: facts.run_id.clone(),
            replicas: facts.replicas.iter().map(|(addr, _)| addr.clone()).collect(),
            primary: facts.primary.clone(),
        }
    }
}

/// Why a session ended.
pub enum End {
    /// Nobody needs this node any more.
    Stop,
    /// It failed.
    Failed(Failure),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        End::Failed(failure)
    }
}

/// One node and everything that outlives its connections.
pub struct NodeTask {
    pub(super) context: Arc<Context>,
    pub(super) node: NodeRef,
    /// `store/addr`.
    pub(super) target: Arc<str>,
    addr: RedisAddr,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) keys: watch::Receiver<KeyList>,
    /// Whether this node is the one that scans.
    pub(super) scans: Arc<AtomicBool>,
    pub(super) sweeper: Sweeper,
    pub(super) abilities: Abilities,
    pub(super) parts: PartReader,
    pub(super) scan: Scan,
    /// When the exchange began that failed if anything fails now.
    pub(super) active: Mono,
    connections: u64,
    /// The reason of the present outage, which was logged.
    outage: Option<FailReason>,
    attempts: u32,
}

impl NodeTask {
    /// A node that was not tried yet.
    pub fn new(
        context: Arc<Context>,
        node: NodeRef,
        addr: RedisAddr,
        requests: mpsc::Receiver<Request>,
        keys: watch::Receiver<KeyList>,
        scans: Arc<AtomicBool>,
    ) -> Self {
        let target = format!("{}/{}", context.store.name, node.addr).into();
        let sweeper = Sweeper::new(node.clone(), context.settings.retain);
        let scan = Scan::new(context.patterns.clone(), context.settings.poll_interval);
        Self {
            context,
            node,
            target,
            addr,
            requests,
            keys,
            scans,
            sweeper,
            abilities: Abilities::default(),
            parts: PartReader::default(),
            scan,
            active: clock::mono(),
            connections: 0,
            outage: None,
            attempts: 0,
        }
    }

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
        let mut reader = FactsReader::new(self.node.clone(), number, hello);
        let list = self.keys.borrow_and_update().clone();
        let probe_key = list.first().map_or(&b"dlock_exporter"[..], |w| &w.key);
        let first = reader.first(&mut conn, &mut self.abilities, probe_key);
        let facts =
            while_refusing(&mut self.requests, refusing, first).await.ok_or(End::Stop)??;
        let (keep, kept) = oneshot::channel();
        self.report(Report::Up(self.node.addr.clone(), Seen::from(&facts), keep)).await?;
        if !kept.await.unwrap_or(false) {
            return Err(End::Stop);
        }
        if number == 1 {
            info!(store = %self.context.store.name, node = %self.node.addr, version = %facts.version,
                flavor = %facts.flavor, role = facts.role.as_str(), "connected");
        }
        let limit = if facts.mode == "cluster" { 1 } else { BATCH };
        self.sweeper.connected(number, Dialect::of(&self.abilities), limit);
        self.sweeper.sync(&list);
        self.scan.restart();
        self.send(Observation::Node(Box::new(facts))).await?;
        Ok(Session::new(self, conn, reader))
    }

    /// A whole poll succeeded: only now an outage is over. A server may let us in again and again and fail each poll.
    pub(super) async fn succeeded(&mut self, span: Span, busy: Duration) -> Result<(), End> {
        self.attempts = 0;
        if self.outage.take().is_some() {
            info!(store = %self.context.store.name, node = %self.node.addr, "polls succeed again");
        }
        self.poll_done(span, busy, None).await
    }

    /// Tells of a failure; logs it if it is a new one.
    async fn failed(&mut self, failure: Failure) -> Result<(), End> {
        if self.outage != Some(failure.reason) {
            self.outage = Some(failure.reason);
            warn!(store = %self.context.store.name, node = %self.node.addr,
                reason = failure.reason.as_str(), "cannot poll: {}", failure.detail);
        }
        let now = clock::mono();
        self.send(Observation::NodeFailed(NodeFailed {
            node: self.node.clone(),
            at: now,
            reason: failure.reason,
            detail: failure.detail,
        }))
        .await?;
        let span = Span { sent: self.active, done: now };
        self.poll_done(span, span.width(), Some(failure.reason)).await?;
        self.report(Report::Down(self.node.addr.clone(), failure.reason)).await
    }

    /// Tells the exporter's own metrics that a poll ended.
    async fn poll_done(
        &self,
        span: Span,
        busy: Duration,
        failure: Option<FailReason>,
    ) -> Result<(), End> {
        self.send(Observation::Poll(PollDone {
            poller: "redis",
            target: self.target.clone(),
            interval: self.context.settings.poll_interval,
            span,
            busy,
            failure,
        }))
        .await
    }

    pub(super) async fn send(&self, observation: Observation) -> Result<(), End> {
        self.context.out.send(observation).await.map_err(|_| End::Stop)
    }

    pub(super) async fn report(&self, report: Report) -> Result<(), End> {
        self.context.reports.send(report).await.map_err(|_| End::Stop)
    }

    /// Doubles from one attempt to the next; never longer than an interval, except where each attempt is a failed
    /// login in the server's log. The jitter keeps many exporters from returning in step.
    /// Rights may have been granted.
    pub(super) fn retry_refused(&mut self) {
        self.abilities.retry_refused();
        self.sweeper.retry_refused();
        self.parts.retry_refused();
        self.scan.retry();
    }

    fn backoff(&mut self, reason: FailReason) -> Duration {
        let (shortest, longest) = BACKOFF;
        let refused = matches!(reason, FailReason::Auth | FailReason::Permission);
        // Each wrong password or missing right fills the server's ACL log: no faster than a poll.
        let interval = self.context.settings.poll_interval;
        let shortest = if refused { interval.min(longest) } else { shortest };
        let cap = if refused { longest } else { longest.min(interval) };
        let doubled = shortest.saturating_mul(1 << self.attempts.min(10));
        self.attempts = self.attempts.saturating_add(1);
        let random = RandomState::new().build_hasher().finish();
        let share = 0.5 + (random % 1024) as f64 / 2048.0;
        doubled.min(cap).max(shortest.min(cap)).mul_f64(share)
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
