//! Tiny servers, one for each way an exchange can end.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::answer::MAX_BODY;
use super::*;
use crate::clock;
use crate::config::TlsFiles;
use crate::poll::lane::{Entry, Lane};

fn endpoint(url: &str, part: HttpPart) -> Endpoint {
    with(url, part, Credentials::default(), TlsFiles::default())
}

fn with(url: &str, part: HttpPart, credentials: Credentials, tls: TlsFiles) -> Endpoint {
    Endpoint::new(url, &part, credentials, Arc::new(tls::Client::new(tls))).unwrap()
}

async fn ask(endpoint: &Endpoint) -> Beat {
    let Entry::Free(inside) = Lane::default().enter(clock::mono(), ANSWER) else { panic!() };
    let started = clock::mono();
    let beat = endpoint.beat(inside).await;
    assert!(clock::mono().since(started) < Duration::from_secs(5), "unbounded");
    beat
}

/// Asks an endpoint that answers, again where a busy machine was too slow for it.
async fn answered(endpoint: &Endpoint) -> Beat {
    for _ in 0..20 {
        match ask(endpoint).await {
            Beat::None => {}
            beat => return beat,
        }
    }
    Beat::None
}

fn reason(beat: &Beat) -> Option<FailReason> {
    match beat {
        Beat::Failed { reason, detail } => {
            assert!(!detail.is_empty());
            Some(*reason)
        }
        _ => None,
    }
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    (listener, addr)
}

/// Reads one request's head.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut all = Vec::new();
    let mut byte = [0];
    while !all.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.unwrap_or(0) == 1 {
        all.push(byte[0]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// A server that answers every request with these bytes, then closes; its URL.
async fn server(answer: impl Into<Vec<u8>>) -> String {
    let answer: Arc<[u8]> = answer.into().into();
    let (listener, addr) = listen().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                head(&mut stream).await;
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    format!("http://{addr}/health")
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn statuses() {
    for (code, want) in [
        (200, Beat::Success),
        (204, Beat::Success),
        (500, Beat::None),
        (503, Beat::None),
        (302, Beat::None),
        (429, Beat::None),
    ] {
        let url = server(format!("HTTP/1.1 {code} X\r\nContent-Length: 0\r\n\r\n")).await;
        assert_eq!(ask(&endpoint(&url, HttpPart::Success)).await, want, "{code}");
    }
    for (code, want) in
        [(401, FailReason::Auth), (403, FailReason::Permission), (404, FailReason::Missing)]
    {
        let url = server(format!("HTTP/1.1 {code} X\r\nContent-Length: 0\r\n\r\n")).await
            + "?key=hunter2";
        let beat = ask(&endpoint(&url, HttpPart::Success)).await;
        assert_eq!(reason(&beat), Some(want));
        let text = format!("{beat:?}");
        assert!(text.contains("/health") && !text.contains("hunter2"), "{text}");
    }
}

#[tokio::test]
async fn values_advance_only_when_they_change() {
    let json = |text: &'static str| async move {
        ask(&endpoint(&server(ok(text)).await, HttpPart::Json("/beat".to_owned()))).await
    };
    let first = json("{\"beat\":1,\"x\":1}").await;
    assert_eq!(first, value::plain(b"1"));
    assert_eq!(json("{\"x\":2,\"beat\":1}").await, first);
    assert_ne!(json("{\"beat\":2}").await, first);
    assert_eq!(reason(&json("{\"other\":2}").await), Some(FailReason::Missing));
    assert_eq!(reason(&json("<html>").await), Some(FailReason::Protocol));
    let metric = |selector: &'static str| async move {
        let url = server(ok("# TYPE b counter\nb{w=\"1\"} 7\nb{w=\"2\"} 8\n")).await;
        ask(&endpoint(&url, HttpPart::Metric(selector.to_owned()))).await
    };
    assert_eq!(metric("b{w=\"2\"}").await, value::plain(b"8"));
    assert_eq!(reason(&metric("c").await), Some(FailReason::Missing));
    assert_eq!(reason(&metric("b").await), Some(FailReason::Other));
}

#[tokio::test]
async fn refused_is_no_beat() {
    let (listener, addr) = listen().await;
    drop(listener);
    assert_eq!(ask(&endpoint(&format!("http://{addr}"), HttpPart::Success)).await, Beat::None);
}

#[tokio::test]
async fn connected_without_an_answer_is_no_beat() {
    // Accepted by the kernel, as for a process that is stopped: nobody ever takes it.
    let (listener, addr) = listen().await;
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("ca.pem");
    let made = rcgen::generate_simple_self_signed(vec!["worker.test".to_owned()]).unwrap();
    std::fs::write(&ca, made.cert.pem()).unwrap();
    for url in [format!("http://{addr}"), format!("https://{addr}")] {
        let tls = TlsFiles { ca_file: Some(ca.clone()), ..Default::default() };
        let silent = with(&url, HttpPart::Success, Credentials::default(), tls);
        assert_eq!(ask(&silent).await, Beat::None, "{url}");
    }
    drop(listener);
    // Closed without a word, and an answer that never ends.
    assert_eq!(ask(&endpoint(&server("").await, HttpPart::Success)).await, Beat::None);
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{";
    assert_eq!(
        ask(&endpoint(&server(cut).await, HttpPart::Json("/a".to_owned()))).await,
        Beat::None
    );
    let (listener, addr) = listen().await;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
        while stream.write_all(b"1\r\n \r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let slow = endpoint(&format!("http://{addr}"), HttpPart::Json("/a".to_owned()));
    assert_eq!(ask(&slow).await, Beat::None);
}

#[tokio::test]
async fn what_lies_between_says_nothing() {
    let garbage = server("SSH-2.0-OpenSSH_9.2\r\n\r\n").await;
    assert_eq!(
        reason(&ask(&endpoint(&garbage, HttpPart::Success)).await),
        Some(FailReason::Protocol)
    );
    let huge = server(ok(&" ".repeat(MAX_BODY + 1))).await;
    let beat = answered(&endpoint(&huge, HttpPart::Json("/a".to_owned()))).await;
    assert_eq!(reason(&beat), Some(FailReason::Protocol));
    let largest = server(ok(&format!("{}{{\"a\":1}}", " ".repeat(MAX_BODY - 7)))).await;
    assert_eq!(
        answered(&endpoint(&largest, HttpPart::Json("/a".to_owned()))).await,
        value::plain(b"1")
    );
    let nowhere = endpoint("http://no-such-host.invalid/", HttpPart::Success);
    assert_eq!(reason(&ask(&nowhere).await), Some(FailReason::Dns));
    let (listener, addr) = listen().await;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let plain = endpoint(&format!("https://{addr}"), HttpPart::Success);
    assert_eq!(reason(&ask(&plain).await), Some(FailReason::Tls));
}

#[tokio::test]
async fn credentials_are_read_at_each_request() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let (listener, addr) = listen().await;
    let (seen, mut heads) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = seen.send(head(&mut stream).await);
            let _ = stream.write_all(ok("").as_bytes()).await;
        }
    });
    let url = format!("http://{addr}/a?b=c");
    let bearer = Credentials { bearer: Some(path.clone()), ..Default::default() };
    let bearer = with(&url, HttpPart::Success, bearer, TlsFiles::default());
    assert_eq!(reason(&ask(&bearer).await), Some(FailReason::Auth));
    for token in ["one", "two"] {
        std::fs::write(&path, format!("{token}\n")).unwrap();
        assert_eq!(ask(&bearer).await, Beat::Success);
        let head = heads.recv().await.unwrap();
        assert!(head.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{head}");
        assert!(head.contains(&format!("\r\nauthorization: Bearer {token}\r\n")), "{head}");
    }
    let basic = Credentials { basic: Some(("me".to_owned(), path.clone())), ..Default::default() };
    let basic = with(&url, HttpPart::Success, basic, TlsFiles::default());
    assert_eq!(ask(&basic).await, Beat::Success);
    assert!(heads.recv().await.unwrap().contains("authorization: Basic bWU6dHdv\r\n"));
    std::fs::write(&path, "a\nhunter2").unwrap();
    let beat = ask(&bearer).await;
    assert_eq!(reason(&beat), Some(FailReason::Auth));
    assert!(!format!("{beat:?}").contains("hunter2"));
}

#[tokio::test]
async fn tls_with_its_own_authority() {
    let made = rcgen::generate_simple_self_signed(vec!["worker.test".to_owned()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("ca.pem");
    std::fs::write(&ca, made.cert.pem()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let (listener, addr) = listen().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let serve = |acceptor: tokio_rustls::TlsAcceptor, stream: TcpStream| async move {
                let mut stream = acceptor.accept(stream).await?;
                head(&mut stream).await;
                stream.write_all(ok("{\"n\":1}").as_bytes()).await?;
                stream.shutdown().await
            };
            let _ = serve(acceptor.clone(), stream).await;
        }
    });
    let url = format!("https://{addr}/");
    let ask_with = |tls: TlsFiles| {
        let endpoint = with(&url, HttpPart::Json("/n".to_owned()), Credentials::default(), tls);
        async move { answered(&endpoint).await }
    };
    let good = TlsFiles {
        ca_file: Some(ca.clone()),
        server_name: Some("worker.test".to_owned()),
        ..Default::default()
    };
    assert_eq!(ask_with(good.clone()).await, value::plain(b"1"));
    let wrong_name = TlsFiles { server_name: Some("other.test".to_owned()), ..good.clone() };
    assert_eq!(reason(&ask_with(wrong_name).await), Some(FailReason::Tls));
    let unknown_authority = TlsFiles { ca_file: None, ..good.clone() };
    assert_eq!(reason(&ask_with(unknown_authority).await), Some(FailReason::Tls));
    let missing = TlsFiles { ca_file: Some(dir.path().join("nope.pem")), ..good };
    let beat = ask_with(missing).await;
    assert_eq!(reason(&beat), Some(FailReason::Tls));
    assert!(format!("{beat:?}").contains("nope.pem"));
}
