//! What a web configuration says, checked: plain values, and certificates in the form that rustls takes.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::SupportedKxGroup;
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, SupportedCipherSuite};

use crate::secret::Secret;

/// Who is let in, and over what. The default is everybody, over plain HTTP.
#[derive(Clone, Debug, Default)]
pub struct Web {
    /// TLS, if it is spoken.
    pub tls: Option<ServerTls>,
    /// HTTP/2 is offered where TLS is spoken.
    pub http2: bool,
    /// Headers of every answer.
    pub headers: Vec<(&'static str, String)>,
    /// Who has to show a password; nobody has to if this is empty.
    pub users: BTreeMap<String, User>,
    /// How many requests are taken.
    pub rate_limit: Option<RateLimit>,
    /// Nothing is written there, not even `{}`: so a file looks that is being written, or was cut short.
    pub is_blank: bool,
}

/// What one file says before those that it names are read.
#[derive(Debug)]
pub struct Draft {
    /// All but TLS.
    pub web: Web,
    /// TLS, its certificates still to be read.
    pub tls: Option<TlsDraft>,
}

/// Where certificates and keys are.
pub enum Pem {
    /// In a file; a relative path begins at the web configuration's directory.
    File(PathBuf),
    /// In the web configuration itself.
    Inline(Secret),
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.fmt(f),
            Self::Inline(_) => f.write_str("<inline>"),
        }
    }
}

/// TLS before its files are read; what is missing has been told.
#[derive(Debug)]
pub struct TlsDraft {
    /// The server's certificate with those between it and its authority.
    pub cert: Option<Pem>,
    /// Its key.
    pub key: Option<Pem>,
    /// Authorities of the clients.
    pub client_ca: Option<Pem>,
    /// Everything else.
    pub settings: TlsSettings,
}

/// TLS, ready to be spoken.
#[derive(Clone, Debug)]
pub struct ServerTls {
    /// The server's certificate and key, which belong together.
    pub identity: Arc<CertifiedKey>,
    /// Authorities of the clients; there where `client_auth` verifies.
    pub client_ca: Option<Arc<RootCertStore>>,
    /// Everything else.
    pub settings: TlsSettings,
}

/// How TLS is spoken.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// What clients have to show.
    pub client_auth: ClientAuth,
    /// Names of which a client's certificate must have one, if there are any.
    pub allowed_sans: Vec<String>,
    /// TLS 1.2 is spoken.
    pub tls12: bool,
    /// TLS 1.3 is spoken.
    pub tls13: bool,
    /// Cipher suites in order of preference, those of both versions.
    pub cipher_suites: Vec<SupportedCipherSuite>,
    /// The server's order of them counts, not the client's.
    pub server_order: bool,
    /// Key exchange groups in order of preference.
    pub curves: Vec<&'static dyn SupportedKxGroup>,
}

/// What a client has to show in the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuth {
    /// Nothing; it is not asked.
    #[default]
    None,
    /// It is asked, and whatever it shows will do, nothing too.
    Request,
    /// Any certificate will do.
    RequireAny,
    /// Nothing, or a certificate of a known authority.
    VerifyIfGiven,
    /// A certificate of a known authority.
    RequireAndVerify,
}

impl ClientAuth {
    /// Certificates are verified.
    pub fn verifies(self) -> bool {
        matches!(self, Self::VerifyIfGiven | Self::RequireAndVerify)
    }

    /// Nobody is let in without a certificate.
    pub fn requires(self) -> bool {
        matches!(self, Self::RequireAny | Self::RequireAndVerify)
    }
}

/// A user's password as bcrypt made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The whole hash, with its version, cost and salt.
    pub hash: Secret,
    /// 2 to the power of this is how often bcrypt goes round.
    pub cost: u32,
}

/// A bucket of requests that fills as time goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// One more comes in after this long.
    pub interval: Duration,
    /// What it holds at most.
    pub burst: u32,
}
