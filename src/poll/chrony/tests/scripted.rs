//! Servers that answer late, wrong, too much or not at all: each costs its own clock, and nobody else anything.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use super::support::*;
use crate::config::ChronyAddr;
use crate::observe::Observation;
use crate::observe::node::FailReason;

/// A server that sends these datagrams for each request.
struct Scripted {
    port: u16,
    task: JoinHandle<()>,
}

impl Scripted {
    async fn start(answers: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            let mut request = [0; 512];
            loop {
                let Ok((length, from)) = socket.recv_from(&mut request).await else { continue };
                for answer in answers(&request[..length]) {
                    let _ = socket.send_to(&answer, from).await;
                }
            }
        });
        Self { port, task }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn with(mut answer: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    answer[at..at + bytes.len()].copy_from_slice(bytes);
    answer
}

fn stray(request: &[u8]) -> Vec<u8> {
    let first = request[8];
    with(answer_to(request), 16, &[!first])
}

#[tokio::test]
async fn answers_to_something_else_are_passed_over() {
    let server = Scripted::start(|request| {
        assert_eq!(request.len(), 104);
        vec![stray(request), b"hello".to_vec(), Vec::new(), answer_to(request)]
    })
    .await;
    let mut polled = Polled::start(&[("a", udp(server.port))]);
    for _ in 0..3 {
        let (read, done) = polled.next().await;
        assert_eq!(read.seen.expect("an answer").stratum, 3);
        assert_eq!((done.poller, &*done.target, done.interval), ("chrony", "a", POLL));
        assert!(read.span.sent >= done.span.sent && read.span.done <= done.span.done);
        assert_eq!(done.busy, done.span.width());
    }
}

#[tokio::test]
async fn every_poll_asks_with_another_number_from_another_port() {
    let (seen, mut requests) = tokio::sync::mpsc::channel(8);
    let server = Scripted::start(move |request| {
        let _ = seen.try_send(request.to_vec());
        vec![answer_to(request)]
    })
    .await;
    let _polled = Polled::start(&[("a", udp(server.port))]);
    let mut sequences = Vec::new();
    while sequences.len() < 5 {
        let request = tokio::time::timeout(SOON, requests.recv()).await.unwrap().unwrap();
        sequences.push(request[8..12].to_vec());
    }
    sequences.sort();
    sequences.dedup();
    assert_eq!(sequences.len(), 5);
}

#[tokio::test]
async fn what_is_wrong_with_an_answer_is_told_at_once() {
    type Spoil = fn(Vec<u8>) -> Vec<u8>;
    let null = |answer: Vec<u8>, status: u8| {
        let mut short = with(answer, 6, &[0, 1, 0, status]);
        short.truncate(28);
        short
    };
    let cases: [(Spoil, FailReason, &str); 6] = [
        (|a| with(a, 0, &[5]), FailReason::Protocol, "version"),
        (|a| with(a, 68, &[0x7e, 0xff, 0xff, 0xff]), FailReason::Protocol, "correction"),
        (|a| a[..60].to_vec(), FailReason::Protocol, "60 bytes of 104"),
        (|a| with(a, 6, &[0, 1, 0, 3]), FailReason::Protocol, "status 3"),
        (|a| with(a, 6, &[0, 1, 0, 18]), FailReason::Protocol, "another version"),
        (|a| with(a, 6, &[0, 1, 0, 2]), FailReason::Permission, "opencommands"),
    ];
    for (spoil, reason, words) in cases {
        let server = Scripted::start(move |request| vec![spoil(answer_to(request))]).await;
        let mut polled = Polled::every(Duration::from_secs(5), &[("a", udp(server.port))]);
        let (read, failed) = polled.failure(reason).await;
        assert!(failed.detail.contains(words), "{failed:?}");
        assert!(failed.detail.contains(&format!("127.0.0.1:{}", server.port)), "{failed:?}");
        assert!(read.span.width() < Duration::from_millis(900), "{:?}", read.span.width());
    }
    let server = Scripted::start(move |request| vec![null(answer_to(request), 19)]).await;
    let mut polled = Polled::start(&[("a", udp(server.port))]);
    let (_, failed) = polled.failure(FailReason::Protocol).await;
    assert!(failed.detail.contains("status 19"), "{failed:?}");
}

#[tokio::test]
async fn who_answers_nothing_that_was_asked_is_no_chronyd() {
    let server = Scripted::start(|request| vec![stray(request)]).await;
    let mut polled = Polled::start(&[("a", udp(server.port))]);
    let (_, failed) = polled.failure(FailReason::Protocol).await;
    assert!(failed.detail.contains("answers nothing that was asked"), "{failed:?}");
}

#[tokio::test]
async fn a_name_that_does_not_resolve_says_so_and_one_that_does_is_used() {
    let nowhere = ChronyAddr::Udp { host: "no-such-host.invalid".into(), port: 323 };
    let mut polled = Polled::every(Duration::from_secs(5), &[("a", nowhere)]);
    let (_, failed) = polled.failure(FailReason::Dns).await;
    assert!(failed.detail.contains("no-such-host.invalid"), "{failed:?}");
    // The name may have an IPv6 address too, where nobody listens: the other one is tried in the same poll.
    let server = Scripted::start(|request| vec![answer_to(request)]).await;
    let named = ChronyAddr::Udp { host: "localhost".into(), port: server.port };
    let mut polled = Polled::every(Duration::from_secs(2), &[("a", named)]);
    let (read, _) = polled.next().await;
    assert!(read.seen.is_ok(), "{read:?}");
}

#[tokio::test]
async fn a_silent_and_a_flooding_clock_delay_nobody() {
    let silent = Scripted::start(|_| Vec::new()).await;
    let flooding = Scripted::start(|request| vec![stray(request); 400]).await;
    let good = Scripted::start(|request| vec![answer_to(request)]).await;
    let clocks =
        [("flooding", udp(flooding.port)), ("good", udp(good.port)), ("silent", udp(silent.port))];
    let interval = Duration::from_millis(400);
    let mut polled = Polled::every(interval, &clocks);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut slowest_good = Duration::ZERO;
    while counts.get("good").copied().unwrap_or(0) < 8 {
        let Observation::Poll(done) = polled.any().await else { continue };
        *counts.entry(done.target.to_string()).or_default() += 1;
        match &*done.target {
            "good" => {
                assert_eq!(done.failure, None);
                slowest_good = slowest_good.max(done.span.width());
            }
            "silent" => {
                assert_eq!(done.failure, Some(FailReason::Timeout));
                assert!(done.span.width() >= interval, "{:?}", done.span.width());
            }
            _ => {
                assert_eq!(done.failure, Some(FailReason::Protocol));
            }
        }
    }
    assert!(slowest_good < Duration::from_millis(350), "{slowest_good:?}");
    // Each comes at its own pace: a silent one takes its whole interval and is there again in the next.
    assert!(counts["silent"] >= 5 && counts["flooding"] >= 5, "{counts:?}");
}

/// Nobody reads any more: the poller ends instead of asking on.
#[tokio::test]
async fn it_ends_when_nobody_wants_to_know() {
    let server = Scripted::start(|request| vec![answer_to(request)]).await;
    let mut polled = Polled::start(&[("a", udp(server.port))]);
    polled.answer().await;
    let Polled { handle, .. } = polled;
    tokio::time::timeout(SOON, handle.stop()).await.expect("stopped in time");
}
