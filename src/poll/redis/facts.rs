//! Reads what a node says of itself: `TIME` and `INFO` after each sweep, and once for each connection what this server
//! can do and lets us do.

use super::ability::{Abilities, Ability};
use super::codec::{Item, Walk};
use super::conn::Conn;
use super::failure::{Failure, is_noperm, is_noperm_command, is_not_ready};
use super::handshake::{Hello, version_at_least};
use super::info::{self, Origin};
use super::{pack, role};
use crate::observe::ServerTime;
use crate::observe::node::{FailReason, NodeFacts, NodeRef, Role};

/// The sections that hold what [`NodeFacts`] needs; servers before 7.0 take only one at a time.
const SECTIONS: [&str; 8] =
    ["INFO", "server", "replication", "memory", "persistence", "stats", "clients", "commandstats"];

/// Reads facts over one connection.
pub struct FactsReader {
    node: NodeRef,
    connection: u64,
    hello: Hello,
    sections: bool,
    min_replicas: Option<u64>,
    /// From `ROLE`, for servers whose `INFO` is not to be had.
    role: Role,
}

impl FactsReader {
    /// For a fresh connection.
    pub fn new(node: NodeRef, connection: u64, hello: Hello) -> Self {
        let sections = hello.has_info_sections();
        Self { node, connection, hello, sections, min_replicas: None, role: Role::Unknown }
    }

    /// The first facts over this connection; also finds out what the server can do. `probe_key` is a key that we may
    /// read, if there is one.
    pub async fn first(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        probe_key: &[u8],
    ) -> Result<NodeFacts, Failure> {
        let mut facts = self.read(conn, abilities).await?;
        abilities.serve(facts.run_id.as_deref());
        if facts.role == Role::Sentinel {
            let detail = "this is a sentinel; give the address of the Redis server it watches";
            return Err(Failure::new(FailReason::Protocol, detail));
        }
        self.try_role(conn, abilities).await?;
        if facts.role == Role::Unknown {
            facts.role = self.role;
        }
        let valkey = facts.flavor != "redis";
        let since = |major, minor| valkey || version_at_least(&facts.version, major, minor);
        if since(7, 2) && abilities.worth_trying("client|no-touch") {
            abilities
                .set("client|no-touch", attempt(conn, &[b"CLIENT", b"NO-TOUCH", b"ON"]).await?);
        }
        if facts.flavor == "redis" && !facts.version.is_empty() && !since(7, 0) {
            abilities.set("pexpiretime", Ability::Missing);
        } else if abilities.of("pexpiretime") != Ability::Works
            && abilities.worth_trying("pexpiretime")
        {
            abilities.set("pexpiretime", attempt(conn, &[b"PEXPIRETIME", probe_key]).await?);
        }
        self.try_min_replicas(conn, abilities).await?;
        facts.min_replicas_to_write = self.min_replicas;
        facts.permissions = abilities.permissions();
        Ok(facts)
    }

    /// `TIME` and `INFO` now.
    pub async fn read(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
    ) -> Result<NodeFacts, Failure> {
        let mut request = Vec::new();
        let mut replies = 1;
        pack::command(&mut request, &["TIME"]);
        if abilities.worth_trying("info") {
            if self.sections {
                pack::command(&mut request, &SECTIONS);
                replies += 1;
            } else {
                pack::command(&mut request, &["INFO"]);
                pack::command(&mut request, &["INFO", "commandstats"]);
                replies += 2;
            }
        }
        let span = conn.exchange(&request, replies).await?;
        let time = time(&mut conn.walk(0))?;
        let origin =
            Origin { node: self.node.clone(), connection: self.connection, span, time: Some(time) };
        let mut text = String::new();
        for index in 1..replies {
            match conn.walk(index).next() {
                Some(Item::Bulk(b) | Item::Simple(b) | Item::Other(b)) => {
                    text.push_str(&String::from_utf8_lossy(b));
                    text.push('\n');
                    abilities.set("info", Ability::Works);
                }
                Some(Item::Error(e)) if is_noperm(e) || e.starts_with(b"ERR unknown command") => {
                    abilities.refuse("info");
                }
                Some(Item::Error(e)) if index == 1 => return Err(Failure::server("INFO", e)),
                // A proxy that knows no commandstats.
                Some(Item::Error(_)) => {}
                _ => return Err(Failure::unexpected("INFO")),
            }
        }
        if info::is_loading(&text) {
            return Err(Failure::server("INFO", b"LOADING says its persistence section"));
        }
        let mut facts = info::facts(&text, origin);
        if facts.version.is_empty() {
            facts.version.clone_from(&self.hello.version);
            if !self.hello.server.is_empty() {
                facts.flavor.clone_from(&self.hello.server);
            }
        }
        if facts.role == Role::Unknown {
            facts.role = self.role;
        }
        self.sections |= facts.flavor == "valkey" || version_at_least(&facts.version, 7, 0);
        facts.min_replicas_to_write = self.min_replicas;
        facts.permissions = abilities.permissions();
        Ok(facts)
    }

    async fn try_role(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
    ) -> Result<(), Failure> {
        if abilities.worth_trying("role") {
            let ability = attempt(conn, &[b"ROLE"]).await?;
            abilities.set("role", ability);
            if ability == Ability::Works {
                self.role = role::read(&mut conn.walk(0)).map_or(Role::Unknown, |(r, _)| r);
            }
        }
        Ok(())
    }

    /// What `INFO` does not tell; the rest of `CONFIG GET` is not asked for.
    async fn try_min_replicas(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
    ) -> Result<(), Failure> {
        if !abilities.worth_trying("config|get") {
            return Ok(());
        }
        let ability = match attempt(conn, &[b"CONFIG", b"GET", b"min-replicas-to-write"]).await? {
            // Providers take the whole command away.
            Ability::Missing => Ability::Refused(crate::clock::mono()),
            known => known,
        };
        abilities.set("config|get", ability);
        if ability == Ability::Works {
            let mut walk = conn.walk(0);
            let value = walk
                .many()
                .filter(|n| *n == 2)
                .and_then(|_| walk.skip())
                .and_then(|()| walk.bytes());
            self.min_replicas =
                value.and_then(|v| std::str::from_utf8(v).ok()).and_then(|v| v.parse().ok());
        }
        Ok(())
    }
}

/// Sends an optional command and says whether it works.
async fn attempt(conn: &mut Conn, args: &[&[u8]]) -> Result<Ability, Failure> {
    conn.call(args).await?;
    match conn.walk(0).next() {
        Some(Item::Error(e)) if is_not_ready(e) => {
            let name = String::from_utf8_lossy(args.first().copied().unwrap_or_default());
            Err(Failure::server(&name, e))
        }
        // The probed key may be another's; the command itself was let through.
        Some(Item::Error(e)) if is_noperm(e) && !is_noperm_command(e) => Ok(Ability::Works),
        Some(Item::Error(e)) => Ok(Ability::from_error(e)),
        Some(_) => Ok(Ability::Works),
        None => Err(Failure::unexpected("a command")),
    }
}

/// The reply to `TIME`.
pub fn time(walk: &mut Walk<'_>) -> Result<ServerTime, Failure> {
    match walk.next() {
        Some(Item::Many(2)) => {}
        Some(Item::Error(e)) => return Err(Failure::server("TIME", e)),
        _ => return Err(Failure::unexpected("TIME")),
    }
    let mut part = || std::str::from_utf8(walk.bytes()?).ok()?.parse::<i64>().ok();
    let parsed = part().zip(part());
    parsed
        .and_then(|(s, us)| s.checked_mul(1_000_000)?.checked_add(us))
        .map(ServerTime)
        .ok_or_else(|| Failure::unexpected("TIME"))
}
