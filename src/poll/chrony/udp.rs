//! Asks a chronyd over UDP. Each poll has a socket of its own, connected, so that the kernel tells of a closed port and
//! lets nobody else answer, and so that a late answer to one poll cannot reach the next. The name is resolved once and
//! again after every failure.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use tokio::net::UdpSocket;

use super::blocking::{Blocking, Unfinished};
use super::exchange::{self, NoAnswer, Socket};
use super::failure::{failed, udp};
use crate::clock;
use crate::observe::clock::{ClockFailed, Tracking};
use crate::observe::node::FailReason;
use crate::observe::{Mono, Span};

/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;

/// A chronyd by host and port.
#[derive(Debug)]
pub struct Udp {
    host: String,
    port: u16,
    resolving: Blocking<io::Result<Vec<SocketAddr>>>,
    /// Empty until the name is resolved, and after a failure.
    addresses: Vec<SocketAddr>,
    /// Which of them to begin with: another one after a silence, which leaves no time for a second try.
    first: usize,
}

impl Udp {
    /// Nothing is resolved yet.
    pub fn new(host: &str, port: u16) -> Self {
        let (resolving, addresses) = (Blocking::default(), Vec::new());
        Self { host: host.to_owned(), port, resolving, addresses, first: 0 }
    }

    /// Asks once within `limit`.
    pub async fn ask(&mut self, limit: Duration) -> Result<(Span, Tracking), ClockFailed> {
        let begun = clock::mono();
        let outcome = self.tried(begun, limit).await;
        if outcome.is_err() {
            self.addresses.clear();
        }
        outcome
    }

    async fn tried(
        &mut self,
        begun: Mono,
        limit: Duration,
    ) -> Result<(Span, Tracking), ClockFailed> {
        self.resolve(limit).await?;
        let mut last = None;
        for _ in 0..self.addresses.len() {
            let Some(to) = self.addresses.get(self.first % self.addresses.len()) else { break };
            let left = limit.saturating_sub(clock::mono().since(begun));
            let failure = match over(*to, left).await {
                Ok(answer) => return Ok(answer),
                Err(why) => why,
            };
            self.first = (self.first + 1) % self.addresses.len();
            let is_silence = matches!(failure, NoAnswer::Silence(_));
            let failure = udp(&self.at(*to), failure);
            last = Some(match last {
                // chronyd may be stopped or filtered there: that nothing listens elsewhere says less.
                Some(first) if is_silence => also(failure, &first),
                // The first failure says more than that of an address which the host may not even have.
                Some(first) => first,
                None => failure,
            });
            if is_silence {
                break;
            }
        }
        Err(last.unwrap_or_else(|| self.unresolved("it has no address")))
    }

    async fn resolve(&mut self, limit: Duration) -> Result<(), ClockFailed> {
        if !self.addresses.is_empty() {
            return Ok(());
        }
        let target = (self.host.clone(), self.port);
        let call = move || {
            target.to_socket_addrs().map(|found| found.take(MAX_ADDRESSES).collect::<Vec<_>>())
        };
        match self.resolving.run(limit, call).await {
            Ok(Ok(found)) => {
                self.addresses = found;
                Ok(())
            }
            Ok(Err(error)) => Err(self.unresolved(&error.to_string())),
            Err(Unfinished::Slow) => Err(self.unresolved("no answer in time")),
            Err(Unfinished::Broken) => Err(self.unresolved("the attempt broke off")),
        }
    }

    fn unresolved(&self, why: &str) -> ClockFailed {
        let detail =
            format!("the name {} does not resolve: {why} (check the clock's `chrony`)", self.host);
        failed(FailReason::Dns, detail)
    }

    /// The address in words: with the name, where the two are not the same.
    fn at(&self, to: SocketAddr) -> String {
        if to.ip().to_string() == self.host {
            to.to_string()
        } else {
            format!("{} ({to})", self.host)
        }
    }
}

/// A failure, with another one that does not matter as much.
fn also(failure: ClockFailed, other: &ClockFailed) -> ClockFailed {
    failed(failure.reason, format!("{}; and {}", failure.detail, other.detail))
}

async fn over(to: SocketAddr, limit: Duration) -> Result<(Span, Tracking), NoAnswer> {
    let own = match to {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = UdpSocket::bind(own).await.map_err(NoAnswer::Io)?;
    socket.connect(to).await.map_err(NoAnswer::Io)?;
    exchange::ask(Socket::Udp(&socket), limit).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_silence_wins_over_the_refusal_of_another_address() {
        let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let gone = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (silent_at, gone_at) = (silent.local_addr().unwrap(), gone.local_addr().unwrap());
        drop(gone);
        for addresses in [vec![gone_at, silent_at], vec![silent_at, gone_at]] {
            let mut udp = Udp { addresses: addresses.clone(), ..Udp::new("two", 323) };
            let limit = Duration::from_millis(200);
            let failed = udp.ask(limit).await.unwrap_err();
            assert_eq!(failed.reason, FailReason::Timeout, "{failed:?}");
            assert!(failed.detail.contains(&silent_at.to_string()), "{failed:?}");
            // Where the refusal came first, it is named too.
            let has_both = addresses.first() == Some(&gone_at);
            assert_eq!(failed.detail.contains(&gone_at.to_string()), has_both, "{failed:?}");
            // The next poll begins with the other one.
            udp.addresses.clone_from(&addresses);
            let failed = udp.ask(limit).await.unwrap_err();
            assert_eq!(failed.reason, FailReason::Timeout, "{failed:?}");
        }
        let mut udp = Udp { addresses: vec![gone_at, gone_at], ..Udp::new("two", 323) };
        let failed = udp.ask(Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(failed.reason, FailReason::Refused, "{failed:?}");
    }
}
