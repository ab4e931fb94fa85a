//! Who is connected to a node: `CLIENT LIST`, one command for each node and rarely, after everything else that is due.
//! The server makes the whole list at once while its clients wait, so that one with many connections is not asked.

pub(in crate::poll) mod parse;

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::ability::{Abilities, Ability};
use super::codec::Item;
use super::conn::Conn;
use super::failure::{Failure, is_noperm, is_not_ready};
use super::pack;
use crate::clock;
use crate::config::Clients;
use crate::observe::client::{Client, ClientsRead, NoClients, cadence};
use crate::observe::{Mono, NodeRef, Span};

/// Connections of a server that is still asked: 1.5 MB of reply, some 4 ms of the server's time.
const MOST: u64 = 4096;
/// As ACLs write it.
const COMMAND: &str = "client|list";

/// When a node is asked next, over all its connections.
#[derive(Debug)]
pub struct ClientList {
    next: Option<Mono>,
    cadence: Duration,
    /// How many clients the node has, by its last facts.
    pub(super) connected: Option<u64>,
    /// It was said that there are too many.
    is_told: bool,
    /// Reading the last list is what broke the connection, or may be.
    is_asking: bool,
}

impl ClientList {
    /// Nothing was asked yet.
    pub fn new(clients: Clients, poll: Duration) -> Self {
        let next = (clients != Clients::Off).then(clock::mono);
        Self { next, cadence: cadence(poll), connected: None, is_told: false, is_asking: false }
    }

    /// When the node is to be asked; `None` if it is not.
    pub fn due(&self) -> Option<Mono> {
        self.next
    }

    /// Rights may have been granted.
    pub fn retry(&mut self) {
        self.next = self.next.map(|next| next.min(clock::mono()));
    }

    /// Asks for the list.
    pub async fn read(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        node: &NodeRef,
        store: &str,
    ) -> Result<ClientsRead, Failure> {
        let now = clock::mono();
        self.next = Some(now.plus(self.cadence));
        let mut span = Span { sent: now, done: now };
        let seen = match self.connected {
            None => Err(NoClients::Uncounted),
            Some(n) if n > MOST => Err(NoClients::TooMany(n)),
            Some(_) => match abilities.of(COMMAND) {
                known if known.worth_trying() && !self.is_asking => {
                    self.is_asking = true;
                    let seen = ask(conn, abilities, &mut span).await?;
                    self.is_asking = false;
                    seen
                }
                // The last one had no end; the node is left alone for as long as a refusal is.
                _ if self.is_asking => {
                    self.is_asking = false;
                    abilities.refuse(COMMAND);
                    warn!(store, node = %node.addr, "the answer to CLIENT LIST was too long or too late; it is asked for again in 5 minutes");
                    Err(NoClients::Unsupported)
                }
                Ability::Refused(_) => Err(NoClients::Refused),
                _ => Err(NoClients::Unsupported),
            },
        };
        if let Err(NoClients::TooMany(connected)) = &seen
            && !std::mem::replace(&mut self.is_told, true)
        {
            warn!(store, node = %node.addr, connected, most = MOST, "too many clients are connected to be listed");
        }
        Ok(ClientsRead { node: node.clone(), span, seen })
    }
}

/// Sends the command and notes whether it works.
async fn ask(
    conn: &mut Conn,
    abilities: &mut Abilities,
    span: &mut Span,
) -> Result<Result<Arc<[Client]>, NoClients>, Failure> {
    let mut request = Vec::new();
    pack::command(&mut request, &["CLIENT", "LIST"]);
    *span = conn.exchange(&request, 1).await?;
    let text = match conn.walk(0).next() {
        Some(Item::Bulk(text) | Item::Other(text)) => text,
        Some(Item::Error(e)) if is_not_ready(e) => return Err(Failure::server("CLIENT LIST", e)),
        Some(Item::Error(e)) if is_noperm(e) => {
            abilities.refuse(COMMAND);
            return Ok(Err(NoClients::Refused));
        }
        // Every server has it, so that its provider took it away.
        Some(Item::Error(_)) => {
            abilities.refuse(COMMAND);
            return Ok(Err(NoClients::Unsupported));
        }
        _ => &[],
    };
    let clients = parse::clients(text);
    if clients.is_empty() {
        // We are connected ourselves: whatever answers knows no clients.
        abilities.set(COMMAND, Ability::Missing);
        return Ok(Err(NoClients::Unsupported));
    }
    abilities.serves(COMMAND);
    Ok(Ok(clients.into()))
}
