//! Reads one entry of `stores`. Knows nothing of what a server says.

use std::time::Duration;

use super::super::checks;
use super::super::cursor::Cursor;
use super::super::model::{Clients, Events, RedisUrl, Slowlog, Store, Topology};
use super::super::redis_url;
use super::super::unknown::variable;
use super::clock::{self, Clocks};
use super::lock::Around;
use super::seen::Seen;
use super::{Told, cluster, lock, noted, password, quorum, sentinel, tls};

/// Words of `topology`.
const STANDALONE: &str = "standalone";
const SENTINEL: &str = "sentinel";
const CLUSTER: &str = "cluster";
const AUTO: &str = "auto";
const QUORUM: &str = "quorum";

/// Reads a store, and adds what its locks tell.
pub(super) fn read(
    name: &str,
    at: &Cursor<'_>,
    known: &Clocks,
    told: &mut Told,
    around: Around<'_>,
) -> Option<Store> {
    let word = topology(at);
    let (mut url, further_urls) = urls(at, word).unzip();
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
    if word == Some(CLUSTER) {
        cluster::check(at, url.as_ref(), &entries, &locks);
    }
    // Behind sentinels the table itself may be what asks for TLS.
    let speaks_tls = url.as_ref().map(|u: &RedisUrl| u.tls).filter(|_| word != Some(SENTINEL));
    let tls = tls(at, speaks_tls, "rediss://");
    let topology = match word {
        Some(SENTINEL) => sentinel::read(at, url.as_mut(), &tls),
        Some(QUORUM) => {
            sentinel::refuse(at);
            quorum::check(at);
            quorum::tell(&mut locks, at.texts("urls").len());
            Some(Topology::Quorum)
        }
        word => {
            // What the topology should have been is not known where it is wrong.
            word.inspect(|_| sentinel::refuse(at)).map(|word| match word {
                CLUSTER => Topology::Cluster,
                AUTO => Topology::Auto,
                _ => Topology::Standalone,
            })
        }
    };
    let store = Store {
        name: name.into(),
        replicas,
        username: at.text("username").map(str::to_owned),
        password: password(at),
        tls,
        connect_timeout: at.duration("connect_timeout").unwrap_or(Duration::from_secs(1)),
        response_timeout: at.duration("response_timeout").unwrap_or(Duration::from_secs(1)),
        events: events(at),
        clients: clients(at),
        slowlog: slowlog(at),
        owner_index: index,
        topology: topology?,
        further_urls: further_urls?,
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

fn clients(at: &Cursor<'_>) -> Clients {
    match at.one_of("clients") {
        Some("on") => Clients::On,
        Some("off") => Clients::Off,
        _ => Clients::Auto,
    }
}

fn slowlog(at: &Cursor<'_>) -> Slowlog {
    match at.one_of("slowlog") {
        Some("on") => Slowlog::On,
        Some("off") => Slowlog::Off,
        _ => Slowlog::Auto,
    }
}

/// How its servers belong together. `auto`, which is also meant where nothing is said, is what the server says: one of a
/// cluster, or else a primary with the replicas that are found.
fn topology(at: &Cursor<'_>) -> Option<&'static str> {
    match at.one_of("topology") {
        None if at.has("topology") => None,
        word => Some(word.unwrap_or(AUTO)),
    }
}

/// The addresses, of `url` or `urls`. They are of one kind: all with TLS or none, all with one database.
fn urls(at: &Cursor<'_>, topology: Option<&str>) -> Option<(RedisUrl, Vec<RedisUrl>)> {
    let is_sentinel = topology == Some(SENTINEL);
    let key = if is_sentinel { "sentinel.password" } else { "password" };
    let password_variable = variable(&format!("{}.{key}", at.path));
    let parse = |text: &str| match is_sentinel {
        true => redis_url::parse_for(text, &password_variable, sentinel::PORT),
        false => redis_url::parse(text, &password_variable),
    };
    let one = || at.text("url").and_then(|u| noted(at, "url", parse(u)));
    if !at.has("urls") {
        at.require(
            "url",
            match is_sentinel {
                true => {
                    "add the sentinels' as `urls`, such as `[redis://10.0.0.1, redis://10.0.0.2]`"
                }
                false => "add it, such as `redis://127.0.0.1:6379`",
            },
        );
        return one().map(|url| (url, Vec::new()));
    }
    if at.has("url") {
        at.wrong("url", "is set beside `urls`", "use one of the two");
        one();
    }
    let mut urls: Vec<RedisUrl> = Vec::new();
    let mut complete = true;
    let items = at.texts("urls");
    if items.len() > 1 && matches!(topology, Some(STANDALONE | AUTO)) {
        let fix = "give the primary in `url` and what it does not announce in `replicas`, or say `topology: cluster`";
        at.wrong(
            "urls",
            "has several addresses, and the servers are one primary with replicas",
            fix,
        );
    }
    if items.len() > sentinel::MOST && is_sentinel {
        let reason = format!("has more than {} addresses", sentinel::MOST);
        at.wrong("urls", reason, "give some; the others are found from them");
    }
    for item in items {
        match parse(item.text) {
            Err((reason, fix)) => item.wrong(reason, fix),
            Ok(url) if urls.iter().any(|u| u.addr.is_same(&url.addr)) => {
                item.wrong("is listed twice", "remove one of the two");
            }
            Ok(url) if urls.first().is_some_and(|u| (u.tls, u.db) != (url.tls, url.db)) => {
                item.wrong("differs from the first in TLS or database", "write all of them alike");
            }
            Ok(url) => {
                urls.push(url);
                continue;
            }
        }
        complete = false;
    }
    if at.is_empty_list("urls") {
        at.wrong("urls", "is empty", "add an address, such as `redis://127.0.0.1:6379`");
    }
    let mut urls = urls.into_iter();
    urls.next().filter(|_| complete).map(|first| (first, urls.collect()))
}

/// The hash that names the worker of each token.
fn owner_index(at: &Cursor<'_>) -> Option<String> {
    let below = at.table("owner_index")?;
    below.require("key", "add the hash whose fields are tokens and whose values are workers");
    below.text("key").map(str::to_owned)
}
