//! What a connection to a node of a cluster begins with: the right to read from a replica, and whether keys on their way
//! between two nodes can be asked for. Sends nothing about any key.

use super::super::ability::{Abilities, Ability};
use super::super::codec::Item;
use super::super::conn::Conn;
use super::super::failure::{Failure, is_not_ready};

/// What can be done as a reader of a node of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// `ASKING` may be sent before each read: on a node that has the slot it changes nothing.
    pub asking: bool,
    /// A replica answers for its keys; without that it names its primary each time.
    pub readonly: bool,
}

/// Makes a fresh connection one that reads in a cluster.
pub async fn join(conn: &mut Conn, abilities: &mut Abilities) -> Result<Membership, Failure> {
    Ok(Membership {
        readonly: attempt(conn, abilities, "readonly").await?,
        asking: attempt(conn, abilities, "asking").await?,
    })
}

async fn attempt(
    conn: &mut Conn,
    abilities: &mut Abilities,
    command: &'static str,
) -> Result<bool, Failure> {
    if !abilities.worth_trying(command) {
        return Ok(false);
    }
    conn.call(&[command.as_bytes()]).await?;
    let ability = match conn.walk(0).next() {
        Some(Item::Simple(_)) => Ability::Works,
        Some(Item::Error(e)) if is_not_ready(e) => return Err(Failure::server(command, e)),
        Some(Item::Error(e)) => Ability::from_error(e),
        _ => return Err(Failure::unexpected(command)),
    };
    abilities.set(command, ability);
    Ok(ability == Ability::Works)
}
