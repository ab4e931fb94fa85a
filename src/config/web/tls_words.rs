//! Names of TLS versions, cipher suites and curves as Go has them, and what rustls has for them. What it has not is
//! refused by name.

use rustls::SupportedCipherSuite;
use rustls::crypto::SupportedKxGroup;
use rustls::crypto::ring::cipher_suite as suites;
use rustls::crypto::ring::kx_group as groups;

use super::super::checks::Wrong;
use super::super::mistake::{closest, quoted};

type Suites = &'static [(&'static str, SupportedCipherSuite)];
type Curves = &'static [(&'static str, &'static dyn SupportedKxGroup)];

/// Suites of TLS 1.2, the preferred first.
static TLS12: Suites = &[
    ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", suites::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", suites::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    (
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        suites::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", suites::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", suites::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    (
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        suites::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
];

/// Suites of TLS 1.3. The format takes their names and has all of them on in any case, as Go does.
static TLS13: Suites = &[
    ("TLS_AES_256_GCM_SHA384", suites::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", suites::TLS13_AES_128_GCM_SHA256),
    ("TLS_CHACHA20_POLY1305_SHA256", suites::TLS13_CHACHA20_POLY1305_SHA256),
];

static CURVES: Curves = &[
    ("X25519", groups::X25519),
    ("CurveP256", groups::SECP256R1),
    ("CurveP384", groups::SECP384R1),
];

/// All suites, where the file names none.
pub(super) fn all_suites() -> Vec<SupportedCipherSuite> {
    TLS13.iter().chain(TLS12).map(|(_, suite)| *suite).collect()
}

/// All curves, where the file names none.
pub(super) fn all_curves() -> Vec<&'static dyn SupportedKxGroup> {
    CURVES.iter().map(|(_, curve)| *curve).collect()
}

/// Suites in the file's order, which is that of preference; those of TLS 1.3 are always there.
pub(super) fn suites_in_order(named: &[SupportedCipherSuite]) -> Vec<SupportedCipherSuite> {
    let of_tls13 = TLS13.iter().map(|(_, suite)| *suite);
    of_tls13.chain(named.iter().copied().filter(|s| s.tls13().is_none())).collect()
}

/// The suite of that name.
pub(super) fn suite(name: &str) -> Result<SupportedCipherSuite, Wrong> {
    let known = || TLS12.iter().chain(TLS13);
    if let Some((_, suite)) = known().find(|(known, _)| *known == name) {
        return Ok(*suite);
    }
    let fix = match closest(name, known().map(|(name, _)| *name)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => {
            let names: Vec<_> = TLS12.iter().map(|(name, _)| *name).collect();
            format!("these can be had: {}", names.join(", "))
        }
    };
    // Go has these; a file that was made for a Go exporter may well name them.
    let why = if name.contains("_CBC_") || name.contains("_RC4_") || name.contains("_3DES_") {
        "cannot be offered by this program's TLS (rustls), which has no CBC, RC4 and 3DES"
    } else if name.starts_with("TLS_RSA_") {
        "cannot be offered by this program's TLS (rustls), which has no RSA key exchange"
    } else {
        return Err((format!("{} is unknown", quoted(name)), fix));
    };
    Err((format!("{} {why}", quoted(name)), "remove it; newer clients do not need it".into()))
}

/// The curve of that name.
pub(super) fn curve(name: &str) -> Result<&'static dyn SupportedKxGroup, Wrong> {
    if let Some((_, curve)) = CURVES.iter().find(|(known, _)| *known == name) {
        return Ok(*curve);
    }
    let fix = match closest(name, CURVES.iter().map(|(name, _)| *name)) {
        Some(meant) if name != "CurveP521" => format!("did you mean `{meant}`?"),
        _ => "it is one of: X25519, CurveP256, CurveP384".to_owned(),
    };
    let why = match name {
        "CurveP521" => "cannot be offered by this program's TLS (rustls with ring)",
        _ => "is unknown",
    };
    Err((format!("{} {why}", quoted(name)), fix))
}
