//! Reads of parts.

use std::time::Duration;

use super::support::*;
use crate::config::RedisPart;
use crate::observe::lock::Unreadable;
use crate::poll::redis::{PartRequest, PartValue};

fn ask(key: &str, part: RedisPart) -> PartRequest {
    PartRequest { key: key.as_bytes().to_vec(), part }
}

async fn connected(w: &mut Watch) {
    w.sweep().await;
}

#[tokio::test]
async fn every_part_and_what_is_not_there() {
    let server = Server::start(&[]);
    server.run::<()>(&["SET", "text", "beat", "PX", "60000"]);
    server.run::<()>(&["SET", "long", &"x".repeat(70_000)]);
    server.run::<()>(&["SET", "empty", ""]);
    server.run::<()>(&["HSET", "hash", "field", "v"]);
    server.run::<()>(&["ZADD", "zset", "1.5", "m"]);
    let ends: i64 = server.run(&["PEXPIRETIME", "text"]);
    let mut w = Watch::start(store(server.port, vec![]));
    connected(&mut w).await;
    let requests = vec![
        ask("text", RedisPart::Text),
        ask("long", RedisPart::Text),
        ask("empty", RedisPart::Text),
        ask("none", RedisPart::Text),
        ask("hash", RedisPart::Field("field".into())),
        ask("hash", RedisPart::Field("none".into())),
        ask("zset", RedisPart::Member("m".into())),
        ask("zset", RedisPart::Member("none".into())),
        ask("text", RedisPart::Exists),
        ask("none", RedisPart::Exists),
        ask("hash", RedisPart::Text),
    ];
    let reply = w.handle.read_parts(requests).await.unwrap();
    let value = |b: &[u8], e| PartValue::Value { bytes: b.to_vec(), expires_at_ms: e };
    let want = [
        value(b"beat", Some(ends)),
        value(&[b'x'; 65_536], None),
        value(b"", None),
        PartValue::Missing,
        value(b"v", None),
        PartValue::Missing,
        value(b"1.5", None),
        PartValue::Missing,
        PartValue::Exists { expires_at_ms: Some(ends) },
        PartValue::Missing,
        PartValue::Unreadable(Unreadable::Unexpected),
    ];
    assert_eq!(reply.values, want);
    assert!(reply.span.sent < reply.span.done);
    let many: Vec<_> = (0..250).map(|_| ask("text", RedisPart::Exists)).collect();
    assert_eq!(w.handle.read_parts(many).await.unwrap().values.len(), 250);
}

#[tokio::test]
async fn an_expiry_made_of_pttl_stands_still() {
    let server = Server::start(&["--rename-command", "PEXPIRETIME", ""]);
    server.run::<()>(&["SET", "hb", "constant", "PX", "60000"]);
    let mut w = Watch::start(store(server.port, vec![]));
    connected(&mut w).await;
    let ends = async |w: &Watch| {
        let reply = w.handle.read_parts(vec![ask("hb", RedisPart::Exists)]).await.unwrap();
        match reply.values[..] {
            [PartValue::Exists { expires_at_ms: Some(at) }] => at,
            ref other => panic!("{other:?}"),
        }
    };
    let first = ends(&w).await;
    for _ in 0..20 {
        assert_eq!(ends(&w).await, first);
        tokio::time::sleep(Duration::from_millis(7)).await;
    }
    server.run::<()>(&["PEXPIRE", "hb", "70000"]);
    assert!(ends(&w).await - first > 5_000);
}
