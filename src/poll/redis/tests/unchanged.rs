//! Keys that a feed proves unchanged are told in each sweep and not read; whatever may have changed is read.

use std::sync::Arc;
use std::time::Duration;

use super::support::*;
use crate::config::{Events, Group, LockRules};
use crate::observe::feed::Standing;
use crate::observe::{Found, Observation};

const KEYS: usize = 500;
/// Transactions of one sweep over all of them.
const ALL: u64 = 10;

fn key(n: usize) -> String {
    format!("lock:{n}")
}

fn fill(server: &Server) {
    let mut pipe = redis::pipe();
    for n in 0..KEYS {
        pipe.cmd("SET").arg(key(n)).arg(format!("owner-{n}")).arg("PX").arg(3_600_000).ignore();
    }
    pipe.query::<()>(&mut server.client()).unwrap();
}

fn watch(server: &Server, events: Events) -> Watch {
    let mut store = store(server.port, vec![many("lock:*", 1000)]);
    store.events = events;
    Watch::start(store)
}

fn calls(server: &Server, command: &str) -> u64 {
    server.commands().iter().find(|(name, _, _)| name == command).map_or(0, |(_, calls, _)| *calls)
}

/// How many keys were told in the next whole sweep.
async fn told_in_a_sweep(w: &mut Watch) -> usize {
    w.sweep().await;
    let mut told = std::collections::BTreeSet::new();
    w.until("the end of a sweep", |_, o| {
        if let Observation::Batch(batch) = o {
            told.extend(batch.reads.iter().map(|r| r.key));
        }
        matches!(o, Observation::SweepDone(_)).then_some(())
    })
    .await;
    told.len()
}

/// Until ten sweeps in a row cost fewer reads than one over all keys.
async fn quiet(server: &Server, w: &mut Watch) {
    loop {
        let before = calls(server, "mget");
        for _ in 0..10 {
            w.sweep().await;
        }
        if w.keys.len() == KEYS && calls(server, "mget") - before < ALL {
            return;
        }
    }
}

#[tokio::test]
async fn what_is_unchanged_is_told_and_not_read() {
    let server = Server::start(&[]);
    fill(&server);
    let mut w = watch(&server, Events::Tracking);
    tokio::time::timeout(Duration::from_secs(20), quiet(&server, &mut w)).await.unwrap();
    assert_eq!(told_in_a_sweep(&mut w).await, KEYS);

    // A change is read at once, and what comes of a lease that runs out.
    server.run::<()>(&["SET", "lock:7", "another", "PX", "500"]);
    w.found("lock:7", |_, f| (token(f)? == b"another").then_some(())).await;
    w.found("lock:7", |_, f| matches!(f, Found::Absent).then_some(())).await;
    // A new key is found without SCAN, and is told from then on.
    let scans = calls(&server, "scan");
    server.run::<()>(&["SET", "lock:new", "somebody"]);
    w.found("lock:new", |b, f| (token(f)? == b"somebody" && b.reads.len() > 1).then_some(())).await;
    assert_eq!(calls(&server, "scan"), scans);
    assert_eq!(told_in_a_sweep(&mut w).await, KEYS + 1);
}

#[tokio::test]
async fn a_feed_that_is_lost_has_all_read_at_once() {
    let server = Server::start(&[]);
    fill(&server);
    let mut w = watch(&server, Events::Tracking);
    tokio::time::timeout(Duration::from_secs(20), quiet(&server, &mut w)).await.unwrap();
    let before = calls(&server, "mget");
    server.run::<i64>(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    w.until("the interruption", |_, o| match o {
        Observation::Feed(f) if matches!(f.standing, Standing::Down(_)) => Some(()),
        _ => None,
    })
    .await;
    w.until("a sweep over all", |_, o| {
        let is_end = matches!(o, Observation::SweepDone(_));
        (is_end && calls(&server, "mget") - before >= ALL).then_some(())
    })
    .await;
    tokio::time::timeout(Duration::from_secs(20), quiet(&server, &mut w)).await.unwrap();

    // No feed tells of databases that are swapped; the count of such calls does.
    server.run::<()>(&["SWAPDB", "0", "1"]);
    w.found("lock:3", |_, f| matches!(f, Found::Absent).then_some(())).await;
    server.run::<()>(&["SWAPDB", "0", "1"]);
    w.found("lock:3", |_, f| (token(f)? == b"owner-3").then_some(())).await;
    server.run::<()>(&["FLUSHALL"]);
    w.found("lock:499", |_, f| matches!(f, Found::Absent).then_some(())).await;
}

#[tokio::test]
async fn without_a_feed_of_all_changes_every_sweep_reads_all() {
    let server = Server::start(&["--notify-keyspace-events", "KA"]);
    fill(&server);
    for events in [Events::Off, Events::Notifications] {
        let mut w = watch(&server, events);
        while w.keys.len() < KEYS {
            w.sweep().await;
        }
        w.sweep().await;
        let before = calls(&server, "mget");
        for _ in 0..3 {
            w.sweep().await;
        }
        assert!(calls(&server, "mget") - before >= 2 * ALL, "{events:?}");
    }
}

#[tokio::test]
async fn what_is_unchanged_of_a_group_is_told_by_one_word_and_read_once_in_a_while() {
    let server = Server::start(&[]);
    fill(&server);
    let mut locks = many("lock:*", 1000);
    let group = Group { name: "all".into(), top: 5 };
    locks.rules = Arc::new(LockRules { group: Some(group), ..(*locks.rules).clone() });
    let mut store = store(server.port, vec![locks]);
    store.events = Events::Tracking;
    let mut w = Watch::start(store);
    tokio::time::timeout(Duration::from_secs(20), quiet(&server, &mut w)).await.unwrap();
    let word = w.until("one word for all", |_, o| match o {
        Observation::Unchanged(word) if word.except.is_empty() => Some(word.clone()),
        _ => None,
    });
    assert!(word.await.probe.reads.is_empty());

    // What changes is read, and what ends soon; neither is in the word that comes with it.
    server.run::<()>(&["SET", "lock:7", "another", "PX", "500"]);
    w.found("lock:7", |_, f| (token(f)? == b"another").then_some(())).await;
    w.found("lock:7", |_, f| matches!(f, Found::Absent).then_some(())).await;
    let gone = w.keys.iter().find(|(key, _)| key == "lock:7").map(|(_, id)| *id);
    let is_told = w.until("one that is not there is told by itself", |_, o| match o {
        Observation::Batch(b) if b.reads.len() < KEYS => {
            b.reads.iter().any(|r| Some(r.key) == gone).then_some(())
        }
        _ => None,
    });
    is_told.await;
}
