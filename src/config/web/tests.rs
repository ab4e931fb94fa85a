//! Web configurations: what is taken, what is refused and in which words.

use std::path::Path;

use proptest::prelude::*;
use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

use super::*;

const HASH: &str = "$2y$04$......................Wj8bWl5dxQjvJQUl7IBTVnBGKzdh4ZK";

/// `a.crt` and `a.key` belong together, `b.key` belongs to nobody; `web.yml` is in the same directory.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let (a, b) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        let write = |name: &str, text: String| std::fs::write(dir.path().join(name), text).unwrap();
        write("a.crt", params.self_signed(&a).unwrap().pem());
        write("a.key", a.serialize_pem());
        write("b.key", b.serialize_pem());
        write("empty", String::new());
        Self(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn load(&self, text: &str) -> Loaded {
        let file = self.path().join("web.yml");
        std::fs::write(&file, text).unwrap();
        load(&file)
    }

    /// Everything that is said of it, without the place of the file.
    fn said(&self, text: &str) -> String {
        match self.load(text).web {
            Ok(_) => panic!("it loaded: {text}"),
            Err(mistakes) => {
                let dir = self.path().display().to_string();
                mistakes.to_string().replace(&format!("{dir}/"), "")
            }
        }
    }
}

fn good(text: &str) -> Web {
    Place::new().load(text).web.unwrap_or_else(|mistakes| panic!("{text}\n{mistakes}"))
}

#[test]
fn an_empty_file_asks_nothing_of_anybody() {
    for text in ["", "# nothing\n", "http_server_config: {}\n"] {
        let web = good(text);
        assert!(web.tls.is_none() && web.users.is_empty() && web.rate_limit.is_none(), "{text}");
        assert!(web.http2);
    }
}

/// Every key at once, in the toolkit's spelling.
#[test]
fn all_keys_are_taken() {
    let web = good(&format!(
        "tls_server_config:
  cert_file: a.crt
  key_file: a.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: a.crt
  client_allowed_sans: [prometheus.example, 'spiffe://x/y', 10.0.0.1]
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: false
  curve_preferences: [CurveP384, X25519]
http_server_config:
  http2: false
  headers:
    Content-Security-Policy: default-src 'self'
    X-Frame-Options: sameorigin
    X-Content-Type-Options: nosniff
    X-XSS-Protection: ''
    Strict-Transport-Security: max-age=31536000; includeSubDomains
basic_auth_users:
  Alice.B: {HASH}
rate_limit: {{ interval: 1m30s, burst: 5 }}
"
    ));
    let tls = web.tls.expect("TLS is configured");
    let settings = &tls.settings;
    assert_eq!(settings.client_auth, ClientAuth::RequireAndVerify);
    assert_eq!(tls.client_ca.map(|ca| ca.len()), Some(1));
    assert_eq!(settings.allowed_sans.len(), 3);
    assert!(settings.tls12 && settings.tls13 && !settings.server_order);
    let tls12: Vec<_> = settings.cipher_suites.iter().filter(|s| s.tls13().is_none()).collect();
    assert_eq!((tls12.len(), settings.cipher_suites.len()), (2, 5));
    assert!(format!("{tls12:?}").find("CHACHA") < format!("{tls12:?}").find("AES_128"));
    let curves: Vec<_> = settings.curves.iter().map(|c| format!("{:?}", c.name())).collect();
    assert_eq!(curves, ["secp384r1", "X25519"]);
    assert!(!web.http2);
    // One without a text is not set.
    assert_eq!(web.headers.len(), 4);
    assert_eq!(web.users.keys().collect::<Vec<_>>(), ["Alice.B"]);
    assert_eq!(web.users["Alice.B"].cost, 4);
    let limit = web.rate_limit.expect("there is a limit");
    assert_eq!((limit.interval.as_secs(), limit.burst), (90, 5));
}

#[test]
fn certificates_may_be_in_the_file_itself_and_no_debug_shows_a_secret() {
    let place = Place::new();
    let inline = |name: &str| {
        let text = std::fs::read_to_string(place.path().join(name)).unwrap();
        text.lines().map(|line| format!("    {line}\n")).collect::<String>()
    };
    let (cert, key) = (inline("a.crt"), inline("a.key"));
    let text = format!(
        "tls_server_config:\n  cert: |\n{cert}  key: |\n{key}basic_auth_users: {{ a: {HASH} }}\n"
    );
    assert!(place.load(&text).web.unwrap().tls.is_some());
    let shown = format!("{:?}", parse(&text).unwrap());
    assert!(!shown.contains("PRIVATE") && !shown.contains("$2y$"), "{shown}");
}

#[test]
fn a_rate_without_an_interval_is_none() {
    for off in ["{ interval: 0, burst: 0 }", "{ interval: 0s, burst: 3 }", "{ interval: 0 }"] {
        let text = format!("rate_limit: {off}");
        let web = Place::new().load(&text).web;
        // A burst of nothing is no number of requests, whatever the interval.
        assert_eq!(web.is_ok(), !off.contains("burst: 0"), "{off}");
        assert!(web.is_err() || web.unwrap().rate_limit.is_none(), "{off}");
    }
}

/// One mistake each: the file, the words that must be in what is said, and nothing else said.
#[test]
fn each_mistake_is_told_by_its_key_with_a_way_out() {
    const TLS: &str = "tls_server_config: { cert_file: a.crt, key_file: a.key";
    let place = Place::new();
    let cases: &[(&str, &str)] = &[
        ("tls_server_cfg: {}", "web.yml: tls_server_cfg: unknown key; did you mean"),
        ("tls_server_config: { key_file: a.key }", "cert_file: missing"),
        ("tls_server_config: { cert_file: a.crt }", "key_file: missing"),
        (
            "tls_server_config: { cert_file: nowhere, key_file: a.key }",
            "tls_server_config.cert_file: `",
        ),
        (
            "tls_server_config: { cert_file: empty, key_file: a.key }",
            "tls_server_config.cert_file: `empty` holds no PEM certificate",
        ),
        (
            "tls_server_config: { cert_file: a.crt, key_file: a.crt }",
            "tls_server_config.key_file: `a.crt` holds no PEM private key",
        ),
        (
            "tls_server_config: { cert_file: a.crt, key_file: b.key }",
            "key_file: `b.key` belongs to another certificate",
        ),
        (
            "tls_server_config: { cert_file: a.crt, key: x }",
            "tls_server_config.key: holds no PEM private key",
        ),
        (&format!("{TLS}, min_version: TLS10 }}"), "min_version: `TLS10` cannot be offered"),
        (&format!("{TLS}, max_version: TLS11 }}"), "max_version: `TLS11` cannot be offered"),
        (&format!("{TLS}, min_version: TLS14 }}"), "did you mean"),
        (&format!("{TLS}, min_version: TLS13, max_version: TLS12 }}"), "min_version: is above"),
        (
            &format!("{TLS}, cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA] }}"),
            "cipher_suites[0]: `TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA` cannot be offered",
        ),
        (
            &format!("{TLS}, cipher_suites: [TLS_RSA_WITH_AES_128_GCM_SHA256] }}"),
            "no RSA key exchange",
        ),
        (
            &format!("{TLS}, cipher_suites: [TLS_FOO] }}"),
            "cipher_suites[0]: `TLS_FOO` is unknown; these can be had",
        ),
        (
            &format!("{TLS}, max_version: TLS12, cipher_suites: [TLS_AES_128_GCM_SHA256] }}"),
            "names none of TLS 1.2",
        ),
        (
            &format!("{TLS}, curve_preferences: [CurveP521] }}"),
            "curve_preferences[0]: `CurveP521` cannot be offered",
        ),
        (&format!("{TLS}, curve_preferences: [x25519] }}"), "did you mean `X25519`?"),
        (&format!("{TLS}, client_ca_file: a.crt }}"), "client_auth_type: asks no client"),
        (
            &format!("{TLS}, client_auth_type: RequireAndVerifyClientCert }}"),
            "client_ca_file: missing",
        ),
        (
            &format!("{TLS}, client_auth_type: VerifyClientCertIfGiven, client_ca_file: empty }}"),
            "client_ca_file: `empty` holds no PEM certificate",
        ),
        (
            &format!("{TLS}, client_auth_type: RequireAndVerify }}"),
            "client_auth_type: `RequireAndVerify` is unknown",
        ),
        (
            &format!("{TLS}, client_auth_type: RequestClientCert, client_allowed_sans: [a] }}"),
            "client_allowed_sans: means nothing",
        ),
        (
            &format!("{TLS}, client_auth_type: RequireAnyClientCert, client_allowed_sans: [] }}"),
            "client_allowed_sans: lets nobody in",
        ),
        (
            "http_server_config: { headers: { X-Powered-By: me } }",
            "headers.X-Powered-By: unknown key",
        ),
        (
            "http_server_config: { headers: { X-Frame-Options: allow } }",
            "it is one of: deny, sameorigin",
        ),
        ("http_server_config: { headers: { X-XSS-Protection: \"a\\nb\" } }", "no header may have"),
        ("http_server_config: { http2: yes }", "http2: must be true or false"),
        ("basic_auth_users: { alice: hunter2 }", "basic_auth_users.alice: is no bcrypt hash"),
        ("basic_auth_users: { alice: 12 }", "basic_auth_users.alice: must be text"),
        ("basic_auth_users: {}", "basic_auth_users: names nobody"),
        ("basic_auth_users: [alice]", "basic_auth_users: must be a table by name"),
        (
            "basic_auth_users: { alice: $2y$31$......................Wj8bWl5dxQjvJQUl7IBTVnBGKzdh4ZK }",
            "has the cost 31",
        ),
        (
            "basic_auth_users: { 'a:b': $2y$04$......................Wj8bWl5dxQjvJQUl7IBTVnBGKzdh4ZK }",
            "basic_auth_users: has a name that no client can send",
        ),
        ("rate_limit: { interval: 1s }", "rate_limit.burst: missing"),
        ("rate_limit: { interval: 1, burst: 1 }", "`1` has no unit"),
        ("rate_limit: { interval: 1s, burst: 0 }", "rate_limit.burst: `0` is out of range"),
    ];
    for (text, expected) in cases {
        let said = place.said(text);
        assert!(said.contains(expected), "{text}\nexpected {expected}\nsaid     {said}");
        assert_eq!(said.lines().count(), 1, "{text}\n{said}");
        assert!(said.contains("; "), "no way out: {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let said = Place::new().said(
        "tls_server_config:
  cert_file: nowhere.crt
  key_file: nowhere.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: empty
  curve_preferences: [CurveP521]
http_server_config: { headers: { X-Frame-Options: allow }, http3: true }
basic_auth_users: { alice: x, bob: y }
rate_limit: { interval: fast, burst: 1 }
",
    );
    assert_eq!(said.lines().count(), 9, "{said}");
}

/// The sum follows the content of every file, and nothing else.
#[test]
fn a_change_of_any_file_is_another_digest() {
    let place = Place::new();
    let text = "tls_server_config: { cert_file: a.crt, key_file: a.key }\n";
    let first = place.load(text).digest;
    assert_eq!(place.load(text).digest, first);
    assert_ne!(place.load(&format!("{text}# x\n")).digest, first);
    let key = place.path().join("a.key");
    let whole = std::fs::read_to_string(&key).unwrap();
    std::fs::write(&key, format!("{whole}\n")).unwrap();
    assert_ne!(place.load(text).digest, first);
    std::fs::remove_file(&key).unwrap();
    assert_ne!(place.load(text).digest, first);
    std::fs::write(&key, whole).unwrap();
    assert_eq!(place.load(text).digest, first);
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let place = Place::new();
    let pipe = place.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    assert!(
        place
            .said("tls_server_config: { cert_file: pipe, key_file: a.key }")
            .contains("not a regular file")
    );
    let said = load(&pipe).web.unwrap_err().to_string();
    assert!(said.contains("not a regular file"), "{said}");
}

proptest! {
    #[test]
    fn any_text_is_taken_or_refused_in_single_lines(text in any::<String>()) {
        if let Err(mistakes) = parse(&text) {
            prop_assert_eq!(mistakes.to_string().lines().count(), mistakes.count());
        }
    }

    #[test]
    fn any_value_at_any_key_is_taken_or_refused(
        section in prop::sample::select(vec!["tls_server_config", "http_server_config", "basic_auth_users", "rate_limit"]),
        key in prop::sample::select(vec!["cert", "key_file", "min_version", "cipher_suites", "client_auth_type", "client_allowed_sans", "headers", "http2", "interval", "burst", "x"]),
        value in prop::sample::select(vec!["", "0", "-1", "1.5", "[]", "{}", "[x, [y]]", "{a: {b: c}}", "TLS12", "x", "true", "~", "'\u{7f}'", "1s", "99999999999999999999"]),
    ) {
        let _ = parse(&format!("{section}: {{ {key}: {value} }}"));
        let _ = parse(&format!("{section}: {value}"));
    }
}
