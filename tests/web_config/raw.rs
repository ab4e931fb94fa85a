//! What an intruder would try, on plain sockets: ways round the password, requests inside of requests, paths out of the
//! exporter, handshakes that do not end, and many guesses at a time.

use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use dlock_exporter::clock;

use super::client::{connect, get, get_as, plain, raw, secret, trusting};
use super::{Door, hash};
use crate::support::{long, wait_until};
use crate::tls::Authority;

fn guarded(cost: u32) -> Door {
    let door = Door::new();
    door.write(&format!("basic_auth_users: {{ alice: '{}' }}\n", hash("s3cret", cost)));
    door
}

#[test]
fn nothing_passes_the_door_without_the_password() {
    let door = guarded(4);
    let exporter = door.open();
    let at = exporter.address();
    assert!(
        exporter.log().contains("basic_auth_users without tls_server_config"),
        "{}",
        exporter.log()
    );
    let paths = [
        "/",
        "/metrics",
        "/-/healthy",
        "/-/ready",
        "/-/reload",
        "/style.css",
        "/favicon.ico",
        "/api/v1/locks",
        "/api/v1/incidents",
        "/api/v1/workers",
        "/locks/main/x",
        "/nowhere",
        "//metrics",
        "/%6detrics",
        "/metrics/..",
    ];
    for path in paths {
        for method in ["GET", "POST", "HEAD", "OPTIONS", "TRACE", "BREW"] {
            let answer = plain(at, &get(path).replacen("GET", method, 1));
            assert_eq!(answer.status, 401, "{method} {path}");
            assert!(answer.header("www-authenticate").is_some_and(|v| v.starts_with("Basic")));
        }
    }
    for (name, password) in [
        ("alice", "guess"),
        ("bob", "s3cret"),
        ("", ""),
        ("Alice", "s3cret"),
        ("alice", "s3cret\0"),
        ("alice", ""),
    ] {
        // The second time the result is kept.
        for _ in 0..2 {
            assert_eq!(
                plain(at, &get_as("/metrics", name, password)).status,
                401,
                "{name}:{password}"
            );
        }
    }
    for odd in ["Basic", "Basic !", "Bearer x", "Basic YWxpY2U=", "Digest username=alice"] {
        let request = get("/").replacen("\r\n", &format!("\r\nAuthorization: {odd}\r\n"), 1);
        assert_eq!(plain(at, &request).status, 401, "{odd}");
    }
    assert_eq!(plain(at, &get_as("/metrics", "alice", "s3cret")).status, 200);
    assert_eq!(plain(at, &get_as("/nowhere", "alice", "s3cret")).status, 404);
}

/// Each holds a second request that comes in with no password of its own or must not be made: one answer, no reload.
#[test]
fn no_request_is_smuggled_inside_another() {
    let door = Door::new();
    door.write("");
    let exporter = door.open();
    let at = exporter.address();
    const INNER: &str = "POST /-/reload HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let head = "POST /metrics HTTP/1.1\r\nHost: x\r\n";
    let n = INNER.len() + 5;
    let tries = [
        format!("{head}Content-Length: {n}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("{head}Transfer-Encoding: chunked\r\nContent-Length: {n}\r\n\r\n0\r\n\r\n{INNER}"),
        format!("{head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("{head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{INNER}"),
        format!("{head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("{head}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("{head}X: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("{head}Content-Length: 0\r\nContent-Length: {}\r\n\r\n{INNER}", INNER.len()),
        format!("{head}Content-Length: 0, {}\r\n\r\n{INNER}", INNER.len()),
        format!("{head}Content-Length: +0\r\n\r\n{INNER}"),
        format!("{head}Content-Length: -1\r\n\r\n{INNER}"),
        format!("{head}Content-Length: 0x0\r\n\r\n{INNER}"),
        format!("{head}Content-Length: 99999999999999999999\r\n\r\n{INNER}"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\n0;x=\"\n\r\n\r\n{INNER}"),
        format!("POST /metrics HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("GET /metrics HTTP/1.1\r\nHost: x\r\nX: a\r{INNER}"),
        format!("GET /metrics\r\n{INNER}"),
    ];
    for request in &tries {
        let answer = String::from_utf8_lossy(&raw(at, request.as_bytes())).into_owned();
        let answers = answer.matches("HTTP/1.1 ").count();
        assert!(answers <= 1, "{answers} answers to {request:?}:\n{answer}");
        assert!(
            answer.is_empty()
                || answer.starts_with("HTTP/1.1 4")
                || answer.starts_with("HTTP/1.0 4"),
            "{request:?}: {answer}"
        );
        assert!(!answer.contains("Reloaded"), "{request:?}");
    }
    // A body is none of a request's own: what follows it is the next one.
    let body = format!("{head}Content-Length: {}\r\n\r\n{INNER}{}", INNER.len(), get("/nowhere"));
    let answer = String::from_utf8_lossy(&raw(at, body.as_bytes())).into_owned();
    assert!(answer.starts_with("HTTP/1.1 405") && !answer.contains("Reloaded"), "{answer}");
    // A bare LF ends a line here, as RFC 9112 allows: the whole is then one request of one more header.
    let bare = raw(at, b"GET /nowhere HTTP/1.1\nHost: x\nConnection: close\n\n");
    assert_eq!(String::from_utf8_lossy(&bare).matches("HTTP/1.1 ").count(), 1);
    let reloaded = || exporter.log().contains("configuration reloaded");
    assert!(!reloaded(), "{}", exporter.log());
    // One that is asked for shows there, so that none was.
    assert_eq!(plain(at, INNER).status, 200);
    wait_until("the reload is told", Duration::from_secs(20), || reloaded().then_some(()));
}

#[test]
fn no_path_leads_out_and_no_request_makes_a_connection() {
    let door = Door::new();
    door.write("");
    let exporter = door.open();
    let at = exporter.address();
    let bait = TcpListener::bind("127.0.0.1:0").unwrap();
    bait.set_nonblocking(true).unwrap();
    let there = bait.local_addr().unwrap();
    let lines = [
        "GET /../../../../etc/passwd HTTP/1.1".to_owned(),
        "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1".to_owned(),
        "GET /..%2f..%2fetc%2fpasswd HTTP/1.1".to_owned(),
        "GET /api/v1/incidents/..%2f..%2f..%2fetc%2fpasswd HTTP/1.1".to_owned(),
        "GET /api/v1/incidents/%2fetc%2fpasswd HTTP/1.1".to_owned(),
        "GET /api/v1/incidents/..%5c..%5cetc HTTP/1.1".to_owned(),
        "GET /locks/main/..%00 HTTP/1.1".to_owned(),
        format!("GET http://{there}/ HTTP/1.1"),
        format!("GET http://{there}/metrics?target={there} HTTP/1.1"),
        format!("CONNECT {there} HTTP/1.1"),
        format!("GET //{there}/ HTTP/1.1"),
        format!("GET /metrics?target={there}&address=redis://{there} HTTP/1.1"),
        format!("GET /probe?target={there} HTTP/1.1"),
        format!("GET @{there}/ HTTP/1.1"),
    ];
    for line in &lines {
        let host = format!("Host: {there}\r\nX-Forwarded-Host: {there}\r\nConnection: close");
        let answer = raw(at, format!("{line}\r\n{host}\r\n\r\n").as_bytes());
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(!answer.contains("root:"), "{line}:\n{answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{line}:\n{answer}");
        assert!(!answer.to_ascii_lowercase().contains("\nlocation:"), "{line}:\n{answer}");
    }
    assert!(bait.accept().is_err(), "the exporter went where a request sent it");
}

#[test]
fn handshakes_that_do_not_end_hold_up_nobody() {
    let door = Door::new();
    let ours = Authority::new(door.dir.path(), "ours");
    let (crt, key) = ours.signs("server", "127.0.0.1");
    door.write(&format!("tls_server_config: {{ cert_file: {crt}, key_file: {key} }}\n"));
    let exporter = door.open();
    let at = exporter.address();
    let begun = clock::mono();
    let mut hanging: Vec<_> = (0..60).map(|_| connect(at)).collect();
    for stream in hanging.iter_mut().skip(20) {
        // Half a record header, or a record that promises more than it has.
        stream.write_all(b"\x16\x03\x01\x02\x00\x01").unwrap();
    }
    for garbage in [
        &b"\x16\x03\x01\x00\x05hello"[..],
        b"\x16\xff\xff\xff\xff\0",
        b"\x15\x03\x03\x00\x02\x02\x28",
        b"\0",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let answer = raw(at, garbage);
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{garbage:?}");
    }
    let config = trusting(&ours.file, None);
    assert_eq!(secret(at, &config, &get("/metrics")).unwrap().status, 200);
    if long() {
        for stream in hanging {
            let _ = std::io::Read::read_to_end(&mut &stream, &mut Vec::new());
        }
        let took = clock::mono().since(begun);
        assert!(took < Duration::from_secs(18), "they were ended after {took:?}");
    }
}

/// Guesses come from as many threads as the queue has places, and more, each another password. The scrape whose password
/// was right before must not wait for them: it takes less than one guess alone.
#[test]
fn many_guesses_do_not_hold_up_a_scrape() {
    let door = guarded(12);
    let exporter = door.open();
    let at = exporter.address();
    let scrape = get_as("/metrics", "alice", "s3cret");
    let begun = clock::mono();
    assert_eq!(plain(at, &scrape).status, 200);
    let (over, busy, wrong) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let (over, busy, wrong) = (&over, &busy, &wrong);
    let one = clock::mono().since(begun);
    let mut slow = Vec::new();
    std::thread::scope(|scope| {
        let guess = |thread: usize| {
            move || {
                for n in 0.. {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let name = if n % 2 == 0 { "alice" } else { "bob" };
                    match plain(at, &get_as("/metrics", name, &format!("{thread}-{n}"))).status {
                        503 => {
                            busy.fetch_add(1, Ordering::Relaxed);
                            // As a client does that is told to come again.
                            std::thread::sleep(Duration::from_millis(100));
                        }
                        401 => {
                            wrong.fetch_add(1, Ordering::Relaxed);
                        }
                        other => panic!("{other}"),
                    }
                }
            }
        };
        for thread in 0..8 {
            scope.spawn(guess(thread));
        }
        crate::support::wait_until("guesses are refused", super::SOON, || {
            (busy.load(Ordering::Relaxed) > 0).then_some(())
        });
        for _ in 0..10 {
            let begun = clock::mono();
            let answer = plain(at, &scrape);
            slow.push((clock::mono().since(begun), answer.status));
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(slow.iter().all(|(_, status)| *status == 200), "{slow:?}");
    slow.sort();
    assert!(
        slow[5].0 < one / 2,
        "half the scrapes took longer than {:?}; one password takes {one:?}",
        slow[5].0
    );
    assert!(wrong.load(Ordering::Relaxed) > 0);
}
