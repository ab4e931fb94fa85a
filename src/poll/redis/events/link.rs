//! The connection that a server tells of changed keys over: `CLIENT TRACKING ON BCAST` with RESP3, keyspace events, or both. It
//! also subscribes to a
//! channel on which nobody publishes, for two reasons: the server's output buffer limit for subscribers protects it from
//! one that does not read, and subscribing again shows that the connection lives, with no further right. Reads no key.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use tracing::info;

use super::super::ability::{Abilities, Ability, RETRY_REFUSED};
use super::super::codec::{Item, Walk};
use super::super::conn::Conn;
use super::super::dial::Stream;
use super::super::failure::{Failure, is_not_ready, quoted};
use super::super::subscription::frames::{Frames, Part};
use super::super::subscription::next_frame;
use super::super::{handshake, pack};
use super::flags::{self, Asks};
use super::plan::Plan;
use super::told::{Told, told};
use crate::clock;
use crate::config::{RedisAddr, Store};
use crate::observe::Mono;
use crate::observe::feed::Why;

/// The channel.
pub(super) const CHANNEL: &str = "dlock_exporter";
/// The command as ACLs write it.
pub const TRACKING: &str = "client|tracking";

/// Why there is no connection.
#[derive(Debug)]
pub enum Shut {
    /// It failed, and may do better next time.
    Failed(Failure),
    /// The server has no feed for us.
    Off {
        /// In one word.
        why: Why,
        /// The command that it refused.
        command: &'static str,
        /// For the log.
        detail: String,
        /// When to look again.
        again: Duration,
    },
}

impl From<Failure> for Shut {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Whether to listen to keyspace events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    /// No.
    No,
    /// Where they are known to be on.
    IfOn,
    /// Unless they are known to be off.
    Yes,
}

/// See the module.
pub struct Link {
    stream: Box<dyn Stream>,
    frames: Frames,
    limit: Duration,
    /// What the channels of keyspace events begin with.
    space: Vec<u8>,
    /// It is told of all changes by broadcasts.
    pub tracks: bool,
    /// It is told of everything that could write or remove a key.
    pub hears_all: bool,
    /// It listens to keyspace events, of whichever classes the server sends.
    pub hears: bool,
    /// How it asks whether the server still sends them all.
    pub asks: Asks,
    /// What was refused and it does without.
    pub refused: Option<&'static str>,
    /// The server's run id, where broadcasts are asked for and it tells.
    pub run_id: Option<String>,
    /// What was answered over another connection.
    beside: Option<Told>,
}

impl Link {
    /// Connects and asks for what is planned.
    pub async fn open(
        store: &Arc<Store>,
        addr: &RedisAddr,
        abilities: &mut Abilities,
        plan: &Plan,
        (tracks, events): (bool, Events),
    ) -> Result<Self, Shut> {
        let (mut conn, _) = handshake::connect(store, addr, abilities).await?;
        let is_on = match events {
            Events::No => None,
            Events::IfOn | Events::Yes => flags::at_first(&mut conn, abilities).await?,
        };
        let (hears, hears_all) = match (events, is_on) {
            (Events::No, _) | (Events::IfOn, None) => (false, false),
            (Events::Yes, None) => (true, false),
            (_, Some(on)) => on,
        };
        let mut run_id = None;
        if tracks {
            run_id = server(&mut conn).await?;
            track(&mut conn, abilities, &plan.prefixes).await?;
        } else if !hears {
            return Err(flags::off(events, is_on));
        }
        let asks = match is_on {
            None => Asks::No,
            Some(_) if abilities.of("hello") == Ability::Works => Asks::Here { waits: false },
            // With RESP2 a subscriber may ask for nothing else.
            Some(_) => {
                let (beside, _) = handshake::connect(store, addr, abilities).await?;
                Asks::Beside(Box::new(beside))
            }
        };
        let (stream, came) = conn.into_stream();
        let mut frames = Frames::default();
        frames.room().extend_from_slice(&came);
        let (limit, space) = (store.response_timeout, plan.space.clone());
        let (refused, beside) = (None, None);
        let mut link = Self {
            stream,
            frames,
            limit,
            space,
            tracks,
            hears_all,
            hears,
            asks,
            refused,
            run_id,
            beside,
        };
        link.subscribe(&[("SUBSCRIBE", &[CHANNEL.as_bytes().to_vec()])], "subscribe").await?;
        if hears {
            let all = [("SUBSCRIBE", plan.channels.as_slice()), ("PSUBSCRIBE", &plan.patterns)];
            match link.subscribe(&all, "psubscribe").await {
                // The rest is as good without.
                Err(Shut::Off { why, command, detail, .. }) if tracks => {
                    (link.hears, link.hears_all, link.asks) = (false, false, Asks::No);
                    link.refused = (why == Why::Permission).then_some(command);
                    info!(store = %store.name, "no keyspace events: {detail}");
                }
                done => done?,
            }
        }
        Ok(link)
    }

    /// Asks for channels and waits until the server listens for us. What changed before is not missed by whoever begins to
    /// count now.
    async fn subscribe(
        &mut self,
        asked: &[(&str, &[Vec<u8>])],
        command: &'static str,
    ) -> Result<(), Shut> {
        let mut request = Vec::new();
        let mut left = 0;
        for (word, channels) in asked.iter().filter(|(_, channels)| !channels.is_empty()) {
            let words = std::iter::once(word.as_bytes()).chain(channels.iter().map(Vec::as_slice));
            pack::command(&mut request, &words.collect::<Vec<_>>());
            left += channels.len();
        }
        self.send(&request).await?;
        let (stream, frames) = (&mut self.stream, &mut self.frames);
        let answers = async {
            while left > 0 {
                match next_frame(stream, frames).await?.into_iter().next() {
                    Some(Part::Error(error)) => return Err(refused(command, &error)),
                    Some(Part::Text(kind)) if matches!(&*kind, b"subscribe" | b"psubscribe") => {
                        left -= 1;
                    }
                    _ => {}
                }
            }
            Ok(())
        };
        let late = || Failure::timeout("waiting for SUBSCRIBE", self.limit, "response_timeout");
        timeout(self.limit, answers).await.unwrap_or_else(|_| Err(late().into()))
    }

    /// The next thing that the server tells. May be dropped and called again at any time.
    pub async fn next(&mut self) -> Result<Told, Failure> {
        if let Some(told) = self.beside.take() {
            return Ok(told);
        }
        loop {
            let frame = next_frame(&mut self.stream, &mut self.frames).await?;
            if let Some(told) = self.asks.answered(&frame)? {
                return Ok(told);
            }
            if let Some(told) = told(frame, &self.space)? {
                return Ok(told);
            }
        }
    }

    /// Asks whether the server is there, and before that, whether it still sends all events; the answers are of what it tells,
    /// in that order. Gives when that was asked.
    pub async fn ask(&mut self) -> Result<Mono, Failure> {
        let mut request = Vec::new();
        let at = clock::mono();
        self.beside = self.asks.ask(&mut request).await?;
        pack::command(&mut request, &["SUBSCRIBE", CHANNEL]);
        self.send(&request).await.map(|()| at)
    }

    async fn send(&mut self, request: &[u8]) -> Result<(), Failure> {
        let sent = async {
            self.stream.write_all(request).await?;
            self.stream.flush().await
        };
        match timeout(self.limit, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(e)) => Err(Failure::io("sending a request", &e)),
            Err(_) => Err(Failure::timeout("sending a request", self.limit, "response_timeout")),
        }
    }
}

/// The run id of the server, if it tells.
async fn server(conn: &mut Conn) -> Result<Option<String>, Failure> {
    conn.call(&[b"INFO", b"server"]).await?;
    Ok(match conn.walk(0).next() {
        Some(Item::Bulk(text) | Item::Simple(text) | Item::Other(text)) => {
            String::from_utf8_lossy(text)
                .lines()
                .find_map(|l| Some(l.strip_prefix("run_id:")?.to_owned()))
        }
        _ => None,
    })
}

/// Asks for broadcasts.
async fn track(conn: &mut Conn, abilities: &Abilities, prefixes: &[Vec<u8>]) -> Result<(), Shut> {
    if abilities.of("hello") != Ability::Works {
        // With RESP2 the server would agree and say nothing.
        let detail = "it does not speak RESP3 (HELLO 3)".to_owned();
        let (why, again) = (Why::Unsupported, RETRY_REFUSED);
        return Err(Shut::Off { why, command: TRACKING, detail, again });
    }
    let mut words: Vec<&[u8]> = vec![b"CLIENT", b"TRACKING", b"ON", b"BCAST"];
    for prefix in prefixes {
        words.extend([b"PREFIX".as_slice(), prefix]);
    }
    conn.call(&words).await?;
    match Walk::new(conn.reply(0)).next() {
        Some(Item::Simple(_)) => Ok(()),
        Some(Item::Error(error)) => Err(refused(TRACKING, error)),
        _ => Err(Failure::unexpected("CLIENT TRACKING").into()),
    }
}

/// What an error in answer to a command means for the feed.
fn refused(command: &'static str, error: &[u8]) -> Shut {
    if is_not_ready(error) {
        return Shut::Failed(Failure::server(command, error));
    }
    let why = match Ability::from_error(error) {
        Ability::Refused(_) => Why::Permission,
        _ => Why::Unsupported,
    };
    Shut::Off {
        why,
        command,
        detail: format!("{command} was answered by `{}`", quoted(error)),
        again: RETRY_REFUSED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_refusal_means() {
        let noperm = b"NOPERM User x has no permissions to run the 'client|tracking' command";
        assert!(matches!(refused(TRACKING, noperm), Shut::Off { why: Why::Permission, .. }));
        let unknown = b"ERR Unknown subcommand or wrong number of arguments for 'tracking'";
        assert!(matches!(refused(TRACKING, unknown), Shut::Off { why: Why::Unsupported, .. }));
        assert!(matches!(refused(TRACKING, b"LOADING wait"), Shut::Failed(_)));
    }
}
