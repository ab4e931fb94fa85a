//! A client that sends bytes as they are, over TCP or TLS, and reads until the server ends the connection.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::support::{Answer, parse};

const PATIENCE: Duration = Duration::from_secs(20);

/// A GET that ends its connection.
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
}

/// The same with a name and a password.
pub fn get_as(path: &str, name: &str, password: &str) -> String {
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
    get(path).replacen("\r\n", &format!("\r\nAuthorization: Basic {pair}\r\n"), 1)
}

/// A connection that gives up after a while.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// All that comes back for these bytes; the server may hang up before it has read them.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => panic!("no end of {bytes:?}"),
        _ => answer,
    }
}

/// The answer to a request over TCP.
pub fn plain(address: SocketAddr, request: &str) -> Answer {
    let bytes = raw(address, request.as_bytes());
    parse(&bytes).unwrap_or_else(|| panic!("{request}: {}", String::from_utf8_lossy(&bytes)))
}

/// TLS that trusts this authority, with a certificate and its key if they are given.
pub fn trusting(authority: &Path, own: Option<&(String, String)>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let builder =
        ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
    Arc::new(match own {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => {
            let chain = vec![CertificateDer::from_pem_file(cert).unwrap()];
            builder
                .with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap())
                .unwrap()
        }
    })
}

/// A connection over TLS; the handshake is made with the first write.
pub fn tls(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
) -> StreamOwned<ClientConnection, TcpStream> {
    let name = ServerName::try_from(address.ip().to_string()).unwrap();
    StreamOwned::new(ClientConnection::new(config.clone(), name).unwrap(), connect(address))
}

/// The answer to a request over TLS, or why there is none.
pub fn secret(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
    request: &str,
) -> io::Result<Answer> {
    let mut stream = tls(address, config);
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    parse(&bytes).ok_or_else(|| io::Error::other("not a complete answer"))
}
