//! What clients have to show in the handshake. Whoever shows a certificate has to prove that he has its key, also where
//! any certificate will do.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use super::sans;
use crate::config::web::ServerTls;

/// The verifier for these settings; `None` where no client is asked.
pub fn verifier(
    tls: &ServerTls,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, String> {
    let settings = &tls.settings;
    let policy = settings.client_auth;
    let known = match (&tls.client_ca, policy.verifies()) {
        (Some(roots), true) => {
            let builder =
                WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone());
            Some(builder.build().map_err(|e| format!("tls_server_config.client_ca: {e}"))?)
        }
        // The configuration has refused this before; nobody is to be let in by it.
        (None, true) => return Err("tls_server_config.client_ca: missing".into()),
        (_, false) => None,
    };
    if policy == crate::config::web::ClientAuth::None {
        return Ok(None);
    }
    Ok(Some(Arc::new(Clients {
        known,
        provider: provider.clone(),
        required: policy.requires(),
        sans: settings.allowed_sans.clone(),
    })))
}

struct Clients {
    /// Verifies the chain, where that is wanted.
    known: Option<Arc<dyn ClientCertVerifier>>,
    provider: Arc<CryptoProvider>,
    required: bool,
    sans: Vec<String>,
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").field("required", &self.required).finish_non_exhaustive()
    }
}

impl ClientCertVerifier for Clients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.known.as_ref().map_or(&[], |known| known.root_hint_subjects())
    }

    fn client_auth_mandatory(&self) -> bool {
        self.required
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if let Some(known) = &self.known {
            known.verify_client_cert(end_entity, intermediates, now)?;
        }
        let fits = |name: &String| self.sans.contains(name);
        if !self.sans.is_empty() && !sans::names(end_entity).iter().any(fits) {
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
