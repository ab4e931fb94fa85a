//! Reads what a node says of itself: `TIME` and `INFO` after each sweep. What it can do and lets us do is found out beside
//! it (see `explore`).

use super::ability::{Abilities, Ability};
use super::batch_size::Execs;
use super::codec::{Item, Walk};
use super::conn::Conn;
use super::failure::{Failure, first_word, is_noperm, is_not_ready, is_unknown};
use super::handshake::{Hello, version_at_least};
use super::info::{self, Origin};
use super::pack;
use crate::observe::node::{FailReason, NodeFacts, NodeRef, Role};
use crate::observe::{ServerTime, Span};

/// The sections that hold what [`NodeFacts`] needs; servers before 7.0 take only one at a time.
const SECTIONS: [&str; 9] = [
    "INFO",
    "server",
    "replication",
    "memory",
    "persistence",
    "stats",
    "clients",
    "commandstats",
    "keyspace",
];

const SENTINEL: &str = "this is a sentinel; set `topology: sentinel` and `sentinel.master` of the store, or give the address of \
    the server it watches";

/// Reads facts over one connection.
pub struct FactsReader {
    node: NodeRef,
    connection: u64,
    pub(super) hello: Hello,
    /// Whether `INFO` takes several sections at once, as far as the version tells.
    sections: bool,
    /// It does not, whatever the version is: a proxy.
    is_plain: bool,
    /// What `INFO` does not tell; nothing else of `CONFIG GET` is asked for.
    pub(super) min_replicas: Option<u64>,
    /// From `ROLE`, for servers whose `INFO` is not to be had.
    pub(super) role: Role,
    /// A key that we may read, if there is one.
    pub(super) probe_key: Vec<u8>,
    /// What the server counted of transactions by the last read.
    pub(super) execs: Option<Execs>,
}

impl FactsReader {
    /// For a fresh connection. `probe_key` is a key that we may read, if there is one.
    pub fn new(node: NodeRef, connection: u64, hello: Hello, probe_key: &[u8]) -> Self {
        let sections = hello.has_info_sections();
        Self {
            node,
            connection,
            hello,
            sections,
            is_plain: false,
            min_replicas: None,
            role: Role::Unknown,
            probe_key: probe_key.to_vec(),
            execs: None,
        }
    }

    /// The first facts over this connection; also finds out what the server can do.
    pub async fn first(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
    ) -> Result<NodeFacts, Failure> {
        let mut facts = self.read(conn, abilities).await?;
        abilities.serve(facts.run_id.as_deref());
        if facts.role == Role::Sentinel {
            return Err(Failure::new(FailReason::Protocol, SENTINEL));
        }
        self.explore(conn, abilities, &facts).await?;
        if facts.role == Role::Unknown {
            facts.role = self.role;
        }
        facts.min_replicas_to_write = self.min_replicas;
        facts.permissions = abilities.permissions();
        Ok(facts)
    }

    /// As [`FactsReader::read`] for all but the first read over this connection; tries again what was refused long ago.
    pub async fn next(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
    ) -> Result<NodeFacts, Failure> {
        let mut facts = self.read(conn, abilities).await?;
        self.explore_again(conn, abilities, &facts).await?;
        if facts.role == Role::Unknown {
            facts.role = self.role;
        }
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
        // It has no TIME: its refusal would say something else.
        if self.hello.mode == "sentinel" {
            return Err(Failure::new(FailReason::Protocol, SENTINEL));
        }
        let (mut span, mut replies) = self.ask(conn, abilities).await?;
        if self.sections && !self.is_plain && is_odd(conn, replies) {
            self.is_plain = true;
            (span, replies) = self.ask(conn, abilities).await?;
        }
        let time = time(&mut conn.walk(0))?;
        let origin = Origin {
            node: self.node.clone(),
            connection: self.connection,
            span,
            time: Some(time),
            db: self.hello.db,
        };
        let mut text = String::new();
        for index in 1..replies {
            match conn.walk(index).next() {
                Some(Item::Bulk(b) | Item::Simple(b) | Item::Other(b)) => {
                    text.push_str(&String::from_utf8_lossy(b));
                    text.push('\n');
                    abilities.set("info", Ability::Works);
                }
                Some(Item::Error(e)) if is_noperm(e) || is_unknown(e) => {
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
        self.execs = info::execs(&text);
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

    /// Asks for both; gives the number of replies.
    async fn ask(&self, conn: &mut Conn, abilities: &Abilities) -> Result<(Span, usize), Failure> {
        let mut request = Vec::new();
        let mut replies = 1;
        pack::command(&mut request, &["TIME"]);
        if abilities.worth_trying("info") {
            if self.sections && !self.is_plain {
                pack::command(&mut request, &SECTIONS);
                replies += 1;
            } else {
                pack::command(&mut request, &["INFO"]);
                pack::command(&mut request, &["INFO", "commandstats"]);
                replies += 2;
            }
        }
        Ok((conn.exchange(&request, replies).await?, replies))
    }
}

/// Whether `INFO` is there and does not take what it was given.
fn is_odd(conn: &Conn, replies: usize) -> bool {
    let is_odd = |e: &[u8]| first_word(e) == b"ERR" && !is_unknown(e) && !is_not_ready(e);
    replies > 1 && matches!(conn.walk(1).next(), Some(Item::Error(e)) if is_odd(e))
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
