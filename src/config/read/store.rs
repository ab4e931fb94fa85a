//! Reads one entry of `stores`. Knows nothing of what a server says.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::checks;
use super::super::cursor::Cursor;
use super::super::model::{LockConfig, LockKeys, Store};
use super::super::redis_url;
use super::super::unknown::variable;
use super::{lock, noted, password, tls};

/// Reads a store.
pub(super) fn read(name: &str, at: &Cursor<'_>) -> Option<Store> {
    at.require("url", "add it, such as `redis://127.0.0.1:6379`");
    let password_variable = variable(&format!("{}.password", at.path));
    let url =
        at.text("url").and_then(|u| noted(at, "url", redis_url::parse(u, &password_variable)));
    let mut replicas = Vec::new();
    for item in at.texts("replicas") {
        match checks::host_port(item.text) {
            Ok(()) if replicas.iter().any(|r| r == item.text) => {
                item.wrong("is listed twice", "remove one of the two");
            }
            Ok(()) => replicas.push(item.text.to_owned()),
            Err((reason, fix)) => item.wrong(reason, fix),
        }
    }
    // Both topologies of this version are watched alike: from the URL, with the replicas that are found.
    at.one_of("topology");
    let entries = at.list("locks");
    let mut seen = Seen::default();
    let mut locks = Vec::new();
    let mut complete = true;
    for below in &entries {
        match lock::read(below) {
            Some(lock) => {
                seen.check(&lock, below);
                locks.push(lock);
            }
            None => complete = false,
        }
    }
    let store = Store {
        name: name.into(),
        replicas,
        username: at.text("username").map(str::to_owned),
        password: password(at),
        tls: tls(at, url.as_ref().map(|u| u.tls), "rediss://"),
        connect_timeout: at.duration("connect_timeout").unwrap_or(Duration::from_secs(1)),
        response_timeout: at.duration("response_timeout").unwrap_or(Duration::from_secs(1)),
        locks,
        url: url?,
    };
    complete.then_some(store)
}

/// Where names, keys and patterns were seen first. Two entries for one lock would write the same series twice.
#[derive(Default)]
struct Seen {
    names: BTreeMap<String, String>,
    keys: BTreeMap<Vec<u8>, String>,
    patterns: BTreeMap<(Vec<u8>, Option<String>), String>,
}

impl Seen {
    fn check(&mut self, lock: &LockConfig, at: &Cursor<'_>) {
        let twice = |key: &str, first: Option<String>| {
            if let Some(first) = first {
                at.wrong(
                    key,
                    format!("is the same as that of `{first}`"),
                    "change or remove one of them",
                );
            }
        };
        match &lock.keys {
            LockKeys::One { name, key } => {
                twice("name", self.names.insert(name.to_string(), at.path.clone()));
                twice("key", self.keys.insert(key.clone(), at.path.clone()));
            }
            LockKeys::Matching { pattern, capture, .. } => {
                let capture = capture.as_ref().map(|c| c.0.as_str().to_owned());
                twice("match", self.patterns.insert((pattern.clone(), capture), at.path.clone()));
            }
        }
    }
}
