//! Reads one entry of `stores`. Knows nothing of what a server says.

use std::time::Duration;

use super::super::checks;
use super::super::cursor::Cursor;
use super::super::model::{Events, Store};
use super::super::redis_url;
use super::super::unknown::variable;
use super::clock::{self, Clocks};
use super::lock::Around;
use super::seen::Seen;
use super::{Told, lock, noted, password, tls};

/// Reads a store, and adds what its locks tell.
pub(super) fn read(
    name: &str,
    at: &Cursor<'_>,
    known: &Clocks,
    told: &mut Told,
    around: Around<'_>,
) -> Option<Store> {
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
    let clocks = clock::of_nodes(at, known);
    let index = owner_index(at);
    if index.is_some() {
        // It may name any worker; what else a token tells is not known.
        told.holders.worker = true;
    }
    let entries = at.list("locks");
    let mut seen = Seen::default();
    let mut locks = Vec::new();
    let mut complete = true;
    if at.unusable("locks") || at.misspelt("locks") {
        told.doubt();
    }
    let has_index = at.has("owner_index") || at.misspelt("owner_index");
    let around = Around { has_index, ..around };
    for below in &entries {
        match lock::read(below, &mut seen, told, around) {
            Some(lock) => locks.push(lock),
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
        events: events(at),
        owner_index: index,
        clocks: clocks?,
        locks,
        url: url?,
    };
    complete.then_some(store)
}

fn events(at: &Cursor<'_>) -> Events {
    match at.one_of("events") {
        Some("tracking") => Events::Tracking,
        Some("notifications") => Events::Notifications,
        Some("off") => Events::Off,
        _ => Events::Auto,
    }
}

/// The hash that names the worker of each token.
fn owner_index(at: &Cursor<'_>) -> Option<String> {
    let below = at.table("owner_index")?;
    below.require("key", "add the hash whose fields are tokens and whose values are workers");
    below.text("key").map(str::to_owned)
}
