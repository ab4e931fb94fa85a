//! Accepting, bad clients, and the end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::support::{Server, Setup, get};

const PATIENCE: Duration = Duration::from_secs(20);

async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.addr).await.unwrap()
}

/// A connection whose one request has been answered, so that the server surely has it.
async fn used_connection(server: &Server) -> TcpStream {
    let mut stream = connect(server).await;
    stream.write_all(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"Healthy.\n") {
        seen.push(timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap());
    }
    stream
}

#[tokio::test]
async fn bad_requests_cost_their_own_connection() {
    let server = Setup::example().start().await;
    let huge = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(200_000));
    let many = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: y\r\n".repeat(200));
    let tls = "\u{16}\u{3}\u{1}\0\u{5}hello\0";
    for request in ["nonsense\r\n\r\n", tls, &huge, &many] {
        let mut stream = connect(&server).await;
        // The server may hang up before everything is written.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("an end");
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    assert_eq!(server.ask(&get("/-/healthy")).await.status, 200);
}

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let server = Setup::example().start().await;
    let mut stream = used_connection(&server).await;
    stream.write_all(get("/-/ready").as_bytes()).await.unwrap();
    let mut rest = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut rest)).await.unwrap().unwrap();
    assert!(rest.ends_with("Ready.\n"), "{rest}");
}

#[tokio::test]
async fn stopping_ends_idle_connections_and_refuses_new_ones() {
    let server = Setup::example().start().await;
    let mut idle = used_connection(&server).await;
    server.stop.send(true).unwrap();
    let cut = timeout(PATIENCE, server.serving).await.expect("serving ends").unwrap();
    assert_eq!(cut, 0);
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.unwrap();
    assert!(rest.is_empty());
    assert!(TcpStream::connect(server.addr).await.is_err());
}

/// A request that has reached the application and waits for its outcome.
async fn under_way(server: &Server) -> TcpStream {
    server.reloads.hold.store(true, Ordering::SeqCst);
    server.next_reload(Ok(()));
    let mut stream = connect(server).await;
    let post = get("/-/reload").replacen("GET", "POST", 1);
    stream.write_all(post.as_bytes()).await.unwrap();
    timeout(PATIENCE, server.reloads.arrived.notified()).await.unwrap();
    stream
}

#[tokio::test]
async fn an_answer_under_way_is_finished() {
    let server = Setup::example().start().await;
    let mut stream = under_way(&server).await;
    server.stop.send(true).unwrap();
    // Nobody new is let in from here on, while the answer is still owed.
    let refused = async { while TcpStream::connect(server.addr).await.is_ok() {} };
    timeout(PATIENCE, refused).await.unwrap();
    server.reloads.released.notify_one();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.ends_with("Reloaded.\n"), "{answer}");
    assert_eq!(timeout(PATIENCE, server.serving).await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn what_does_not_end_in_time_is_cut_off() {
    let server = Setup { drain: Duration::from_millis(200), ..Setup::example() }.start().await;
    let mut stream = under_way(&server).await;
    server.stop.send(true).unwrap();
    let cut = timeout(PATIENCE, server.serving).await.expect("serving ends").unwrap();
    assert_eq!(cut, 1);
    let mut rest = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("the connection ends");
    assert!(rest.is_empty());
}

#[tokio::test]
async fn losing_the_sender_stops_too() {
    let server = Setup::example().start().await;
    drop(server.stop);
    timeout(PATIENCE, server.serving).await.expect("serving ends").unwrap();
}
