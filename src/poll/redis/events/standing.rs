//! How a feed stands, and how that is told: to `derive` as it is, to the log once. Waits between two tries.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tracing::{info, warn};

use super::task::{BEAT, Feed};
use crate::clock;
use crate::config::Events;
use crate::observe::feed::{FeedRead, Standing, Why};
use crate::observe::{Mono, NodeRef, Observation};
use crate::poll::redis::ability::Ability;
use crate::poll::redis::failure::Failure;
use crate::poll::redis::messages::Request;

/// Shortest and longest pause before connecting again.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

impl Feed {
    /// What became of a command; the poller of the node tells of it.
    pub(super) fn learned(&self, command: &'static str, ability: Ability) {
        self.ask(Request::Learned(command, ability));
    }

    /// Tells how it stands.
    pub(super) async fn tell(
        &mut self,
        node: &NodeRef,
        standing: Standing,
        at: Mono,
    ) -> Option<()> {
        let read = FeedRead {
            node: node.clone(),
            at,
            standing,
            is_asked: self.context.store.events != Events::Auto,
            is_unsure: self.is_unsure,
            gap: self.gap.take(at),
        };
        self.context.out.send(Observation::Feed(read)).await.ok()
    }

    /// It is interrupted: says so, and waits before the next try.
    pub(super) async fn interrupted(&mut self, node: &NodeRef, failure: Failure) -> Option<()> {
        let standing = Standing::Down(failure.reason);
        if self.said.replace(standing) != Some(standing) {
            warn!(store = %self.context.store.name, node = %node.addr,
                reason = failure.reason.as_str(), "the event feed is interrupted: {}", failure.detail);
        }
        let (shortest, longest) = PAUSE;
        let pause = shortest.saturating_mul(1 << self.attempts.min(10)).min(longest);
        self.attempts = self.attempts.saturating_add(1);
        self.rest(node, standing, pause, |feed| feed.link().primary.is_some()).await
    }

    /// There is none: says so once, and waits until that may have changed.
    pub(super) async fn off(
        &mut self,
        node: &NodeRef,
        why: Why,
        command: &'static str,
        detail: &str,
        again: Duration,
    ) -> Option<()> {
        let standing = Standing::Off(why);
        self.gap.close();
        if why == Why::Permission {
            self.learned(command, Ability::Refused(clock::mono()));
            self.ask(Request::Facts);
        }
        if self.said.replace(standing) != Some(standing) {
            let (store, node) = (&self.context.store.name, &node.addr);
            if self.context.store.events == Events::Auto {
                info!(%store, %node, "no event feed: {detail}; changes are seen by polls alone");
            } else {
                warn!(%store, %node, "no event feed: {detail}; changes are seen by polls alone");
            }
        }
        let retries = self.retries.load(Ordering::Relaxed);
        let costly = self.is_costly().is_some();
        let node = node.clone();
        let of = node.clone();
        self.rest(&node, standing, again, move |feed| {
            feed.retries.load(Ordering::Relaxed) != retries
                || feed.is_costly().is_some() != costly
                || !feed.is_primary(&of)
        })
        .await
    }

    /// Waits until `pause` is over and `is_over`, telling of it meanwhile; for one that is off either will do.
    async fn rest(
        &mut self,
        node: &NodeRef,
        standing: Standing,
        pause: Duration,
        is_over: impl Fn(&Self) -> bool,
    ) -> Option<()> {
        let until = clock::mono().plus(pause);
        let mut told: Option<Mono> = None;
        loop {
            let now = clock::mono();
            let is_news = match standing {
                Standing::Off(_) => told.is_none(),
                _ => told.is_none_or(|at| now.since(at) >= BEAT),
            };
            if is_news {
                self.tell(node, standing, now).await?;
                told = Some(now);
            }
            let is_due = now >= until;
            let may_go = match standing {
                Standing::Off(_) => is_due || is_over(self),
                _ => is_due && is_over(self),
            };
            if may_go {
                return Some(());
            }
            let wait = if is_due { BEAT } else { until.since(now).min(BEAT) };
            tokio::select! {
                changed = self.links.changed() => changed.ok()?,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Why a feed that nobody asked for is left off there.
    pub(super) fn is_costly(&self) -> Option<&'static str> {
        if self.context.store.events != Events::Auto {
            return None;
        }
        if self.plan.prefixes.iter().any(Vec::is_empty) {
            return Some("a pattern begins with a wildcard, so that all keys had to be told of");
        }
        let link = self.link();
        let may_evict = link.primary.is_some() && link.evicts != Some(false);
        may_evict.then_some("the server may evict keys, and a feed takes memory there")
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.silence.end();
    }
}
