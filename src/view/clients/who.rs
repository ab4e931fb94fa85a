//! Who can touch the locks of a primary: each of its connections with the process behind it, those of this host first. Bounded;
//! names of programs, never their command lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::derive::connections::{Connection, Origin};
use crate::derive::lock::Lock;
use crate::derive::node::Node;
use crate::derive::renewers::{Fit, fit};
use crate::derive::{Liveness, State};
use crate::observe::Mono;

/// Connections of this host that are shown, and of others.
const MOST: usize = 64;

/// The connections of a primary.
#[derive(Clone, Debug, Default)]
pub struct ClientsView {
    /// Since the server told of them.
    pub age_seconds: f64,
    /// Of this host's processes first, the youngest first.
    pub list: Vec<ClientView>,
    /// Connections that are not shown, but for the exporter's.
    pub beyond: u64,
    /// Before the server told of them.
    pub asked: Mono,
}

impl ClientsView {
    /// Whether one of them can have made a renewal between these instants. A list from before it tells who was there, and
    /// nothing of what each did since: whoever it shows idle may have made it.
    pub fn can_have_renewed(&self, client: &ClientView, renewed: (Mono, Mono)) -> Option<bool> {
        let connection = client.connection.as_deref()?;
        match fit(connection, renewed) {
            Fit::Excluded => (self.asked >= renewed.1).then_some(false),
            Fit::Possible | Fit::Match => Some(true),
        }
    }
}

/// One process and its connection, or one connection of nobody that is seen.
#[derive(Clone, Debug)]
pub struct ClientView {
    /// `here`, `hidden` (a process of this host that may not be seen), `elsewhere`, `unknown`.
    pub origin: &'static str,
    /// The process, in the numbers of the procfs that the exporter reads.
    pub pid: Option<i32>,
    /// The short name of its program.
    pub comm: Option<Arc<str>>,
    /// The worker that it is, if it is one.
    pub worker: Option<Arc<str>>,
    /// That worker's liveness by its process.
    pub liveness: Option<Liveness>,
    /// Where the server sees it come from.
    pub addr: Arc<str>,
    /// The name that it gave itself.
    pub name: Arc<str>,
    /// Client library and version, as it says.
    pub library: (Arc<str>, Arc<str>),
    /// ACL user.
    pub user: Arc<str>,
    /// Age of the connection when the server told of it.
    pub age_seconds: u64,
    /// Since its last command, then.
    pub idle_seconds: u64,
    /// That command.
    pub command: Arc<str>,
    /// All that is known of the connection; `None` only in examples.
    pub connection: Option<Box<Connection>>,
}

impl ClientView {
    /// One that is made up, for examples and tests.
    pub fn example(pid: i32, comm: &str, name: &str) -> Self {
        Self {
            origin: "here",
            pid: Some(pid),
            comm: Some(comm.into()),
            worker: Some("orders-1".into()),
            liveness: Some(Liveness::Alive),
            addr: "10.0.0.5:50412".into(),
            name: name.into(),
            library: ("redis-py".into(), "5.0.1".into()),
            user: "default".into(),
            age_seconds: 3600,
            idle_seconds: 4,
            command: "pexpire".into(),
            connection: None,
        }
    }
}

/// What one renewal told of who made it.
#[derive(Clone, Debug, PartialEq)]
pub struct RenewalView {
    /// Since it was seen.
    pub age_seconds: f64,
    /// How well the worker's own connections fit.
    pub own: Fit,
    /// Those of other processes of this host.
    pub others: Vec<(i32, Option<Arc<str>>, Fit)>,
    /// All others.
    pub elsewhere: Fit,
}

/// Which worker is which process of this host.
pub struct Crew<'a> {
    state: &'a State,
    workers: BTreeMap<i32, (&'a Arc<str>, Liveness)>,
}

impl<'a> Crew<'a> {
    /// Of all workers.
    pub fn of(state: &'a State) -> Self {
        let mut workers = BTreeMap::new();
        for worker in state.workers.by_name.values() {
            for processes in worker.processes.values() {
                for process in processes.live() {
                    workers.insert(process.pid, (&worker.name, processes.liveness()));
                }
            }
        }
        Self { state, workers }
    }

    /// The connections of a node; `None` where it told nothing lately.
    pub fn clients(&self, node: &Node, now: Mono) -> Option<ClientsView> {
        let connections = node.connections.as_ref().filter(|c| c.is_recent(now))?;
        let mut here = Vec::new();
        let mut others = Vec::new();
        for connection in connections.list.iter() {
            match &connection.origin {
                Origin::Own => {}
                Origin::Here(pids) => here.push((connection, Some(pids))),
                _ => others.push((connection, None)),
            }
        }
        here.sort_by_key(|(c, _)| (c.client.age, c.client.id));
        others.sort_by_key(|(c, _)| (c.origin == Origin::Elsewhere, c.client.age, c.client.id));
        let beyond = here.len().saturating_sub(MOST) + others.len().saturating_sub(MOST);
        let shown = here.into_iter().take(MOST).chain(others.into_iter().take(MOST));
        let list = shown.flat_map(|(connection, pids)| self.views(connection, pids)).collect();
        let age_seconds = now.secs_since(connections.span.done).max(0.0);
        let asked = connections.span.sent;
        Some(ClientsView { age_seconds, list, beyond: beyond as u64, asked })
    }

    /// One for each process that has the connection, of the first few.
    fn views(&self, connection: &Connection, pids: Option<&BTreeSet<i32>>) -> Vec<ClientView> {
        match pids {
            Some(pids) => pids.iter().take(8).map(|p| self.view(connection, Some(*p))).collect(),
            None => vec![self.view(connection, None)],
        }
    }

    fn view(&self, connection: &Connection, pid: Option<i32>) -> ClientView {
        let client = &connection.client;
        let worker = pid.and_then(|pid| self.workers.get(&pid));
        ClientView {
            origin: match connection.origin {
                Origin::Here(_) | Origin::Own => "here",
                Origin::Hidden => "hidden",
                Origin::Elsewhere => "elsewhere",
                Origin::Unknown => "unknown",
            },
            pid,
            comm: pid.and_then(|pid| self.comm(pid)),
            worker: worker.map(|(name, _)| Arc::clone(name)),
            liveness: worker.map(|(_, liveness)| *liveness),
            addr: client.addr.clone(),
            name: client.name.clone(),
            library: (client.library.clone(), client.library_version.clone()),
            user: client.user.clone(),
            age_seconds: client.age,
            idle_seconds: client.idle,
            command: client.command.clone(),
            connection: Some(Box::new(connection.clone())),
        }
    }

    fn comm(&self, pid: i32) -> Option<Arc<str>> {
        Some(self.state.sockets.user(pid)?.comm.clone())
    }

    /// What the last renewals of a lock told of who made them, the newest first.
    pub fn renewals(&self, lock: &Lock, now: Mono) -> Vec<RenewalView> {
        let weighed = lock.renewers.weighed.iter().rev();
        let view = weighed.map(|w| RenewalView {
            age_seconds: now.secs_since(w.renewed.1).max(0.0),
            own: w.own,
            others: w.others.iter().map(|(pid, fit)| (*pid, self.comm(*pid), *fit)).collect(),
            elsewhere: w.elsewhere,
        });
        view.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::connections::Window;
    use crate::observe::Span;
    use crate::observe::client::Client;

    #[test]
    fn a_list_from_before_a_renewal_does_not_clear_who_was_idle_then() {
        let at = Mono::from_secs_f64;
        let renewed = (at(100.0), at(101.0));
        let can = |asked: f64, idle: u64| {
            let span = Span { sent: at(asked), done: at(asked + 0.1) };
            let client = Client { idle, command: "pexpire".into(), ..Client::default() };
            let (began, used) = (Window::ago(span, 90), Window::ago(span, idle));
            let connection = Connection { client, origin: Origin::Elsewhere, began, used };
            let client = ClientView {
                connection: Some(Box::new(connection)),
                ..ClientView::example(1, "x", "y")
            };
            ClientsView { asked: span.sent, ..ClientsView::default() }
                .can_have_renewed(&client, renewed)
        };
        assert_eq!(can(110.0, 9), Some(true));
        assert_eq!(can(110.0, 60), Some(false));
        assert_eq!(can(95.0, 10), None);
        assert_eq!(can(100.5, 0), Some(true), "within it");
    }
}
