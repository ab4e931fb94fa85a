//! The shape of the web configuration, which is that of Prometheus' exporter-toolkit: names, spelling and defaults are
//! its, so that one file serves all exporters of a host.

use super::Kind::{Duration, Hashes, OneOf, Switch, Table, Text, Texts, Whole};
use super::{Section, key};

pub(in crate::config) static WEB: Section = Section {
    title: "Top level",
    keys: &[
        key("tls_server_config", Table(&TLS_SERVER), ""),
        key("http_server_config", Table(&HTTP_SERVER), ""),
        key("basic_auth_users", Hashes, ""),
        key("rate_limit", Table(&RATE_LIMIT), ""),
    ],
    later: &[],
};

static TLS_SERVER: Section = Section {
    title: "tls_server_config",
    keys: &[
        key("cert_file", Text, "this or `cert`"),
        key("key_file", Text, "this or `key`"),
        key("cert", Text, "this or `cert_file`"),
        key("key", Text, "this or `key_file`"),
        key(
            "client_auth_type",
            OneOf(
                &[
                    "NoClientCert",
                    "RequestClientCert",
                    "RequireAnyClientCert",
                    "RequireClientCert",
                    "VerifyClientCertIfGiven",
                    "RequireAndVerifyClientCert",
                ],
                &[],
            ),
            "NoClientCert",
        ),
        key("client_ca_file", Text, ""),
        key("client_ca", Text, ""),
        key("client_allowed_sans", Texts, ""),
        key("min_version", OneOf(&["TLS12", "TLS13"], &[]), "TLS12"),
        key("max_version", OneOf(&["TLS12", "TLS13"], &[]), "TLS13"),
        key("cipher_suites", Texts, "all that there are"),
        key("prefer_server_cipher_suites", Switch, "true"),
        key("curve_preferences", Texts, "X25519, CurveP256, CurveP384"),
    ],
    later: &[],
};

static HTTP_SERVER: Section = Section {
    title: "http_server_config",
    keys: &[key("http2", Switch, "true"), key("headers", Table(&HEADERS), "")],
    later: &[],
};

static HEADERS: Section = Section {
    title: "http_server_config.headers",
    keys: &[
        key("Content-Security-Policy", Text, ""),
        key("X-Frame-Options", Text, ""),
        key("X-Content-Type-Options", Text, ""),
        key("X-XSS-Protection", Text, ""),
        key("Strict-Transport-Security", Text, ""),
    ],
    later: &[],
};

static RATE_LIMIT: Section = Section {
    title: "rate_limit",
    keys: &[
        key("interval", Duration("0s", "1h"), "0s"),
        key("burst", Whole(1, 1_000_000), "required with `interval`"),
    ],
    later: &[],
};

/// All sections, in the order of the reference.
#[cfg(test)]
pub(in crate::config) static WEB_SECTIONS: &[&Section] =
    &[&WEB, &TLS_SERVER, &HTTP_SERVER, &HEADERS, &RATE_LIMIT];
