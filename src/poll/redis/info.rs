//! The text of `INFO` to facts. Pure and tolerant: a field that is missing or not what it should be is `None`, because
//! managed services hide some, and forks rename others.

use std::borrow::Cow;

use super::batch_size::Execs;
use crate::observe::label;
use crate::observe::node::{Flushes, NodeFacts, NodeRef, Role};
use crate::observe::{ServerTime, Span};
use crate::secret;

/// Longest version, mode or policy that is kept; a server of ours writes a few characters.
const MAX_WORD: usize = 64;
/// Words by which something is decided, and beginnings of such.
const KNOWN: [&str; 5] = ["redis", "valkey", "standalone", "sentinel", "cluster"];
const POLICIES: [&str; 3] = ["noeviction", "allkeys-", "volatile-"];
/// Replicas that are taken from a primary's list at most.
const MAX_REPLICAS: usize = 64;

/// Which read of which node the text is from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Node.
    pub node: NodeRef,
    /// Its connection's number.
    pub connection: u64,
    /// When.
    pub span: Span,
    /// `TIME` beside it.
    pub time: Option<ServerTime>,
    /// The database that is ours.
    pub db: u32,
}

/// Facts of a node that shows nothing.
pub fn unknown(origin: Origin) -> NodeFacts {
    NodeFacts {
        node: origin.node,
        connection: origin.connection,
        span: origin.span,
        time: origin.time,
        version: String::new(),
        flavor: "redis".to_owned(),
        mode: "standalone".to_owned(),
        run_id: None,
        role: Role::Unknown,
        replid: None,
        replid2: None,
        second_offset: None,
        offset: None,
        primary: None,
        replicas: Vec::new(),
        connected_replicas: None,
        min_replicas_to_write: None,
        aof: None,
        loaded_keys: None,
        maxmemory: None,
        maxmemory_policy: None,
        evicted_keys: None,
        expired_keys: None,
        connected_clients: None,
        connections_received: None,
        rejected_connections: None,
        flushes: None,
        has_other_databases: None,
        permissions: Vec::new(),
    }
}

/// Reads the text of all sections that were asked for, in any order.
pub fn facts(text: &str, origin: Origin) -> NodeFacts {
    let ours = origin.db;
    let mut f = unknown(origin);
    let mut master_host = None;
    let mut master_port = None;
    let mut link_up = false;
    let mut role = "";
    let mut replica_offset = None;
    let mut flushes: Option<Flushes> = None;
    let mut others = None;
    for (key, value) in fields(text) {
        match key {
            "# Commandstats" => {
                flushes.get_or_insert_default();
            }
            "# Keyspace" => others = others.or(Some(false)),
            "redis_version" if f.version.is_empty() => f.version = word(value),
            "valkey_version" => {
                f.version = word(value);
                f.flavor = "valkey".to_owned();
            }
            "server_name" => f.flavor = word(value),
            "redis_mode" | "server_mode" => f.mode = word(value),
            "run_id" => f.run_id = id(value),
            "role" => role = value,
            "master_replid" => f.replid = id(value),
            "master_replid2" => f.replid2 = id(value),
            "second_repl_offset" => f.second_offset = value.parse().ok(),
            "master_repl_offset" => f.offset = value.parse().ok(),
            "slave_repl_offset" => replica_offset = value.parse().ok(),
            "master_host" => master_host = Some(value),
            "master_port" => master_port = Some(value),
            "master_link_status" => link_up = value == "up",
            "connected_slaves" => f.connected_replicas = value.parse().ok(),
            "aof_enabled" => f.aof = flag(value),
            "rdb_last_load_keys_loaded" => f.loaded_keys = value.parse().ok(),
            "maxmemory" => f.maxmemory = value.parse().ok(),
            "maxmemory_policy" => f.maxmemory_policy = Some(word(value)),
            "evicted_keys" => f.evicted_keys = value.parse().ok(),
            "expired_keys" => f.expired_keys = value.parse().ok(),
            "connected_clients" => f.connected_clients = value.parse().ok(),
            "total_connections_received" => f.connections_received = value.parse().ok(),
            "rejected_connections" => f.rejected_connections = value.parse().ok(),
            "cmdstat_flushall" => {
                let all = &mut flushes.get_or_insert_default().all;
                *all = all.saturating_add(calls(value));
            }
            "cmdstat_flushdb" | "cmdstat_swapdb" => {
                let flushes = flushes.get_or_insert_default();
                flushes.one = flushes.one.saturating_add(calls(value));
                if key == "cmdstat_swapdb" {
                    flushes.swaps = flushes.swaps.saturating_add(calls(value));
                }
            }
            _ if database(key, value).is_some_and(|db| db != ours) => others = Some(true),
            _ => f.replicas.extend(replica(key, value).filter(|_| f.replicas.len() < MAX_REPLICAS)),
        }
    }
    f.flushes = flushes;
    f.has_other_databases = others;
    f.role = match (f.mode.as_str(), role) {
        ("sentinel", _) => Role::Sentinel,
        (_, "master") => Role::Master,
        (_, "slave" | "replica") => Role::Replica { linked: link_up },
        _ => Role::Unknown,
    };
    if matches!(f.role, Role::Replica { .. }) {
        f.offset = replica_offset.or(f.offset);
        f.primary = master_host.zip(master_port).and_then(|(h, p)| address(h, p));
    }
    f
}

/// What it counts of `EXEC`.
pub fn execs(text: &str) -> Option<Execs> {
    let (_, value) = fields(text).find(|(key, _)| *key == "cmdstat_exec")?;
    let number = |name: &str| value.split(',').find_map(|p| p.strip_prefix(name)?.parse().ok());
    Some(Execs { calls: number("calls=")?, micros: number("usec=")? })
}

/// Whether the server says that it still loads its data, and so knows nothing about any lock.
pub fn is_loading(text: &str) -> bool {
    let says = |name: &str| fields(text).any(|(k, v)| k == name && v == "1");
    says("loading") && !says("async_loading")
}

/// Section titles, and `name:value` lines.
fn fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().map(|line| line.trim_end().split_once(':').unwrap_or((line.trim_end(), "")))
}

/// `slave0` with `ip=10.0.0.6,port=6379,state=online,offset=14,lag=1`.
fn replica(key: &str, value: &str) -> Option<(String, Option<u64>)> {
    key.strip_prefix("slave")?.parse::<u32>().ok()?;
    let part = |name: &str| {
        value.split(',').find_map(|p| p.split_once('=').filter(|(k, _)| *k == name)).map(|p| p.1)
    };
    let addr = address(part("ip")?, part("port")?)?;
    Some((addr, part("offset").and_then(|o| o.parse().ok())))
}

/// `db0` with `keys=4,expires=0,avg_ttl=0`.
fn database(key: &str, value: &str) -> Option<u32> {
    key.strip_prefix("db").filter(|_| value.starts_with("keys="))?.parse().ok()
}

/// `host:port`, IPv6 in brackets; `None` while a replica is not known by an address yet (port 0), and for what is no host.
pub(super) fn address(host: &str, port: &str) -> Option<String> {
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let port: u16 = port.parse().ok().filter(|p| *p > 0)?;
    let ok = |c: char| c.is_ascii_alphanumeric() || "-_.:%".contains(c);
    if host.is_empty() || host.len() > 255 || !host.chars().all(ok) {
        return None;
    }
    Some(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

/// `calls=6,usec=122,...`
fn calls(value: &str) -> u64 {
    value
        .split(',')
        .find_map(|p| p.strip_prefix("calls="))
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}

/// A run or replication id, unless it is all zeros.
fn id(value: &str) -> Option<String> {
    let some = !value.is_empty() && value.bytes().any(|b| b != b'0');
    some.then(|| word(value))
}

fn flag(value: &str) -> Option<bool> {
    match value {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// A short printable word. What it decides by is left as it is, whatever the password.
pub(super) fn word(value: &str) -> String {
    let is_known = KNOWN.contains(&value) || POLICIES.iter().any(|p| value.starts_with(p));
    let said =
        if is_known { Cow::Borrowed(value.as_bytes()) } else { secret::blot(value.as_bytes()) };
    label::text(&said).chars().take(MAX_WORD).collect()
}

#[cfg(test)]
mod tests;
