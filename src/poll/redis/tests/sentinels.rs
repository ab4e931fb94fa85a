//! Sentinels that are not what they should be, played by a few lines of RESP in front of a real server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::support::{Server, Watch, one, store};
use crate::config::{Password, Sentinels, Store, Topology};
use crate::observe::node::FailReason;
use crate::observe::{Observation, Role};

/// Bulk strings in a list.
fn list(words: &[&str]) -> String {
    let each = words.iter().map(|w| format!("${}\r\n{w}\r\n", w.len()));
    format!("*{}\r\n{}", words.len(), each.collect::<String>())
}

/// Servers or sentinels of these ports, as flat lists.
fn instances(ports: impl Iterator<Item = u16>) -> String {
    let each: Vec<String> =
        ports.map(|p| list(&["ip", "127.0.0.1", "port", &p.to_string(), "flags", "x"])).collect();
    format!("*{}\r\n{}", each.len(), each.concat())
}

/// What a sentinel answers to each question.
#[derive(Clone)]
struct Answers {
    primary: String,
    replicas: String,
    sentinels: String,
}

/// A server that answers like a sentinel of RESP2; gives its port.
async fn sentinel(answers: Answers) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answers = answers.clone();
            tokio::spawn(async move {
                let mut buf = vec![0; 16 << 10];
                while let Ok(n @ 1..) = stream.read(&mut buf).await {
                    let text = String::from_utf8_lossy(&buf[..n]).into_owned();
                    let mut reply = String::new();
                    for word in text.split("\r\n") {
                        reply += match word {
                            "HELLO" => "-ERR unknown command `HELLO`\r\n",
                            "CLIENT" => "+OK\r\n",
                            "INFO" => "$21\r\nredis_mode:sentinel\r\n\r\n",
                            "GET-MASTER-ADDR-BY-NAME" => &answers.primary,
                            "REPLICAS" => &answers.replicas,
                            "SENTINELS" => &answers.sentinels,
                            _ => "",
                        };
                    }
                    if stream.write_all(reply.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

fn behind(port: u16) -> Store {
    let sentinels =
        Sentinels { master: "m".into(), username: None, password: Password::None, tls: None };
    let topology = Topology::Sentinel(Box::new(sentinels));
    Store { topology, ..store(port, vec![one("lock:a")]) }
}

fn named(server: &Server) -> String {
    list(&["127.0.0.1", &server.port.to_string()])
}

#[tokio::test]
async fn one_that_names_a_thousand_others_costs_a_bounded_number_of_series() {
    let server = Server::start(&[]);
    let answers = Answers {
        primary: named(&server),
        replicas: instances(1..600),
        sentinels: instances(600..1_000),
    };
    let port = sentinel(answers).await;
    let mut watch = Watch::start(behind(port));
    let at: Arc<str> = format!("127.0.0.1:{}", server.port).into();
    let mut failed = BTreeSet::new();
    let mut sweeps = 0;
    watch
        .until("ten sweeps of the primary", |_, o| {
            match o {
                Observation::NodeFailed(f) => drop(failed.insert(f.node.addr.clone())),
                Observation::SweepDone(s) if s.node.addr == at => sweeps += 1,
                _ => {}
            }
            (sweeps == 10).then_some(())
        })
        .await;
    // At most 32 servers and 16 sentinels; two of them answer.
    assert!((15..=46).contains(&failed.len()), "{}: {failed:?}", failed.len());
    let word = watch.until("their word", |_, o| match o {
        Observation::Sentinels(say) => Some(say.clone()),
        _ => None,
    });
    let word = word.await;
    assert_eq!((word.primary, word.is_majority), (Some(at), false), "one of sixteen answers");
}

#[tokio::test]
async fn what_a_sentinel_refuses_is_found_elsewhere_and_told() {
    let server = Server::start(&[]);
    let port = server.port.to_string();
    let replica = Server::start(&["--replicaof", "127.0.0.1", &port]);
    let refused = "-NOPERM this user has no permissions to run the 'sentinel' command\r\n";
    let answers =
        Answers { primary: named(&server), replicas: refused.into(), sentinels: refused.into() };
    let port = sentinel(answers).await;
    let mut watch = Watch::start(behind(port));
    let (mut is_told, mut is_found) = (false, false);
    watch
        .until("the refusal and the replica", |_, o| {
            if let Observation::Node(facts) = o {
                is_told |= facts.role == Role::Sentinel
                    && facts.permissions.contains(&("sentinel|replicas", true))
                    && facts.permissions.contains(&("sentinel|sentinels", true));
                is_found |= facts.node.addr.ends_with(&format!(":{}", replica.port));
            }
            (is_told && is_found).then_some(())
        })
        .await;
}

#[tokio::test]
async fn one_that_does_not_know_the_name_says_which_key_is_wrong() {
    for (primary, reason, words) in [
        ("*-1\r\n", FailReason::Missing, "no master `m`; write in `sentinel.master`"),
        ("-ERR unknown command `SENTINEL`\r\n", FailReason::Protocol, "this is no sentinel"),
        ("*2\r\n$1\r\n/\r\n$1\r\n0\r\n", FailReason::Protocol, "not answered as documented"),
    ] {
        let error = "-ERR No such master with that name\r\n";
        let answers =
            Answers { primary: primary.into(), replicas: error.into(), sentinels: error.into() };
        let mut watch = Watch::start(behind(sentinel(answers).await));
        let failed = watch.until("the failure", |_, o| match o {
            Observation::NodeFailed(f) => Some(f.clone()),
            _ => None,
        });
        let failed = failed.await;
        assert_eq!(failed.reason, reason, "{}", failed.detail);
        assert!(failed.detail.contains(words), "{}", failed.detail);
    }
}

#[tokio::test]
async fn one_that_answers_nothing_is_late_and_costs_nothing_else() {
    let server = Server::start(&[]);
    let answers =
        |sentinels| Answers { primary: named(&server), replicas: "*0\r\n".into(), sentinels };
    let silent = sentinel(Answers { primary: String::new(), ..answers(String::new()) }).await;
    let port = sentinel(answers(instances(std::iter::once(silent)))).await;
    let mut store = behind(port);
    store.response_timeout = Duration::from_millis(200);
    let mut watch = Watch::start(store);
    let late = watch.until("the failure", |_, o| match o {
        Observation::NodeFailed(f) => Some(f.clone()),
        _ => None,
    });
    let late = late.await;
    assert_eq!(
        (late.reason, late.node.addr.ends_with(&silent.to_string())),
        (FailReason::Timeout, true)
    );
    watch.sweep().await;
}
