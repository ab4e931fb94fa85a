//! A connection that only listens to channels. Asking for a channel again is how it shows that it still listens: all that
//! was published before the server answered has come before the answer. It never publishes.

pub(in crate::poll) mod frames;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use self::frames::{Frames, Part};
use super::ability::Abilities;
use super::dial::Stream;
use super::failure::Failure;
use super::{handshake, pack};
use crate::clock;
use crate::config::{RedisAddr, Store};
use crate::observe::Span;
use crate::observe::node::FailReason;

/// Room for one read.
const CHUNK: usize = 64 << 10;
/// After a read that brought this much we rest, so that whoever publishes without end keeps no other poller waiting; the
/// server then holds the rest back, and cuts us off if it becomes too much.
const LARGE: usize = CHUNK / 2;
const REST: Duration = Duration::from_millis(10);

/// What was published on a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The channel.
    pub channel: Vec<u8>,
    /// The message; `None` if it was too long to be kept.
    pub payload: Option<Vec<u8>>,
}

/// See the module.
pub struct Subscription {
    stream: Box<dyn Stream>,
    frames: Frames,
    channels: Vec<String>,
    limit: Duration,
}

/// What a frame is.
enum Heard {
    Message(Message),
    /// The server listens to a channel for us.
    Confirmed,
    /// Nothing of ours.
    Other,
}

impl Subscription {
    /// Connects and listens.
    pub async fn open(
        store: &Arc<Store>,
        addr: &RedisAddr,
        abilities: &mut Abilities,
        channels: Vec<String>,
    ) -> Result<Self, Failure> {
        let (conn, _) = handshake::connect(store, addr, abilities).await?;
        let (stream, came) = conn.into_stream();
        let mut frames = Frames::default();
        frames.room().extend_from_slice(&came);
        let mut listening = Self { stream, frames, channels, limit: store.response_timeout };
        // What is published before all are confirmed is not missed by whoever begins to count now.
        listening.confirm(|_| {}).await?;
        Ok(listening)
    }

    /// Hands over what is published, until the connection fails. May be dropped and called again at any time.
    pub async fn listen(&mut self, mut each: impl FnMut(Message)) -> Failure {
        loop {
            match self.heard().await {
                Ok(Heard::Message(message)) => each(message),
                Ok(_) => {}
                Err(failure) => return failure,
            }
        }
    }

    /// Asks for the channels again and waits for the answers. What comes before them is handed over: it is all that was
    /// published before the time given back began.
    pub async fn confirm(&mut self, mut each: impl FnMut(Message)) -> Result<Span, Failure> {
        let sent = clock::mono();
        let limit = self.limit;
        let asked = async {
            let mut request = Vec::new();
            let words =
                std::iter::once("SUBSCRIBE").chain(self.channels.iter().map(String::as_str));
            pack::command(&mut request, &words.collect::<Vec<_>>());
            let failed = |e| Failure::io("sending a request", &e);
            self.stream.write_all(&request).await.map_err(failed)?;
            self.stream.flush().await.map_err(failed)?;
            let mut left = self.channels.len();
            while left > 0 {
                match self.heard().await? {
                    Heard::Message(message) => each(message),
                    Heard::Confirmed => left -= 1,
                    Heard::Other => {}
                }
            }
            Ok(Span { sent, done: clock::mono() })
        };
        let late = || Failure::timeout("waiting for SUBSCRIBE", limit, "response_timeout");
        timeout(limit, asked).await.unwrap_or_else(|_| Err(late()))
    }

    async fn heard(&mut self) -> Result<Heard, Failure> {
        heard(next_frame(&mut self.stream, &mut self.frames).await?)
    }
}

/// The next message of a connection that listens. What comes in large pieces is taken with rests, so that a server cannot keep
/// us busy.
pub(in crate::poll::redis) async fn next_frame(
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

fn heard(frame: Vec<Part>) -> Result<Heard, Failure> {
    let mut parts = frame.into_iter();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(Part::Error(error)), ..) => Err(Failure::server("SUBSCRIBE", &error)),
        (Some(Part::Text(kind)), Some(Part::Text(channel)), Some(payload)) => {
            Ok(match (kind.as_slice(), payload) {
                (b"message", Part::Text(payload)) => {
                    Heard::Message(Message { channel, payload: Some(payload) })
                }
                (b"message", Part::TooLong) => Heard::Message(Message { channel, payload: None }),
                (b"subscribe", _) => Heard::Confirmed,
                _ => Heard::Other,
            })
        }
        // The server took the channels away, or a proxy answers.
        (None, ..) => Err(Failure::new(FailReason::Protocol, "an empty message")),
        _ => Ok(Heard::Other),
    }
}
