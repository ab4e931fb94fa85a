//! The task of a store's feed: keeps a connection to whichever node is the primary, has changed keys read, and says how the
//! feed stands. Must not hold up the polling of a node: what it asks for there is dropped when a node is behind.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::watch;
use tracing::info;

use super::changes::Changes;
use super::gap::Gap;
use super::known::Known;
use super::link::{Link, Shut, TRACKING, Told};
use super::prefixes;
use crate::clock;
use crate::config::{Events, LockKeys};
use crate::observe::feed::{Standing, Why};
use crate::observe::node::FailReason;
use crate::observe::{KeyId, Mono, NodeRef};
use crate::poll::redis::ability::{Abilities, Ability};
use crate::poll::redis::context::{Context, Links};
use crate::poll::redis::dial::parse_addr;
use crate::poll::redis::failure::Failure;
use crate::poll::redis::glob;
use crate::poll::redis::keys::KeyList;
use crate::poll::redis::messages::{Report, Request};

/// How often the connection has to show that it lives, and how often an outage is told of.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// Keys read at once when any may have changed; the sweep reads the others.
const AT_ONCE: usize = 1000;

/// See the module.
pub struct Feed {
    pub(super) context: Arc<Context>,
    keys: watch::Receiver<KeyList>,
    pub(super) links: watch::Receiver<Links>,
    pub(super) retries: Arc<AtomicU64>,
    prefixes: Vec<Vec<u8>>,
    known: Known,
    changes: Changes,
    abilities: Abilities,
    pub(super) gap: Gap,
    /// Why it is interrupted or off, as it was logged.
    pub(super) said: Option<Standing>,
    pub(super) attempts: u32,
}

/// Why the feed of one node ended.
enum End {
    /// Nobody needs it any more.
    Stop,
    /// Another node is the primary.
    Moved,
    Shut(Shut),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        End::Shut(Shut::Failed(failure))
    }
}

impl Feed {
    /// The feed of a store; `None` where none is wanted.
    pub fn new(
        context: Arc<Context>,
        keys: watch::Receiver<KeyList>,
        links: watch::Receiver<Links>,
        retries: Arc<AtomicU64>,
    ) -> Option<Self> {
        let store = &context.store;
        if store.events == Events::Off || store.locks.is_empty() {
            return None;
        }
        let begin = store.locks.iter().flat_map(|lock| match &lock.keys {
            LockKeys::One { key, .. } => vec![key.clone()],
            LockKeys::Several { keys, .. } => keys.clone(),
            LockKeys::Matching { pattern, .. } => vec![prefixes::literal(pattern)],
        });
        let prefixes = prefixes::reduce(begin.collect());
        let changes = Changes::new(context.settings.poll_interval);
        Some(Self {
            context,
            keys,
            links,
            retries,
            prefixes,
            known: Known::default(),
            changes,
            abilities: Abilities::default(),
            gap: Gap::default(),
            said: None,
            attempts: 0,
        })
    }

    /// Runs until nobody needs it any more.
    pub async fn run(mut self) {
        while let Some(node) = self.primary().await {
            let shut = match self.follow(&node).await {
                End::Stop => return,
                End::Moved => continue,
                End::Shut(shut) => shut,
            };
            let done = match shut {
                Shut::Failed(failure) => self.interrupted(&node, failure).await,
                Shut::Off { why, command, detail } => self.off(&node, why, command, &detail).await,
            };
            if done.is_none() {
                return;
            }
        }
    }

    /// The primary, once there is one. `None` when nobody needs it any more.
    async fn primary(&mut self) -> Option<NodeRef> {
        loop {
            let at = self.links.borrow_and_update().primary_at.clone();
            if let Some(addr) = at {
                return Some(NodeRef { store: self.context.id, addr });
            }
            self.links.changed().await.ok()?;
        }
    }

    pub(super) fn is_primary(&self, node: &NodeRef) -> bool {
        // One that is away is still the primary until there is another.
        self.links.borrow().primary_at.as_ref().is_none_or(|at| *at == node.addr)
    }

    /// Why a feed that nobody asked for is left off there.
    pub(super) fn is_costly(&self) -> Option<&'static str> {
        if self.context.store.events != Events::Auto {
            return None;
        }
        if self.prefixes.iter().any(Vec::is_empty) {
            return Some("a pattern begins with a wildcard, so that all keys had to be told of");
        }
        let links = self.links.borrow();
        let may_evict = links.primary_at.is_some() && links.evicts != Some(false);
        may_evict.then_some("the server may evict keys, and a feed takes memory there")
    }

    /// Listens to a node until that ends.
    async fn follow(&mut self, node: &NodeRef) -> End {
        if let Some(why) = self.is_costly() {
            let detail = format!("{why}; `events: tracking` turns it on");
            return End::Shut(Shut::Off { why: Why::Costly, command: "", detail });
        }
        let Some(addr) = parse_addr(&node.addr) else {
            return Failure::new(FailReason::Other, "its address is none").into();
        };
        let store = self.context.store.clone();
        let begun = clock::mono();
        let opened = Link::open(&store, &addr, &mut self.abilities, &self.prefixes).await;
        let mut link = match opened {
            Ok(link) => link,
            Err(shut) => {
                if matches!(shut, Shut::Failed(_)) {
                    self.gap.begin(begun);
                }
                return End::Shut(shut);
            }
        };
        let ready = clock::mono();
        if self.tell(node, Standing::Live, ready).await.is_none() {
            return End::Stop;
        }
        self.gap.heard(ready);
        self.learned(TRACKING, Ability::Works);
        if self.said.take().is_some() {
            info!(store = %store.name, node = %node.addr, "the event feed is whole");
        }
        // Lists may have changed before it was ready.
        self.keys.mark_changed();
        self.listen(&mut link, node).await
    }

    async fn listen(&mut self, link: &mut Link, node: &NodeRef) -> End {
        let mut next_ask = clock::mono();
        let mut asked: Option<Mono> = None;
        loop {
            let now = clock::mono();
            match asked {
                Some(at) if now.since(at) >= self.context.store.response_timeout => {
                    let limit = self.context.store.response_timeout;
                    return Failure::timeout("waiting for SUBSCRIBE", limit, "response_timeout")
                        .into();
                }
                None if next_ask <= now => {
                    asked = match link.ask().await {
                        Ok(at) => Some(at),
                        Err(failure) => return failure.into(),
                    };
                    next_ask = now.plus(BEAT);
                }
                _ => {}
            }
            let due = self.changes.take_due(now);
            self.read(due);
            let ask = asked.map_or(next_ask, |at| at.plus(self.context.store.response_timeout));
            let wake = self.changes.due().map_or(ask, |due| due.min(ask));
            tokio::select! {
                told = link.next() => match told {
                    Err(failure) => return failure.into(),
                    Ok(Told::Alive) => {
                        if let Some(at) = asked.take() {
                            self.gap.heard(at);
                            self.attempts = 0;
                        }
                    }
                    Ok(Told::Changed(keys)) => self.changed(keys),
                    Ok(Told::Any) => self.any_changed(),
                },
                changed = self.links.changed() => {
                    if changed.is_err() {
                        return End::Stop;
                    }
                    if !self.is_primary(node) {
                        return End::Moved;
                    }
                    if let Some(why) = self.is_costly() {
                        let detail = why.to_owned();
                        return End::Shut(Shut::Off { why: Why::Costly, command: "", detail });
                    }
                }
                changed = self.keys.changed() => {
                    if changed.is_err() {
                        return End::Stop;
                    }
                    let list = self.keys.borrow_and_update().clone();
                    self.known.sync(&list);
                }
                () = tokio::time::sleep(wake.since(now)) => {}
            }
        }
    }

    /// Has changed keys read, and tells of those that a pattern would find.
    fn changed(&mut self, keys: Vec<Vec<u8>>) {
        let now = clock::mono();
        let mut read = Vec::new();
        let mut new = Vec::new();
        for key in keys {
            match self.known.get(&key) {
                Some(id) if self.changes.changed(id, now) => read.push(id),
                Some(_) => {}
                None => {
                    let mut patterns = self.context.patterns.iter();
                    if patterns.any(|p| glob::matches(p, &key)) && self.changes.may_be_new(now) {
                        new.push(key);
                    }
                }
            }
        }
        self.read(read);
        if !new.is_empty() {
            // Full means that the store is behind; SCAN will meet them.
            let _ = self.context.reports.try_send(Report::Found(new, false));
        }
    }

    /// Any key may have changed: has some read, and the counters that tell of a flush.
    fn any_changed(&mut self) {
        let now = clock::mono();
        let some: Vec<KeyId> = self.known.all().take(AT_ONCE).collect();
        let read = some.into_iter().filter(|id| self.changes.changed(*id, now)).collect();
        self.read(read);
        self.ask(Request::Facts);
    }

    fn read(&self, keys: Vec<KeyId>) {
        if !keys.is_empty() {
            self.ask(Request::Changed(keys));
        }
    }

    /// Asks the primary's poller, if it can take it; the next sweep will tell what it cannot.
    pub(super) fn ask(&self, request: Request) {
        if let Some(primary) = &self.links.borrow().primary {
            let _ = primary.try_send(request);
        }
    }
}
