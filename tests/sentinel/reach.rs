//! How sentinels are reached: those of every version by the README's user, and over TLS, which the servers may speak too.

use std::collections::BTreeSet;

use tempfile::TempDir;

use super::{SENTINEL_PASSWORD, config, is_refused, is_sentinel, url};
use crate::replicas::{FOR_LONG, SOON};
use crate::support::{ExporterSetup, Flavor, RedisServer, Sentinel, free_port};
use crate::tls::{Authority, server};

/// One sentinel of each version, of which the exporter is told one.
#[test]
fn sentinels_of_every_version_are_asked_and_refuse_nothing() {
    let primary = RedisServer::start();
    primary.cmd(&["SET", "lock:kept", "kept-1:x", "PX", FOR_LONG]);
    let sentinels = Flavor::ALL.map(|flavor| Sentinel::of(flavor, &primary, 3));
    let setup = ExporterSetup::file(&config(&[url(&sentinels[0])], ", username: dlock")).password();
    let mut exporter = setup.env(SENTINEL_PASSWORD, "watch-only").start();
    exporter.wait_for("dlock_store and dlock_lock_held", SOON, |m| {
        sentinels.iter().all(|s| is_sentinel(m, s))
            && m.is("dlock_lock_held", &[("lock", "kept")], 1.0)
    });
    let m = exporter.metrics();
    let info = m.all("dlock_store_info", &[("mode", "sentinel")]);
    let versions: BTreeSet<&str> = info.iter().map(|s| s.label("version")).collect();
    assert_eq!(versions.len(), Flavor::ALL.len(), "{versions:?}");
    for sentinel in &sentinels {
        let at = sentinel.address().to_string();
        assert_eq!(m.sum("dlock_store_permission_denied", &[("addr", &at)]), 0.0);
        let log = sentinel.cmd(&["ACL", "LOG"]);
        assert_eq!(log, redis::Value::Array(Vec::new()), "its log of refusals");
    }
}

/// A sentinel that speaks TLS too, at the second of these ports.
fn secure_sentinel(server: u16, authority: &Authority, lines: &[&str]) -> (Sentinel, u16) {
    let port = free_port();
    let (crt, key) = authority.signs("sentinel", "127.0.0.1");
    let mut all = vec![
        format!("tls-port {port}"),
        format!("tls-cert-file {crt}"),
        format!("tls-key-file {key}"),
        format!("tls-ca-cert-file {}", authority.file.display()),
        "tls-auth-clients no".to_owned(),
    ];
    all.extend(lines.iter().map(|line| (*line).to_owned()));
    (Sentinel::watch_at(server, 1, &all), port)
}

#[test]
fn sentinels_and_servers_speak_tls_each_or_both() {
    let dir = TempDir::new().unwrap();
    let ours = Authority::new(dir.path(), "ours");
    let other = Authority::new(dir.path(), "other");
    let (primary, tls_port) = server(&ours, "127.0.0.1", "no", &[]);
    primary.cmd(&["SET", "lock:kept", "kept-1:x", "PX", FOR_LONG]);
    let (_to_plain, plain) = secure_sentinel(primary.address().port(), &ours, &[]);
    let (_to_tls, secure) = secure_sentinel(tls_port, &ours, &["tls-replication yes"]);
    let start = |url: String, sentinel: &str, store: &str| {
        let yaml = config(&[url], &format!(", username: dlock{sentinel}"));
        let yaml = yaml.replace("    username:", &format!("{store}    username:"));
        ExporterSetup::file(&yaml).password().env(SENTINEL_PASSWORD, "watch-only")
    };
    let ca = |authority: &Authority| format!("tls: {{ ca_file: '{}' }}", authority.file.display());
    let is_read = |setup: ExporterSetup, server: u16, sentinel: u16| {
        let mut exporter = setup.spawn();
        exporter.wait_for("dlock_lock_held and dlock_store_up 1", SOON, |m| {
            let up =
                |port: u16| m.is("dlock_store_up", &[("addr", &format!("127.0.0.1:{port}"))], 1.0);
            up(server) && up(sentinel) && m.is("dlock_lock_held", &[("lock", "kept")], 1.0)
        });
    };
    // Sentinels alone; both, by one authority.
    let alone = start(format!("redis://127.0.0.1:{plain}"), &format!(", {}", ca(&ours)), "");
    is_read(alone, primary.address().port(), plain);
    let both = start(format!("rediss://127.0.0.1:{secure}"), "", &format!("    {}\n", ca(&ours)));
    is_read(both, tls_port, secure);
    let wrong = start(format!("redis://127.0.0.1:{plain}"), &format!(", {}", ca(&other)), "");
    is_refused(wrong, &format!("127.0.0.1:{plain}"), "tls", &["cannot ask this sentinel"]);
}
