//! Old protocols and commands, TLS, sockets, databases.

use std::time::Duration;

use super::support::*;
use crate::config::{Password, RedisAddr, TlsFiles};
use crate::observe::node::FailReason;
use crate::observe::{Expiry, Found, Observation};
use crate::poll::redis::handshake::version_at_least;
use crate::secret::Secret;

#[tokio::test]
async fn resp2_and_pttl_where_there_is_nothing_newer() {
    let server = Server::start(&[
        "--requirepass",
        "pw",
        "--rename-command",
        "HELLO",
        "",
        "--rename-command",
        "PEXPIRETIME",
        "",
        "--databases",
        "4",
    ]);
    let client = redis::Client::open(format!("redis://:pw@127.0.0.1:{}/3", server.port)).unwrap();
    let mut client = client.get_connection().unwrap();
    redis::cmd("SET").arg("k").arg("w").arg("PX").arg(60_000).exec(&mut client).unwrap();
    redis::cmd("HSET")
        .arg("h")
        .arg("fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47")
        .arg(2)
        .exec(&mut client)
        .unwrap();
    let mut s = store(server.port, vec![one("k"), one("h")]);
    s.password = Password::Value(Secret::new("pw"));
    s.url.db = 3;
    let mut w = Watch::with(s, Duration::from_millis(20), Duration::MAX);
    let facts = w.facts().await;
    assert!(version_at_least(&facts.version, 6, 0), "{}", facts.version);
    let ends = |f: &Found| match f {
        Found::Present { expiry: Expiry::At(at), .. } => Some(at.0),
        _ => None,
    };
    let first = w.found("k", |_, f| ends(f)).await;
    let wall = crate::clock::wall_secs();
    assert!((first as f64 / 1e6 - wall - 60.0).abs() < 15.0);
    for _ in 0..20 {
        assert_eq!(w.found("k", |_, f| ends(f)).await, first, "stands still");
    }
    w.found("h", |_, f| token(f)).await;
    let names: String = redis::cmd("CLIENT").arg("LIST").query(&mut client).unwrap();
    assert!(names.contains("name=dlock_exporter"), "{names}");
    let errors: String = redis::cmd("INFO").arg("errorstats").query(&mut client).unwrap();
    let mut before = errors;
    for _ in 0..3 {
        w.sweep().await;
        let now: String = redis::cmd("INFO").arg("errorstats").query(&mut client).unwrap();
        assert_eq!(std::mem::replace(&mut before, now.clone()), now, "no errors poll after poll");
    }
}

#[tokio::test]
async fn a_unix_socket() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("redis.sock");
    let server = Server::start(&["--unixsocket", path.to_str().unwrap()]);
    server.run::<()>(&["SET", "k", "w"]);
    let mut s = store(1, vec![one("k")]);
    s.url.addr = RedisAddr::Unix(path.clone());
    let mut w = Watch::start(s);
    let node = w.found("k", |b, f| token(f).map(|_| b.node.addr.clone())).await;
    assert_eq!(&*node, path.to_str().unwrap());
}

#[tokio::test]
async fn tls_with_a_client_certificate_and_another_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut ca = rcgen::CertificateParams::new(vec![]).unwrap();
    // Without a name of its own, OpenSSL takes what it signed for self-signed.
    ca.distinguished_name.push(rcgen::DnType::CommonName, "test authority");
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let ca_cert = ca.self_signed(&ca_key).unwrap();
    let issuer = rcgen::Issuer::from_params(&ca, &ca_key);
    let issue = |name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["locks.test".to_owned()]).unwrap();
        let cert = params.signed_by(&key, &issuer).unwrap();
        (
            write(&dir, &format!("{name}.crt"), &cert.pem()),
            write(&dir, &format!("{name}.key"), &key.serialize_pem()),
        )
    };
    let ca_file = write(&dir, "ca.crt", &ca_cert.pem());
    let (server_cert, server_key) = issue("server");
    let (cert, key) = issue("client");
    let tls_port = free_port();
    let server = Server::start(&[
        "--tls-port",
        &tls_port.to_string(),
        "--tls-cert-file",
        server_cert.to_str().unwrap(),
        "--tls-key-file",
        server_key.to_str().unwrap(),
        "--tls-ca-cert-file",
        ca_file.to_str().unwrap(),
    ]);
    server.run::<()>(&["SET", "k", "w"]);
    let mut s = store(tls_port, vec![one("k")]);
    s.url.tls = true;
    s.tls = TlsFiles {
        ca_file: Some(ca_file),
        cert_file: Some(cert),
        key_file: Some(key),
        server_name: Some("locks.test".into()),
    };
    Watch::start(s.clone()).found("k", |_, f| token(f)).await;

    let failed = async |s: &crate::config::Store| {
        let mut w = Watch::start(s.clone());
        w.until("a failure", |_, o| match o {
            Observation::NodeFailed(f) => Some((f.reason, f.detail.clone())),
            _ => None,
        })
        .await
    };
    let mut wrong = s.clone();
    wrong.tls.server_name = None;
    let (reason, detail) = failed(&wrong).await;
    assert_eq!(reason, FailReason::Tls, "{detail}");
    let mut missing = s.clone();
    missing.tls.ca_file = Some("/nonexistent/ca.crt".into());
    let (reason, detail) = failed(&missing).await;
    assert!(reason == FailReason::Tls && detail.contains("/nonexistent/ca.crt"), "{detail}");
    let mut plain = s;
    plain.url.addr = RedisAddr::Tcp { host: "127.0.0.1".into(), port: server.port };
    let (reason, detail) = failed(&plain).await;
    assert_eq!(reason, FailReason::Timeout);
    assert!(detail.contains("does the server speak TLS on this port?"), "{detail}");
}
