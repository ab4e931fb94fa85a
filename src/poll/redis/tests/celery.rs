//! Events of Celery's workers on a real server: published as Celery does, heard by a user that may do nothing else.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::support::*;
use crate::clock;
use crate::config::{Password, Store};
use crate::observe::node::FailReason;
use crate::observe::source::SourceFailed;
use crate::observe::{Mono, Observation};
use crate::poll::redis::registry::celery::{EventFeed, Heard};
use crate::poll::redis::{Settings, StoreHandle, spawn};
use crate::secret::Secret;

const SOON: Duration = Duration::from_secs(20);

/// A feed of a server, and the pollers' facts.
struct Bench {
    feed: EventFeed,
    handle: StoreHandle,
    facts: mpsc::Receiver<Observation>,
}

impl Bench {
    fn of(config: Store) -> Self {
        let (out, facts) = mpsc::channel(100_000);
        let settings = Settings {
            poll_interval: Duration::from_millis(50),
            sweep_interval: Duration::from_secs(60),
            retain: Duration::from_secs(60),
            shard: Default::default(),
        };
        let handle = spawn(Arc::new(config), ID, settings, out);
        Self { feed: EventFeed::new(handle.clone(), None), handle, facts }
    }

    /// Reads as soon as the store is connected: the names, or how long it is too early.
    async fn read(&mut self) -> Result<Result<Vec<String>, Duration>, SourceFailed> {
        let begun = clock::mono();
        loop {
            match self.feed.read().await.1 {
                Ok(Heard::Members(members)) => {
                    return Ok(Ok(members.iter().map(|m| m.name.to_string()).collect()));
                }
                Ok(Heard::Unripe(left)) => return Ok(Err(left)),
                Err(f) if f.reason == FailReason::NotReady => {
                    assert!(clock::mono().since(begun) < SOON, "never connected");
                    self.listen(Duration::from_millis(5)).await;
                }
                Err(failed) => return Err(failed),
            }
        }
    }

    /// Listens for so long at most; whether the connection broke.
    async fn listen(&mut self, most: Duration) -> bool {
        tokio::time::timeout(most, self.feed.listen()).await.is_ok()
    }

    /// Whether the store shows that SUBSCRIBE is refused.
    async fn shown(&mut self, refused: bool) {
        let begun = clock::mono();
        while clock::mono().since(begun) < SOON {
            self.handle.refresh_facts();
            match self.facts.recv().await {
                Some(Observation::Node(f)) if f.permissions.contains(&("subscribe", refused)) => {
                    return;
                }
                _ => {}
            }
        }
        panic!("the store never shows it");
    }
}

/// Publishes an event as Celery does, and tells how many heard it.
fn publish(server: &Server, kind: &str, name: &str, freq: f64) -> i64 {
    let body = format!(r#"{{"hostname": "{name}", "pid": 7, "freq": {freq}}}"#);
    let body = crate::poll::source::http::credentials::base64(body.as_bytes());
    let message = format!(r#"{{"body": "{body}", "headers": {{"hostname": "{name}"}}}}"#);
    server.run(&["PUBLISH", &format!("/0.celeryev/{kind}"), &message])
}

/// A user with what the README grants a reader of Celery's events, in the newer protocol or the older.
fn heard_by(server: &Server, protocol: &str) -> Store {
    let readme = include_str!("../../../../README.md");
    let line = |start: &str| readme.lines().find_map(|l| l.strip_prefix(start)).unwrap();
    let rules = line("ACL SETUSER dlock on ").replace("PASSWORD", "pw");
    let more = line("ACL SETUSER dlock +subscribe ");
    let hello = if protocol == "RESP2" { "-hello" } else { "+hello" };
    let mut words = vec!["ACL", "SETUSER", "dlock", "reset", "on", hello];
    words.extend(rules.split_whitespace().filter(|w| *w != "+hello"));
    words.extend(["+subscribe"].into_iter().chain(more.split_whitespace()));
    words.extend((protocol != "RESP2").then_some("+hello"));
    server.run::<()>(&words);
    let mut config = store(server.port, Vec::new());
    config.username = Some("dlock".into());
    config.password = Password::Value(Secret::new("pw"));
    config
}

#[tokio::test]
async fn workers_are_there_while_they_are_heard_and_a_gap_is_told() {
    let server = Server::start(&[]);
    let mut newer = Bench::of(heard_by(&server, "RESP3"));
    let too_early = newer.read().await.unwrap().unwrap_err();
    assert!(too_early > Duration::from_secs(4), "{too_early:?}");
    let mut older = Bench::of(heard_by(&server, "RESP2"));
    assert!(older.read().await.unwrap().is_err());
    assert_eq!(publish(&server, "worker.online", "w1@h", 2.0), 2);
    publish(&server, "worker.heartbeat", "gone@elsewhere", 2.0);
    publish(&server, "worker.heartbeat", "gone@elsewhere", 2.0);
    publish(&server, "worker.offline", "gone@elsewhere", 2.0);
    publish(&server, "task.multi", "no@worker", 2.0);
    // What is none of this, or too much of it, costs nobody anything.
    let large = format!("{{\"x\": \"{}\"}}", "y".repeat(3 << 20));
    for odd in ["", "hunter2", "[]", &large] {
        server.run::<i64>(&["PUBLISH", "/0.celeryev/worker.heartbeat", odd]);
    }
    let begun = clock::mono();
    for bench in [&mut newer, &mut older] {
        let names = loop {
            assert!(clock::mono().since(begun) < SOON);
            // The slow one beats once; two of its beats have not passed.
            publish(&server, "worker.heartbeat", "slow@h", 1.5);
            assert!(!bench.listen(Duration::from_millis(500)).await, "the connection broke");
            if let Ok(names) = bench.read().await.unwrap() {
                break names;
            }
        };
        // It is five seconds since w1 was heard, or it is just there.
        let rest: Vec<_> = names.iter().filter(|n| *n != "w1@h").collect();
        assert_eq!(rest, ["h", "slow@h"]);
    }
    newer.shown(false).await;

    // Somebody cuts the connection: that is told, and absences count again only after a while.
    server.run::<i64>(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    for bench in [&mut newer, &mut older] {
        assert!(bench.listen(SOON).await);
        assert_eq!(bench.read().await.unwrap_err().reason, FailReason::Network);
        assert!(bench.read().await.unwrap().unwrap_err() > Duration::from_secs(3));
    }
}

#[tokio::test]
async fn who_may_not_listen_is_told_once_and_asks_again_when_told_to() {
    let server = Server::start(&[]);
    let config = heard_by(&server, "RESP3");
    server.run::<()>(&["ACL", "SETUSER", "dlock", "resetchannels", "&/1.celeryev/*"]);
    let mut bench = Bench::of(config);
    for _ in 0..3 {
        let failed = bench.read().await.unwrap_err();
        assert_eq!(failed.reason, FailReason::Permission, "{}", failed.detail);
        assert!(failed.detail.contains("/0.celeryev/worker.online"), "{}", failed.detail);
    }
    let ran = server.commands();
    let refused = ran.iter().find(|(name, ..)| name == "subscribe").map(|(.., bad)| *bad);
    assert_eq!(refused, Some(1), "{ran:?}");
    bench.shown(true).await;
    server.run::<()>(&["ACL", "SETUSER", "dlock", "&/0.celeryev/worker.*"]);
    assert_eq!(bench.read().await.unwrap_err().reason, FailReason::Permission);
    bench.handle.retry_refused();
    assert!(bench.read().await.unwrap().is_err(), "it listens");
    bench.shown(false).await;
}

/// A read asks and hears the answer; all that was published before is in it.
#[tokio::test]
async fn what_was_published_before_a_read_is_in_it() {
    let server = Server::start(&[]);
    let mut bench = Bench::of(heard_by(&server, "RESP3"));
    assert!(bench.read().await.unwrap().is_err());
    let begun: Mono = clock::mono();
    while bench.read().await.unwrap().is_err() {
        assert!(clock::mono().since(begun) < SOON);
        bench.listen(Duration::from_millis(100)).await;
    }
    for n in 0..50 {
        publish(&server, "worker.online", &format!("w{n:02}@h"), 2.0);
        let names = bench.read().await.unwrap().unwrap();
        assert!(names.contains(&format!("w{n:02}@h")), "{names:?}");
    }
}
