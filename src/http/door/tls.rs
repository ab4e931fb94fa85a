//! The server's side of TLS by a web configuration.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::server::NoServerSessionStorage;
use rustls::sign::SingleCertAndKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};

use super::client_certs;
use crate::config::web::ServerTls;

/// TLS as it is configured, or why rustls does not take it.
pub fn server_config(tls: &ServerTls, http2: bool) -> Result<Arc<ServerConfig>, String> {
    let settings = &tls.settings;
    let provider = Arc::new(CryptoProvider {
        cipher_suites: settings.cipher_suites.clone(),
        kx_groups: settings.curves.clone(),
        ..ring::default_provider()
    });
    let mut versions: Vec<&'static SupportedProtocolVersion> = Vec::new();
    versions.extend(settings.tls13.then_some(&TLS13));
    versions.extend(settings.tls12.then_some(&TLS12));
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions)
        .map_err(|e| format!("tls_server_config: {e}"))?;
    let builder = match client_certs::verifier(tls, &provider)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let identity = SingleCertAndKey::from(tls.identity.as_ref().clone());
    let mut config = builder.with_cert_resolver(Arc::new(identity));
    config.ignore_client_order = settings.server_order;
    // Every connection shows its certificate anew: a session that is resumed would outlive it.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.alpn_protocols = match http2 {
        true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        false => vec![b"http/1.1".to_vec()],
    };
    Ok(Arc::new(config))
}
