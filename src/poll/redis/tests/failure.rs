//! Servers that refuse, hang, die and come back.

use std::time::Duration;

use rustix::process::Signal;

use super::support::*;
use crate::clock;
use crate::config::Password;
use crate::observe::Observation;
use crate::observe::node::{FailReason, NodeFailed};
use crate::secret::Secret;

async fn failed(w: &mut Watch) -> NodeFailed {
    w.until("a failure", |_, o| match o {
        Observation::NodeFailed(f) => Some(f.clone()),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn a_refused_password_is_read_again_when_it_was_rotated() {
    let server = Server::start(&["--requirepass", "rightpw"]);
    let path = write(&server.dir, "pw", "wrongpw\n");
    let mut s = store(server.port, vec![one("k")]);
    s.password = Password::File(path.clone());
    let mut w = Watch::start(s);
    let f = failed(&mut w).await;
    assert_eq!(f.reason, FailReason::Auth);
    assert!(!f.detail.contains("wrongpw") && f.detail.contains("password"), "{}", f.detail);
    let poll = w.until("a failed poll", |_, o| match o {
        Observation::Poll(p) => Some(p.clone()),
        _ => None,
    });
    let poll = poll.await;
    assert_eq!((poll.poller, poll.failure), ("redis", Some(FailReason::Auth)));
    assert_eq!(&*poll.target, format!("main/127.0.0.1:{}", server.port));
    std::fs::write(&path, "rightpw\r\n").unwrap();
    w.sweep().await;
    std::fs::remove_file(&path).unwrap();
    let mut s = store(server.port, vec![]);
    s.password = Password::File(path);
    let f = failed(&mut Watch::start(s)).await;
    assert_eq!(f.reason, FailReason::Auth);
    assert!(f.detail.contains("/pw: No such file"), "{}", f.detail);
    let f = failed(&mut Watch::start(store(server.port, vec![]))).await;
    assert_eq!(f.reason, FailReason::Auth, "no password at all");
}

#[tokio::test]
async fn a_stopped_server_costs_its_timeout_and_comes_back() {
    let server = Server::start(&[]);
    server.run::<()>(&["SET", "k", "w"]);
    let mut s = store(server.port, vec![one("k")]);
    s.response_timeout = Duration::from_millis(300);
    s.connect_timeout = Duration::from_millis(300);
    let mut w = Watch::start(s);
    assert_eq!(w.found("k", |b, _| Some(b.connection)).await, 1);
    server.signal(Signal::STOP);
    let begun = clock::mono();
    let f = failed(&mut w).await;
    assert_eq!(f.reason, FailReason::Timeout);
    let took = clock::mono().since(begun);
    assert!(took < Duration::from_secs(3), "{took:?}");
    let begun = clock::mono();
    w.handle.read_parts(vec![]).await.unwrap_err();
    assert!(clock::mono().since(begun) < Duration::from_millis(200), "a refusal comes at once");
    assert!(failed(&mut w).await.detail.contains("connect_timeout"));
    server.signal(Signal::CONT);
    assert!(w.found("k", |b, _| (b.connection > 1).then_some(b.connection)).await > 1);
}

#[tokio::test]
async fn a_restarted_server_is_another_process() {
    let mut server = Server::start(&[]);
    let mut w = Watch::start(store(server.port, vec![one("k")]));
    let before = w.facts().await;
    server.kill();
    let f = failed(&mut w).await;
    assert!(matches!(f.reason, FailReason::Network | FailReason::Refused), "{:?}", f.reason);
    w.until("refusals", |_, o| {
        matches!(o, Observation::NodeFailed(f) if f.reason == FailReason::Refused).then_some(())
    })
    .await;
    server.restart();
    let after = w.facts().await;
    assert_ne!(before.run_id, after.run_id);
    assert_eq!((before.connection, after.connection), (1, 2));
    assert!(after.connections_received.is_some());
}

#[tokio::test]
async fn what_is_no_server_is_told_by_kind() {
    let reason = async |mut s: crate::config::Store, tweak: fn(&mut crate::config::Store)| {
        tweak(&mut s);
        failed(&mut Watch::start(s)).await.reason
    };
    let nobody = store(free_port(), vec![]);
    assert_eq!(reason(nobody.clone(), |_| ()).await, FailReason::Refused);
    let unresolved = reason(nobody, |s| {
        s.url.addr = crate::config::RedisAddr::Tcp { host: "no-such.invalid".into(), port: 1 };
    });
    let unresolved = unresolved.await;
    assert!(matches!(unresolved, FailReason::Dns | FailReason::Timeout), "{unresolved:?}");

    // Something that greets in another protocol.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let other = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = tokio::io::AsyncWriteExt::write_all(
                &mut stream,
                b"HTTP/1.1 400 Bad Request\r\n\r\n",
            )
            .await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    assert_eq!(reason(store(port, vec![]), |_| ()).await, FailReason::Protocol);
    other.abort();
}

#[tokio::test]
async fn a_password_in_an_echoing_error_stays_secret() {
    // What a server before 6.0 answers to HELLO, and what it then says to AUTH.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buf = [0; 4096];
            while let Ok(n) = stream.read(&mut buf).await {
                if n == 0 {
                    break;
                }
                let quoted = String::from_utf8_lossy(&buf[..n]).replace("\r\n", " ");
                let error = format!("-ERR unknown command, with args beginning with: {quoted}\r\n");
                let _ = stream.write_all(error.as_bytes()).await;
            }
        }
    });
    let mut s = store(port, vec![]);
    s.password = Password::Value(Secret::new("hunter2"));
    let f = failed(&mut Watch::start(s)).await;
    assert_eq!(f.reason, FailReason::Auth);
    assert!(!f.detail.contains("hunter2"), "{}", f.detail);
}

#[tokio::test]
async fn a_server_that_is_busy_or_loads_is_not_ready() {
    let slow = ["--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"];
    let mut server = Server::start(&[&["--lua-time-limit", "50"][..], &slow].concat());
    let mut w = Watch::start(store(server.port, vec![one("k")]));
    w.sweep().await;
    let mut client = server.client();
    let script = std::thread::spawn(move || {
        let _ = redis::cmd("EVAL").arg("while true do end").arg(0).exec(&mut client);
    });
    assert_eq!(failed(&mut w).await.reason, FailReason::NotReady);
    let mut raw = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    std::io::Write::write_all(&mut raw, b"SCRIPT KILL\r\n").unwrap();
    script.join().unwrap();
    w.sweep().await;

    let mut pipe = redis::pipe();
    (0..2000).for_each(|i| {
        pipe.cmd("SET").arg(i).arg("x".repeat(100));
    });
    pipe.exec(&mut server.client()).unwrap();
    server.run::<()>(&["SAVE"]);
    server.kill();
    w.until("the end", |_, o| matches!(o, Observation::NodeFailed(_)).then_some(())).await;
    server.restart_without_waiting();
    w.until("loading", |_, o| {
        matches!(o, Observation::NodeFailed(f) if f.reason == FailReason::NotReady).then_some(())
    })
    .await;
    w.sweep().await;
}
