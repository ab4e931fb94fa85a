//! One node's poller as it outlives connections: what is known of the server, and how it tells of polls and outages.
//! Neither connects nor reads.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tracing::{info, warn};

use super::ability::Abilities;
use super::agenda::{Agenda, Patterns};
use super::beside::Beside;
use super::clients::ClientList;
use super::context::Context;
use super::failure::Failure;
use super::keys::KeyList;
use super::messages::{End, Report, Request};
use super::parts::PartReader;
use super::scan::Scan;
use super::silence::Silence;
use super::slowlog::SlowLog;
use super::sweep::Sweeper;
use crate::clock;
use crate::config::RedisAddr;
use crate::observe::node::{FailReason, NodeFailed};
use crate::observe::poll::PollDone;
use crate::observe::{Mono, NodeRef, Observation, Span};

/// Shortest and longest pause before connecting again.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// One node and everything that outlives its connections.
pub struct NodeTask {
    pub(super) context: Arc<Context>,
    pub(super) node: NodeRef,
    /// `store/addr`.
    pub(super) target: Arc<str>,
    pub(super) addr: RedisAddr,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) keys: watch::Receiver<KeyList>,
    pub(super) patterns: watch::Receiver<Patterns>,
    /// Whether this node is the one that scans.
    pub(super) scans: Arc<AtomicBool>,
    /// Nobody waits for this node: that it does not answer is not told, and it is asked rarely.
    pub(super) is_silent: Arc<AtomicBool>,
    pub(super) sweeper: Sweeper,
    pub(super) abilities: Abilities,
    pub(super) parts: PartReader,
    pub(super) scan: Scan,
    /// What the line's event feed proves, and that there is news of it.
    pub(super) silence: Arc<Silence>,
    pub(super) proofs: watch::Receiver<()>,
    pub(super) beside: Beside,
    pub(super) clients: ClientList,
    pub(super) slowlog: SlowLog,
    /// When the exchange began that failed if anything fails now.
    pub(super) active: Mono,
    pub(super) connections: u64,
    /// It answers no reads until its link to its primary is up.
    pub(super) awaits_link: bool,
    /// The reason of the present outage, which was logged.
    pub(super) outage: Option<FailReason>,
    attempts: u32,
}

impl NodeTask {
    /// A node that was not tried yet.
    pub fn new(
        context: Arc<Context>,
        node: NodeRef,
        addr: RedisAddr,
        requests: mpsc::Receiver<Request>,
        agenda: Agenda,
        scans: Arc<AtomicBool>,
    ) -> Self {
        let target = format!("{}/{}", context.store.name, node.addr).into();
        let sweeper = Sweeper::new(node.clone(), context.settings);
        let (keys, mut patterns) = (agenda.keys.subscribe(), agenda.patterns.subscribe());
        let begun = patterns.borrow_and_update().clone();
        let slowlog = SlowLog::new(&context.store, context.settings.poll_interval);
        let scan = Scan::new(begun.to_vec(), context.settings.poll_interval);
        let clients = ClientList::new(context.store.clients, context.settings.poll_interval);
        let silence = context.silence(node.line);
        let proofs = silence.watch();
        Self {
            context,
            node,
            target,
            addr,
            requests,
            keys,
            patterns,
            scans,
            is_silent: Arc::default(),
            sweeper,
            abilities: Abilities::default(),
            parts: PartReader::default(),
            scan,
            silence,
            proofs,
            beside: Beside::default(),
            clients,
            slowlog,
            active: clock::mono(),
            connections: 0,
            awaits_link: false,
            outage: None,
            attempts: 0,
        }
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
    pub(super) async fn failed(&mut self, failure: Failure) -> Result<(), End> {
        self.awaits_link = failure.awaits_link;
        if self.is_silent() {
            return self.report(Report::Down(self.node.addr.clone(), failure.reason)).await;
        }
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

    fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::Relaxed)
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

    /// Rights may have been granted.
    pub(super) fn retry_refused(&mut self) {
        self.abilities.retry_refused();
        self.sweeper.retry_refused();
        self.parts.retry_refused();
        self.beside.retry_refused(&mut self.sweeper);
        self.scan.retry();
        self.clients.retry();
        self.slowlog.retry();
    }

    /// Doubles from one attempt to the next; never longer than an interval, except where each attempt is a failed
    /// login in the server's log. The jitter keeps many exporters from returning in step.
    pub(super) fn backoff(&mut self, reason: FailReason) -> Duration {
        let (shortest, longest) = BACKOFF;
        let refused = matches!(reason, FailReason::Auth | FailReason::Permission);
        // Each wrong password or missing right fills the server's ACL log: no faster than a poll.
        let interval = self.context.settings.poll_interval;
        let shortest = if refused { interval.min(longest) } else { shortest };
        let cap = if refused || self.is_silent() { longest } else { longest.min(interval) };
        let doubled = shortest.saturating_mul(1 << self.attempts.min(10));
        self.attempts = self.attempts.saturating_add(1);
        let random = RandomState::new().build_hasher().finish();
        let share = 0.5 + (random % 1024) as f64 / 2048.0;
        doubled.min(cap).max(shortest.min(cap)).mul_f64(share)
    }
}
