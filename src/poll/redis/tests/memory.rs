//! Servers out of memory, which refuse transactions and answer reads.

use std::time::Duration;

use super::support::*;
use crate::config::Password;
use crate::observe::lock::{Shape, Unreadable};
use crate::observe::{BatchRead, Expiry, Found, ServerTime};
use crate::secret::Secret;

const OWNER: &str = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47";
/// Attempts at a transaction are some seconds apart.
const PATIENCE: Duration = Duration::from_secs(20);

fn starve(server: &Server) {
    server.run::<()>(&["CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "1"]);
    server.run::<()>(&["CONFIG", "RESETSTAT"]);
}

fn feed(server: &Server) {
    server.run::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
}

/// How often `MULTI` came, and how many errors of ours the server counted: clients of the test make others.
fn tries(server: &Server) -> (u64, u64) {
    let errors: String = server.run(&["INFO", "errorstats"]);
    let ours = errors.lines().filter(|l| l.contains("_OOM:") || l.contains("_EXECABORT:"));
    let counts = ours.filter_map(|l| l.split_once("count=")?.1.parse::<u64>().ok());
    let multi = server.commands().into_iter().find(|(name, ..)| name == "multi");
    (multi.map_or(0, |(_, calls, _)| calls), counts.sum())
}

/// Sweeps until the server has seen so many `MULTI`.
async fn tried(w: &mut Watch, server: &Server, calls: u64) -> (u64, u64) {
    let begun = Watch::now();
    loop {
        w.sweep().await;
        let now = tries(server);
        if now.0 >= calls {
            return now;
        }
        assert!(Watch::now().since(begun) < PATIENCE, "{calls} expected, {now:?}");
    }
}

fn expiry(found: &Found) -> Option<Expiry> {
    match found {
        Found::Present { expiry, .. } => Some(*expiry),
        _ => None,
    }
}

/// Whether it is the read of a node that never failed.
fn unbroken(batch: &BatchRead) {
    assert_eq!(batch.connection, 1, "the poll failed in between");
}

#[tokio::test]
async fn locks_are_read_exactly_while_there_is_no_memory() {
    let server = Server::start(&[]);
    server.run::<()>(&["SET", "text", "w1", "PX", "100000"]);
    server.run::<()>(&["SET", "renewed", "w1", "PX", "100000"]);
    server.run::<()>(&["SET", "forever", "w2"]);
    server.run::<()>(&["SET", "short", "w3", "PX", "100000"]);
    server.run::<()>(&["SET", "long", &"x".repeat(2000), "PX", "100000"]);
    server.run::<()>(&["HSET", "hash", OWNER, "2"]);
    server.run::<()>(&["RPUSH", "list", "x"]);
    let names = ["text", "renewed", "forever", "short", "long", "hash", "list", "absent"];
    let mut w = Watch::start(store(server.port, names.iter().map(one).collect()));
    w.found("hash", |_, f| token(f)).await;
    w.sweep().await;
    starve(&server);
    tried(&mut w, &server, 1).await;
    let (_, errors) = tries(&server);
    // TIME, MGET, five PEXPIRETIME, ROLE, EXEC: one transaction of those that were tried.
    assert!((2..=9).contains(&errors), "{errors}");

    // What can still be written: renewals by PEXPIRE, releases.
    server.run::<i64>(&["PEXPIRE", "renewed", "200000"]);
    for name in ["text", "renewed", "long"] {
        let ends: i64 = server.run(&["PEXPIRETIME", name]);
        let ends = Expiry::At(ServerTime::from_ms(ends));
        w.found(name, |b, f| {
            unbroken(b);
            (expiry(f)? == ends).then_some(())
        })
        .await;
    }
    let owner = w.found("text", |_, f| token(f)).await;
    assert_eq!(owner, b"w1");
    assert_eq!(w.found("long", |_, f| token(f)).await.len(), 1024);
    assert_eq!(w.found("hash", |_, f| token(f)).await, OWNER.as_bytes());
    assert_eq!(w.found("forever", |_, f| expiry(f)).await, Expiry::Never);
    w.found("list", |_, f| {
        matches!(f, Found::Present { value, .. } if value.shape == Shape::List).then_some(())
    })
    .await;
    w.found("absent", |_, f| matches!(f, Found::Absent).then_some(())).await;
    // When it is absent, it is so by the clock that is reported with it.
    server.run::<i64>(&["PEXPIRE", "short", "500"]);
    let ends = ServerTime::from_ms(server.run(&["PEXPIRETIME", "short"]));
    let gone = w.found("short", |b, f| matches!(f, Found::Absent).then_some(b.time)).await;
    assert!(gone >= ends, "{gone:?} {ends:?}");
    server.run::<i64>(&["DEL", "text"]);
    w.found("text", |_, f| matches!(f, Found::Absent).then_some(())).await;
    let key = w.key("renewed").unwrap();
    let at = Watch::now();
    w.handle.read_keys(vec![key], at);
    w.found("renewed", |b, f| (b.span.sent >= at && token(f)? == b"w1").then_some(())).await;

    // No errors but the two of each later attempt: TIME and EXEC.
    let later = tried(&mut w, &server, 2).await;
    assert_eq!(later, (2, errors + 2));
    feed(&server);
    tried(&mut w, &server, 20).await;
    assert_eq!(tries(&server).1, errors + 2);
    server.run::<()>(&["SET", "text", "w4"]);
    w.found("text", |b, f| {
        unbroken(b);
        (token(f)? == b"w4").then_some(())
    })
    .await;
}

#[tokio::test]
async fn remaining_times_stand_still_without_memory_too() {
    let server = Server::start(&["--rename-command", "PEXPIRETIME", ""]);
    server.run::<()>(&["SET", "k", "w", "PX", "100000"]);
    let mut w =
        Watch::with(store(server.port, vec![one("k")]), Duration::from_millis(20), Duration::MAX);
    let first = w.found("k", |_, f| expiry(f)).await;
    starve(&server);
    tried(&mut w, &server, 1).await;
    for _ in 0..20 {
        let (now, connection) = w.found("k", |b, f| Some((expiry(f)?, b.connection))).await;
        assert_eq!((now, connection), (first, 1));
    }
}

#[tokio::test]
async fn rights_that_go_meanwhile_cost_only_their_keys() {
    let server = Server::start(&[]);
    let rules = "on >pw resetchannels %R~lock:* %R~more:* -@all +get +mget +getrange +strlen +pttl \
        +pexpiretime +type +hgetall +hlen +multi +exec +time +info +role +hello +auth +client|setname";
    let acl = |rules: &str| {
        let mut args = vec!["ACL", "SETUSER", "reader"];
        args.extend(rules.split_whitespace());
        server.run::<()>(&args);
    };
    acl(rules);
    for name in ["lock:a", "lock:b", "more:a"] {
        server.run::<()>(&["SET", name, "w"]);
    }
    for name in ["lock:h", "more:h"] {
        server.run::<()>(&["HSET", name, OWNER, "2"]);
    }
    let names = ["lock:a", "more:a", "lock:b", "lock:h", "more:h"];
    let mut s = store(server.port, names.iter().map(one).collect());
    s.username = Some("reader".into());
    s.password = Password::Value(Secret::new("pw"));
    let mut w = Watch::start(s);
    w.found("more:h", |_, f| token(f)).await;
    starve(&server);
    tried(&mut w, &server, 1).await;
    let connection = w.found("more:a", |b, f| token(f).map(|_| b.connection)).await;
    acl("resetkeys %R~lock:*");
    for name in ["more:a", "more:h"] {
        w.found(name, |_, f| matches!(f, Found::Unreadable(Unreadable::Permission)).then_some(()))
            .await;
    }
    for name in ["lock:a", "lock:b", "lock:h"] {
        let read = w.found(name, |b, f| token(f).map(|_| b.connection)).await;
        assert_eq!(read, connection, "{name}");
    }
}

#[tokio::test]
async fn a_hash_that_grew_beyond_measure_costs_one_poll() {
    let server = Server::start(&[]);
    server.run::<()>(&["HSET", "grows", OWNER, "1"]);
    server.run::<()>(&["HSET", "other", OWNER, "1"]);
    let mut w = Watch::start(store(server.port, vec![one("grows"), one("other")]));
    w.found("grows", |_, f| token(f)).await;
    starve(&server);
    tried(&mut w, &server, 1).await;
    // A transaction is not tried again before the next read.
    feed(&server);
    server.run::<i64>(&["HSET", "grows", "f", &"x".repeat(17 << 20)]);
    let connection = w
        .found("grows", |b, f| match f {
            Found::Present { value, .. } if value.shape == Shape::Hash => Some(b.connection),
            _ => None,
        })
        .await;
    assert_eq!(connection, 2);
    let other = w.found("other", |b, f| token(f).map(|_| b.connection)).await;
    assert_eq!(other, 2);
}
