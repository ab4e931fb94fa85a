//! One node's slow log: when it is looked at, by which command, and what of it is told. A look costs one command while
//! nothing has come, two otherwise, however many keys are watched. What is refused here costs the slow log and nothing else.
//!
//! Entries are told again with each look that shows them: whoever takes them knows them by process and id.

pub(in crate::poll) mod entry;
pub(in crate::poll) mod touched;

use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use super::ability::{Abilities, Ability};
use super::codec::Item;
use super::conn::Conn;
use super::failure::{Failure, is_noperm, is_not_ready, is_unknown};
use super::handshake::{Hello, version_at_least};
use super::keys::KeyList;
use super::pack;
use crate::clock;
use crate::config::{Slowlog, Store};
use crate::observe::slowlog::{Entries, Found, SlowlogRead, Why};
use crate::observe::{KeyId, Mono, NodeRef};

/// Polls between two looks, and the longest time between them where polls are rare.
const EVERY: (u32, Duration) = (5, Duration::from_secs(10));
/// The commands as ACLs write them. On Valkey 8.1 and later both show the same.
const SLOWLOG: &str = "slowlog|get";
const COMMANDLOG: &str = "commandlog|get";

/// What is known of one node's slow log; outlives its connections.
pub struct SlowLog {
    every: Duration,
    wanted: Slowlog,
    due: Mono,
    process: Option<Arc<str>>,
    /// The newest entry of the last look, and the newest of the keys that it was held against.
    seen: Option<(u64, Option<KeyId>)>,
    /// Why it is not to be had; said once.
    off: Option<Why>,
}

/// What a look is made over and held against.
pub struct Looking<'a> {
    /// The connection.
    pub conn: &'a mut Conn,
    /// What the server said of itself.
    pub hello: &'a Hello,
    /// The watched keys.
    pub keys: &'a KeyList,
    /// What it lets us do.
    pub abilities: &'a mut Abilities,
    /// Which node.
    pub node: &'a NodeRef,
}

impl SlowLog {
    /// Nothing is known yet.
    pub fn new(store: &Store, poll_interval: Duration) -> Self {
        let (polls, longest) = EVERY;
        let every = poll_interval.saturating_mul(polls).min(longest).max(poll_interval);
        let (process, seen, off) = (None, None, None);
        Self { every, wanted: store.slowlog, due: clock::mono(), process, seen, off }
    }

    /// When it is to be looked at next.
    pub fn due(&self) -> Option<Mono> {
        (self.wanted != Slowlog::Off).then_some(self.due)
    }

    /// Rights may have been granted.
    pub fn retry(&mut self) {
        self.due = clock::mono();
    }

    /// Looks at it; gives nothing if the server cannot tell just now.
    pub async fn look(&mut self, at: Looking<'_>) -> Result<Option<SlowlogRead>, Failure> {
        self.due = clock::mono().plus(self.every);
        let process: Option<Arc<str>> = at.abilities.process().map(Arc::from);
        if process != self.process {
            (self.process, self.seen) = (process, None);
        }
        let found = match command(at.hello, at.abilities) {
            Some(command) => {
                self.read(command, &at.node.addr, at.conn, at.keys, at.abilities).await?
            }
            None => self.off.map(Found::Off),
        };
        let (node, process) = (at.node.clone(), self.process.clone());
        let (at, is_asked) = (clock::mono(), self.wanted == Slowlog::On);
        Ok(found.map(|found| SlowlogRead { node, process, at, is_asked, found }))
    }

    async fn read(
        &mut self,
        command: &'static str,
        addr: &str,
        conn: &mut Conn,
        keys: &KeyList,
        abilities: &mut Abilities,
    ) -> Result<Option<Found>, Failure> {
        let key = keys.last().map(|k| k.id);
        if let Some((newest, _)) = self.seen.filter(|(_, seen)| *seen == key) {
            ask(conn, command, "1").await?;
            let now = entry::entries(conn.walk(0));
            if now.is_some_and(|all| all.first().is_none_or(|e| e.id == newest)) {
                let ids = Some(newest);
                return Ok(Some(Found::Read(Entries {
                    newest: ids,
                    oldest: ids,
                    ..Entries::default()
                })));
            }
        }
        ask(conn, command, "128").await?;
        if let Some(Item::Error(e)) = conn.walk(0).next() {
            return Ok(if is_not_ready(e) {
                None
            } else {
                let refused = is_noperm(e) || is_unknown(e);
                Some(self.cannot(command, refused, addr, abilities))
            });
        }
        let Some(all) = entry::entries(conn.walk(0)) else {
            return Ok(Some(self.cannot(command, false, addr, abilities)));
        };
        abilities.serves(command);
        if command == COMMANDLOG {
            // It shows the same, so that nothing is off because the other one is refused.
            abilities.set(SLOWLOG, Ability::Missing);
        }
        if self.off.take().is_some() {
            info!(node = addr, "the slow log can be read");
        }
        let ours = conn.local_addr().map(|a| a.to_string());
        let told = touched::told(&all, keys.iter().map(|k| &**k), ours.as_deref());
        self.seen = told.newest.map(|newest| (newest, key));
        Ok(Some(Found::Read(told)))
    }

    /// The command gave an error, or something else.
    fn cannot(
        &mut self,
        command: &'static str,
        refused: bool,
        addr: &str,
        abilities: &mut Abilities,
    ) -> Found {
        let why = if refused {
            abilities.refuse(command);
            Why::Permission
        } else {
            abilities.set(command, Ability::Missing);
            Why::Unsupported
        };
        if self.off.replace(why).is_none() {
            let text = "the slow log cannot be read, so slow commands on locks are not told; grant +slowlog|get, or set \
                        `slowlog: off` for this store";
            match self.wanted {
                Slowlog::On => warn!(node = addr, command, "{text}"),
                _ => info!(node = addr, command, "{text}"),
            }
        }
        Found::Off(why)
    }
}

/// The command to look by, if there is one.
fn command(hello: &Hello, abilities: &Abilities) -> Option<&'static str> {
    if abilities.of(COMMANDLOG) != Ability::Works && abilities.worth_trying(SLOWLOG) {
        return Some(SLOWLOG);
    }
    let has = hello.server == "valkey" && version_at_least(&hello.version, 8, 1);
    (has && abilities.worth_trying(COMMANDLOG)).then_some(COMMANDLOG)
}

async fn ask(conn: &mut Conn, command: &'static str, count: &str) -> Result<(), Failure> {
    let mut request = Vec::new();
    match command {
        COMMANDLOG => pack::command(&mut request, &["COMMANDLOG", "GET", count, "slow"]),
        _ => pack::command(&mut request, &["SLOWLOG", "GET", count]),
    }
    conn.exchange(&request, 1).await.map(|_| ())
}
