//! The connections of a node with the processes of this host behind them: joins what the server says of its clients with
//! what this host shows of its sockets. Knows no lock.

mod origin;
mod unix;
mod window;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::observe::client::{Client, ClientsRead, EVERY};
use crate::observe::socket::{SocketUser, Sockets};
use crate::observe::{Mono, SocketsRead, Span};

use origin::Host;
pub use window::Window;

/// Who has the near end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Not known: nobody looked at sockets since it began, or what was seen fits several, or none where it has to be here.
    Unknown,
    /// The exporter itself.
    Own,
    /// These processes of this host, at least one.
    Here(BTreeSet<i32>),
    /// A process of this host that may not be seen.
    Hidden,
    /// Nobody who was seen on this host.
    Elsewhere,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// As the server has it.
    pub client: Client,
    /// Who has its near end.
    pub origin: Origin,
    /// When it began.
    pub began: Window,
    /// When its last command came.
    pub used: Window,
}

impl Connection {
    /// Whether one of these processes has it.
    pub fn is_of(&self, pids: &BTreeSet<i32>) -> bool {
        matches!(&self.origin, Origin::Here(who) if !who.is_disjoint(pids))
    }
}

/// The connections of a node as of one read.
#[derive(Clone, Debug)]
pub struct Connections {
    /// When the server told of them.
    pub span: Span,
    /// In the server's order.
    pub list: Arc<[Connection]>,
}

impl Connections {
    /// Joins a server's list with the sockets of this host.
    pub fn of(read: &ClientsRead, sockets: Option<&SocketsRead>) -> Option<Self> {
        let clients = read.seen.as_deref().ok()?;
        let host = sockets.and_then(|s| Host::of(s, read));
        let join = |client: &Client| {
            let began = Window::ago(read.span, client.age);
            let origin = host.as_ref().map_or(Origin::Unknown, |h| h.origin(client, began));
            let used = Window::ago(read.span, client.idle);
            Connection { client: client.clone(), origin, began, used }
        };
        Some(Self { span: read.span, list: clients.iter().map(join).collect() })
    }

    /// Joins the same list with a later look. Of connections through Unix sockets that does not tell more.
    pub fn again(&self, read: &ClientsRead, sockets: &SocketsRead) -> Option<Self> {
        let Self { span, list } = Self::of(read, Some(sockets))?;
        let join = |(new, old): (&Connection, &Connection)| match new.client.is_unix() {
            true => old.clone(),
            false => new.clone(),
        };
        Some(Self { span, list: list.iter().zip(self.list.iter()).map(join).collect() })
    }

    /// Whether they say something of now.
    pub fn is_recent(&self, now: Mono) -> bool {
        now.since(self.span.done) <= EVERY * 3
    }
}

/// The sockets of this host, as they were last looked at.
#[derive(Clone, Debug, Default)]
pub struct HostSockets {
    /// The last look.
    pub last: Option<SocketsRead>,
    /// The one before.
    before: Option<SocketsRead>,
}

impl HostSockets {
    /// Takes a look.
    pub fn looked(&mut self, read: SocketsRead) {
        self.before = self.last.replace(read);
    }

    /// The last look that had ended when a list was asked for; the last one, if there is none.
    pub fn for_list(&self, read: &ClientsRead) -> Option<&SocketsRead> {
        let has_ended = |looked: &&SocketsRead| looked.span.done <= read.span.sent;
        let ended = [&self.last, &self.before].into_iter().flatten().find(has_ended);
        ended.or(self.last.as_ref())
    }

    /// What the last look showed, if it is recent.
    pub fn at(&self, now: Mono) -> Option<&Sockets> {
        let read = self.last.as_ref().filter(|r| now.since(r.span.done) <= EVERY * 3)?;
        read.seen.as_deref().ok()
    }

    /// What is known of a process with sockets.
    pub fn user(&self, pid: i32) -> Option<&SocketUser> {
        self.last.as_ref()?.seen.as_ref().ok()?.processes.get(&pid)
    }
}

#[cfg(test)]
pub(in crate::derive) mod tests;
