//! What a server can do and lets us do: each optional command is tried once for each process that serves, and again when a
//! refusal is old or rights may have been granted. One that the server's version has and that is not there was taken away
//! or renamed by its provider, and counts as refused.

use super::ability::{Abilities, Ability};
use super::cluster::redirect::Redirect;
use super::codec::Item;
use super::conn::Conn;
use super::facts::FactsReader;
use super::failure::{Failure, is_noperm, is_noperm_command, is_not_ready};
use super::handshake::version_at_least;
use super::role;
use crate::observe::Role;
use crate::observe::node::NodeFacts;

/// Commands that are tried here.
const OPTIONAL: [&str; 4] = ["role", "client|no-touch", "pexpiretime", "config|get"];

/// What a server is, as far as it says so.
struct Version<'a> {
    is_valkey: bool,
    number: &'a str,
}

impl Version<'_> {
    /// Whether it is at least that Redis. Every Valkey has what Redis 7.2 has.
    fn is_since(&self, major: u32, minor: u32) -> bool {
        self.is_valkey || version_at_least(self.number, major, minor)
    }

    /// Whether it is known to be older.
    fn is_before(&self, major: u32, minor: u32) -> bool {
        !self.number.is_empty() && !self.is_since(major, minor)
    }
}

impl FactsReader {
    /// Tries what was not tried yet, over a connection that is new.
    pub(super) async fn explore(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        facts: &NodeFacts,
    ) -> Result<(), Failure> {
        self.try_all(conn, abilities, facts, |_| true).await
    }

    /// Tries again what was refused long ago, or what was asked to be tried again.
    pub(super) async fn explore_again(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        facts: &NodeFacts,
    ) -> Result<(), Failure> {
        let works: Vec<&str> =
            OPTIONAL.into_iter().filter(|c| abilities.of(c) == Ability::Works).collect();
        self.try_all(conn, abilities, facts, |command| !works.contains(&command)).await
    }

    async fn try_all(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        facts: &NodeFacts,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<(), Failure> {
        let version = Version { is_valkey: facts.flavor != "redis", number: &facts.version };
        if abilities.of("hello") == Ability::Missing && version.is_since(6, 0) {
            abilities.refuse("hello");
        }
        let due = |a: &Abilities, command| is_meant(command) && a.worth_trying(command);
        if due(abilities, "role") && attempt(conn, abilities, &[b"ROLE"], "role", true).await? {
            self.role = role::read(&mut conn.walk(0)).map_or(Role::Unknown, |(r, _)| r);
        }
        // Redis 8.2 crashes at a read of a client that touches nothing, if the key's slot is on its way to another node. So
        // reads touch their keys in a cluster, and wherever it is not known that there is none.
        let modes = [&facts.mode, &self.hello.mode];
        let is_said = !self.hello.mode.is_empty() || abilities.of("info") == Ability::Works;
        let is_alone = is_said && modes.iter().all(|mode| *mode != "cluster");
        if is_alone && due(abilities, "client|no-touch") && version.is_since(7, 2) {
            let on: [&[u8]; 3] = [b"CLIENT", b"NO-TOUCH", b"ON"];
            attempt(conn, abilities, &on, "client|no-touch", true).await?;
        }
        if version.is_before(7, 0) {
            abilities.set("pexpiretime", Ability::Missing);
        } else if abilities.of("pexpiretime") != Ability::Works && due(abilities, "pexpiretime") {
            let args = [b"PEXPIRETIME".as_slice(), &self.probe_key];
            let has = version.is_since(7, 0);
            attempt(conn, abilities, &args, "pexpiretime", has).await?;
        }
        if due(abilities, "config|get") {
            let args: [&[u8]; 3] = [b"CONFIG", b"GET", b"min-replicas-to-write"];
            if attempt(conn, abilities, &args, "config|get", true).await? {
                self.min_replicas = number_of_pair(conn);
            }
        }
        Ok(())
    }
}

/// Sends an optional command and notes whether it works; `has` if servers of this version have it.
async fn attempt(
    conn: &mut Conn,
    abilities: &mut Abilities,
    args: &[&[u8]],
    command: &'static str,
    has: bool,
) -> Result<bool, Failure> {
    conn.call(args).await?;
    let ability = match conn.walk(0).next() {
        // In a cluster the probed key may be another node's; the command itself is known.
        Some(Item::Error(e)) if Redirect::read(e, "").is_some() => Ability::Works,
        Some(Item::Error(e)) if is_not_ready(e) => {
            let name = String::from_utf8_lossy(args.first().copied().unwrap_or_default());
            return Err(Failure::server(&name, e));
        }
        // The probed key may be another's; the command itself was let through.
        Some(Item::Error(e)) if is_noperm(e) && !is_noperm_command(e) => Ability::Works,
        Some(Item::Error(e)) => Ability::from_error(e),
        Some(_) => Ability::Works,
        None => return Err(Failure::unexpected("a command")),
    };
    if ability == Ability::Missing && has {
        abilities.refuse(command);
    } else {
        abilities.set(command, ability);
    }
    Ok(ability == Ability::Works)
}

/// The value of a name and a number.
fn number_of_pair(conn: &Conn) -> Option<u64> {
    let mut walk = conn.walk(0);
    let value = walk.many().filter(|n| *n == 2).and_then(|_| walk.skip());
    std::str::from_utf8(value.and_then(|()| walk.bytes())?).ok()?.parse().ok()
}
