//! TLS towards real servers with an authority of their own, and a password that is rotated while the exporter runs. A
//! certificate that does not fit must make the store down with a reason that says so, never a connection that is not
//! verified.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

use crate::support::{
    Exporter, ExporterSetup, Metrics, RedisServer, RedisSetup, for_a_while, free_port,
};

const SOON: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(200);

/// An authority with its certificate in a file.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate.
    pub file: PathBuf,
}

impl Authority {
    /// Makes one, with its certificate in that directory.
    pub fn new(dir: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let file = dir.join(format!("{name}.pem"));
        std::fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { issuer: Issuer::new(params, key), file }
    }

    /// Makes `NAME.crt` and `NAME.key` beside it, valid for that host.
    pub fn signs(&self, name: &str, host: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let (crt, pem) = (self.file.with_file_name(name).with_extension("crt"), name);
        let pem = self.file.with_file_name(pem).with_extension("key");
        std::fs::write(&crt, cert.pem()).unwrap();
        std::fs::write(&pem, key.serialize_pem()).unwrap();
        (crt.display().to_string(), pem.display().to_string())
    }
}

/// A server with a TLS port beside its plain one, which stays for the test itself.
pub fn server(
    authority: &Authority,
    host: &str,
    clients: &str,
    more: &[&str],
) -> (RedisServer, u16) {
    let port = free_port();
    let (crt, key) = authority.signs("server", host);
    let ca = authority.file.display().to_string();
    let server = RedisSetup::default()
        .arguments(&["--tls-port", &port.to_string(), "--tls-cert-file", &crt])
        .arguments(&["--tls-key-file", &key, "--tls-ca-cert-file", &ca])
        .arguments(&["--tls-auth-clients", clients])
        .arguments(more)
        .start();
    (server, port)
}

/// A store at that URL, with these lines below `tls`.
fn config(url: &str, tls: &[String]) -> String {
    let tls = match tls {
        [] => String::new(),
        lines => format!("    tls: {{ {} }}\n", lines.join(", ")),
    };
    format!(
        "poll_interval: 200ms
stores:
  main:
    url: {url}
    username: dlock
{tls}    locks:
      - {{ name: orders, key: 'lock:orders' }}
"
    )
}

fn ca_file(authority: &Authority) -> String {
    format!("ca_file: '{}'", authority.file.display())
}

pub fn up(m: &Metrics, at: &str) -> Option<f64> {
    m.value("dlock_store_up", &[("addr", at)])
}

pub fn failures(m: &Metrics, reason: &str) -> f64 {
    m.sum("dlock_exporter_poll_failures_total", &[("poller", "redis"), ("reason", reason)])
}

/// The store stays down for this reason, nothing is told of its lock, and the log has these words.
fn is_refused(yaml: &str, at: &str, reason: &'static str, words: &[&str]) -> Exporter {
    let mut exporter = ExporterSetup::file(yaml).password().spawn();
    exporter.wait_for("dlock_store_up 0 dlock_exporter_poll_failures_total", SOON, |m| {
        up(m, at) == Some(0.0) && failures(m, reason) >= 2.0
    });
    let m = exporter.metrics();
    assert!(m.all("dlock_lock_held", &[]).is_empty(), "nothing was read");
    let log = exporter.log();
    for word in words {
        assert!(log.contains(word), "no '{word}' in:\n{log}");
    }
    exporter
}

pub fn is_read(exporter: &mut Exporter, at: &str) {
    exporter.wait_for("dlock_store_up 1 and dlock_lock_held 1", SOON, |m| {
        up(m, at) == Some(1.0) && m.is("dlock_lock_held", &[], 1.0)
    });
}

#[test]
fn a_server_of_an_own_authority_and_its_replica() {
    let dir = TempDir::new().unwrap();
    let ours = Authority::new(dir.path(), "ours");
    let (primary, port) = server(&ours, "locks.test", "no", &[]);
    primary.cmd(&["SET", "lock:orders", "x", "PX", "600000"]);
    let (_replica, replica_port) = server(
        &ours,
        "locks.test",
        "no",
        &["--tls-replication", "yes", "--replicaof", "127.0.0.1", &port.to_string()],
    );
    let url = format!("rediss://127.0.0.1:{port}");
    let at = format!("127.0.0.1:{port}");

    let unnamed = config(&url, &[ca_file(&ours)]);
    drop(is_refused(&unnamed, &at, "tls", &["TLS", "server_name", "locks.test"]));

    let named = config(&url, &[ca_file(&ours), "server_name: locks.test".into()]);
    let mut exporter = Exporter::start(&named);
    is_read(&mut exporter, &at);
    let of_replica = format!("127.0.0.1:{replica_port}");
    exporter.wait_for("dlock_replica_diverged 0 by TLS: dlock_store", SOON, |m| {
        up(m, &of_replica) == Some(1.0) && m.is("dlock_replica_diverged", &[], 0.0)
    });
    assert_eq!(failures(&exporter.metrics(), "tls"), 0.0);
}

#[test]
fn a_wrong_authority_is_told_and_a_mended_file_is_read_again() {
    let dir = TempDir::new().unwrap();
    let ours = Authority::new(dir.path(), "ours");
    let theirs = Authority::new(dir.path(), "theirs");
    let (server, port) = server(&ours, "127.0.0.1", "no", &[]);
    server.cmd(&["SET", "lock:orders", "x", "PX", "600000"]);
    let url = format!("rediss://127.0.0.1:{port}");
    let at = format!("127.0.0.1:{port}");
    let words = ["TLS handshake", "ca_file", "reason=tls"];
    let mut exporter = is_refused(&config(&url, &[ca_file(&theirs)]), &at, "tls", &words);
    // Without a file the system's authorities are trusted, and ours is none of them.
    drop(is_refused(&config(&url, &[]), &at, "tls", &["ca_file"]));

    std::fs::copy(&ours.file, &theirs.file).unwrap();
    is_read(&mut exporter, &at);
}

#[test]
fn a_server_that_asks_for_our_certificate() {
    let dir = TempDir::new().unwrap();
    let ours = Authority::new(dir.path(), "ours");
    let theirs = Authority::new(dir.path(), "theirs");
    let (server, port) = server(&ours, "127.0.0.1", "yes", &[]);
    server.cmd(&["SET", "lock:orders", "x", "PX", "600000"]);
    let url = format!("rediss://127.0.0.1:{port}");
    let at = format!("127.0.0.1:{port}");
    drop(is_refused(&config(&url, &[ca_file(&ours)]), &at, "tls", &["certificate"]));

    let with = |(crt, key): (String, String)| {
        let files = [format!("cert_file: '{crt}'"), format!("key_file: '{key}'")];
        config(&url, &[&[ca_file(&ours)][..], &files].concat())
    };
    let foreign = with(theirs.signs("foreign", "client.test"));
    drop(is_refused(&foreign, &at, "tls", &["certificate"]));
    is_read(&mut Exporter::start(&with(ours.signs("client", "client.test"))), &at);
}

#[test]
fn tls_against_a_plain_port_and_plain_against_tls() {
    let dir = TempDir::new().unwrap();
    let ours = Authority::new(dir.path(), "ours");
    let (server, port) = server(&ours, "127.0.0.1", "no", &[]);
    let plain = server.address().to_string();
    let yaml = config(&format!("rediss://{plain}"), &[ca_file(&ours)]);
    // A plain server waits for the end of what it takes for a command.
    drop(is_refused(&yaml, &plain, "timeout", &["does the server speak TLS on this port"]));

    let at = format!("127.0.0.1:{port}");
    let mut exporter =
        ExporterSetup::file(&config(&format!("redis://{at}"), &[])).password().spawn();
    exporter.wait_for("dlock_store_up 0", SOON, |m| up(m, &at) == Some(0.0));
    let log = exporter.log();
    assert!(log.contains("rediss://"), "nothing points at TLS in:\n{log}");
}

#[test]
fn a_rotated_password_is_read_at_the_next_connect() {
    let server = RedisServer::start();
    let at = server.address().to_string();
    server.cmd(&["SET", "lock:orders", "x", "PX", "600000"]);
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("pass");
    std::fs::write(&file, "watch-only\n").unwrap();
    let yaml = config(&server.url(), &[])
        .replace("    username", &format!("    password_file: '{}'\n    username", file.display()));
    let mut exporter = ExporterSetup::file(&yaml).start();
    is_read(&mut exporter, &at);

    // As a careful hand does it: the new one is valid beside the old one, then the old one goes.
    server.cmd(&["ACL", "SETUSER", "dlock", ">second-secret"]);
    std::fs::write(&file, "second-secret\n").unwrap();
    server.cmd(&["ACL", "SETUSER", "dlock", "<watch-only"]);
    let connects = || {
        let stats = server.text(&["INFO", "stats"]);
        let line = stats.lines().find_map(|l| l.strip_prefix("total_connections_received:"));
        line.and_then(|n| n.parse::<u64>().ok()).expect("INFO counts connections")
    };
    let before = connects();
    assert_eq!(
        server.number(&["CLIENT", "KILL", "USER", "dlock"]),
        2,
        "its connection and its feed's"
    );
    exporter.wait_for("a new connection and dlock_store_up 1", SOON, |m| {
        up(m, &at) == Some(1.0)
            && failures(m, "network") >= 1.0
            && m.is("dlock_lock_held", &[], 1.0)
            && connects() > before + 1
    });
    assert_eq!(failures(&exporter.metrics(), "auth"), 0.0);

    // Carelessly: the file is late. Down with the reason, and up again by itself.
    server.cmd(&["ACL", "SETUSER", "dlock", "resetpass", ">third-secret"]);
    server.cmd(&["CLIENT", "KILL", "USER", "dlock"]);
    exporter.wait_for("dlock_store_up 0 dlock_exporter_poll_failures_total", SOON, |m| {
        up(m, &at) == Some(0.0) && failures(m, "auth") >= 1.0
    });
    std::fs::write(&file, "third-secret\n").unwrap();
    is_read(&mut exporter, &at);
    for_a_while(POLL);
    let log = exporter.log();
    for secret in ["watch-only", "second-secret", "third-secret"] {
        assert!(!log.contains(secret), "the log shows a password:\n{log}");
    }
    assert!(log.contains("WRONGPASS"), "{log}");
}
