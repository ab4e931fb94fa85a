//! Sorted sets and sets that are locks, and what they can be that is none.

use std::sync::Arc;
use std::time::Duration;

use super::support::*;
use crate::observe::lock::{CompanionValue, Shape, Tells};
use crate::observe::{Decoded, Found, KeyRead, Observation, ServerTime};

/// A token as Symfony makes it.
fn symfony(n: usize) -> String {
    format!("{n:0>43}=")
}

/// A token as Medallion's DistributedLock makes it.
fn medallion(n: usize) -> String {
    format!("host_{}_{n:031x}a", n + 1)
}

fn value(found: &Found) -> Option<Arc<Decoded>> {
    match found {
        Found::Present { value, .. } => Some(value.clone()),
        _ => None,
    }
}

/// Tokens and until when each holds.
fn held(found: &Found) -> Option<Vec<(String, Option<ServerTime>)>> {
    let value = value(found)?;
    let text = |t: &[u8]| String::from_utf8(t.to_vec()).unwrap();
    let mut all: Vec<_> =
        value.holders.iter().map(|h| (text(h.owner.token.bytes()), h.until)).collect();
    all.sort();
    Some(all)
}

/// The shape, if nobody is named.
fn shape(found: &Found) -> Option<Shape> {
    value(found).filter(|v| v.holders.is_empty()).map(|v| v.shape)
}

fn sent(server: &Server) -> u64 {
    server.info("stats", "total_net_output_bytes").parse().unwrap()
}

#[tokio::test]
async fn members_and_scores_in_either_protocol() {
    for old in [&[][..], &["--rename-command", "HELLO", "", "--rename-command", "PEXPIRETIME", ""]]
    {
        let server = Server::start(old);
        // One that ended long ago is still there until somebody acquires; what it means is not for the poller to say.
        let (past, ahead) = ("1500000000123", "4102444800456");
        server.run::<()>(&["ZADD", "sem", past, &symfony(1), ahead, &symfony(2)]);
        server.run::<()>(&["PEXPIREAT", "sem", "4102444800456"]);
        server.run::<()>(&["SADD", "rw.readers", &medallion(1), &medallion(2)]);
        server.run::<()>(&["PEXPIRE", "rw.readers", "30000"]);
        let mut w = Watch::start(store(server.port, vec![one("sem"), one("rw.readers")]));
        let at = |ms: &str| Some(ServerTime::from_ms(ms.parse().unwrap()));
        assert_eq!(
            w.found("sem", |_, f| held(f)).await,
            [(symfony(1), at(past)), (symfony(2), at(ahead))]
        );
        let readers = w.found("rw.readers", |_, f| held(f)).await;
        assert_eq!(readers, [(medallion(1), None), (medallion(2), None)]);
        // Unchanged bytes are decoded once, and a renewal by score is a change.
        let first = w.found("sem", |_, f| value(f)).await;
        let set = w.found("rw.readers", |_, f| value(f)).await;
        w.sweep().await;
        assert!(Arc::ptr_eq(&first, &w.found("sem", |_, f| value(f)).await));
        assert!(Arc::ptr_eq(&set, &w.found("rw.readers", |_, f| value(f)).await));
        server.run::<()>(&["ZADD", "sem", "4102444900000", &symfony(2)]);
        let renewed = (symfony(2), at("4102444900000"));
        w.found("sem", |_, f| held(f)?.contains(&renewed).then_some(())).await;
        let bad = server.commands().into_iter().filter(|c| ["zrange", "smembers"].contains(&&*c.0));
        assert_eq!(bad.map(|c| c.2).sum::<u64>(), 0);
    }
}

#[tokio::test]
async fn of_a_large_sorted_set_those_that_end_last_are_read_and_the_others_counted() {
    let server = Server::start(&[]);
    let mut add = redis::cmd("ZADD");
    add.arg("zset");
    (0..200).for_each(|n| {
        add.arg("1500000000123").arg(symfony(n));
    });
    (0..70).for_each(|n| {
        add.arg(format!("41024448{n:05}")).arg(symfony(300 + n));
    });
    add.exec(&mut server.client()).unwrap();
    let mut w = Watch::start(store(server.port, vec![many("z*", 10)]));
    let first = w.found("zset", |_, f| value(f)).await;
    let (holders, beyond) = (first.holders.clone(), first.beyond);
    assert_eq!((holders.len(), beyond), (64, 206));
    assert!(holders.iter().all(|h| h.until > Some(ServerTime::from_ms(4_102_444_800_005))));
    let ahead = w
        .until("the count", |w, o| match o {
            Observation::Companions(read) if w.key("zset") == Some(read.key) => {
                Some(read.told.clone())
            }
            _ => None,
        })
        .await;
    assert_eq!(ahead, [(Tells::Holders, CompanionValue::Number(70))]);
    server.run::<()>(&["ZREMRANGEBYSCORE", "zset", "-inf", "4102444799999"]);
    w.found("zset", |_, f| (value(f)?.beyond == 6).then_some(())).await;
    server.run::<()>(&["ZREMRANGEBYSCORE", "zset", "-inf", "4102444800068"]);
    let last = w.found("zset", |_, f| value(f).filter(|v| v.beyond == 0)).await;
    assert_eq!((last.holders.len(), last.companions.len()), (1, 0));
}

#[tokio::test]
async fn one_that_is_too_large_is_not_fetched_and_is_read_again_once_it_is_small() {
    let server = Server::start(&[]);
    let members: Vec<String> = (0..65).map(medallion).collect();
    for member in &members {
        server.run::<()>(&["SADD", "many", member]);
    }
    let mut w = Watch::start(store(server.port, vec![one("many"), one("set")]));
    w.found("many", |_, f| (shape(f)? == Shape::Set).then_some(())).await;
    server.run::<()>(&["SREM", "many", &members[7]]);
    // As a reload does; without one it is counted again after a while.
    w.handle.retry_refused();
    assert_eq!(w.found("many", |_, f| held(f).filter(|h| !h.is_empty())).await.len(), 64);
    server.run::<()>(&["SADD", "many", &members[7]]);
    w.found("many", |_, f| (shape(f)? == Shape::Set).then_some(())).await;

    // A small set that grows beyond measure is fetched once at most.
    server.run::<()>(&["SADD", "set", &medallion(1)]);
    w.found("set", |_, f| held(f).filter(|h| h.len() == 1)).await;
    let mut client = server.client();
    let mut fill = redis::cmd("SADD");
    fill.arg("set");
    (0..100_000).for_each(|n| {
        fill.arg(n);
    });
    fill.exec(&mut client).unwrap();
    w.found("set", |_, f| (shape(f)? == Shape::Set).then_some(())).await;
    let before = sent(&server);
    for _ in 0..10 {
        w.sweep().await;
    }
    let more = sent(&server) - before;
    assert!(more < 1 << 20, "{more} bytes in ten sweeps");
    server.run::<()>(&["DEL", "set"]);
    w.found("set", |_, f| matches!(f, Found::Absent).then_some(())).await;
    server.run::<()>(&["SADD", "set", &medallion(2)]);
    w.found("set", |b, f| held(f).filter(|h| h[0].0 == medallion(2) && b.connection == 1)).await;
}

#[tokio::test]
async fn huge_members_cost_one_poll_and_their_own_key() {
    let server = Server::start(&[]);
    server.run::<()>(&["ZADD", "good", "4102444800000", &symfony(1)]);
    server.run::<()>(&["ZADD", "zset", "1", &"z".repeat(17 << 20)]);
    server.run::<()>(&["SADD", "good-set", &medallion(1)]);
    server.run::<()>(&["SADD", "large", &"s".repeat(1 << 20)]);
    let names = ["good", "zset", "good-set", "large"];
    let mut w = Watch::start(store(server.port, names.iter().map(one).collect()));
    w.found("zset", |_, f| (shape(f)? == Shape::Zset).then_some(())).await;
    w.found("large", |_, f| (shape(f)? == Shape::Set).then_some(())).await;
    let connection = w.found("good", |b, f| held(f).map(|_| b.connection)).await;
    assert!(connection <= 2, "one poll failed at most: {connection}");
    let before = sent(&server);
    for _ in 0..5 {
        w.sweep().await;
    }
    w.found("good-set", |b, f| held(f).filter(|h| h.len() == 1 && b.connection == connection))
        .await;
    let more = sent(&server) - before;
    assert!(more < 1 << 20, "{more} bytes in five sweeps");
    server.run::<()>(&["DEL", "zset"]);
    w.found("zset", |_, f| matches!(f, Found::Absent).then_some(())).await;
    server.run::<()>(&["ZADD", "zset", "4102444800000", &symfony(2)]);
    w.found("zset", |_, f| held(f).filter(|h| h.len() == 1)).await;
}

#[tokio::test]
async fn types_that_change_at_any_moment_are_read_as_what_they_are() {
    let server = Server::start(&[]);
    let mut w =
        Watch::with(store(server.port, vec![one("k")]), Duration::from_millis(50), Duration::MAX);
    let (zset, set) = (symfony(1), medallion(1));
    let hash = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47";
    let kinds: [(&[&str], Shape); 6] = [
        (&["ZADD", "k", "4102444800000", &zset], Shape::Zset),
        (&["SET", "k", "text"], Shape::Text),
        (&["SADD", "k", &set], Shape::Set),
        (&["RPUSH", "k", "x"], Shape::List),
        (&["HSET", "k", hash, "1"], Shape::OwnerHash),
        (&["XADD", "k", "*", "a", "b"], Shape::Other),
    ];
    // Each after each other, with no moment without the key for the poller to see.
    for (i, from) in kinds.iter().enumerate() {
        for (j, to) in kinds.iter().enumerate().filter(|(j, _)| *j != i) {
            for (words, shape) in [from, to] {
                let mut both = redis::pipe();
                both.atomic().cmd("DEL").arg("k").ignore();
                let mut words = words.iter();
                both.cmd(words.next().unwrap());
                words.for_each(|w| {
                    both.arg(*w);
                });
                both.exec(&mut server.client()).unwrap();
                w.found("k", |b, f| {
                    assert_eq!(b.connection, 1, "{i} {j}");
                    (value(f)?.shape == *shape).then_some(())
                })
                .await;
            }
        }
    }
}

#[tokio::test]
async fn values_of_every_type_that_somebody_chose_to_do_harm() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let odd: &[&[u8]] = &[b"", b"\0", b"\r\n$5\r\n", b"\xff\xfe", b"*1\r\n:1\r\n", b"__write__"];
    for (i, member) in odd.iter().enumerate() {
        for (j, score) in ["-inf", "+inf", "0", "1e308", "-0", "5e-324"].iter().enumerate() {
            let key = format!("lock:z{i}:{j}");
            redis::cmd("ZADD").arg(key).arg(score).arg(*member).exec(&mut client).unwrap();
        }
        redis::cmd("SADD").arg(format!("lock:s{i}")).arg(*member).exec(&mut client).unwrap();
        redis::cmd("HSET")
            .arg(format!("lock:h{i}"))
            .arg(*member)
            .arg("")
            .exec(&mut client)
            .unwrap();
        redis::cmd("RPUSH").arg(format!("lock:l{i}")).arg(*member).exec(&mut client).unwrap();
    }
    for (key, count) in [("lock:many-z", 200_000), ("lock:z64", 64), ("lock:z65", 65)] {
        let mut fill = redis::cmd("ZADD");
        fill.arg(key);
        (0..count).for_each(|n| {
            fill.arg(n).arg(n);
        });
        fill.exec(&mut client).unwrap();
    }
    server.run::<()>(&["ZADD", "lock:good", "4102444800000", &symfony(1)]);
    server.run::<()>(&["PEXPIRE", "lock:good", "60000"]);
    let keys: usize = server.run(&["DBSIZE"]);
    let mut w = Watch::start(store(server.port, vec![many("lock:*", 1000)]));
    let mut seen = std::collections::BTreeSet::new();
    w.until("all keys", |_, o| {
        if let Observation::Batch(batch) = o {
            assert_eq!(batch.connection, 1, "no poll fails");
            let is_read = |r: &&KeyRead| value(&r.found).is_some();
            seen.extend(batch.reads.iter().filter(is_read).map(|r| r.key));
        }
        (seen.len() == keys).then_some(())
    })
    .await;
    w.found("lock:good", |_, f| held(f).filter(|h| h.len() == 1)).await;
    w.found("lock:many-z", |_, f| (shape(f)? == Shape::Zset).then_some(())).await;
}
