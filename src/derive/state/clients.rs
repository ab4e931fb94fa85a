//! What is told of connections: by servers of their clients, by this host of its sockets. Joins the two, and counts the
//! connections of each worker.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::State;
use crate::derive::connections::{Connection, Connections, Origin};
use crate::derive::links::Link;
use crate::derive::lock::Kept;
use crate::derive::store::Store;
use crate::derive::tenure::Tenure;
use crate::derive::worker::Worker;
use crate::derive::workers::Workers;
use crate::observe::socket::Sockets;
use crate::observe::{ClientsRead, Mono, NodeRef, SocketsRead, StoreId};

impl State {
    pub(super) fn clients(&mut self, read: &ClientsRead) {
        let Some(store) = self.stores.get_mut(&read.node.store) else { return };
        let Some(node) = store.nodes.get_mut(&read.node.addr) else { return };
        node.list(read, self.sockets.for_list(read));
        self.count_links(read.node.store, read.span.done);
        self.weigh_renewers(&read.node);
    }

    pub(super) fn sockets_seen(&mut self, read: &SocketsRead) {
        self.sockets.looked(read.clone());
        let ids: Vec<StoreId> = self.stores.keys().copied().collect();
        for id in ids {
            for node in self.stores.get_mut(&id).into_iter().flat_map(|s| s.nodes.values_mut()) {
                let known = node.clients.as_ref().zip(node.connections.as_ref());
                node.connections = known.and_then(|(list, known)| known.again(list, read));
            }
            self.count_links(id, read.span.done);
        }
    }

    /// Holds the renewals of the locks of a primary against what its clients did.
    fn weigh_renewers(&mut self, at: &NodeRef) {
        let Some(store) = self.stores.get_mut(&at.store) else { return };
        if store.primary(at.line).is_none_or(|n| n.addr != at.addr) {
            return;
        }
        let Some(node) = store.nodes.get(&at.addr) else { return };
        let Some(Connections { span, list }) = &node.connections else { return };
        let sockets = self.sockets.at(span.done).filter(|s| !s.is_cut);
        // A lock at which nothing goes on has no holder whose processes could be told.
        let may_tell = |l: &Kept| l.line == at.line && !(l.is_still() && l.renewers.is_forgotten());
        for lock in store.locks.awake_mut().filter(|l| may_tell(l)) {
            let own = sockets.and_then(|s| lock.tenure().and_then(|t| own(t, &self.workers, s)));
            let last = lock.tenure().and_then(|t| Some((t.first.span.done, *t.recent.back()?)));
            match (own, last) {
                (Some(own), Some((tenure, mark))) => {
                    lock.renewers.weigh(tenure, &own, mark, *span, list, node.has_churn);
                    let started = |pid| Some(sockets?.processes.get(&pid)?.start_ticks);
                    lock.renewers.remember(started);
                }
                _ => lock.renewers.forget(),
            }
        }
    }

    /// The connections of each worker to a store, while all of them can be told.
    fn count_links(&mut self, id: StoreId, now: Mono) {
        let Some(store) = self.stores.get(&id) else { return };
        let Some((links, is_settled)) = links(store, now) else { return };
        let Some(sockets) = self.sockets.at(now).filter(|s| !s.is_cut) else { return };
        let name = store.name.clone();
        let (groups, workers) = (self.workers.groups.clone(), &mut self.workers.by_name);
        for worker in workers.values_mut() {
            let group = worker.group.and_then(|g| groups.get(g));
            if group.is_none_or(|g| g.process.is_none()) {
                continue;
            }
            let processes = processes(worker);
            if processes.is_empty() || !processes.iter().all(|p| is_seen(sockets, *p)) {
                continue;
            }
            let own = processes.iter().filter_map(|(pid, _)| links.get(pid)).flatten();
            let own: BTreeSet<Link> = own.cloned().collect();
            let known = worker.links.entry(name.clone()).or_default();
            known.look(own, processes, is_settled, now);
        }
    }
}

/// The processes of a holder, if their sockets may be seen.
fn own(tenure: &Tenure, workers: &Workers, sockets: &Sockets) -> Option<BTreeSet<(i32, u64)>> {
    let (worker, group, _) = workers.with_group(tenure.worker()?)?;
    let pid = tenure.owner.as_ref()?.pid;
    let live = worker.processes_of(pid, group)?.live().map(|p| (p.pid, p.start_ticks));
    let processes: BTreeSet<(i32, u64)> = live.collect();
    let is_seen = !processes.is_empty() && processes.iter().all(|p| is_seen(sockets, *p));
    is_seen.then_some(processes)
}

/// Whether the sockets of a process may be seen. One without sockets is none that is hidden.
fn is_seen(sockets: &Sockets, (pid, started): (i32, u64)) -> bool {
    let user = sockets.processes.get(&pid);
    user.is_none_or(|u| !u.is_hidden && u.start_ticks == started)
}

/// The live processes of a worker, by pid and start time.
fn processes(worker: &Worker) -> BTreeSet<(i32, u64)> {
    let live = worker.processes.values().flat_map(|p| p.live());
    live.map(|p| (p.pid, p.start_ticks)).collect()
}

/// By pid, the connections of this host's processes to a store, and whether all are told; `None` where some node says
/// nothing of its clients, or what it says means no process.
fn links(store: &Store, now: Mono) -> Option<(BTreeMap<i32, Vec<Link>>, bool)> {
    let mut links: BTreeMap<i32, Vec<Link>> = BTreeMap::new();
    let mut is_settled = true;
    let mut nodes = store.nodes.values().filter(|n| n.is_up).peekable();
    nodes.peek()?;
    for node in nodes {
        let connections = node.connections.as_ref().filter(|c| c.is_recent(now))?;
        for Connection { client, origin, .. } in connections.list.iter() {
            match origin {
                // It is of this host for certain, and may be anybody's.
                Origin::Unknown if client.is_unix() => return None,
                Origin::Unknown => is_settled = false,
                Origin::Here(pids) => {
                    // Of several processes that share it, the first.
                    let Some(pid) = pids.first() else { continue };
                    let link = (*pid, node.addr.clone(), Arc::clone(&client.addr));
                    links.entry(*pid).or_default().push(link);
                }
                Origin::Own | Origin::Hidden | Origin::Elsewhere => {}
            }
        }
    }
    Some((links, is_settled))
}
