//! The task that asks one sentinel: connects, asks once a poll, and when that fails says why and tries again. A sentinel that
//! hangs or fails costs its own series and nothing else.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::super::ability::Abilities;
use super::super::context::Context;
use super::super::failure::Failure;
use super::super::handshake;
use super::super::messages::{End, Report, Request};
use super::super::parts::PartsFailed;
use super::{Says, ask};
use crate::clock;
use crate::config::{RedisAddr, Store};
use crate::observe::node::{FailReason, NodeFailed, NodeRef, SweepDone};
use crate::observe::poll::PollDone;
use crate::observe::{Mono, Observation, Span};

/// Longest pause before connecting again, and the pause after a refusal: each fills the sentinel's log.
const LONGEST: Duration = Duration::from_secs(5);

/// One sentinel and everything that outlives its connections.
pub struct SentinelTask {
    context: Arc<Context>,
    /// The store as its sentinels are connected to.
    access: Arc<Store>,
    node: NodeRef,
    /// `store/addr`.
    target: Arc<str>,
    addr: RedisAddr,
    requests: mpsc::Receiver<Request>,
    abilities: Abilities,
    connections: u64,
    /// The reason of the present outage, which was logged.
    outage: Option<FailReason>,
    /// When the exchange began that failed if anything fails now.
    active: Mono,
}

impl SentinelTask {
    /// A sentinel that was not tried yet.
    pub(in super::super) fn new(
        context: Arc<Context>,
        access: Arc<Store>,
        node: NodeRef,
        addr: RedisAddr,
        requests: mpsc::Receiver<Request>,
    ) -> Self {
        let target = format!("{}/{}", context.store.name, node.addr).into();
        Self {
            context,
            access,
            node,
            target,
            addr,
            requests,
            abilities: Abilities::default(),
            connections: 0,
            outage: None,
            active: clock::mono(),
        }
    }

    /// Asks until nobody needs it any more.
    pub async fn run(mut self) {
        loop {
            self.active = clock::mono();
            let failure = match self.watch().await {
                Err(End::Failed(failure)) => failure,
                Err(End::Stop) => return,
                Ok(never) => match never {},
            };
            let reason = failure.reason;
            if self.failed(failure).await.is_err() {
                return;
            }
            let pause = match reason {
                FailReason::Auth | FailReason::Permission => LONGEST,
                _ => self.context.settings.poll_interval.min(LONGEST),
            };
            if self.wait(pause).await.is_err() {
                return;
            }
        }
    }

    async fn watch(&mut self) -> Result<Infallible, End> {
        let connected = handshake::connect(&self.access, &self.addr, &mut self.abilities).await;
        let (mut conn, hello) = connected.map_err(theirs)?;
        self.connections += 1;
        let place = (self.node.clone(), self.connections);
        let mut facts = ask::facts(&mut conn, &mut self.abilities, place, &hello).await?;
        let (keep, kept) = oneshot::channel();
        self.tell(Says::Up(facts.run_id.clone(), keep)).await?;
        if !kept.await.unwrap_or(false) {
            return Err(End::Stop);
        }
        if self.connections == 1 {
            info!(store = %self.context.store.name, node = %self.node.addr, version = %facts.version,
                flavor = %facts.flavor, role = facts.role.as_str(), "connected");
        }
        let Some(sentinels) = self.access.sentinels() else { return Err(End::Stop) };
        let master = sentinels.master.clone();
        loop {
            self.active = clock::mono();
            let (answer, span) = ask::ask(&mut conn, &mut self.abilities, &master).await?;
            facts.span = span;
            facts.permissions = self.abilities.permissions();
            self.send(Observation::Node(Box::new(facts.clone()))).await?;
            self.succeeded(span).await?;
            self.tell(Says::Answer(answer)).await?;
            let now = clock::mono();
            self.wait(self.context.next_tick(now).since(now)).await?;
        }
    }

    async fn succeeded(&mut self, span: Span) -> Result<(), End> {
        if self.outage.take().is_some() {
            info!(store = %self.context.store.name, node = %self.node.addr, "polls succeed again");
        }
        let busy = span.width();
        self.send(Observation::SweepDone(SweepDone { node: self.node.clone(), span, busy }))
            .await?;
        self.poll_done(span, None).await
    }

    /// Tells of a failure; logs it if it is a new one.
    async fn failed(&mut self, failure: Failure) -> Result<(), End> {
        let Failure { reason, detail, .. } = failure;
        if self.outage != Some(reason) {
            self.outage = Some(reason);
            warn!(store = %self.context.store.name, node = %self.node.addr,
                reason = reason.as_str(), "cannot ask this sentinel: {detail}");
        }
        let at = clock::mono();
        let node = self.node.clone();
        self.send(Observation::NodeFailed(NodeFailed { node, at, reason, detail })).await?;
        self.poll_done(Span { sent: self.active, done: at }, Some(reason)).await?;
        self.tell(Says::Down(reason)).await
    }

    async fn poll_done(&self, span: Span, failure: Option<FailReason>) -> Result<(), End> {
        self.send(Observation::Poll(PollDone {
            poller: "redis",
            target: self.target.clone(),
            interval: self.context.settings.poll_interval,
            span,
            busy: span.width(),
            failure,
        }))
        .await
    }

    /// Lets time pass; ends early where what was refused is to be tried again.
    async fn wait(&mut self, pause: Duration) -> Result<(), End> {
        let until = clock::mono().plus(pause);
        loop {
            let left = until.since(clock::mono());
            match timeout(left, self.requests.recv()).await {
                Err(_) => return Ok(()),
                Ok(None) => return Err(End::Stop),
                Ok(Some(Request::RetryRefused)) => {
                    self.abilities.retry_refused();
                    // A storm of reloads is no storm of connections.
                    sleep(Duration::from_millis(100)).await;
                    return Ok(());
                }
                Ok(Some(Request::Parts(_, reply))) => {
                    let detail = "a sentinel holds no keys".to_owned();
                    let _ = reply.send(Err(PartsFailed { reason: FailReason::Other, detail }));
                }
                Ok(Some(_)) => {}
            }
        }
    }

    async fn tell(&self, says: Says) -> Result<(), End> {
        let report = Report::Sentinel(self.node.addr.clone(), says);
        self.context.reports.send(report).await.map_err(|_| End::Stop)
    }

    async fn send(&self, observation: Observation) -> Result<(), End> {
        self.context.out.send(observation).await.map_err(|_| End::Stop)
    }
}

/// The keys that a failed login names are those of the sentinels.
fn theirs(mut failure: Failure) -> Failure {
    if failure.reason == FailReason::Auth && !failure.detail.starts_with("password_file") {
        failure.detail.push_str(
            "; for sentinels that is `sentinel.username` and `sentinel.password_file`, which need not be the servers'",
        );
    }
    failure
}
