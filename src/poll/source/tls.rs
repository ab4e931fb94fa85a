//! TLS for HTTP sources: trust and client certificate from files, loaded when first needed and again every minute, so that
//! renewed files are picked up.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::clock;
use crate::config::TlsFiles;
use crate::observe::Mono;
use crate::poll::lane::{Entry, Lane};

const KEEP: Duration = Duration::from_secs(60);
/// Loading the system's authorities takes tens of milliseconds; a hung file system takes for ever.
const DEADLINE: Duration = Duration::from_secs(2);

/// The TLS side of one worker group's HTTP source.
#[derive(Debug, Default)]
pub struct Client {
    files: TlsFiles,
    loaded: Mutex<Option<(Mono, Arc<ClientConfig>)>>,
    loading: tokio::sync::Mutex<Lane>,
}

impl Client {
    /// Loads nothing yet.
    pub fn new(files: TlsFiles) -> Self {
        Self { files, loaded: Mutex::new(None), loading: Default::default() }
    }

    /// The handshake; the name to verify is `server_name` or else `host`.
    pub async fn handshake(
        &self,
        host: &str,
        config: Arc<ClientConfig>,
        tcp: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = self.files.server_name.as_deref().unwrap_or(host);
        let name = ServerName::try_from(name.to_owned()).map_err(|_| {
            io::Error::other(format!("{name:?} is no name that a certificate can have"))
        })?;
        TlsConnector::from(config).connect(name, tcp).await
    }

    /// What is loaded, not older than a minute.
    pub async fn config(&self) -> Result<Arc<ClientConfig>, String> {
        if let Some(config) = self.fresh() {
            return Ok(config);
        }
        // One loads, the others wait for it.
        let lane = self.loading.lock().await;
        if let Some(config) = self.fresh() {
            return Ok(config);
        }
        let Entry::Free(inside) = lane.enter(clock::mono(), DEADLINE) else {
            return Err("TLS files are still being read; is their file system hung?".to_owned());
        };
        let files = self.files.clone();
        let load = tokio::task::spawn_blocking(move || {
            let _inside = inside;
            load(&files)
        });
        let config = match tokio::time::timeout(DEADLINE, load).await {
            Ok(Ok(loaded)) => Arc::new(loaded?),
            Ok(Err(e)) => return Err(format!("reading TLS files: {e}")),
            Err(_) => return Err("TLS files could not be read in 2 s".to_owned()),
        };
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((clock::mono(), Arc::clone(&config)));
        Ok(config)
    }

    fn fresh(&self) -> Option<Arc<ClientConfig>> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, config) = loaded.as_ref()?;
        (clock::mono().since(*at) < KEEP).then(|| Arc::clone(config))
    }
}

fn load(files: &TlsFiles) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match &files.ca_file {
        Some(path) => {
            for cert in certs(path)? {
                roots.add(cert).map_err(|e| format!("{}: {e}", path.display()))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err("no trusted authority is known; set tls.ca_file".to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots);
    match (&files.cert_file, &files.key_file) {
        (Some(cert), Some(key)) => {
            let secret = PrivateKeyDer::from_pem_file(key)
                .map_err(|e| format!("{}: no private key: {e}", key.display()))?;
            builder
                .with_client_auth_cert(certs(cert)?, secret)
                .map_err(|e| format!("{} with {}: {e}", cert.display(), key.display()))
        }
        _ => Ok(builder.with_no_client_auth()),
    }
}

fn certs(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |e| format!("{}: no certificates: {e}", path.display());
    let list = CertificateDer::pem_file_iter(path).map_err(wrong)?;
    list.collect::<Result<Vec<_>, _>>().map_err(wrong)
}
