//! Opens the byte stream to a server: name, TCP or Unix socket, TLS. Knows nothing of Redis; the caller bounds its time.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::failure::Failure;
use crate::config::{RedisAddr, TlsFiles};
use crate::observe::node::FailReason;
use crate::poll::{names, tls};

/// A stream of any kind.
pub trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for T {}

/// `host:port` as labels and Redis write it, IPv6 in brackets; or the socket's path.
pub fn addr_text(addr: &RedisAddr) -> Arc<str> {
    match addr {
        RedisAddr::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}").into(),
        RedisAddr::Tcp { host, port } => format!("{host}:{port}").into(),
        RedisAddr::Unix(path) => path.display().to_string().into(),
    }
}

/// Reads what [`addr_text`] writes; `None` if it is not `host:port`.
pub fn parse_addr(text: &str) -> Option<RedisAddr> {
    if text.starts_with('/') {
        return Some(RedisAddr::Unix(PathBuf::from(text)));
    }
    let (host, port) = text.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let port = port.parse().ok().filter(|p| *p > 0)?;
    (!host.is_empty()).then(|| RedisAddr::Tcp { host: host.to_owned(), port })
}

/// Connects; also gives our address, where the stream has one. `files` is there when TLS is to be spoken.
pub async fn dial(
    addr: &RedisAddr,
    files: Option<&TlsFiles>,
) -> Result<(Box<dyn Stream>, Option<SocketAddr>), Failure> {
    match addr {
        RedisAddr::Unix(path) => match UnixStream::connect(path).await {
            Ok(stream) => Ok((Box::new(stream), None)),
            Err(e) => Err(Failure::io(&format!("connecting to {}", path.display()), &e)),
        },
        RedisAddr::Tcp { host, port } => {
            let stream = tcp(host, *port).await?;
            let local = stream.local_addr().ok();
            let stream: Box<dyn Stream> = match files {
                None => Box::new(stream),
                Some(files) => secure(stream, files, host).await?,
            };
            Ok((stream, local))
        }
    }
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, Failure> {
    let found = names::resolve(host).await.map_err(|e| {
        let detail = format!("the name {host} does not resolve: {e} (check the store's url)");
        Failure::new(FailReason::Dns, detail)
    })?;
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for ip in found {
        match TcpStream::connect((ip, port)).await {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(|e| Failure::io("setting TCP_NODELAY", &e))?;
                return Ok(stream);
            }
            Err(e) => last = e,
        }
    }
    Err(Failure::io(&format!("connecting to {host}:{port}"), &last))
}

async fn secure(
    stream: TcpStream,
    files: &TlsFiles,
    host: &str,
) -> Result<Box<dyn Stream>, Failure> {
    let wrong = |detail| Failure::new(FailReason::Tls, detail);
    let name = tls::server_name(files, host).map_err(wrong)?;
    let owned = files.clone();
    // The files may lie on a slow disk, and the system's authorities are many.
    let config = tokio::task::spawn_blocking(move || tls::client_config(&owned))
        .await
        .map_err(|e| Failure::new(FailReason::Other, format!("reading TLS files: {e}")))?
        .map_err(wrong)?;
    match TlsConnector::from(config).connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(e) => {
            let fix = "does the server speak TLS on this port, and do ca_file and server_name fit its certificate?";
            Err(Failure::new(FailReason::Tls, format!("TLS handshake with {host}: {e} ({fix})")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_round_trip() {
        for text in ["10.0.0.5:6379", "[::1]:6380", "redis.example:1", "/run/redis.sock"] {
            assert_eq!(parse_addr(text).map(|a| addr_text(&a)).as_deref(), Some(text));
        }
        let v6 = RedisAddr::Tcp { host: "::1".into(), port: 6379 };
        assert_eq!(parse_addr("::1:6379"), Some(v6), "as INFO writes a replica's address");
        for text in ["", "host", ":6379", "host:0", "host:70000", "host:x"] {
            assert_eq!(parse_addr(text), None, "{text}");
        }
    }
}
