//! What keys show: all types, expiries, bytes of any kind, patterns.

use std::sync::Arc;
use std::time::Duration;

use super::support::*;
use crate::observe::lock::Shape;
use crate::observe::{Expiry, Found, Observation, Role, ServerTime};

#[tokio::test]
async fn each_key_shows_what_it_is() {
    let server = Server::start(&[]);
    server.run::<()>(&["SET", "held", "worker-1", "PX", "60000"]);
    server.run::<()>(&["SET", "forever", "worker-2"]);
    server.run::<()>(&["SET", "number", "42"]);
    server.run::<()>(&["RPUSH", "list", "x"]);
    server.run::<()>(&["ZADD", "zset", "1", "x"]);
    server.run::<()>(&["HSET", "redisson", "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47", "2"]);
    let fields: Vec<String> = (0..200).map(|i| i.to_string()).collect();
    let mut large = vec!["HSET", "large"];
    fields.iter().for_each(|f| large.extend([f.as_str(), "v"]));
    server.run::<()>(&large);
    let names = ["held", "forever", "number", "list", "zset", "redisson", "large", "absent"];
    let mut w = Watch::start(store(server.port, names.iter().map(one).collect()));

    let first = w.next().await;
    assert!(matches!(first, Observation::StoreStarted { store: ID, .. }));
    for name in names {
        assert!(matches!(w.next().await, Observation::KeyWatched(k) if &*k.lock == name));
    }
    let facts = w.facts().await;
    assert_eq!((facts.role, facts.mode.as_str()), (Role::Master, "standalone"));
    assert_eq!(facts.min_replicas_to_write, Some(0));

    let ends: i64 = server.run(&["PEXPIRETIME", "held"]);
    let (batch, expiry) = w
        .found("held", |b, f| match f {
            Found::Present { expiry, .. } if token(f)? == b"worker-1" => Some((b.clone(), *expiry)),
            _ => None,
        })
        .await;
    assert_eq!(expiry, Expiry::At(ServerTime::from_ms(ends)));
    assert_eq!((batch.role, batch.connection), (Role::Master, 1));
    assert!(batch.span.sent < batch.span.done && batch.offset.is_some());
    let wall = crate::clock::wall_secs() - batch.time.as_secs_f64();
    assert!(wall.abs() < 30.0, "TIME is the server's");

    let shape = |found: &Found| match found {
        Found::Present { value, .. } => Some((value.shape, value.holders.len())),
        _ => None,
    };
    for (name, want) in [
        ("forever", (Shape::Text, 1)),
        ("number", (Shape::Number, 0)),
        ("list", (Shape::List, 0)),
        ("zset", (Shape::Zset, 0)),
        ("redisson", (Shape::OwnerHash, 1)),
        ("large", (Shape::Hash, 0)),
    ] {
        assert_eq!(w.found(name, |_, f| shape(f)).await, want, "{name}");
    }
    w.found("absent", |_, f| matches!(f, Found::Absent).then_some(())).await;
    w.found("forever", |_, f| {
        matches!(f, Found::Present { expiry: Expiry::Never, .. }).then_some(())
    })
    .await;
    w.handle.stop().await;
}

#[tokio::test]
async fn a_key_that_changes_its_type_is_read_anew() {
    let server = Server::start(&[]);
    let mut w = Watch::start(store(server.port, vec![one("k")]));
    w.found("k", |_, f| matches!(f, Found::Absent).then_some(())).await;
    let id = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47";
    server.run::<()>(&["HSET", "k", id, "1"]);
    w.found("k", |_, f| (token(f)? == id.as_bytes()).then_some(())).await;
    server.run::<()>(&["DEL", "k"]);
    w.found("k", |_, f| matches!(f, Found::Absent).then_some(())).await;
    server.run::<()>(&["SET", "k", "text"]);
    w.found("k", |_, f| (token(f)? == b"text").then_some(())).await;
    server.run::<()>(&["DEL", "k"]);
    server.run::<()>(&["RPUSH", "k", "x"]);
    let list = |f: &Found| matches!(f, Found::Present { value, .. } if value.shape == Shape::List);
    w.found("k", |_, f| list(f).then_some(())).await;
    server.run::<()>(&["SET", "k", "again"]);
    w.found("k", |_, f| (token(f)? == b"again").then_some(())).await;
}

#[tokio::test]
async fn unchanged_bytes_are_the_same_arc() {
    let server = Server::start(&[]);
    server.run::<()>(&["SET", "k", "w", "EX", "100"]);
    let mut w = Watch::start(store(server.port, vec![one("k")]));
    let value = |f: &Found| match f {
        Found::Present { value, .. } => Some(value.clone()),
        _ => None,
    };
    let first = w.found("k", |_, f| value(f)).await;
    server.run::<()>(&["EXPIRE", "k", "200"]);
    w.sweep().await;
    let second = w.found("k", |_, f| value(f)).await;
    assert!(Arc::ptr_eq(&first, &second));
}

#[tokio::test]
async fn any_bytes_and_any_length() {
    let server = Server::start(&[]);
    let key: &[u8] = b"a b\"{c}\r\n\x00\xff";
    let value: &[u8] = b"t\r\n$5\r\n\x00\xfe\"";
    let mut client = server.client();
    redis::cmd("SET").arg(key).arg(value).exec(&mut client).unwrap();
    let mib = vec![b'x'; 1 << 20];
    redis::cmd("SET").arg("big").arg(&mib).exec(&mut client).unwrap();
    redis::cmd("SET").arg("grows").arg("small").exec(&mut client).unwrap();
    let locks = vec![one(key), one("big"), one("grows")];
    let mut w = Watch::with(store(server.port, locks), Duration::from_millis(20), Duration::MAX);
    let name = String::from_utf8_lossy(key).into_owned();
    w.found(&name, |_, f| (token(f)? == value).then_some(())).await;
    w.found("big", |_, f| (token(f)?.len() == 1024).then_some(())).await;
    w.found("grows", |_, f| (token(f)? == b"small").then_some(())).await;
    redis::cmd("SET").arg("grows").arg(&mib).exec(&mut client).unwrap();
    w.found("grows", |_, f| (token(f)?.len() == 1024).then_some(())).await;
    let sent = |s: &Server| s.info("stats", "total_net_output_bytes").parse::<u64>().unwrap();
    let before = sent(&server);
    assert!(before < 3 << 20, "one of them was fetched whole once, the other never: {before}");
    for _ in 0..10 {
        w.sweep().await;
    }
    let more = sent(&server) - before;
    assert!(more < 1 << 20, "{more} bytes in ten sweeps");
}

#[tokio::test]
async fn found_keys_come_are_bounded_and_go() {
    let server = Server::start(&[]);
    for i in 0..12 {
        server.run::<()>(&["SET", &format!("lock:{i}"), "w"]);
    }
    server.run::<()>(&["RPUSH", "queue:1", "1"]);
    let locks = vec![one("lock:3"), many("lock:*", 10), many("queue:*", 10)];
    let (interval, retain) = (Duration::from_millis(50), Duration::from_millis(400));
    let mut w = Watch::with(store(server.port, locks), interval, retain);
    let counts = w
        .until("dropped keys", |_, o| match o {
            Observation::KeysDropped { counts, .. } if counts.iter().any(|c| c.1 > 0) => {
                Some(counts.clone())
            }
            _ => None,
        })
        .await;
    assert_eq!(counts, [("duplicate_name", 0), ("max_locks", 1)]);
    assert_eq!(w.keys.len(), 12, "one configured, ten of the pattern, one list: {:?}", w.keys);
    w.found("queue:1", |_, f| {
        matches!(f, Found::Present { value, .. } if value.holders.is_empty()).then_some(())
    })
    .await;

    server.run::<()>(&["FLUSHALL"]);
    let mut forgotten = Vec::new();
    w.until("forgotten keys", |_, o| {
        if let Observation::KeyForgotten { key, .. } = o {
            forgotten.push(*key);
        }
        (forgotten.len() == 11).then_some(())
    })
    .await;
    assert!(!forgotten.contains(&w.key("lock:3").unwrap()), "a configured key stays");
    server.run::<()>(&["SET", "lock:99", "back"]);
    w.found("lock:99", |_, f| (token(f)? == b"back").then_some(())).await;
}

#[tokio::test]
async fn a_read_at_an_instant_comes_at_that_instant() {
    let server = Server::start(&[]);
    server.run::<()>(&["SET", "k", "w"]);
    let long = Duration::from_secs(30);
    let mut w = Watch::with(store(server.port, vec![one("k")]), long, long);
    w.found("k", |_, f| token(f)).await;
    w.until("the first sweep", |_, o| matches!(o, Observation::SweepDone(_)).then_some(())).await;
    let key = w.key("k").unwrap();
    for wait in [0, 40, 150] {
        let at = Watch::now().plus(Duration::from_millis(wait));
        w.handle.read_keys(vec![key, key], at);
        let span = w.found("k", |b, _| Some(b.span)).await;
        // Shared cores are late at times; never early.
        let late = span.sent.secs_since(at);
        assert!((-0.001..0.5).contains(&late), "{late}");
    }
    w.handle.refresh_facts();
    w.facts().await;
}
