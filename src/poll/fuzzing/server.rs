//! What a server says of itself, of other servers and of its clients: against redis-rs where that reads it too, and never
//! more, longer or less printable than is shown.

use redis::{FromRedisValue, InfoDict};

use super::is_address;
use crate::config::RedisAddr;
use crate::observe::label;
use crate::observe::node::{NodeRef, Role};
use crate::observe::{Mono, Span, StoreId};
use crate::poll::redis::clients::parse::clients;
use crate::poll::redis::cluster::map::SlotMap;
use crate::poll::redis::cluster::redirect::Redirect;
use crate::poll::redis::codec::{Scanner, Walk};
use crate::poll::redis::failure::Failure;
use crate::poll::redis::sentinel::answer;
use crate::poll::redis::{info, role};

/// What stands behind the first word of an error that must not be told.
const SECRET: &str = "hunter2-canary";
/// Characters of a sentence at most: each that is quoted may be an escape of three bytes.
const MOST_QUOTED: usize = 13 * label::MAX_CHARS;

/// Any bytes as a text or a reply of a server.
pub fn server(bytes: &[u8]) {
    error(bytes);
    client_list(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        about_itself(text);
    }
    if let Ok(Some(end)) = Scanner::at(0).advance(bytes) {
        let frame = bytes.get(..end).unwrap_or_default();
        role_of(frame);
        slots(frame);
        sentinels(frame);
    }
}

/// An error, to a command and to one whose arguments are secret.
fn error(bytes: &[u8]) {
    let plain = Failure::server("PING", bytes);
    assert!(is_sentence(&plain.detail), "{plain:?}");
    let secret = [bytes, b" ", SECRET.as_bytes()].concat();
    let told = Failure::server_secret("AUTH", &secret).detail;
    assert!(!told.contains(SECRET), "{told}");
    assert_eq!(plain.reason, Failure::server_secret("AUTH", bytes).reason);
    if let Some(Redirect::Ask(Some(addr))) = Redirect::read(bytes, "asked") {
        assert!(is_address(&addr), "{addr:?}");
    }
}

/// Of one line, and no longer than what is quoted and what is to be done about it.
fn is_sentence(text: &str) -> bool {
    text.chars().count() <= MOST_QUOTED && !text.chars().any(char::is_control)
}

/// The lines of `CLIENT LIST`.
fn client_list(bytes: &[u8]) {
    let all = clients(bytes);
    for c in &all {
        assert!(!c.addr.is_empty(), "{c:?}");
        let words = [&c.addr, &c.to, &c.name, &c.library, &c.library_version, &c.user];
        let words = words.into_iter().chain([&c.command, &c.flags]);
        assert!(words.into_iter().all(|w| is_word(w, 128)), "{c:?}");
    }
    let numbered = bytes.split(|b| *b == b'\n').filter(|l| l.windows(3).any(|w| w == b"id="));
    assert!(all.len() <= numbered.count(), "one without a number is none");
    assert_eq!(clients(&[bytes, b"\nnothing\n"].concat()), all, "what is no line is left out");
}

/// A part of a label.
fn is_word(text: &str, most: usize) -> bool {
    text.chars().count() <= most && !text.chars().any(char::is_control)
}

/// The text of `INFO`.
fn about_itself(text: &str) {
    let node = NodeRef { store: StoreId(0), line: Default::default(), addr: "a:1".into() };
    let span = Span { sent: Mono(1), done: Mono(2) };
    let origin = info::Origin { node, connection: 1, span, time: None, db: 0 };
    let f = info::facts(text, origin.clone());
    assert!([&f.version, &f.flavor, &f.mode].into_iter().all(|w| is_word(w, 64)), "{f:?}");
    let ids = [&f.run_id, &f.replid, &f.replid2, &f.maxmemory_policy];
    assert!(ids.into_iter().flatten().all(|w| is_word(w, 64)), "{f:?}");
    assert!(f.replicas.len() <= 64 && f.replicas.iter().all(|(a, _)| is_address(a)), "{f:?}");
    assert!(f.primary.iter().all(|a| is_address(a)), "{f:?}");
    assert!(f.primary.is_none() || matches!(f.role, Role::Replica { .. }));
    assert!(f.flushes.is_none_or(|n| n.swaps <= n.one), "{f:?}");
    info::execs(text);
    let reference = InfoDict::new(text);
    let number =
        |name: &str| reference.get::<String>(name).and_then(|n| n.trim_end().parse::<u64>().ok());
    // A name without a value is none to redis-rs, and one that is empty here.
    let is_bare = |name: &str| text.lines().any(|l| l.trim_end() == name);
    for (name, own) in [
        ("evicted_keys", f.evicted_keys),
        ("expired_keys", f.expired_keys),
        ("maxmemory", f.maxmemory),
        ("connected_slaves", f.connected_replicas),
        ("connected_clients", f.connected_clients),
        ("second_repl_offset", f.second_offset),
        ("rdb_last_load_keys_loaded", f.loaded_keys),
    ] {
        assert!(own == number(name) || is_bare(name), "{name}: {own:?}");
    }
    if f.role == Role::Master && !is_bare("master_repl_offset") {
        assert_eq!(f.offset, number("master_repl_offset"));
    }
    let more = info::facts(&format!("{text}\r\nof_a_later_version:1\r\n"), origin);
    assert_eq!(format!("{more:?}"), format!("{f:?}"), "a field that nobody knows does not matter");
}

/// The reply to `ROLE`: what redis-rs takes for one is that one.
fn role_of(frame: &[u8]) {
    let mut walk = Walk::new(frame);
    let own = role::read(&mut walk);
    assert!(own.is_none() || walk.rest() == 0, "the element is passed over whole");
    assert!(own.is_none_or(|(_, offset)| offset.is_none_or(|n| i64::try_from(n).is_ok())));
    let Ok(value) = redis::parse_redis_value(frame) else { return };
    let is_array = matches!(value, redis::Value::Array(_));
    let Ok(reference) = redis::Role::from_redis_value(value) else { return };
    let Some((role, offset)) = own.filter(|_| is_array) else { return };
    match reference {
        redis::Role::Primary { replication_offset, .. } => {
            assert!(role == Role::Master || role == Role::Unknown);
            assert!(role == Role::Unknown || offset == Some(replication_offset));
        }
        redis::Role::Replica { replication_state, data_received, .. } => {
            if let Role::Replica { linked } = role {
                assert_eq!(linked, replication_state == "connected");
                assert_eq!(offset, Some(data_received));
            } else {
                assert_eq!(role, Role::Unknown);
            }
        }
        redis::Role::Sentinel { .. } => assert_eq!(role, Role::Sentinel),
        other => panic!("{other:?}"),
    }
}

/// The reply to `CLUSTER SLOTS`: every slot has a shard of the list or none.
fn slots(frame: &[u8]) {
    let Ok(map) = SlotMap::read(&mut Walk::new(frame), "asked") else { return };
    assert!(map.shards.len() <= 256);
    let owners = (0..16384).step_by(97).map(|slot| map.owner(slot));
    assert!(owners.flatten().all(|shard| shard < map.shards.len()) && map.unassigned() <= 16384);
    assert_eq!(map.owner(16384), None);
    for member in map.shards.iter().flat_map(|s| s.members()) {
        assert!(is_tcp(&member.addr) && is_address(&member.name), "{member:?}");
        assert!(!member.id.is_empty() && is_word(&member.id, 320), "{member:?}");
    }
    assert!(map.shards.iter().all(|s| s.replicas.len() <= 16));
}

/// The replies of a sentinel.
fn sentinels(frame: &[u8]) {
    match answer::primary(Walk::new(frame)) {
        Ok(primary) => assert!(primary.iter().all(is_tcp), "{primary:?}"),
        Err(e) => assert!(is_sentence(&e.detail), "{e:?}"),
    }
    if let Some(all) = answer::instances(Walk::new(frame)) {
        assert!(all.len() <= 64 && all.iter().all(is_tcp), "{all:?}");
    }
}

/// A path would be a server on our own host, and not the one that is meant.
fn is_tcp(addr: &RedisAddr) -> bool {
    matches!(addr, RedisAddr::Tcp { port: 1.., .. })
}
