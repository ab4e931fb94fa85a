//! Celery: workers that are heard. Each publishes that it lives, every two seconds by default, on channels of the broker
//! (kombu's fanout exchange `celeryev`); nothing is kept there, so that only who listens knows. A read asks for the channels
//! once more: all that was published before has come when the server answers.

pub mod event;
pub mod roster;

use std::sync::Arc;
use std::time::Duration;

use super::super::ability::{Abilities, Ability};
use super::super::dial::parse_addr;
use super::super::failure::Failure;
use super::super::messages::Request;
use super::super::store::StoreHandle;
use super::super::subscription::{Message, Subscription};
use super::{Names, Refused};
use crate::clock;
use crate::observe::Span;
use crate::observe::node::FailReason;
use crate::observe::source::{ListMember, SourceFailed};
use roster::Roster;

/// Listens to the events of a broker's workers.
pub struct EventFeed {
    store: StoreHandle,
    channels: Vec<String>,
    link: Option<Link>,
    roster: Roster,
    abilities: Abilities,
    refused: Option<Refused>,
    /// Why the connection broke while nobody read.
    broke: Option<Failure>,
}

struct Link {
    /// The primary that it goes to.
    addr: Arc<str>,
    subscription: Subscription,
}

/// What came of a read.
pub enum Heard {
    /// These are there.
    Members(Vec<ListMember>),
    /// It listens, and not for long enough; so long still.
    Unripe(Duration),
}

impl EventFeed {
    /// Connects with the first read. Events are published on channels that begin with `channel`, by default that of the
    /// store's own database.
    pub fn new(store: StoreHandle, channel: Option<&str>) -> Self {
        let own = || format!("/{}.celeryev", store.config().url.db);
        let channel = channel.map_or_else(own, str::to_owned);
        let channels = event::KINDS.map(|kind| format!("{channel}/{kind}")).into();
        Self {
            store,
            channels,
            link: None,
            roster: Roster::default(),
            abilities: Abilities::default(),
            refused: None,
            broke: None,
        }
    }

    /// Listens until the connection breaks, for ever where there is none. May be dropped and called again at any time.
    pub async fn listen(&mut self) {
        let Self { link, roster, .. } = self;
        let Some(Link { subscription, .. }) = link else { return std::future::pending().await };
        let failure = subscription.listen(|m| hear(roster, &m)).await;
        (self.link, self.broke) = (None, Some(failure));
    }

    /// Who is there, with the time in which that was asked. Connects first where nothing is connected.
    pub async fn read(&mut self) -> (Span, Result<Heard, SourceFailed>) {
        let begun = clock::mono();
        match self.try_read().await {
            Ok((span, heard)) => (span, Ok(heard)),
            Err(failure) => {
                // A connection that failed once is not used again.
                self.link = None;
                let detail = format!("store {}: {}", self.store.config().name, failure.detail);
                let failed = SourceFailed { reason: failure.reason, detail };
                (Span { sent: begun, done: clock::mono() }, Err(failed))
            }
        }
    }

    async fn try_read(&mut self) -> Result<(Span, Heard), Failure> {
        if let Some(refused) = self.refused.as_ref().filter(|r| r.holds(&self.store)) {
            let failure = refused.failure.clone();
            self.tell(Ability::Refused(refused.at));
            return Err(failure);
        }
        self.store.tried().await;
        let addr = self
            .store
            .primary()
            .map_err(|reason| Failure::new(reason, "its primary is not connected"))?;
        // What is published to a server that is no primary any more says nothing of who publishes elsewhere.
        if self.link.as_ref().is_none_or(|link| link.addr != addr) {
            self.connect(addr).await?;
        }
        let Self { link, roster, .. } = self;
        let Some(Link { subscription, .. }) = link else {
            return Err(Failure::new(FailReason::Other, "there is no connection"));
        };
        let span = subscription.confirm(|m| hear(roster, &m)).await?;
        self.tell(Ability::Works);
        if let Some(left) = self.roster.unripe(span.sent) {
            return Ok((span, Heard::Unripe(left)));
        }
        let mut names = Names::default();
        let too_many = || {
            let detail = format!("more than {} workers were heard", roster::MOST);
            Failure::new(FailReason::Other, detail)
        };
        for name in self.roster.there(span.sent).ok_or_else(too_many)? {
            names.add(name.as_bytes(), None);
            // Tokens that name a host only: it has a worker. A pid is no help, as tasks run in children of the worker.
            if let Some((_, host)) = name.rsplit_once('@') {
                names.add(host.as_bytes(), None);
            }
        }
        Ok((span, Heard::Members(names.into_members())))
    }

    async fn connect(&mut self, addr: Arc<str>) -> Result<(), Failure> {
        self.link = None;
        // It broke since the last read: that is told before it is mended, or nobody would learn of the gap.
        if let Some(failure) = self.broke.take() {
            return Err(failure);
        }
        let unusable = || Failure::new(FailReason::Other, format!("{addr} is no address"));
        let at = parse_addr(&addr).ok_or_else(unusable)?;
        let (config, tries) = (self.store.config().clone(), self.store.retries());
        let (abilities, channels) = (&mut self.abilities, self.channels.clone());
        match Subscription::open(&config, &at, abilities, channels).await {
            Ok(subscription) => {
                self.refused = None;
                self.roster.begin(clock::mono());
                self.link = Some(Link { addr, subscription });
                Ok(())
            }
            Err(mut failure) => {
                if failure.reason == FailReason::Permission {
                    self.tell(Ability::Refused(clock::mono()));
                    let channel = self.channels.first().map_or("", String::as_str);
                    failure.detail = format!(
                        "the ACL user may not listen to {channel}; the README has the line that grants it: {}",
                        failure.detail
                    );
                    let at = clock::mono();
                    self.refused = Some(Refused { failure: failure.clone(), at, tries });
                }
                Err(failure)
            }
        }
    }

    /// Lets the store show whether we may listen.
    fn tell(&self, ability: Ability) {
        self.store.tell(Request::Learned("subscribe", ability));
    }
}

fn hear(roster: &mut Roster, message: &Message) {
    if let Some(event) = event::read(message) {
        roster.hear(event, clock::mono());
    }
}
