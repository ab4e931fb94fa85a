//! The task of a store's feed: keeps a connection to whichever node is the primary, has changed keys read, and says how the
//! feed stands. Must not hold up the polling of a node: what it asks for there is dropped when a node is behind.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::watch;
use tracing::info;

use super::changes::Changes;
use super::flags::Asks;
use super::gap::Gap;
use super::hearing::Hearing;
use super::known::Known;
use super::link::{self, Link, Shut, TRACKING};
use super::plan::Plan;
use super::told::Told;
use crate::clock;
use crate::config::Events;
use crate::observe::feed::{Deed, Standing, Why};
use crate::observe::node::FailReason;
use crate::observe::{Line, Mono, NodeRef, Observation, Span};
use crate::poll::redis::ability::{Abilities, Ability, RETRY_REFUSED};
use crate::poll::redis::context::Context;
use crate::poll::redis::dial::parse_addr;
use crate::poll::redis::failure::Failure;
use crate::poll::redis::keys::KeyList;
use crate::poll::redis::links::{LineLink, Links};
use crate::poll::redis::messages::Request;
use crate::poll::redis::silence::Silence;

/// How often the connection has to show that it lives, and how often an outage is told of.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// After a write it is asked so soon, so that an overwrite is proven at once.
const SOON: Duration = Duration::from_millis(40);

/// See the module.
pub struct Feed {
    pub(super) context: Arc<Context>,
    keys: watch::Receiver<KeyList>,
    pub(super) links: watch::Receiver<Links>,
    /// The line whose primary it listens to.
    pub(super) line: Line,
    pub(super) retries: Arc<AtomicU64>,
    pub(super) plan: Plan,
    pub(super) known: Known,
    pub(super) changes: Changes,
    /// What it proves to the poller of the primary.
    pub(super) silence: Arc<Silence>,
    /// What keyspace events tell, where all of them are heard.
    pub(super) hearing: Option<Hearing>,
    /// Said that not all events are sent that a proof needs.
    pub(super) is_partly_deaf: bool,
    /// It listens to keyspace events alone, and may not ask whether the server sends them.
    pub(super) is_unsure: bool,
    pub(super) abilities: Abilities,
    pub(super) gap: Gap,
    /// Why it is interrupted or off, as it was logged.
    pub(super) said: Option<Standing>,
    pub(super) attempts: u32,
}

/// Why the feed of one node ended.
pub(super) enum End {
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
    /// The feed of a line of a store; `None` where none is wanted.
    pub fn new(
        context: Arc<Context>,
        keys: watch::Receiver<KeyList>,
        links: watch::Receiver<Links>,
        line: Line,
        retries: Arc<AtomicU64>,
    ) -> Option<Self> {
        let store = &context.store;
        if store.events == Events::Off || store.locks.is_empty() {
            return None;
        }
        let plan = Plan::of(store);
        let silence = context.silence(line);
        let changes = Changes::new(context.settings.poll_interval);
        Some(Self {
            context,
            keys,
            links,
            line,
            retries,
            plan,
            hearing: None,
            known: Known::default(),
            changes,
            silence,
            is_partly_deaf: false,
            is_unsure: false,
            abilities: Abilities::default(),
            gap: Gap::default(),
            said: None,
            attempts: 0,
        })
    }

    /// Runs until nobody needs it any more.
    pub async fn run(mut self) {
        while let Some(node) = self.primary().await {
            let end = self.follow(&node).await;
            self.silence.end();
            let shut = match end {
                End::Stop => return,
                End::Moved => continue,
                End::Shut(shut) => shut,
            };
            let done = match shut {
                Shut::Failed(failure) => self.interrupted(&node, failure).await,
                Shut::Off { why, command, detail, again } => {
                    self.off(&node, why, command, &detail, again).await
                }
            };
            if done.is_none() {
                return;
            }
        }
    }

    /// Where the primary is at present.
    pub(super) fn link(&self) -> LineLink {
        self.links.borrow().lines.get(&self.line).cloned().unwrap_or_default()
    }

    /// The primary, once there is one. `None` when nobody needs it any more.
    async fn primary(&mut self) -> Option<NodeRef> {
        loop {
            self.links.mark_unchanged();
            if let Some((_, addr)) = self.link().primary {
                return Some(NodeRef { store: self.context.id, line: self.line, addr });
            }
            self.links.changed().await.ok()?;
            // A line that is no more has nothing to read.
            self.keys.has_changed().ok()?;
        }
    }

    pub(super) fn is_primary(&self, node: &NodeRef) -> bool {
        // One that is away is still the primary until there is another.
        self.link().primary.is_none_or(|(_, at)| at == node.addr)
    }

    /// Listens to a node until that ends.
    async fn follow(&mut self, node: &NodeRef) -> End {
        let Some(addr) = parse_addr(&node.addr) else {
            return Failure::new(FailReason::Other, "its address is none").into();
        };
        let store = self.context.store.clone();
        let begun = clock::mono();
        let costly = self.is_costly();
        let wanted = match store.events {
            Events::Auto => (costly.is_none(), link::Events::IfOn),
            Events::Tracking => (true, link::Events::No),
            Events::Notifications | Events::Off => (false, link::Events::Yes),
        };
        let abilities = &mut self.abilities;
        let mut opened = Link::open(&store, &addr, abilities, &self.plan, wanted).await;
        if let (Err(Shut::Off { why, detail, .. }), Some(reason)) = (&mut opened, costly) {
            *why = Why::Costly;
            *detail = format!("{reason} (`events: tracking` turns broadcasts on), and {detail}");
        }
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
        self.is_unsure = !link.tracks && matches!(link.asks, Asks::No);
        if let Some(command) = link.refused.take() {
            self.learned(command, Ability::Refused(ready));
            self.ask(Request::Facts);
        }
        if self.tell(node, Standing::Live, ready).await.is_none() {
            return End::Stop;
        }
        self.gap.heard(ready);
        if link.tracks {
            self.learned(TRACKING, Ability::Works);
            // Keyspace events do not tell of a flush, and classes of them may be off.
            if let Some(server) = link.run_id.take() {
                self.silence.begin(server, ready);
            }
        }
        self.hearing = link.hears_all.then(|| Hearing::new(ready));
        if self.hearing.is_none() && self.tell_deaf(node).await.is_none() {
            return End::Stop;
        }
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
                            self.silence.answered(at);
                            self.attempts = 0;
                            let asked = Span { sent: at, done: clock::mono() };
                            let heard = self.hearing.as_mut().map(|h| h.take(node, asked));
                            if let Some(heard) = heard {
                                let heard = Observation::Heard(Box::new(heard));
                                if self.context.out.send(heard).await.is_err() {
                                    return End::Stop;
                                }
                            }
                        }
                    }
                    Ok(Told::Changed(keys)) => self.changed(keys),
                    Ok(Told::Event(key, deed)) => {
                        if matches!(deed, Some(Deed::Wrote | Deed::Evicted)) {
                            next_ask = next_ask.min(clock::mono().plus(SOON));
                        }
                        self.done_to(key, deed, link.tracks);
                    }
                    Ok(Told::Sends(sends)) => {
                        if let Some(end) = self.sends(link, node, sends).await {
                            return end;
                        }
                    }
                    Ok(Told::Any) => self.any_changed(),
                },
                changed = self.links.changed() => {
                    if changed.is_err() {
                        return End::Stop;
                    }
                    if !self.is_primary(node) {
                        return End::Moved;
                    }
                    if link.tracks && let Some(why) = self.is_costly() {
                        let detail = why.to_owned();
                        return End::Shut(Shut::Off {
                            why: Why::Costly,
                            command: "",
                            detail,
                            again: RETRY_REFUSED,
                        });
                    }
                }
                changed = self.keys.changed() => {
                    if changed.is_err() {
                        return End::Stop;
                    }
                    let list = self.keys.borrow_and_update().clone();
                    let new = self.known.sync(&list);
                    self.silence.knows(&new, self.known.last(), clock::mono());
                    if let Some(hearing) = &mut self.hearing {
                        hearing.know(&self.known, clock::mono());
                    }
                }
                () = self.silence.wanted() => next_ask = clock::mono(),
                () = tokio::time::sleep(wake.since(now)) => {}
            }
        }
    }
}
