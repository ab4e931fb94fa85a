//! The owner index: whom it names, what is no name, and what is no index.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::beside::errors;
use super::support::*;
use crate::config::Store;
use crate::observe::Observation;

fn indexed(server: &Server, locks: usize) -> Store {
    let mut s = store(server.port, vec![many("lock:*", locks)]);
    s.owner_index = Some("lock:owners".into());
    s
}

/// Waits until the index was looked up for so many tokens.
async fn names(w: &mut Watch, tokens: usize) -> BTreeMap<Vec<u8>, Option<Arc<str>>> {
    let mut all = BTreeMap::new();
    w.until("owners", |_, o| {
        if let Observation::Owners(named) = o {
            assert!(named.store == ID && named.names.len() <= 300);
            let of = |(token, name): &(crate::observe::Token, Option<Arc<str>>)| {
                (token.bytes().to_vec(), name.clone())
            };
            all.extend(named.names.iter().map(of));
        }
        (all.len() >= tokens).then_some(())
    })
    .await;
    all
}

#[tokio::test]
async fn the_owner_index_names_whom_tokens_do_not() {
    let server = Server::start(&[]);
    for n in 0..230 {
        server.run::<()>(&["SET", &format!("lock:{n}"), &format!("opaque-{n}"), "EX", "100"]);
    }
    // One owner of two locks is asked for once.
    server.run::<()>(&["SET", "lock:again", "opaque-0", "EX", "100"]);
    let huge = "h".repeat(20 << 20);
    let mut fill = vec!["HSET", "lock:owners"];
    let pairs: Vec<(String, String)> =
        (0..120).map(|n| (format!("opaque-{n}"), format!("worker-{n}"))).collect();
    pairs.iter().for_each(|(token, name)| fill.extend([token.as_str(), name.as_str()]));
    fill.extend(["opaque-150", &huge, "opaque-151", "", "opaque-152", "a\nb"]);
    server.run::<()>(&fill);
    let mut w = Watch::start(indexed(&server, 300));
    let named = names(&mut w, 230).await;
    let of = |n: usize| named[format!("opaque-{n}").as_bytes()].as_deref();
    assert_eq!((of(0), of(119)), (Some("worker-0"), Some("worker-119")));
    assert_eq!([of(120), of(150), of(151), of(229)], [None; 4]);
    assert_eq!(of(152), Some("a\\x0ab"));
    // The index itself matches the pattern; it is a hash like any other and holds nothing.
    assert_eq!(named.len(), 230);
    let calls = |name: &str| server.commands().iter().find(|c| c.0 == name).map_or(0, |c| c.1);
    let before = (calls("hmget"), calls("hstrlen"));
    w.sweep().await;
    let named = names(&mut w, 230).await;
    assert_eq!(named.len(), 230);
    let after = (calls("hmget") - before.0, calls("hstrlen") - before.1);
    assert!(after.0 * 20 < after.1, "{after:?}: HMGET in pieces");
    w.found("lock:1", |b, f| token(f).filter(|_| b.connection == 1)).await;
}

#[tokio::test]
async fn an_index_that_is_no_hash_is_left_alone() {
    let server = Server::start(&[]);
    server.run::<()>(&["SET", "lock:1", "opaque", "EX", "100"]);
    server.run::<()>(&["SET", "lock:owners", "a string"]);
    let mut w = Watch::start(indexed(&server, 10));
    w.found("lock:1", |_, f| token(f)).await;
    for _ in 0..3 {
        w.sweep().await;
    }
    let before = errors(&server);
    assert!((1..=3).contains(&before), "{before}");
    for _ in 0..5 {
        w.sweep().await;
    }
    assert_eq!(errors(&server), before);
    server.run::<()>(&["DEL", "lock:owners"]);
    server.run::<()>(&["HSET", "lock:owners", "opaque", "worker-1"]);
    w.handle.retry_refused();
    let named = names(&mut w, 1).await;
    assert_eq!(named[b"opaque".as_slice()].as_deref(), Some("worker-1"));
    w.found("lock:1", |b, f| token(f).filter(|_| b.connection == 1)).await;
}
