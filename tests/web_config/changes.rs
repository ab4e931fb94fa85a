//! What changes of a file must not do: let somebody in while it is written, or serve a connection that never showed what is
//! asked now.

use std::io::{Read, Write};

use super::client::{connect, get, get_as, plain, secret, tls, trusting};
use super::{Door, SOON, hash};
use crate::support::wait_until;
use crate::tls::Authority;

#[test]
fn a_file_that_is_cut_short_opens_nothing() {
    let door = Door::new();
    let ours = Authority::new(door.dir.path(), "ours");
    let (crt, key) = ours.signs("server", "127.0.0.1");
    let tls = format!("tls_server_config: {{ cert_file: {crt}, key_file: {key} }}\n");
    door.write(&format!("{tls}basic_auth_users: {{ alice: '{}' }}\n", hash("s3cret", 4)));
    let exporter = door.open();
    let by_ours = trusting(&ours.file, None);
    let ask = |request: &str| secret(exporter.address(), &by_ours, request).unwrap().status;
    assert_eq!(ask(&get("/metrics")), 401);
    for (cut, told) in
        [("", "is empty, and what is in force is not"), (&*tls, "asks for less than before")]
    {
        door.write(cut);
        wait_until("it is told", SOON, || {
            assert_eq!(ask(&get("/metrics")), 401);
            exporter.log().contains(told).then_some(())
        });
        assert_eq!(ask(&get_as("/metrics", "alice", "s3cret")), 200);
    }
    let post = get_as("/-/reload", "alice", "s3cret").replacen("GET", "POST", 1);
    assert_eq!(ask(&post), 200);
    assert_eq!(ask(&get("/metrics")), 200);
    assert!(exporter.log().contains("asks for less from now on"), "{}", exporter.log());
}

#[test]
fn a_connection_that_did_not_show_what_is_asked_now_is_served_no_more() {
    let door = Door::new();
    let ours = Authority::new(door.dir.path(), "ours");
    let (crt, key) = ours.signs("server", "127.0.0.1");
    let own = ours.signs("own", "prometheus.test");
    door.write("{}");
    let exporter = door.open();
    let at = exporter.address();
    let waits = get("/-/healthy").replace("close", "keep-alive");
    let rest = |stream: &mut dyn Read| {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    };

    // It has asked for nothing yet, so that it is not ended by the change itself.
    let mut kept = connect(at);
    assert_eq!(plain(at, &get("/metrics")).status, 200);
    let text = format!("  cert_file: {crt}\n  key_file: {key}\n");
    door.write(&format!("tls_server_config:\n{text}"));
    let by_ours = trusting(&ours.file, None);
    wait_until("TLS is spoken", SOON, || secret(at, &by_ours, &get("/metrics")).ok());
    kept.write_all(waits.repeat(20).as_bytes()).unwrap();
    let answer = rest(&mut kept);
    assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
    assert!(!answer.contains("HTTP/1.1 200"), "{answer}");

    let mut kept = tls(at, &by_ours);
    // The handshake is over once something is written, and the request is not whole.
    let (half, other) = waits.split_at(10);
    kept.write_all(half.as_bytes()).unwrap();
    door.write(&format!(
        "tls_server_config:\n{text}  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: {}\n",
        ours.file.display()
    ));
    let known = trusting(&ours.file, Some(&own));
    wait_until("a certificate is asked", SOON, || {
        let without = secret(at, &by_ours, &get("/metrics"));
        (without.is_err() && secret(at, &known, &get("/metrics")).is_ok()).then_some(())
    });
    kept.write_all(other.as_bytes()).unwrap();
    let answer = rest(&mut kept);
    assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
}
