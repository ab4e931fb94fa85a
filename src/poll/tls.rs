//! TLS towards a target: which authorities are trusted and which certificate we show. Reads the files anew at each call,
//! so that renewed ones are picked up. Must not skip verification, whatever is configured.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::config::TlsFiles;

/// The client's side of TLS by these files. Blocks on reading them.
pub fn client_config(files: &TlsFiles) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| format!("TLS cannot be set up: {e}"))?
        .with_root_certificates(roots(files)?);
    let config = match (&files.cert_file, &files.key_file) {
        (Some(cert), Some(key)) => {
            let chain = certificates(cert)?;
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|e| format!("tls.key_file {}: {e}", key.display()))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|e| format!("tls.cert_file {}: {e}", cert.display()))?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

/// The name that the server's certificate has to carry.
pub fn server_name(files: &TlsFiles, host: &str) -> Result<ServerName<'static>, String> {
    let name = files.server_name.as_deref().unwrap_or(host);
    ServerName::try_from(name.to_owned())
        .map_err(|_| format!("`{name}` cannot be verified in a certificate; set tls.server_name"))
}

fn roots(files: &TlsFiles) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match &files.ca_file {
        Some(path) => {
            for cert in certificates(path)? {
                roots.add(cert).map_err(|e| format!("tls.ca_file {}: {e}", path.display()))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err("this system has no trusted authorities; set tls.ca_file".into());
            }
        }
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
    match read() {
        Ok(certs) if !certs.is_empty() => Ok(certs),
        Ok(_) => Err(format!("{} holds no PEM certificate", path.display())),
        Err(e) => Err(format!("certificates in {}: {e}", path.display())),
    }
}
