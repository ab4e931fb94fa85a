//! A server that speaks RESP (3 once HELLO asked for it) and answers the exporter's commands from a table, so that what it says is the same in every
//! run: versions, counters, offsets, refusals, the order of SCAN. Its `TIME` is the real one, since the exporter holds it
//! against its own clock. It can be told to misbehave at a given command. It knows no command that writes.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What a key holds.
pub enum Content {
    /// A string.
    Text(Vec<u8>),
    /// A JSON document that is another one at each of its first so many reads, and then stands still.
    Beats(u64, AtomicU64),
    /// A hash.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    /// A list; what is in it cannot be asked for.
    List,
    /// A sorted set with one member and its score.
    Zset(Vec<u8>, f64),
    /// The ACL refuses this key.
    Refused,
}

impl Content {
    /// A string.
    pub fn text(value: impl AsRef<[u8]>) -> Self {
        Content::Text(value.as_ref().to_vec())
    }

    /// A string that changes at so many reads.
    pub fn beats(changes: u64) -> Self {
        Content::Beats(changes, AtomicU64::new(0))
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Content::Text(_) | Content::Beats(..) => "string",
            Content::Hash(_) => "hash",
            Content::List => "list",
            Content::Zset(..) => "zset",
            Content::Refused => "none",
        }
    }

    pub(super) fn string(&self) -> Option<Vec<u8>> {
        match self {
            Content::Text(text) => Some(text.clone()),
            Content::Beats(changes, reads) => {
                let read = reads.fetch_add(1, Ordering::Relaxed);
                Some(format!("{{\"beat\":{}}}", read.min(*changes)).into_bytes())
            }
            _ => None,
        }
    }
}

/// What to do instead of answering a command.
pub enum Spoil {
    /// Send these bytes and go on as if that had been the reply.
    Say(Vec<u8>),
    /// Send these bytes and close.
    Close(Vec<u8>),
    /// Send the first bytes and then the second again and again, with a pause between, until nobody listens.
    Repeat(Vec<u8>, Vec<u8>, Duration),
}

/// Looks at a command; `None` answers it as it should be.
pub type Spoiler = Box<dyn Fn(&[Vec<u8>]) -> Option<Spoil> + Send + Sync>;

/// What a server is and has.
pub struct Script {
    /// `redis` or `valkey`.
    pub flavor: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its replica, for a primary.
    pub replica: Option<SocketAddr>,
    /// Its primary, for a replica.
    pub primary: Option<SocketAddr>,
    /// Key to content and absolute expiry in milliseconds since the epoch.
    pub keys: BTreeMap<Vec<u8>, (Content, Option<i64>)>,
    /// How it misbehaves.
    pub spoiler: Option<Spoiler>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            flavor: "redis",
            version: "7.0.15",
            replica: None,
            primary: None,
            keys: BTreeMap::new(),
            spoiler: None,
        }
    }
}

impl Script {
    /// Adds a key.
    pub fn key(mut self, key: impl AsRef<[u8]>, content: Content, expires: Option<i64>) -> Self {
        self.keys.insert(key.as_ref().to_vec(), (content, expires));
        self
    }
}

/// A running server; it ends with the value.
pub struct ScriptedRedis {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl ScriptedRedis {
    /// Serves on a listener that is bound already, so that servers can name each other.
    pub fn on(listener: TcpListener, script: Script) -> Self {
        let address = listener.local_addr().expect("a bound listener has an address");
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, script) = (Arc::clone(&stop), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(stream), script) = (stream, Arc::clone(&script)) else { continue };
                // A connection ends when the exporter does.
                std::thread::spawn(move || Session::new(&script).run(stream));
            }
        });
        Self { address, stop }
    }

    /// Serves on a free port of the loopback.
    pub fn start(script: Script) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port"), script)
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `redis://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }
}

impl Drop for ScriptedRedis {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

/// A reply, as RESP3 has it.
pub(super) enum Reply {
    Simple(&'static str),
    Error(&'static str),
    Int(i64),
    Nil,
    Double(f64),
    Bulk(Vec<u8>),
    Many(char, Vec<Reply>),
}

use Reply::{Bulk, Error, Int, Many, Nil, Simple};

pub(super) fn bulk(text: impl ToString) -> Reply {
    Bulk(text.to_string().into_bytes())
}

impl Reply {
    /// Writes it in that protocol.
    fn write(&self, protocol: u8, out: &mut Vec<u8>) {
        let line = match self {
            Nil if protocol == 2 => "$-1\r\n".to_owned(),
            Reply::Double(x) if protocol == 2 => return bulk(x).write(protocol, out),
            Many('%', items) if protocol == 2 => format!("*{}\r\n", items.len()),
            Simple(text) => format!("+{text}\r\n"),
            Error(text) => format!("-{text}\r\n"),
            Int(n) => format!(":{n}\r\n"),
            Nil => "_\r\n".to_owned(),
            Reply::Double(x) => format!(",{x}\r\n"),
            Bulk(bytes) => format!("${}\r\n", bytes.len()),
            Many('%', items) => format!("%{}\r\n", items.len() / 2),
            Many(kind, items) => format!("{kind}{}\r\n", items.len()),
        };
        out.extend_from_slice(line.as_bytes());
        match self {
            Bulk(bytes) => {
                out.extend_from_slice(bytes);
                out.extend_from_slice(b"\r\n");
            }
            Many(_, items) => items.iter().for_each(|item| item.write(protocol, out)),
            _ => {}
        }
    }
}

/// One connection.
struct Session<'a> {
    script: &'a Script,
    protocol: u8,
    /// Replies of the transaction under way; `Err` once one was refused.
    queued: Option<Result<Vec<Reply>, ()>>,
}

impl<'a> Session<'a> {
    fn new(script: &'a Script) -> Self {
        Self { script, protocol: 2, queued: None }
    }

    fn run(mut self, mut stream: TcpStream) {
        let mut parser = redis::Parser::new();
        while let Ok(redis::Value::Array(words)) = parser.parse_value(&mut stream) {
            let words: Vec<Vec<u8>> =
                words.into_iter().filter_map(|w| redis::from_redis_value(w).ok()).collect();
            let mut out = Vec::new();
            match self.script.spoiler.as_ref().and_then(|spoiler| spoiler(&words)) {
                None => {
                    let answer = self.answer(&words);
                    if words[0] == b"HELLO" && !matches!(answer, Error(_)) {
                        self.protocol = 3;
                    }
                    answer.write(self.protocol, &mut out);
                }
                Some(Spoil::Say(bytes)) => out = bytes,
                Some(Spoil::Close(bytes)) => {
                    let _ = stream.write_all(&bytes);
                    return drain(stream);
                }
                Some(Spoil::Repeat(first, again, pause)) => {
                    let mut sent = stream.write_all(&first);
                    while sent.is_ok() {
                        std::thread::sleep(pause);
                        sent = stream.write_all(&again);
                    }
                    return;
                }
            }
            if stream.write_all(&out).is_err() {
                return;
            }
        }
    }

    fn answer(&mut self, words: &[Vec<u8>]) -> Reply {
        let name = String::from_utf8_lossy(&words[0]).to_uppercase();
        match (name.as_str(), self.queued.take()) {
            ("MULTI", _) => {
                self.queued = Some(Ok(Vec::new()));
                Simple("OK")
            }
            ("EXEC", Some(Ok(replies))) => Many('*', replies),
            ("EXEC", _) => Error("EXECABORT Transaction discarded because of previous errors."),
            (_, None) => self.script.reply(&name, words),
            (_, Some(queued)) => {
                let reply = self.script.reply(&name, words);
                if matches!(reply, Error(text) if text.starts_with("NOPERM")) {
                    self.queued = Some(Err(()));
                    return reply;
                }
                self.queued = Some(queued.map(|mut replies| {
                    replies.push(reply);
                    replies
                }));
                Simple("QUEUED")
            }
        }
    }
}

/// Reads what the other side still sends, so that closing does not throw away what it has not read.
fn drain(mut stream: TcpStream) {
    let _ = stream.shutdown(std::net::Shutdown::Write);
    while stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {}
}
