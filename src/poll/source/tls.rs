//! TLS for HTTP sources: trust and client certificate from files, loaded when first needed and again every minute, so that
//! renewed files are picked up.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::clock;
use crate::config::TlsFiles;
use crate::observe::Mono;
use crate::poll::lane::{Entry, Lane};
use crate::poll::tls::{client_config, server_name};

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
        let name = server_name(&self.files, host).map_err(io::Error::other)?;
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
            client_config(&files)
        });
        let config = match tokio::time::timeout(DEADLINE, load).await {
            Ok(Ok(loaded)) => loaded?,
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
