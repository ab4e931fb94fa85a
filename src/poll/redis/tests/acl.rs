//! A user that may only read, and keys that it may not.

use std::time::Duration;

use super::support::*;
use crate::config::{Events, Password, RedisPart, Slowlog};
use crate::observe::lock::Unreadable;
use crate::observe::node::FailReason;
use crate::observe::{Found, Observation, Role};
use crate::poll::redis::handshake::version_at_least;
use crate::poll::redis::{PartRequest, PartValue};
use crate::secret::Secret;

/// What the README grants on 7.0, for keys of these tests.
fn read_only() -> String {
    let readme = include_str!("../../../../README.md");
    let line = readme.lines().find_map(|l| l.strip_prefix("ACL SETUSER dlock "));
    line.expect("the README has the line").replace("PASSWORD", "pw")
}

fn reader(port: u16, user: &str, locks: Vec<crate::config::LockConfig>) -> crate::config::Store {
    let mut s = store(port, locks);
    s.username = Some(user.into());
    s.password = Password::Value(Secret::new("pw"));
    s
}

fn add_user(server: &Server, name: &str, rules: &str) {
    let mut args = vec!["ACL", "SETUSER", name];
    args.extend(rules.split_whitespace());
    server.run::<()>(&args);
    // 7.2 has it and the README's line for that version names it.
    let more = redis::cmd("ACL")
        .arg("SETUSER")
        .arg(name)
        .arg("+client|no-touch")
        .exec(&mut server.client());
    assert_eq!(more.is_ok(), version_at_least(&server.version(), 7, 2), "{more:?}");
}

#[tokio::test]
async fn nothing_is_sent_that_a_reader_may_not() {
    let server = Server::start(&[]);
    // The keys beside these locks as well, as the README says.
    add_user(&server, "reader", &format!("{} %R~redisson_* %R~bull:*", read_only()));
    for (key, value) in [("lock:a", "w1"), ("lock:n", "7"), ("hb:w1", "1")] {
        server.run::<()>(&["SET", key, value, "EX", "100"]);
    }
    server.run::<()>(&["SET", "lock:long", &"x".repeat(2000)]);
    server.run::<()>(&["HSET", "lock:h", "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:47", "1"]);
    server.run::<()>(&["RPUSH", "lock:l", "x"]);
    server.run::<()>(&["ZADD", "lock:z", "4102444800000", "x"]);
    server.run::<()>(&["SADD", "lock:s", "x"]);
    server.run::<()>(&["SET", "bull:q:1:lock", "fac79ce7-2b1c-4f0e-8a3c-1d2e3f405162:1"]);
    server.run::<()>(&["HSET", "bull:q:1", "pb", "worker-1"]);
    server.run::<()>(&["HSET", "lock:owners", "w1", "worker-1"]);
    server.run::<()>(&["CONFIG", "RESETSTAT"]);
    let locks = vec![one("lock:a"), many("lock:*", 100), many("bull:*:lock", 10)];
    let mut s = reader(server.port, "reader", locks);
    s.owner_index = Some("lock:owners".into());
    s.events = Events::Auto;
    s.slowlog = Slowlog::Auto;
    let mut w = Watch::start(s);
    for name in ["lock:a", "lock:h", "lock:long", "bull:q:1:lock"] {
        w.found(name, |_, f| token(f)).await;
    }
    for name in ["lock:l", "lock:z", "lock:s"] {
        w.found(name, |_, f| matches!(f, Found::Present { .. }).then_some(())).await;
    }
    w.handle.read_keys(vec![w.key("lock:a").unwrap()], Watch::now());
    let parts = [
        PartRequest { key: b"hb:w1".to_vec(), part: RedisPart::Text },
        PartRequest { key: b"lock:h".to_vec(), part: RedisPart::Field("f".into()) },
        PartRequest { key: b"lock:none".to_vec(), part: RedisPart::Member("m".into()) },
        PartRequest { key: b"hb:w1".to_vec(), part: RedisPart::Exists },
    ];
    w.handle.read_parts(parts.to_vec()).await.unwrap();
    for _ in 0..3 {
        w.sweep().await;
    }
    let granted = read_only();
    let granted: Vec<&str> =
        granted.split_whitespace().filter_map(|w| w.strip_prefix('+')).collect();
    // What the test itself sends, and what 7.2 has besides.
    let others = ["acl|log", "config|resetstat", "client|setinfo", "client|no-touch"];
    // What older servers are asked instead, and what another database takes.
    let elsewhere = ["auth", "client|setname", "pttl", "select"];
    let ran: Vec<String> = server.commands().into_iter().map(|(name, ..)| name).collect();
    let unused: Vec<&&str> = granted.iter().filter(|g| !ran.iter().any(|r| r == *g)).collect();
    assert!(unused.iter().all(|g| elsewhere.contains(g)), "granted for nothing: {unused:?}");
    for (command, calls, bad) in server.commands() {
        let command = command.as_str();
        let is_known = granted.contains(&command) || others.contains(&command);
        assert!(is_known, "{command} ran {calls} times");
        let ours = command != "client|setinfo";
        assert!(!ours || bad == 0, "{command} failed {bad} times");
    }
    assert_eq!(server.run::<Vec<redis::Value>>(&["ACL", "LOG"]).len(), 0, "nothing was refused");
}

#[tokio::test]
async fn refused_keys_cost_only_themselves_and_are_left_alone() {
    let server = Server::start(&[]);
    add_user(&server, "reader", &read_only());
    let mut locks = Vec::new();
    for i in 0..120 {
        let key = if i % 40 == 7 { format!("other:{i}") } else { format!("lock:{i}") };
        server.run::<()>(&["SET", &key, "w"]);
        locks.push(one(key));
    }
    let mut w = Watch::start(reader(server.port, "reader", locks));
    w.found("lock:6", |_, f| token(f)).await;
    w.found("lock:119", |_, f| token(f)).await;
    let refused = |f: &Found| matches!(f, Found::Unreadable(Unreadable::Permission));
    w.found("other:7", |b, f| (refused(f) && b.role == Role::Master).then_some(())).await;
    w.found("other:87", |_, f| refused(f).then_some(())).await;
    let denials = || server.commands().iter().map(|(_, _, bad)| bad).sum::<u64>();
    w.sweep().await;
    let before = denials();
    for _ in 0..5 {
        w.sweep().await;
        w.found("other:47", |_, f| refused(f).then_some(())).await;
        w.found("lock:8", |_, f| token(f)).await;
    }
    assert_eq!(denials(), before, "no refusal is provoked again and again");

    let part = PartRequest { key: b"other:7".to_vec(), part: RedisPart::Text };
    for _ in 0..3 {
        let reply = w.handle.read_parts(vec![part.clone()]).await.unwrap();
        assert_eq!(reply.values, [PartValue::Unreadable(Unreadable::Permission)]);
    }
    assert_eq!(denials(), before + 2, "GETRANGE and PEXPIRETIME once");
}

#[tokio::test]
async fn rights_that_go_while_we_read_cost_only_their_keys() {
    let server = Server::start(&[]);
    add_user(&server, "reader", &read_only());
    let locks: Vec<_> = (0..60).map(|i| one(format!("lock:{i}"))).collect();
    (0..60).for_each(|i| server.run::<()>(&["SET", &format!("lock:{i}"), "w"]));
    let mut w = Watch::start(reader(server.port, "reader", locks));
    w.found("lock:59", |_, f| token(f)).await;
    // From now on only keys that end in an even digit.
    let mut args = vec!["ACL", "SETUSER", "reader", "resetkeys"];
    let patterns: Vec<String> = (0..5).map(|d| format!("%R~lock:*{}", d * 2)).collect();
    args.extend(patterns.iter().map(String::as_str));
    server.run::<()>(&args);
    for i in 0..60 {
        let name = format!("lock:{i}");
        let want = i % 2 == 0;
        w.found(&name, |_, f| {
            let refused = matches!(f, Found::Unreadable(Unreadable::Permission));
            (if want { token(f).is_some() } else { refused }).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn optional_commands_are_tried_once_and_told() {
    let server = Server::start(&[]);
    let poor =
        "on >pw resetchannels %R~* -@all +mget +pttl +type +strlen +multi +exec +time +hello +auth";
    add_user(&server, "poor", poor);
    server.run::<()>(&["SET", "lock:a", "w", "EX", "100"]);
    let mut s = reader(server.port, "poor", vec![one("lock:a")]);
    s.connect_timeout = Duration::from_secs(5);
    let mut w = Watch::start(s);
    let facts = w.facts().await;
    assert_eq!((facts.role, facts.version.as_str()), (Role::Unknown, server.version().as_str()));
    for command in ["config|get", "info", "pexpiretime", "role"] {
        assert!(facts.permissions.contains(&(command, true)), "{command}: {:?}", facts.permissions);
    }
    assert!(facts.permissions.contains(&("hello", false)));
    w.found("lock:a", |b, f| (token(f)? == b"w" && b.role == Role::Unknown).then_some(())).await;
    let denials = || server.commands().iter().map(|(_, _, bad)| bad).sum::<u64>();
    w.sweep().await;
    let before = denials();
    for _ in 0..3 {
        w.sweep().await;
    }
    assert_eq!(denials(), before);
}

#[tokio::test]
async fn without_exec_the_node_fails_and_says_so() {
    let server = Server::start(&[]);
    add_user(&server, "reader", &read_only().replace(" +exec", ""));
    server.run::<()>(&["SET", "lock:a", "w"]);
    let mut w = Watch::start(reader(server.port, "reader", vec![one("lock:a")]));
    let why = w
        .until("a failure for lack of EXEC", |_, o| match o {
            Observation::NodeFailed(f) => Some((f.reason, f.detail.clone())),
            _ => None,
        })
        .await;
    assert_eq!(why.0, FailReason::Permission);
    assert!(why.1.contains("EXEC"), "{}", why.1);
}
