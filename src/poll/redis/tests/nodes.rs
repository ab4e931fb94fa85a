//! Primaries and replicas.

use std::collections::BTreeSet;
use std::time::Duration;

use super::support::*;
use crate::config::{RedisAddr, RedisPart};
use crate::observe::{Observation, Role};
use crate::poll::redis::{PartRequest, PartValue};

pub fn pair() -> (Server, Server) {
    let primary = Server::start(&["--repl-diskless-sync-delay", "0"]);
    let of = format!("127.0.0.1 {}", primary.port);
    let replica = Server::start(&["--replicaof", &of]);
    let begun = Watch::now();
    while replica.info("replication", "master_link_status") != "up" {
        assert!(Watch::now().since(begun) < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(50));
    }
    (primary, replica)
}

pub fn addr(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port)
}

#[tokio::test]
async fn replicas_are_found_and_read_in_step_with_the_primary() {
    let (primary, replica) = pair();
    primary.run::<()>(&["SET", "k", "w", "EX", "100"]);
    let mut w = Watch::start(store(primary.port, vec![one("k")]));
    let (p, r) = (addr(&primary), addr(&replica));
    let on = async |w: &mut Watch, node: &str, want: Role| {
        w.found("k", |b, f| {
            (&*b.node.addr == node && b.role == want && token(f)? == b"w").then(|| b.clone())
        })
        .await
    };
    on(&mut w, &p, Role::Master).await;
    on(&mut w, &r, Role::Replica { linked: true }).await;
    let from_replica = on(&mut w, &r, Role::Replica { linked: true }).await;
    assert!(from_replica.offset.is_some());
    // In step: sweeps of the two begin at the same tick, but for those that a busy machine delays.
    let begun = Watch::now();
    loop {
        let a = on(&mut w, &p, Role::Master).await;
        let b = on(&mut w, &r, Role::Replica { linked: true }).await;
        let apart = a.span.sent.secs_since(b.span.sent).abs() % 0.1;
        if !(0.02..=0.08).contains(&apart) {
            break;
        }
        assert!(Watch::now().since(begun) < Duration::from_secs(20), "still {apart} apart");
    }

    // The replica is promoted and the primary dies: requests follow.
    replica.run::<()>(&["REPLICAOF", "NO", "ONE"]);
    replica.run::<()>(&["SET", "hb", "new"]);
    drop(primary);
    w.until("the promoted node", |_, o| {
        matches!(o, Observation::Node(f) if *f.node.addr == *r && f.role == Role::Master)
            .then_some(())
    })
    .await;
    let part = PartRequest { key: b"hb".to_vec(), part: RedisPart::Text };
    let begun = Watch::now();
    let value = loop {
        w.sweep().await;
        if let Ok(reply) = w.handle.read_parts(vec![part.clone()]).await {
            break reply.values;
        }
        assert!(Watch::now().since(begun) < Duration::from_secs(20));
    };
    assert_eq!(value, [PartValue::Value { bytes: b"new".to_vec(), expires_at_ms: None }]);
}

#[tokio::test]
async fn a_replicas_primary_is_followed_and_two_names_are_one_node() {
    let (primary, mut replica) = pair();
    primary.run::<()>(&["SET", "lock:x", "w"]);
    let mut s = store(replica.port, vec![many("lock:*", 10)]);
    // The primary announces its replica by another name than the URL, and so does the config.
    s.url.addr = RedisAddr::Tcp { host: "localhost".into(), port: replica.port };
    s.replicas = vec![addr(&replica)];
    let mut w = Watch::start(s);
    let on_primary = addr(&primary);
    w.found("lock:x", |b, f| (*b.node.addr == *on_primary && token(f)? == b"w").then_some(()))
        .await;
    let by_url = format!("localhost:{}", replica.port);
    w.until("the replica", |_, o| {
        matches!(o, Observation::SweepDone(s) if *s.node.addr == *by_url).then_some(())
    })
    .await;
    let mut nodes = BTreeSet::new();
    let mut sweeps = 0;
    let mut restarted = false;
    w.until("sweeps before and after a restart", |_, o| {
        match o {
            Observation::SweepDone(s) => {
                nodes.insert(s.node.addr.to_string());
                sweeps += usize::from(*s.node.addr == *by_url);
            }
            Observation::NodeFailed(f) => {
                nodes.insert(f.node.addr.to_string());
            }
            _ => {}
        }
        if sweeps == 4 && !std::mem::replace(&mut restarted, true) {
            replica.restart();
        }
        (sweeps == 12).then_some(())
    })
    .await;
    assert_eq!(nodes, BTreeSet::from([on_primary, by_url]));
}

#[tokio::test]
async fn a_cluster_node_is_read_key_by_key() {
    let bus = free_port().to_string();
    let server = Server::start(&["--cluster-enabled", "yes", "--cluster-port", &bus]);
    server.run::<()>(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    let begun = Watch::now();
    while !server.run::<String>(&["CLUSTER", "INFO"]).contains("cluster_state:ok") {
        assert!(Watch::now().since(begun) < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(50));
    }
    server.run::<()>(&["SET", "a", "w1"]);
    server.run::<()>(&["SET", "b", "w2"]);
    let mut w = Watch::start(store(server.port, vec![one("a"), one("b")]));
    assert_eq!(w.facts().await.mode, "cluster");
    w.found("a", |_, f| (token(f)? == b"w1").then_some(())).await;
    w.found("b", |_, f| (token(f)? == b"w2").then_some(())).await;
}

#[tokio::test]
async fn a_replica_whose_link_is_down_is_followed_when_it_is_promoted() {
    let (primary, replica) = pair();
    let mut w = Watch::start(store(primary.port, vec![one("k")]));
    let r = addr(&replica);
    w.found("k", |b, _| (*b.node.addr == *r).then_some(())).await;
    // It cannot come back after its link breaks, so that the primary does not announce it.
    replica.run::<()>(&["CONFIG", "SET", "masteruser", "nobody", "masterauth", "wrong"]);
    primary.run::<i64>(&["CLIENT", "KILL", "TYPE", "replica"]);
    w.found("k", |b, _| (b.role == Role::Replica { linked: false }).then_some(())).await;
    // Longer than the patience with nodes that nobody announces.
    for _ in 0..25 {
        w.sweep().await;
    }
    drop(primary);
    replica.run::<()>(&["REPLICAOF", "NO", "ONE"]);
    replica.run::<()>(&["SET", "k", "w", "EX", "100"]);
    w.found("k", |b, f| (*b.node.addr == *r && token(f)? == b"w").then_some(())).await;
}
