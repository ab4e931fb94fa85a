//! From a host name to a TCP connection, each step with its own time, and what went wrong told apart: only a refusal is
//! the worker's own answer.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Trouble;
use crate::clock;
use crate::observe::node::FailReason;
use crate::poll::names;

/// For the name, and again for the connection.
const LIMIT: Duration = Duration::from_secs(1);

/// Connects to the first address that accepts.
pub async fn connect(host: &str, port: u16) -> Result<TcpStream, Trouble> {
    let addrs = resolve(host).await?;
    let mut errors = Vec::new();
    let mut left = LIMIT;
    for (i, ip) in addrs.iter().enumerate() {
        let share = left / u32::try_from(addrs.len() - i).unwrap_or(1).max(1);
        let started = clock::mono();
        match timeout(share, TcpStream::connect((*ip, port))).await {
            Ok(Ok(stream)) => {
                // An answer is judged by its time; small packets must not wait for each other.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(e)) => errors.push(e),
            Err(_) => errors.push(io::Error::from(io::ErrorKind::TimedOut)),
        }
        left = left.saturating_sub(clock::mono().since(started));
    }
    Err(trouble(&errors))
}

/// A refusal counts unless another address of the name may still hide a living endpoint.
fn trouble(errors: &[io::Error]) -> Trouble {
    let any = |kind| errors.iter().any(|e| e.kind() == kind);
    if any(io::ErrorKind::TimedOut) {
        return Trouble::Failed(FailReason::Timeout, "no connection in 1 s".to_owned());
    }
    if any(io::ErrorKind::ConnectionRefused) {
        return Trouble::NoBeat;
    }
    let detail = errors.first().map_or_else(|| "no address".to_owned(), io::Error::to_string);
    Trouble::Failed(FailReason::Network, format!("cannot connect: {detail}"))
}

async fn resolve(host: &str) -> Result<Vec<IpAddr>, Trouble> {
    let failed = |why: String| Trouble::Failed(FailReason::Dns, format!("{host:?} {why}"));
    match timeout(LIMIT, names::resolve(host)).await {
        Ok(Ok(addrs)) => Ok(addrs),
        Ok(Err(e)) => Err(failed(format!("does not resolve: {e}"))),
        Err(_) => Err(failed("was not resolved in 1 s; does the name server answer?".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_certain_refusal_is_no_beat() {
        use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut};
        let of = |kinds: &[io::ErrorKind]| {
            let errors: Vec<_> = kinds.iter().map(|k| io::Error::from(*k)).collect();
            match trouble(&errors) {
                Trouble::NoBeat => None,
                Trouble::Failed(reason, _) => Some(reason),
            }
        };
        assert_eq!(of(&[ConnectionRefused]), None);
        assert_eq!(of(&[NetworkUnreachable, ConnectionRefused]), None);
        assert_eq!(of(&[ConnectionRefused, TimedOut]), Some(FailReason::Timeout));
        assert_eq!(of(&[HostUnreachable]), Some(FailReason::Network));
        assert_eq!(of(&[]), Some(FailReason::Network));
    }
}
