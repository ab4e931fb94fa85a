//! Which classes of keyspace events a server sends, asked for again with each sign of life: an operator may change them at any
//! time, and what is not sent must not be taken for what did not happen. An interval proves something only if all were sent at
//! an answer before it and at one after it. Never sets them.

use std::time::Duration;

use tracing::{info, warn};

use super::deed::sends;
use super::hearing::{Hearing, deaf};
use super::link::{Events, Link, Shut};
use super::task::{End, Feed};
use super::told::Told;
use crate::clock;
use crate::observe::feed::{Standing, Why};
use crate::observe::{NodeRef, Observation};
use crate::poll::redis::ability::{Abilities, Ability, RETRY_REFUSED};
use crate::poll::redis::codec::Item;
use crate::poll::redis::conn::Conn;
use crate::poll::redis::failure::{Failure, is_noperm};
use crate::poll::redis::pack;
use crate::poll::redis::subscription::frames::Part;

const CONFIG: &str = "config|get";
const ASK: [&[u8]; 3] = [b"CONFIG", b"GET", b"notify-keyspace-events"];
/// When to look again where they are off and a feed of them is all that was asked for, and where nobody asked.
const AGAIN: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

/// Any of a key, and all that matter. `None` where it does not tell.
type Sends = Option<(bool, bool)>;

/// How a feed asks for them.
pub enum Asks {
    /// Not at all: nobody wants to know, or the server does not tell.
    No,
    /// Over its own connection.
    Here {
        /// The answer has not come yet.
        waits: bool,
    },
    /// Over another one.
    Beside(Box<Conn>),
}

impl Asks {
    /// Asks, or adds the question to a request; gives the answer if there is one already.
    pub async fn ask(&mut self, request: &mut Vec<u8>) -> Result<Option<Told>, Failure> {
        match self {
            Asks::No => Ok(None),
            Asks::Here { waits } => {
                pack::command(request, &ASK);
                *waits = true;
                Ok(None)
            }
            Asks::Beside(conn) => Ok(Some(Told::Sends(over(conn).await?))),
        }
    }

    /// What a message answers to the question, if it does. Replies come in the order of their commands.
    pub fn answered(&mut self, frame: &[Part]) -> Result<Option<Told>, Failure> {
        let Asks::Here { waits: waits @ true } = self else { return Ok(None) };
        Ok(match frame {
            [Part::Error(error)] if is_noperm(error) || error.starts_with(b"ERR") => {
                *waits = false;
                Some(Told::Sends(None))
            }
            [Part::Error(error)] => return Err(Failure::server("CONFIG GET", error)),
            [Part::Text(name), Part::Text(classes)] if ASK.contains(&name.as_slice()) => {
                *waits = false;
                Some(Told::Sends(Some(sends(classes))))
            }
            _ => None,
        })
    }
}

async fn over(conn: &mut Conn) -> Result<Sends, Failure> {
    conn.call(&ASK).await?;
    let mut walk = conn.walk(0);
    if let Some(Item::Error(_)) = conn.walk(0).next() {
        return Ok(None);
    }
    let value =
        walk.many().filter(|n| *n == 2).and_then(|_| walk.skip()).and_then(|()| walk.bytes());
    Ok(value.map(sends))
}

/// Asks when a connection begins.
pub async fn at_first(conn: &mut Conn, abilities: &mut Abilities) -> Result<Sends, Failure> {
    if !abilities.worth_trying(CONFIG) {
        return Ok(None);
    }
    let sends = over(conn).await?;
    match conn.walk(0).next() {
        // Providers take the whole command away.
        Some(Item::Error(_)) => abilities.refuse(CONFIG),
        _ => abilities.set(CONFIG, Ability::Works),
    }
    Ok(sends)
}

/// The server sends none, and there is nothing else to listen to.
pub fn off(events: Events, sends: Sends) -> Shut {
    let detail = "notify-keyspace-events is off in the server, and is not set by us".into();
    let again = match (events, sends) {
        (_, None) => RETRY_REFUSED,
        (Events::Yes, _) => AGAIN.0,
        _ => AGAIN.1,
    };
    Shut::Off { why: Why::Unsupported, command: "", detail, again }
}

impl Feed {
    /// What the server sends now; gives why the feed ends if it does.
    pub(super) async fn sends(
        &mut self,
        link: &mut Link,
        node: &NodeRef,
        sends: Sends,
    ) -> Option<End> {
        let Some((any, all)) = sends else {
            self.abilities.refuse(CONFIG);
            link.asks = Asks::No;
            self.is_unsure = !link.tracks;
            if self.is_unsure && self.tell(node, Standing::Live, clock::mono()).await.is_none() {
                return Some(End::Stop);
            }
            return self.hears_less(node).await;
        };
        match (link.hears, any) {
            // It listens to them from the next connection on.
            (false, true) => return Some(End::Moved),
            (false, false) => return None,
            (true, false) if !link.tracks => {
                return Some(End::Shut(off(Events::Yes, sends)));
            }
            _ => {}
        }
        let (store, at) = (&self.context.store.name, &node.addr);
        if all {
            if std::mem::take(&mut self.is_partly_deaf) {
                info!(%store, node = %at, "notify-keyspace-events has all of `Kg$xe` again: overwrites are proven");
            }
            if self.hearing.is_none() {
                let now = clock::mono();
                let mut hearing = Hearing::new(now);
                hearing.know(&self.known, now);
                self.hearing = Some(hearing);
            }
            return None;
        }
        if !std::mem::replace(&mut self.is_partly_deaf, true) {
            warn!(%store, node = %at, "no overwrite is proven: notify-keyspace-events lacks some of \
                `Kg$xe`; to have them proven, set it to that or more in the server");
        }
        self.hears_less(node).await
    }

    /// Not all events are heard from here on, if they were.
    async fn hears_less(&mut self, node: &NodeRef) -> Option<End> {
        self.hearing.take()?;
        self.tell_deaf(node).await.is_none().then_some(End::Stop)
    }

    /// Tells that not all events are heard.
    pub(super) async fn tell_deaf(&self, node: &NodeRef) -> Option<()> {
        let heard = Observation::Heard(Box::new(deaf(node, clock::mono())));
        self.context.out.send(heard).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(t: &str) -> Part {
        Part::Text(t.as_bytes().to_vec())
    }

    #[test]
    fn an_answer_is_taken_once_and_only_after_the_question() {
        let classes = |c: &str| vec![text("notify-keyspace-events"), text(c)];
        let mut asks = Asks::Here { waits: false };
        assert_eq!(asks.answered(&classes("AK")).unwrap(), None);
        for (frame, expected) in [
            (classes("AKE"), Some((true, true))),
            (classes("$K"), Some((true, false))),
            (classes(""), Some((false, false))),
            (vec![Part::Error(b"NOPERM no".to_vec())], None),
            (vec![Part::Error(b"ERR unknown command".to_vec())], None),
        ] {
            let mut asks = Asks::Here { waits: true };
            let event = vec![text("message"), text("__keyspace@0__:a"), text("set")];
            assert_eq!(asks.answered(&event).unwrap(), None);
            assert_eq!(asks.answered(&frame).unwrap(), Some(Told::Sends(expected)), "{frame:?}");
            assert_eq!(asks.answered(&frame).unwrap(), None);
        }
        let mut asks = Asks::Here { waits: true };
        assert!(asks.answered(&[Part::Error(b"BUSY a script runs".to_vec())]).is_err());
        assert_eq!(Asks::No.answered(&classes("AK")).unwrap(), None);
    }
}
