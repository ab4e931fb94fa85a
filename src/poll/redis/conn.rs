//! One connection to a server: requests out, complete replies in, each within its time. Knows no command; a connection
//! that failed once is not used again.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::codec::{MAX_REPLY, Scanner, Walk, end_of_queued, is_push};
use super::dial::Stream;
use super::failure::Failure;
use super::pack;
use crate::clock;
use crate::observe::node::FailReason;
use crate::observe::{Mono, Span};

/// Room for one read.
const CHUNK: usize = 64 << 10;
/// All replies to one request have to come within so many times the limit of one.
const ALL: u32 = 4;
/// Largest reply to a single command that is made into a value; its elements take many times its size.
const MAX_CALL: usize = 256 << 10;
/// A buffer that grew beyond this for one reply is given back.
const KEEP: usize = 1 << 20;

/// All replies are looked at.
const ALL_REPLIES: (usize, usize) = (0, usize::MAX);

/// A connection.
pub struct Conn {
    stream: Box<dyn Stream>,
    /// Our end of it, as the server may see it.
    local: Option<SocketAddr>,
    limit: Duration,
    buf: Vec<u8>,
    /// Where the replies to the last request lie in `buf`.
    frames: Vec<(usize, usize)>,
    /// Where the reply begins that has not come whole.
    under_way: usize,
    consumed: usize,
    /// Which of the replies are looked at: so many from this one on.
    window: (usize, usize),
}

impl Conn {
    /// Takes a fresh stream; each reply has to come within `limit` of the one before.
    pub fn new(stream: Box<dyn Stream>, local: Option<SocketAddr>, limit: Duration) -> Self {
        let buf = Vec::with_capacity(CHUNK);
        Self {
            stream,
            local,
            limit,
            buf,
            frames: Vec::new(),
            under_way: 0,
            consumed: 0,
            window: ALL_REPLIES,
        }
    }

    /// From now on each reply has to come within `limit` of the one before.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Our address as the server may see it; through a proxy it sees another.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.local
    }

    /// Sends packed commands and waits for as many replies; pushes between them are passed over.
    pub async fn exchange(&mut self, request: &[u8], replies: usize) -> Result<Span, Failure> {
        let sent = self.send(request).await?;
        self.receive(sent, replies).await
    }

    /// Sends packed commands, when nothing is under way, and gives the time just before. Their replies have to be received
    /// before anything else is sent; until then those to the last request can still be looked at.
    pub async fn send(&mut self, request: &[u8]) -> Result<Mono, Failure> {
        if self.buf.get(self.consumed).is_some_and(|b| !is_push(&[*b])) {
            let detail =
                "the server sent a reply that nothing asked for; does a proxy stand between?";
            return Err(Failure::new(FailReason::Protocol, detail));
        }
        let sent = clock::mono();
        match timeout(self.limit, self.write(request)).await {
            Ok(done) => done.map(|()| sent),
            Err(_) => Err(self.too_late("sending a request")),
        }
    }

    /// Waits for the replies to what was sent at that time.
    pub async fn receive(&mut self, sent: Mono, replies: usize) -> Result<Span, Failure> {
        self.recycle();
        // Who takes their time to look for them does not make them late.
        let begun = clock::mono();
        let mut start = 0;
        self.under_way = 0;
        let mut scanner = Scanner::at(0);
        let mut since = begun;
        let mut came = 0;
        while self.frames.len() < replies {
            let end = match end_of_queued(&self.buf, start) {
                Some(end) => Some(end),
                None => scanner.advance(&self.buf).map_err(Failure::malformed)?,
            };
            if let Some(end) = end {
                // A push is no answer, so that a server that goes on pushing is late all the same.
                if !is_push(self.buf.get(start..end).unwrap_or_default()) {
                    self.frames.push((start, end));
                }
                start = end;
                self.under_way = start;
                scanner = Scanner::at(end);
                continue;
            }
            let now = clock::mono();
            if self.frames.len() > came {
                (came, since) = (self.frames.len(), now);
            }
            let all = self.limit.saturating_mul(ALL).saturating_sub(now.since(begun));
            let left = self.limit.saturating_sub(now.since(since)).min(all);
            // Of something that is ready no timeout ever fires.
            if left.is_zero() {
                return Err(self.too_late("waiting for a reply"));
            }
            match timeout(left, self.read()).await {
                Ok(done) => done?,
                Err(_) => return Err(self.too_late("waiting for a reply")),
            }
        }
        self.consumed = start;
        Ok(Span { sent, done: clock::mono() })
    }

    /// From now on until the next exchange only so many replies are looked at, from this one on, which counts as the first.
    pub fn look_at(&mut self, first: usize, count: usize) {
        self.window = (first, count);
    }

    fn looked_at(&self) -> &[(usize, usize)] {
        let (first, count) = self.window;
        let from = self.frames.get(first..).unwrap_or_default();
        from.get(..count).unwrap_or(from)
    }

    /// The reply to the request's command `index`, from 0. Empty if there is none.
    pub fn reply(&self, index: usize) -> &[u8] {
        let frame = self.looked_at().get(index);
        frame.and_then(|(from, to)| self.buf.get(*from..*to)).unwrap_or_default()
    }

    /// After a failed exchange: how many of the replies that are looked at came whole, and what came of the next one.
    pub fn partial(&self) -> (usize, &[u8]) {
        (self.looked_at().len(), self.buf.get(self.under_way..).unwrap_or_default())
    }

    /// After a failed exchange: how many replies came whole.
    pub fn came(&self) -> usize {
        self.frames.len()
    }

    /// Walks the reply to the request's command `index`.
    pub fn walk(&self, index: usize) -> Walk<'_> {
        Walk::new(self.reply(index))
    }

    /// Walks the replies to all commands of the request as if they were one; `None` if a push came between them.
    pub fn walk_all(&self) -> Option<Walk<'_>> {
        let frames = self.looked_at();
        let (from, to) = (frames.first()?.0, frames.last()?.1);
        let whole: usize = frames.iter().map(|(from, to)| to - from).sum();
        self.buf.get(from..to).filter(|all| all.len() == whole).map(Walk::new)
    }

    /// One command and its reply as redis-rs parses it, errors included as values.
    pub async fn call(&mut self, args: &[&[u8]]) -> Result<(redis::Value, Span), Failure> {
        let mut request = Vec::new();
        pack::command(&mut request, args);
        let span = self.exchange(&request, 1).await?;
        Ok((self.value(0)?, span))
    }

    /// The reply to command `index` as redis-rs parses it.
    pub fn value(&self, index: usize) -> Result<redis::Value, Failure> {
        if self.reply(index).len() > MAX_CALL {
            let detail = "a reply is larger than any to this command; is this a Redis server?";
            return Err(Failure::new(FailReason::Protocol, detail));
        }
        redis::parse_redis_value(self.reply(index)).map_err(|_| {
            Failure::new(FailReason::Protocol, "a reply is not valid RESP; is this a Redis server?")
        })
    }

    /// Gives up the stream, with what came after the last reply.
    pub fn into_stream(mut self) -> (Box<dyn Stream>, Vec<u8>) {
        self.recycle();
        (self.stream, self.buf)
    }

    async fn write(&mut self, request: &[u8]) -> Result<(), Failure> {
        let sent = async {
            self.stream.write_all(request).await?;
            self.stream.flush().await
        };
        sent.await.map_err(|e| Failure::io("sending a request", &e))
    }

    async fn read(&mut self) -> Result<(), Failure> {
        if self.buf.len() > 2 * MAX_REPLY {
            let detail = "replies to one request exceed 32 MiB; is a huge value among the keys?";
            return Err(Failure::new(FailReason::Protocol, detail));
        }
        self.buf.reserve(CHUNK);
        match self.stream.read_buf(&mut self.buf).await {
            Ok(0) => {
                let end = std::io::ErrorKind::UnexpectedEof.into();
                Err(Failure::io("waiting for a reply", &end))
            }
            Ok(_) => Ok(()),
            Err(e) => Err(Failure::io("waiting for a reply", &e)),
        }
    }

    /// Drops the last request's replies; what follows them (a push, or the beginning of one) stays.
    fn recycle(&mut self) {
        self.frames.clear();
        self.window = ALL_REPLIES;
        self.buf.drain(..self.consumed.min(self.buf.len()));
        self.consumed = 0;
        if self.buf.is_empty() && self.buf.capacity() > KEEP {
            self.buf = Vec::with_capacity(CHUNK);
        }
    }

    fn too_late(&self, what: &str) -> Failure {
        Failure::timeout(what, self.limit, "response_timeout")
    }
}
