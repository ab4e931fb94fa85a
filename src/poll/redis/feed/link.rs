//! The connection that a server tells of changed keys over: `CLIENT TRACKING ON BCAST` with RESP3. It also subscribes to a
//! channel on which nobody publishes, for two reasons: the server's output buffer limit for subscribers protects it from
//! one that does not read, and subscribing again shows that the connection lives, with no further right. Reads no key.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use super::super::ability::{Abilities, Ability};
use super::super::codec::{Item, Walk};
use super::super::dial::Stream;
use super::super::failure::{Failure, is_not_ready};
use super::super::subscription::frames::{Frames, Part};
use super::super::{handshake, pack};
use crate::clock;
use crate::config::{RedisAddr, Store};
use crate::observe::feed::Why;
use crate::observe::node::FailReason;
use crate::observe::{Mono, label};

/// The channel.
const CHANNEL: &str = "dlock_exporter";
/// The command as ACLs write it.
pub const TRACKING: &str = "client|tracking";
/// Room for one read.
const CHUNK: usize = 64 << 10;
/// After a read that brought this much we rest, so that a server whose keys change without end keeps no poller waiting.
const LARGE: usize = CHUNK / 2;
const REST: Duration = Duration::from_millis(10);

/// What a server tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// These keys changed.
    Changed(Vec<Vec<u8>>),
    /// Any key may have changed: the database was emptied, or there were too many to be named.
    Any,
    /// It is there: what was to be told before it was asked came before.
    Alive,
}

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
    },
}

impl From<Failure> for Shut {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// See the module.
pub struct Link {
    stream: Box<dyn Stream>,
    frames: Frames,
    limit: Duration,
}

impl Link {
    /// Connects and asks for changes of all keys that begin with one of `prefixes`; none is a prefix of another.
    pub async fn open(
        store: &Arc<Store>,
        addr: &RedisAddr,
        abilities: &mut Abilities,
        prefixes: &[Vec<u8>],
    ) -> Result<Self, Shut> {
        let (mut conn, _) = handshake::connect(store, addr, abilities).await?;
        if abilities.of("hello") != Ability::Works {
            // With RESP2 the server would agree and say nothing.
            let detail = "it does not speak RESP3 (HELLO 3)".to_owned();
            return Err(Shut::Off { why: Why::Unsupported, command: TRACKING, detail });
        }
        let mut words: Vec<&[u8]> = vec![b"CLIENT", b"TRACKING", b"ON", b"BCAST"];
        for prefix in prefixes {
            words.extend([b"PREFIX".as_slice(), prefix]);
        }
        conn.call(&words).await?;
        match Walk::new(conn.reply(0)).next() {
            Some(Item::Simple(_)) => {}
            Some(Item::Error(error)) => return Err(refused(TRACKING, error)),
            _ => return Err(Failure::unexpected("CLIENT TRACKING").into()),
        }
        let (stream, came) = conn.into_stream();
        let mut frames = Frames::default();
        frames.room().extend_from_slice(&came);
        let mut link = Self { stream, frames, limit: store.response_timeout };
        link.ask().await?;
        let late = || Failure::timeout("waiting for SUBSCRIBE", link.limit, "response_timeout");
        match timeout(link.limit, Self::first(&mut link.stream, &mut link.frames)).await {
            Ok(answered) => answered?,
            Err(_) => return Err(late().into()),
        }
        Ok(link)
    }

    /// Waits until the server listens for us. What changed before is not missed by whoever begins to count now.
    async fn first(stream: &mut Box<dyn Stream>, frames: &mut Frames) -> Result<(), Shut> {
        loop {
            match next_frame(stream, frames).await?.into_iter().next() {
                Some(Part::Error(error)) => return Err(refused("subscribe", &error)),
                Some(Part::Text(kind)) if kind == b"subscribe" => return Ok(()),
                _ => {}
            }
        }
    }

    /// The next thing that the server tells. May be dropped and called again at any time.
    pub async fn next(&mut self) -> Result<Told, Failure> {
        loop {
            let frame = next_frame(&mut self.stream, &mut self.frames).await?;
            if let Some(told) = told(frame)? {
                return Ok(told);
            }
        }
    }

    /// Asks whether the server is there; the answer is one of what it tells. Gives when that was asked.
    pub async fn ask(&mut self) -> Result<Mono, Failure> {
        let mut request = Vec::new();
        pack::command(&mut request, &["SUBSCRIBE", CHANNEL]);
        let at = clock::mono();
        let sent = async {
            self.stream.write_all(&request).await?;
            self.stream.flush().await
        };
        match timeout(self.limit, sent).await {
            Ok(Ok(())) => Ok(at),
            Ok(Err(e)) => Err(Failure::io("sending a request", &e)),
            Err(_) => Err(Failure::timeout("sending a request", self.limit, "response_timeout")),
        }
    }
}

async fn next_frame(
    stream: &mut Box<dyn Stream>,
    frames: &mut Frames,
) -> Result<Vec<Part>, Failure> {
    loop {
        if let Some(frame) = frames.next().map_err(Failure::malformed)? {
            return Ok(frame);
        }
        let room = frames.room();
        room.reserve(CHUNK);
        match stream.read_buf(room).await {
            Ok(0) => {
                let end = std::io::ErrorKind::UnexpectedEof.into();
                return Err(Failure::io("listening", &end));
            }
            Ok(n) if n >= LARGE => sleep(REST).await,
            Ok(_) => {}
            Err(e) => return Err(Failure::io("listening", &e)),
        }
    }
}

/// What a frame tells, if it is anything of ours.
fn told(frame: Vec<Part>) -> Result<Option<Told>, Failure> {
    let mut parts = frame.into_iter();
    Ok(match parts.next() {
        Some(Part::Error(error)) => return Err(Failure::server("SUBSCRIBE", &error)),
        Some(Part::Text(kind)) if kind == b"subscribe" => Some(Told::Alive),
        Some(Part::Text(kind)) if kind == b"invalidate" => {
            let mut keys = Vec::with_capacity(parts.len());
            for part in parts {
                match part {
                    Part::Text(key) => keys.push(key),
                    Part::Other | Part::TooLong => return Ok(Some(Told::Any)),
                    Part::Error(_) => {}
                }
            }
            Some(Told::Changed(keys))
        }
        Some(_) => None,
        None => return Err(Failure::new(FailReason::Protocol, "an empty message")),
    })
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
        detail: format!("{command} was answered by `{}`", label::text(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(t: &str) -> Part {
        Part::Text(t.as_bytes().to_vec())
    }

    #[test]
    fn what_a_frame_tells() {
        let keys = vec![b"a".to_vec(), b"b".to_vec()];
        for (frame, expected) in [
            (vec![text("invalidate"), text("a"), text("b")], Some(Told::Changed(keys))),
            (vec![text("invalidate"), Part::Other], Some(Told::Any)),
            (vec![text("invalidate"), text("a"), Part::TooLong], Some(Told::Any)),
            (vec![text("subscribe"), text(CHANNEL), Part::Other], Some(Told::Alive)),
            (vec![text("message"), text(CHANNEL), text("subscribe")], None),
        ] {
            assert_eq!(told(frame.clone()).expect("no failure"), expected, "{frame:?}");
        }
        assert!(told(vec![Part::Error(b"NOPERM no".to_vec())]).is_err());
        assert!(told(Vec::new()).is_err());
    }

    #[test]
    fn what_a_refusal_means() {
        let noperm = b"NOPERM User x has no permissions to run the 'client|tracking' command";
        assert!(matches!(refused(TRACKING, noperm), Shut::Off { why: Why::Permission, .. }));
        let unknown = b"ERR Unknown subcommand or wrong number of arguments for 'tracking'";
        assert!(matches!(refused(TRACKING, unknown), Shut::Off { why: Why::Unsupported, .. }));
        assert!(matches!(refused(TRACKING, b"LOADING wait"), Shut::Failed(_)));
    }
}
