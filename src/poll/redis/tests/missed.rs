//! Replicas that their primary does not announce any more: cut off, replaced, or made servers of their own.

use std::time::Duration;

use rustix::process::Signal;

use super::nodes::{addr, pair};
use super::support::*;
use crate::observe::{Observation, Role};

/// Waits until nothing was heard of that node for this many sweeps over the primary.
async fn silent(w: &mut Watch, node: &str, primary: &str, sweeps: u32) {
    let mut since = 0;
    w.until("that it is not told of any more", |_, o| {
        match o {
            Observation::SweepDone(s) if *s.node.addr == *primary => since += 1,
            Observation::SweepDone(s) if *s.node.addr == *node => since = 0,
            Observation::NodeFailed(f) if *f.node.addr == *node => since = 0,
            Observation::Node(f) if *f.node.addr == *node => since = 0,
            _ => {}
        }
        (since >= sweeps).then_some(())
    })
    .await;
}

/// A primary with a replica that is watched, stands still, and was dropped by the primary for good.
async fn cut_off() -> (Server, Server, Watch) {
    let (primary, replica) = pair();
    let mut w = Watch::start(store(primary.port, vec![one("k")]));
    let r = addr(&replica);
    w.found("k", |b, _| (*b.node.addr == *r).then_some(())).await;
    replica.run::<()>(&["CONFIG", "SET", "masteruser", "nobody"]);
    replica.run::<()>(&["CONFIG", "SET", "masterauth", "wrong"]);
    replica.signal(Signal::STOP);
    primary.run::<i64>(&["CLIENT", "KILL", "TYPE", "replica"]);
    silent(&mut w, &r, &addr(&primary), 40).await;
    (primary, replica, w)
}

#[tokio::test]
async fn one_that_was_cut_off_is_seen_when_it_is_back_as_a_second_primary() {
    let (primary, replica, mut w) = cut_off().await;
    let r = addr(&replica);
    replica.signal(Signal::CONT);
    replica.run::<()>(&["REPLICAOF", "NO", "ONE"]);
    replica.run::<()>(&["SET", "k", "w", "EX", "100"]);
    w.found("k", |b, f| {
        (*b.node.addr == *r && b.role == Role::Master && token(f)? == b"w").then_some(())
    })
    .await;
    // It stays, though nobody announces it.
    let p = addr(&primary);
    for node in [&p, &r].repeat(15) {
        w.found("k", |b, _| (*b.node.addr == **node && b.role == Role::Master).then_some(())).await;
    }
}

#[tokio::test]
async fn another_server_at_its_address_is_let_go() {
    let (primary, mut replica, mut w) = cut_off().await;
    replica.replace(&[]);
    let connections = |s: &Server| s.info("stats", "total_connections_received");
    // It was asked who it is, once.
    let before: u64 = connections(&replica).parse().unwrap();
    let begun = Watch::now();
    loop {
        w.sweep().await;
        let now: u64 = connections(&replica).parse().unwrap();
        let looks = replica.run::<String>(&["INFO", "commandstats"]).contains("hello");
        if looks && now > before {
            break;
        }
        assert!(Watch::now().since(begun) < Duration::from_secs(20), "it was never asked");
    }
    silent(&mut w, &addr(&replica), &addr(&primary), 30).await;
    assert!(!replica.run::<String>(&["CLIENT", "LIST"]).contains("lib-name=dlock"));
}

#[tokio::test]
async fn a_replica_made_a_server_of_its_own_leaves_once_it_has_no_lock() {
    let (primary, replica) = pair();
    primary.run::<()>(&["SET", "k", "w", "EX", "100"]);
    let retain = Duration::from_secs(2);
    let mut w =
        Watch::with(store(primary.port, vec![one("k")]), Duration::from_millis(100), retain);
    let r = addr(&replica);
    w.found("k", |b, f| (*b.node.addr == *r && token(f)? == b"w").then_some(())).await;
    replica.run::<()>(&["REPLICAOF", "NO", "ONE"]);
    let is_second = |b: &crate::observe::BatchRead| *b.node.addr == *r && b.role == Role::Master;
    w.found("k", |b, _| is_second(b).then_some(())).await;
    // As long as it has a lock of ours it may be one half of a split.
    let begun = Watch::now();
    while Watch::now().since(begun) < retain * 2 {
        w.found("k", |b, _| is_second(b).then_some(())).await;
    }
    replica.run::<()>(&["DEL", "k"]);
    silent(&mut w, &r, &addr(&primary), 30).await;
}
