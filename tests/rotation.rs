//! Credentials that are changed while the exporter runs: a client certificate that is replaced under its name, and a user
//! with its password and certificate that others take the place of by a reload. The locks are told on, and no counter of
//! theirs begins anew.

use std::time::Duration;

use tempfile::TempDir;

use crate::support::{ExporterSetup, Metrics, RedisServer, acl_line_of_the_readme};
use crate::tls::{Authority, failures, is_read, server, up};

const SOON: Duration = Duration::from_secs(15);

/// Who is connected by TLS.
fn users(server: &RedisServer, port: u16) -> Vec<String> {
    let list = server.text(&["CLIENT", "LIST"]);
    let by_tls = format!("laddr=127.0.0.1:{port} ");
    let lines = list.lines().filter(|line| line.contains(&by_tls));
    lines
        .filter_map(|line| line.split(' ').find_map(|field| field.strip_prefix("user=")))
        .map(str::to_owned)
        .collect()
}

#[test]
fn certificates_and_users_give_way_to_others() {
    let dir = TempDir::new().unwrap();
    let ours = Authority::new(dir.path(), "ours");
    let first = Authority::new(dir.path(), "first");
    let second = Authority::new(dir.path(), "second");
    let trusts = |a: &Authority| a.file.display().to_string();
    let more = ["--tls-ca-cert-file", &trusts(&first)];
    let (server, port) = server(&ours, "127.0.0.1", "yes", &more);
    let at = format!("127.0.0.1:{port}");
    server.cmd(&["SET", "lock:orders", "x", "PX", "600000"]);
    let password = |name: &str, secret: &str| {
        let file = dir.path().join(name);
        std::fs::write(&file, secret).unwrap();
        file.display().to_string()
    };
    let yaml = |user: &str, password: &str, (crt, key): &(String, String)| {
        format!(
            "poll_interval: 200ms
stores:
  main:
    url: rediss://{at}
    username: {user}
    events: off
    password_file: '{password}'
    tls: {{ ca_file: '{}', cert_file: '{crt}', key_file: '{key}' }}
    locks:
      - {{ name: orders, key: 'lock:orders' }}
",
            trusts(&ours)
        )
    };
    let files = first.signs("client", "client.test");
    let old = yaml("dlock", &password("old", "watch-only\n"), &files);
    let mut exporter = ExporterSetup::file(&old).start();
    is_read(&mut exporter, &at);
    let renewals = |m: &Metrics| m.sum("dlock_lease_renewals_total", &[("lock", "orders")]);
    // What is written across a break is no renewal, so it is renewed until that is seen.
    let renewed = |m: &Metrics, before: f64| {
        server.cmd(&["PEXPIRE", "lock:orders", "700000"]);
        renewals(m) > before
    };
    exporter.wait_for("dlock_lease_renewals_total", SOON, |m| renewed(m, 0.0));

    // Under the same name: the next connection shows the new one, and nothing else would be let in.
    assert_eq!(second.signs("client", "client.test"), files);
    server.cmd(&["CONFIG", "SET", "tls-ca-cert-file", &trusts(&second)]);
    assert_eq!(server.number(&["CLIENT", "KILL", "USER", "dlock"]), 1, "its one connection");
    exporter.wait_for("a new connection: dlock_store_up", SOON, |m| {
        up(m, &at) == Some(1.0)
            && failures(m, "network") >= 1.0
            && users(&server, port) == ["dlock"]
    });
    let before = renewals(&exporter.metrics());
    exporter.wait_for("dlock_lease_renewals_total", SOON, |m| renewed(m, before));

    // Another user with another password and certificate: a reload is enough, and the old one can go.
    let line = acl_line_of_the_readme().replace("PASSWORD", "second-secret");
    let rules: Vec<&str> = line.split(' ').skip(3).collect();
    server.cmd(&[&["ACL", "SETUSER", "dlock-2"][..], &rules].concat());
    server.cmd(&["CONFIG", "SET", "tls-ca-cert-file", &trusts(&first)]);
    let other = first.signs("client-2", "client.test");
    exporter.rewrite(&yaml("dlock-2", &password("new", "second-secret\n"), &other));
    let answer = exporter.request("POST", "/-/reload");
    assert_eq!(answer.status, 200, "{}", answer.body);
    exporter.wait_for("the other user: dlock_store_up", SOON, |m| {
        up(m, &at) == Some(1.0)
            && m.is("dlock_lock_held", &[], 1.0)
            && users(&server, port) == ["dlock-2"]
    });
    assert_eq!(server.number(&["ACL", "DELUSER", "dlock"]), 1);
    let m = exporter.metrics();
    let before = renewals(&m);
    assert!(before >= 2.0, "no counter began anew: {before}");
    exporter.wait_for("dlock_lease_renewals_total", SOON, |m| renewed(m, before));
    let m = exporter.metrics();
    assert_eq!(failures(&m, "tls") + failures(&m, "auth"), 0.0, "{}", exporter.log());
    assert_eq!(m.sum("dlock_lease_ends_total", &[]), 0.0, "one tenure all along");
    let log = exporter.log();
    assert!(!log.contains("second-secret") && !log.contains("watch-only"), "{log}");
}
