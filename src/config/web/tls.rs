//! `tls_server_config`: reads the table, then the files that it names.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::super::cursor::Cursor;
use super::super::mistake::Report;
use super::files::Files;
use super::model::{ClientAuth, Pem, ServerTls, TlsDraft, TlsSettings};
use super::tls_words as words;
use crate::secret::Secret;

/// Everything that can be said without a look at other files. All of it is read, so that all mistakes are told.
pub(super) fn read(at: &Cursor<'_>) -> TlsDraft {
    let cert = pem(at, "cert_file", "cert", true);
    let key = pem(at, "key_file", "key", true);
    let client_ca = pem(at, "client_ca_file", "client_ca", false);
    let client_auth = client_auth(at, client_ca.is_some() || at.has("client_ca_file"));
    let allowed_sans = allowed_sans(at, client_auth);
    let (tls12, tls13) = versions(at);
    let (suites, curves) = (suites(at, tls13), curves(at));
    let server_order = at.switch("prefer_server_cipher_suites").unwrap_or(true);
    let settings = TlsSettings {
        client_auth,
        allowed_sans,
        tls12,
        tls13,
        cipher_suites: suites,
        server_order,
        curves,
    };
    TlsDraft { cert, key, client_ca, settings }
}

/// One of two keys: a path, or the text itself.
fn pem(at: &Cursor<'_>, file: &'static str, inline: &'static str, required: bool) -> Option<Pem> {
    if at.has(file) && at.has(inline) {
        at.wrong(inline, format!("is set beside `{file}`"), "use one of the two");
    }
    if required && !at.has(file) && !at.has(inline) && !at.mistyped(&[file, inline]) {
        at.wrong(file, "missing: there is no TLS without it", format!("set it, or `{inline}`"));
    }
    let path =
        || at.has(file).then(|| at.text(file)).flatten().map(|p| Pem::File(PathBuf::from(p)));
    let text =
        || at.has(inline).then(|| at.text(inline)).flatten().map(|t| Pem::Inline(Secret::new(t)));
    path().or_else(text)
}

fn client_auth(at: &Cursor<'_>, has_ca: bool) -> ClientAuth {
    let has_ca = has_ca || at.has("client_ca");
    let policy = match at.has("client_auth_type").then(|| at.one_of("client_auth_type")).flatten() {
        Some("RequestClientCert") => ClientAuth::Request,
        Some("RequireAnyClientCert" | "RequireClientCert") => ClientAuth::RequireAny,
        Some("VerifyClientCertIfGiven") => ClientAuth::VerifyIfGiven,
        Some("RequireAndVerifyClientCert") => ClientAuth::RequireAndVerify,
        _ => ClientAuth::None,
    };
    let said = !at.has("client_auth_type") || at.word("client_auth_type") == Some("NoClientCert");
    if has_ca && policy == ClientAuth::None && said {
        at.wrong(
            "client_auth_type",
            "asks no client for a certificate, although there is an authority for them",
            "write RequireAndVerifyClientCert, or remove the authority",
        );
    }
    if policy.verifies() && !has_ca && !at.mistyped(&["client_ca_file", "client_ca"]) {
        // Go takes the system's authorities then, and with them everybody who has some public certificate.
        at.wrong(
            "client_ca_file",
            "missing: nothing says whose certificates are let in",
            "set it, or `client_ca`",
        );
    }
    policy
}

fn allowed_sans(at: &Cursor<'_>, client_auth: ClientAuth) -> Vec<String> {
    if !at.has("client_allowed_sans") {
        return Vec::new();
    }
    if at.is_empty_list("client_allowed_sans") {
        at.wrong("client_allowed_sans", "lets nobody in", "add a name, or remove the key");
    } else if !client_auth.requires() {
        at.wrong(
            "client_allowed_sans",
            "means nothing where clients may come without a certificate",
            "set client_auth_type to RequireAndVerifyClientCert",
        );
    }
    at.texts("client_allowed_sans").iter().map(|san| san.text.to_owned()).collect()
}

/// Whether TLS 1.2 and 1.3 are spoken.
fn versions(at: &Cursor<'_>) -> (bool, bool) {
    let version = |key: &'static str| match at.word(key) {
        Some(old @ ("TLS10" | "TLS11")) => {
            let reason = format!("`{old}` cannot be offered by this program's TLS (rustls)");
            at.wrong(key, reason, "write `TLS12` or `TLS13`");
            None
        }
        _ => at.has(key).then(|| at.one_of(key)).flatten(),
    };
    let (least, most) = (version("min_version"), version("max_version"));
    let spoken = (least != Some("TLS13"), most != Some("TLS12"));
    if spoken == (false, false) {
        at.wrong("min_version", "is above `max_version`", "leave one of the two out");
    }
    spoken
}

fn suites(at: &Cursor<'_>, tls13: bool) -> Vec<rustls::SupportedCipherSuite> {
    if !at.has("cipher_suites") || at.is_empty_list("cipher_suites") {
        return words::all_suites();
    }
    let items = at.texts("cipher_suites");
    let mut named = Vec::new();
    let mut wrong = items.is_empty();
    for item in &items {
        match words::suite(item.text) {
            Ok(suite) if named.contains(&suite) => {}
            Ok(suite) => named.push(suite),
            Err((reason, fix)) => {
                wrong = true;
                item.wrong(reason, fix);
            }
        }
    }
    if !wrong && !tls13 && named.iter().all(|s| s.tls13().is_some()) {
        at.wrong(
            "cipher_suites",
            "names none of TLS 1.2, and `max_version` allows no other",
            "add one of TLS 1.2, or remove `max_version`",
        );
    }
    words::suites_in_order(&named)
}

fn curves(at: &Cursor<'_>) -> Vec<&'static dyn rustls::crypto::SupportedKxGroup> {
    if !at.has("curve_preferences") || at.is_empty_list("curve_preferences") {
        return words::all_curves();
    }
    let mut curves: Vec<&'static dyn rustls::crypto::SupportedKxGroup> = Vec::new();
    for item in at.texts("curve_preferences") {
        match words::curve(item.text) {
            Ok(curve) if curves.iter().any(|c| c.name() == curve.name()) => {}
            Ok(curve) => curves.push(curve),
            Err((reason, fix)) => item.wrong(reason, fix),
        }
    }
    curves
}

/// Reads the certificates. What is wrong with one does not hide what is wrong with the next.
pub(super) fn with_files(draft: TlsDraft, files: &mut Files, report: &Report) -> Option<ServerTls> {
    let mut reader = Reader { files, report };
    let chain = draft.cert.as_ref().and_then(|pem| reader.certificates(pem, "cert"));
    let key = draft.key.as_ref().and_then(|pem| reader.key(pem));
    let client_ca = draft.client_ca.as_ref().map(|pem| reader.authorities(pem).map(Arc::new));
    let identity = identity(&reader, draft.key.as_ref()?, chain?, key?)?;
    // One that could not be read is a mistake, and not none.
    let client_ca = match client_ca {
        Some(read) => Some(read?),
        None => None,
    };
    Some(ServerTls { identity: Arc::new(identity), client_ca, settings: draft.settings })
}

/// The certificate with its key, if they belong together.
fn identity(
    reader: &Reader<'_>,
    pem: &Pem,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Option<CertifiedKey> {
    let Ok(signing) = any_supported_type(&key) else {
        reader.wrong(
            pem,
            "key",
            "is of a kind that is not supported",
            "use RSA (2048 bits or more), ECDSA P-256 or P-384, or Ed25519",
        );
        return None;
    };
    let identity = CertifiedKey::new(chain, signing);
    if let Err(error) = identity.keys_match() {
        let (reason, fix) = match error {
            rustls::Error::InconsistentKeys(_) => (
                "belongs to another certificate".to_owned(),
                "give the key that `cert` was made with",
            ),
            _ => (
                "does not fit the certificate, which cannot be used".to_owned(),
                "is that an X.509 certificate of version 3?",
            ),
        };
        reader.wrong(pem, "key", reason, fix);
        return None;
    }
    Some(identity)
}

struct Reader<'a> {
    files: &'a mut Files,
    report: &'a Report,
}

impl Reader<'_> {
    /// Records what is wrong with one of the three, under the key that it was given by.
    fn wrong(&self, pem: &Pem, name: &str, reason: impl Into<String>, fix: impl Into<String>) {
        let (end, shown) = match pem {
            Pem::File(path) => {
                ("_file", format!("{} ", super::super::mistake::quoted(&path.to_string_lossy())))
            }
            Pem::Inline(_) => ("", String::new()),
        };
        let key = format!("tls_server_config.{name}{end}");
        self.report.add(None, &key, shown + &reason.into(), Some(fix.into()));
    }

    fn bytes(&mut self, pem: &Pem, name: &str) -> Option<Vec<u8>> {
        match pem {
            Pem::Inline(text) => Some(text.reveal().as_bytes().to_vec()),
            Pem::File(path) => match self.files.bytes(path) {
                Ok(bytes) => Some(bytes),
                Err((reason, fix)) => {
                    let key = format!("tls_server_config.{name}_file");
                    self.report.add(None, &key, reason, Some(fix));
                    None
                }
            },
        }
    }

    /// What is not PEM is not quoted: it may be a key.
    fn certificates(&mut self, pem: &Pem, name: &str) -> Option<Vec<CertificateDer<'static>>> {
        let bytes = self.bytes(pem, name)?;
        match CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>() {
            Ok(certs) if !certs.is_empty() => Some(certs),
            _ => {
                self.wrong(
                    pem,
                    name,
                    "holds no PEM certificate",
                    "it begins with -----BEGIN CERTIFICATE-----",
                );
                None
            }
        }
    }

    fn key(&mut self, pem: &Pem) -> Option<PrivateKeyDer<'static>> {
        let bytes = self.bytes(pem, "key")?;
        let key = PrivateKeyDer::from_pem_slice(&bytes);
        if key.is_err() {
            let locked = String::from_utf8_lossy(&bytes).contains("ENCRYPTED");
            let reason =
                if locked { "holds a key with a passphrase" } else { "holds no PEM private key" };
            self.wrong(
                pem,
                "key",
                reason,
                "it begins with -----BEGIN PRIVATE KEY-----, and has no passphrase",
            );
        }
        key.ok()
    }

    fn authorities(&mut self, pem: &Pem) -> Option<RootCertStore> {
        let mut roots = RootCertStore::empty();
        for cert in self.certificates(pem, "client_ca")? {
            if roots.add(cert).is_err() {
                self.wrong(
                    pem,
                    "client_ca",
                    "has a certificate that cannot be used",
                    "are all of them X.509 certificates?",
                );
                return None;
            }
        }
        Some(roots)
    }
}
