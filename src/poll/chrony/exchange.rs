//! One request over a connected datagram socket and the wait for its reply. A datagram that answers something else is
//! passed over, up to a number: who floods us is told apart from who is silent. Knows neither names nor paths.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::time::Duration;

use tokio::net::{UdpSocket, UnixDatagram};
use tokio::time::timeout;

use super::codec::{self, Wrong};
use crate::clock;
use crate::observe::Span;
use crate::observe::clock::Tracking;

/// Datagrams that answer nothing we asked and are passed over in one exchange.
const MAX_STRAY: u32 = 256;
/// Room for a reply and what a later version may put behind it.
const ROOM: usize = 1024;

/// A connected datagram socket.
#[derive(Clone, Copy, Debug)]
pub enum Socket<'a> {
    /// Internet.
    Udp(&'a UdpSocket),
    /// This host.
    Unix(&'a UnixDatagram),
}

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// The socket says so.
    Io(io::Error),
    /// Nothing that answers us came in time, but this many other datagrams.
    Silence(u32),
    /// Too many datagrams that answer something else.
    Flood,
    /// Something came, and it is no answer.
    Wrong(Wrong),
}

/// Asks once; the span is from just before the request left to just after the reply came.
pub async fn ask(socket: Socket<'_>, limit: Duration) -> Result<(Span, Tracking), NoAnswer> {
    let mut stray = 0;
    let outcome = timeout(limit, once(socket, &mut stray)).await;
    outcome.unwrap_or(Err(NoAnswer::Silence(stray)))
}

async fn once(socket: Socket<'_>, stray: &mut u32) -> Result<(Span, Tracking), NoAnswer> {
    // Nobody who cannot see our datagrams shall be able to answer them.
    let sequence = RandomState::new().build_hasher().finish() as u32;
    let sent = clock::mono();
    let request = codec::request(sequence);
    let length = match socket {
        Socket::Udp(s) => s.send(&request).await,
        Socket::Unix(s) => s.send(&request).await,
    };
    length.map_err(NoAnswer::Io)?;
    let mut room = [0; ROOM];
    loop {
        let length = match socket {
            Socket::Udp(s) => s.recv(&mut room).await,
            Socket::Unix(s) => s.recv(&mut room).await,
        };
        let bytes = room.get(..length.map_err(NoAnswer::Io)?).unwrap_or_default();
        if let Some(answer) = codec::reply(bytes, sequence) {
            let span = Span { sent, done: clock::mono() };
            return answer.map(|tracking| (span, tracking)).map_err(NoAnswer::Wrong);
        }
        *stray += 1;
        if *stray >= MAX_STRAY {
            return Err(NoAnswer::Flood);
        }
    }
}
