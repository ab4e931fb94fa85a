//! Opens listening sockets.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpListener, lookup_host};

/// Listens on every address of `host`, or on all addresses of this machine when there is none. Fails if any of them
/// cannot be had; the error names it.
pub async fn bind(host: Option<&str>, port: u16) -> io::Result<Vec<TcpListener>> {
    let Some(host) = host else { return everywhere(port).await };
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let found = lookup_host((bare, port)).await;
    let mut addresses: Vec<SocketAddr> = found.map_err(|e| named(host, port, e))?.collect();
    addresses.sort_unstable();
    addresses.dedup();
    let mut listeners: Vec<TcpListener> = Vec::with_capacity(addresses.len());
    for mut address in addresses {
        // Port 0 is one free port, the same for all addresses.
        if let (0, Some(first)) = (port, listeners.first()) {
            address.set_port(first.local_addr()?.port());
        }
        listeners.push(TcpListener::bind(address).await.map_err(|e| named(host, port, e))?);
    }
    if listeners.is_empty() {
        return Err(named(host, port, io::Error::new(ErrorKind::NotFound, "no such address")));
    }
    Ok(listeners)
}

/// IPv6 with IPv4 where the system lets one socket do both, else one of each, else IPv4 alone.
async fn everywhere(port: u16) -> io::Result<Vec<TcpListener>> {
    let six = match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        Ok(six) => six,
        Err(e) if matches!(e.kind(), ErrorKind::AddrInUse | ErrorKind::PermissionDenied) => {
            return Err(named("", port, e));
        }
        // No IPv6 here.
        Err(_) => {
            let four = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await;
            return Ok(vec![four.map_err(|e| named("", port, e))?]);
        }
    };
    let port = six.local_addr()?.port();
    // In use means that the first socket already takes IPv4 too, as it does unless the system is told otherwise.
    match TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await {
        Ok(four) => Ok(vec![six, four]),
        Err(_) => Ok(vec![six]),
    }
}

fn named(host: &str, port: u16, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen on {host}:{port}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn without_a_host_ipv4_reaches_it() {
        let listeners = bind(None, 0).await.unwrap();
        let port = listeners[0].local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
    }

    #[tokio::test]
    async fn a_taken_port_is_an_error_that_names_it() {
        let first = bind(Some("127.0.0.1"), 0).await.unwrap();
        let port = first[0].local_addr().unwrap().port();
        let error = bind(Some("127.0.0.1"), port).await.unwrap_err().to_string();
        assert!(error.contains(&format!("127.0.0.1:{port}")), "{error}");
        assert!(bind(None, port).await.is_err());
    }

    #[tokio::test]
    async fn brackets_around_ipv6_are_understood() {
        match bind(Some("[::1]"), 0).await {
            Ok(listeners) => assert!(listeners[0].local_addr().unwrap().is_ipv6()),
            // A machine without IPv6.
            Err(e) => assert!(e.to_string().contains("[::1]:0"), "{e}"),
        }
    }
}
