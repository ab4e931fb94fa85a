//! Keys that belong to locks: there, missing, hostile, refused, many.

use std::collections::BTreeSet;
use std::time::Duration;

use super::support::*;
use crate::config::Password;
use crate::observe::lock::{CompanionRead, CompanionValue as V, Tells};
use crate::observe::{Expiry, Found, Observation, ServerTime};
use crate::secret::Secret;

const UUID: &str = "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162";
/// Far ahead of any server's clock.
const AHEAD: &str = "4102444800000";

fn owner(thread: usize) -> String {
    format!("{UUID}:{thread}")
}

fn hold(server: &Server, lock: &str) {
    server.run::<()>(&["HSET", lock, &owner(1), "1"]);
}

/// Waits for what is told beside a lock.
async fn told<T>(
    w: &mut Watch,
    lock: &str,
    mut pick: impl FnMut(&CompanionRead) -> Option<T>,
) -> T {
    w.until(lock, |w, o| match o {
        Observation::Companions(read) if w.key(lock) == Some(read.key) => {
            assert_eq!(read.store, ID);
            assert!(read.span.sent <= read.span.done && read.time > ServerTime(0));
            pick(read)
        }
        _ => None,
    })
    .await
}

fn value(read: &CompanionRead, tells: Tells) -> Option<V> {
    read.told.iter().find(|(t, _)| *t == tells).map(|(_, v)| v.clone())
}

/// Refused and failed commands.
pub fn errors(server: &Server) -> u64 {
    server.commands().iter().map(|(_, _, bad)| bad).sum()
}

fn count(n: i64) -> V {
    V::Number(n)
}

#[tokio::test]
async fn a_fenced_fair_lock_tells_its_token_and_who_waits() {
    let server = Server::start(&[]);
    hold(&server, "fair");
    server.run::<()>(&["PEXPIRE", "fair", "60000"]);
    let mut w = Watch::start(store(server.port, vec![one("fair")]));
    let of = |tells| move |r: &CompanionRead| value(r, tells);
    assert_eq!(told(&mut w, "fair", of(Tells::FencingToken)).await, V::Missing);
    assert_eq!(told(&mut w, "fair", of(Tells::Waiters)).await, count(0));
    server.run::<()>(&["SET", "redisson_lock_token:{fair}", "17"]);
    // Two wait; the third gave up long ago.
    let waiting = "redisson_lock_timeout:{fair}";
    for (deadline, n) in [(AHEAD, 2), (AHEAD, 3), ("1500000000000", 4)] {
        server.run::<()>(&["ZADD", waiting, deadline, &owner(n)]);
    }
    told(&mut w, "fair", |r| (value(r, Tells::FencingToken)? == count(17)).then_some(())).await;
    told(&mut w, "fair", |r| (value(r, Tells::Waiters)? == count(2)).then_some(())).await;

    // Nobody holds it: who waits is told all the same, and nothing else.
    server.run::<()>(&["DEL", "fair"]);
    w.found("fair", |_, f| matches!(f, Found::Absent).then_some(())).await;
    let free = told(&mut w, "fair", |r| Some(r.told.clone())).await;
    assert_eq!(free, [(Tells::Waiters, count(2))]);

    // Of another type they are left out and left alone.
    hold(&server, "fair");
    server.run::<()>(&["DEL", "redisson_lock_token:{fair}"]);
    server.run::<()>(&["RPUSH", "redisson_lock_token:{fair}", "17"]);
    // What is told until then may be of the time before it was held again.
    w.sweep().await;
    told(&mut w, "fair", |r| {
        (value(r, Tells::Waiters).is_some() && value(r, Tells::FencingToken).is_none())
            .then_some(())
    })
    .await;
    let before = errors(&server);
    for _ in 0..5 {
        w.sweep().await;
    }
    assert_eq!(errors(&server), before, "no error is provoked again and again");
}

#[tokio::test]
async fn each_readers_own_expiry_with_and_without_pexpiretime() {
    for old in [&[][..], &["--rename-command", "HELLO", "", "--rename-command", "PEXPIRETIME", ""]]
    {
        let server = Server::start(old);
        server.run::<()>(&["HSET", "rw", "mode", "read", &owner(1), "1", &owner(2), "1"]);
        server.run::<()>(&["HSET", "rw", &owner(3), "1"]);
        let key = |n| format!("{{rw}}:{}:rwlock_timeout:1", owner(n));
        server.run::<()>(&["SET", &key(1), "1", "PX", "50000"]);
        server.run::<()>(&["SET", &key(3), "1"]);
        let mut w = Watch::start(store(server.port, vec![one("rw")]));
        let holders = w
            .found("rw", |_, f| match f {
                Found::Present { value, .. } => Some(value.holders.clone()),
                _ => None,
            })
            .await;
        let read = told(&mut w, "rw", |r| Some(r.clone())).await;
        let of = |n: usize| {
            let at = holders.iter().position(|h| h.owner.token.bytes() == owner(n).as_bytes());
            value(&read, Tells::HolderExpiry(at.unwrap() as u16))
        };
        let Some(V::Until(Expiry::At(ends))) = of(1) else { panic!("{read:?}") };
        let left = ends.micros_since(read.time) as f64 / 1e6;
        assert!((20.0..=50.01).contains(&left), "{left}");
        assert_eq!(of(2), Some(V::Missing));
        assert_eq!(of(3), Some(V::Until(Expiry::Never)));
    }
}

#[tokio::test]
async fn a_jobs_worker_and_its_stall_and_a_field_that_is_huge() {
    let server = Server::start(&[]);
    for job in ["1", "2", "3"] {
        let token = format!("{UUID}:{job}");
        server.run::<()>(&["SET", &format!("bull:q:{job}:lock"), &token, "PX", "60000"]);
    }
    server.run::<()>(&["HSET", "bull:q:1", "pb", "mailer-7"]);
    server.run::<()>(&["HSET", "bull:q:2", "pb", &"x".repeat(20 << 20)]);
    server.run::<()>(&["SADD", "bull:q:stalled", "2"]);
    let mut w = Watch::start(store(server.port, vec![many("bull:*:lock", 100)]));
    let lock = |job: &str| format!("bull:q:{job}:lock");
    let one = told(&mut w, &lock("1"), |r| Some(r.told.clone())).await;
    assert_eq!(one, [(Tells::Worker, V::Text("mailer-7".into())), (Tells::Stalled, count(0))]);
    let two = told(&mut w, &lock("2"), |r| Some(r.told.clone())).await;
    assert_eq!(two, [(Tells::Stalled, count(1))]);
    let three = told(&mut w, &lock("3"), |r| Some(r.told.clone())).await;
    assert_eq!(three, [(Tells::Worker, V::Missing), (Tells::Stalled, count(0))]);
    w.found(&lock("2"), |b, f| token(f).filter(|_| b.connection == 1)).await;
    let sent: u64 = server.info("stats", "total_net_output_bytes").parse().unwrap();
    assert!(sent < 10 << 20, "the huge field was fetched: {sent}");
}

/// Where names may not be read that is said of each lock, or its worker would be looked for in vain.
#[tokio::test]
async fn a_jobs_worker_that_may_not_be_read_is_told_as_refused() {
    let server = Server::start(&[]);
    let readme = include_str!("../../../../README.md");
    let line = readme.lines().find_map(|l| l.strip_prefix("ACL SETUSER dlock ")).unwrap();
    let line = line.replace("PASSWORD", "pw").replace("%R~hb:*", "%R~bull:*:lock");
    let mut args = vec!["ACL", "SETUSER", "reader"];
    args.extend(line.split_whitespace());
    server.run::<()>(&args);
    let lock = |job: usize| format!("bull:q:{job}:lock");
    for job in 0..20 {
        server.run::<()>(&["SET", &lock(job), &format!("{UUID}:{job}"), "PX", "60000"]);
        server.run::<()>(&["HSET", &format!("bull:q:{job}"), "pb", "mailer-7"]);
    }
    let mut s = store(server.port, vec![many("bull:*:lock", 100)]);
    s.username = Some("reader".into());
    s.password = Password::Value(Secret::new("pw"));
    let mut w = Watch::start(s);
    for job in [0, 19] {
        told(&mut w, &lock(job), |r| (value(r, Tells::Worker)? == V::Refused).then_some(())).await;
    }
    server.run::<()>(&["ACL", "SETUSER", "reader", "%R~bull:*"]);
    w.handle.retry_refused();
    let named = V::Text("mailer-7".into());
    told(&mut w, &lock(19), |r| (value(r, Tells::Worker)? == named).then_some(())).await;
}

#[tokio::test]
async fn refused_companions_cost_no_lock_anything_and_are_left_alone() {
    let server = Server::start(&[]);
    let readme = include_str!("../../../../README.md");
    let line = readme.lines().find_map(|l| l.strip_prefix("ACL SETUSER dlock ")).unwrap();
    // The locks' own prefix only, and for one lock the companions too.
    let line = line.replace("PASSWORD", "pw").replace("%R~hb:*", "%R~redisson_*:{lock:7}");
    let mut args = vec!["ACL", "SETUSER", "reader"];
    args.extend(line.split_whitespace());
    server.run::<()>(&args);
    for n in 0..60 {
        hold(&server, &format!("lock:{n}"));
    }
    server.run::<()>(&["SET", "redisson_lock_token:{lock:7}", "9"]);
    server.run::<()>(&["CONFIG", "RESETSTAT"]);
    let mut s = store(server.port, vec![many("lock:*", 100)]);
    s.username = Some("reader".into());
    s.password = Password::Value(Secret::new("pw"));
    let mut w = Watch::start(s);
    w.found("lock:59", |b, f| token(f).filter(|_| b.connection == 1)).await;
    for _ in 0..3 {
        w.sweep().await;
    }
    let before = errors(&server);
    // The first step asks for a hundred at most.
    assert!((1..=120).contains(&before), "{before}");
    for _ in 0..10 {
        w.sweep().await;
    }
    assert_eq!(errors(&server), before, "no refusal is provoked again and again");
    w.found("lock:3", |b, f| token(f).filter(|_| b.connection == 1)).await;

    // Rights were granted, and a reload says so.
    server.run::<()>(&["ACL", "SETUSER", "reader", "%R~redisson_*"]);
    w.handle.retry_refused();
    told(&mut w, "lock:7", |r| (value(r, Tells::FencingToken)? == count(9)).then_some(())).await;
    told(&mut w, "lock:31", |r| (value(r, Tells::FencingToken)? == V::Missing).then_some(())).await;

    // A command is taken away: the others are still told, and it is tried once.
    server.run::<()>(&["ACL", "SETUSER", "reader", "-zcount"]);
    told(&mut w, "lock:7", |r| value(r, Tells::Waiters).is_none().then_some(())).await;
    w.sweep().await;
    let before = errors(&server);
    for _ in 0..5 {
        w.sweep().await;
    }
    assert_eq!(errors(&server), before);
    let told = told(&mut w, "lock:7", |r| Some(r.told.clone())).await;
    assert_eq!(told, [(Tells::FencingToken, count(9))]);
    let refused = |f: &crate::observe::NodeFacts| f.permissions.contains(&("zcount", true));
    w.until("the permission", |_, o| match o {
        Observation::Node(f) => refused(f).then_some(()),
        _ => None,
    })
    .await;
}

#[tokio::test]
async fn many_are_read_in_turns_and_never_one_by_one() {
    const LOCKS: usize = 1500;
    let server = Server::start(&[]);
    let mut pipe = redis::pipe();
    for n in 0..LOCKS {
        pipe.cmd("HSET").arg(format!("lock:{n}")).arg(owner(n)).arg(1).ignore();
    }
    pipe.exec(&mut server.client()).unwrap();
    let locks = vec![many("lock:*", LOCKS)];
    let mut w = Watch::with(store(server.port, locks), Duration::from_millis(300), Duration::MAX);
    let mut rounds: Vec<usize> = Vec::new();
    let mut seen: BTreeSet<_> = BTreeSet::new();
    w.until("all of them", |_, o| {
        match o {
            Observation::SweepDone(_) => rounds.push(0),
            Observation::Companions(read) => {
                *rounds.last_mut().expect("only after a sweep") += read.told.len();
                seen.insert(read.key);
            }
            _ => {}
        }
        (seen.len() == LOCKS).then_some(())
    })
    .await;
    assert!(rounds.iter().all(|n| *n <= 2000), "{rounds:?}");
    assert!(rounds.len() >= 2, "1500 locks with two each do not fit one round: {rounds:?}");

    // What the server counts: commands, and how often it read from a socket.
    let number = |field: &str| server.info("stats", field).parse::<u64>().unwrap();
    let of = |name: &str| server.commands().into_iter().find(|c| c.0 == name).map_or(0, |c| c.1);
    w.sweep().await;
    let (reads, tokens, times) = (number("total_reads_processed"), of("getrange"), of("time"));
    for _ in 0..4 {
        w.sweep().await;
    }
    let (reads, tokens, times) =
        (number("total_reads_processed") - reads, of("getrange") - tokens, of("time") - times);
    // Four rounds: 30 transactions, 20 pipelines beside the locks and the facts each.
    assert!(tokens > 2000, "{tokens}");
    assert!(times < 5 * 60, "{times} requests with a TIME in four rounds");
    assert!(reads < 5 * 80, "{reads} reads from sockets in four rounds over {LOCKS} locks");
}

#[tokio::test]
async fn what_belongs_to_a_lock_is_watched_only_by_its_own_key() {
    let server = Server::start(&[]);
    hold(&server, "fair");
    server.run::<()>(&["RPUSH", "redisson_lock_queue:{fair}", &owner(2)]);
    server.run::<()>(&["ZADD", "redisson_lock_timeout:{fair}", AHEAD, &owner(2)]);
    server.run::<()>(&["SET", "redisson_lock_token:{fair}", "17"]);
    let named = "redisson_lock_token:{fair}";
    let mut w = Watch::start(store(server.port, vec![one(named), many("*", 2)]));
    w.found("fair", |_, f| token(f)).await;
    w.found(named, |_, f| matches!(f, Found::Present { .. }).then_some(())).await;
    for _ in 0..3 {
        let next = w
            .until("a round of SCAN or a sweep", |_, o| match o {
                Observation::KeysDropped { counts, .. } => Some(Some(counts.clone())),
                Observation::SweepDone(_) => Some(None),
                _ => None,
            })
            .await;
        assert!(next.is_none_or(|counts| counts.iter().all(|c| c.1 == 0)));
    }
    let names: BTreeSet<_> = w.keys.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["fair", named]));
}
