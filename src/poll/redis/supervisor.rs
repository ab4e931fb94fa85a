//! The task over all nodes of a store: which nodes there are, which of them is the primary, which keys are watched. Never
//! waits for a node.

mod found;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::context::{Context, Links, Settings};
use super::dial::{addr_text, parse_addr};
use super::feed::Feed;
use super::keys::{KeyList, Keys};
use super::member::{Node, Rank};
use super::messages::{Report, Seen};
use super::task::NodeTask;
use crate::clock;
use crate::config::{RedisAddr, Store};
use crate::observe::{NodeRef, Observation, Role, StoreId};
use crate::poll::Out;

/// Nodes of one store at most; the announcements of a server are not to be trusted without bound.
const MAX_NODES: usize = 32;
/// Requests that wait for a node at most.
const QUEUE: usize = 256;
/// Intervals without an announcement after which a node is let go.
const FORGOTTEN_AFTER: u32 = 10;

/// The supervisor of one store.
pub struct Supervisor {
    context: Arc<Context>,
    inbox: mpsc::Receiver<Report>,
    keys: Keys,
    told: Vec<Observation>,
    list: watch::Sender<KeyList>,
    links: watch::Sender<Links>,
    nodes: BTreeMap<Arc<str>, Node>,
    tasks: JoinSet<()>,
    /// Addresses that are other names of a node's server, with that node and the server's run id.
    aliases: HashMap<Arc<str>, (Arc<str>, String)>,
    primary: Option<Arc<str>>,
    warned_of_many: bool,
}

/// Nobody listens any more.
struct Closed;

impl Supervisor {
    /// Nothing runs yet.
    pub(super) fn new(
        store: Arc<Store>,
        id: StoreId,
        settings: Settings,
        out: Out,
        (reports, inbox): (mpsc::Sender<Report>, mpsc::Receiver<Report>),
        links: watch::Sender<Links>,
    ) -> Self {
        let (keys, told) = Keys::new(id, &store.locks, settings.keeps());
        let patterns = keys.patterns();
        let list = watch::Sender::new(keys.list());
        let epoch = clock::mono();
        Self {
            context: Arc::new(Context { store, id, settings, out, reports, patterns, epoch }),
            inbox,
            keys,
            told,
            list,
            links,
            nodes: BTreeMap::new(),
            tasks: JoinSet::new(),
            aliases: HashMap::new(),
            primary: None,
            warned_of_many: false,
        }
    }

    /// Starts the store's event feed, if there is to be one.
    pub(super) fn start_feed(&mut self, links: watch::Receiver<Links>, retries: Arc<AtomicU64>) {
        let feed = Feed::new(self.context.clone(), self.list.subscribe(), links, retries);
        if let Some(feed) = feed {
            self.tasks.spawn(feed.run());
        }
    }

    /// Runs until told to stop, or until nobody is left who could.
    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => {}
            _ = self.supervise() => {}
        }
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
    }

    async fn supervise(&mut self) -> Result<(), Closed> {
        let name = self.context.store.name.clone();
        let at = clock::mono();
        self.send(Observation::StoreStarted { store: self.context.id, name, at }).await?;
        for told in std::mem::take(&mut self.told) {
            self.send(told).await?;
        }
        self.add(self.context.store.url.addr.clone(), Rank::Url);
        for replica in &self.context.store.clone().replicas {
            match parse_addr(replica) {
                Some(addr) => self.add(addr, Rank::Configured),
                None => warn!(store = %self.context.store.name, replica, "not host:port; ignored"),
            }
        }
        let interval = self.context.settings.poll_interval.max(Duration::from_millis(1));
        let mut tick = tokio::time::interval(interval);
        loop {
            tokio::select! {
                report = self.inbox.recv() => self.hear(report.ok_or(Closed)?).await?,
                _ = tick.tick() => self.drop_forgotten(),
                // An ended task was dropped or found to be an alias; its set entry is not needed any more.
                Some(_) = self.tasks.join_next() => {}
            }
        }
    }

    async fn hear(&mut self, report: Report) -> Result<(), Closed> {
        match report {
            Report::Up(addr, seen, keep) => self.up(addr, seen, keep),
            Report::Facts(addr, seen) => self.facts(&addr, seen),
            Report::Down(addr, why) => {
                if let Some(node) = self.nodes.get_mut(&addr) {
                    node.seen = None;
                    node.why = Some(why);
                }
                self.choose_primary();
            }
            Report::Found(found, last) => self.found(found, last).await?,
            Report::Gone(ids) => self.gone(ids).await?,
            Report::Aside(keys) => keys.into_iter().for_each(|(id, a)| self.keys.set_aside(id, a)),
            Report::Keep(ids) => ids.into_iter().for_each(|id| self.keys.keep(id)),
        }
        Ok(())
    }

    /// A node connected: is it one that we watch already by another name?
    fn up(&mut self, addr: Arc<str>, seen: Seen, keep: oneshot::Sender<bool>) {
        let Some(rank) = self.nodes.get(&addr).map(|n| n.rank) else { return };
        let twin = seen.run_id.as_ref().and_then(|id| {
            let twin = self.nodes.iter().find(|(a, n)| **a != addr && n.serves(id));
            twin.map(|(a, n)| (a.clone(), n.rank, id.clone()))
        });
        if let Some((other, other_rank, run_id)) = twin {
            let (kept, alias) = if other_rank <= rank { (&other, &addr) } else { (&addr, &other) };
            info!(store = %self.context.store.name, node = %kept, alias = %alias, "one server by two addresses");
            self.aliases.insert(alias.clone(), (kept.clone(), run_id));
            let alias = alias.clone();
            self.remove(&alias);
            if alias == addr {
                // The task ends when it hears nothing.
                return;
            }
        }
        self.facts(&addr, seen);
        let _ = keep.send(true);
    }

    fn facts(&mut self, addr: &Arc<str>, seen: Seen) {
        let announced: Vec<RedisAddr> = match seen.role {
            Role::Master => seen.replicas.iter().filter_map(|r| parse_addr(r)).collect(),
            Role::Replica { .. } => seen.primary.iter().filter_map(|p| parse_addr(p)).collect(),
            _ => Vec::new(),
        };
        // A replica whose link is down is not announced, and yet may be the one that is promoted next.
        let is_ours = announced.iter().any(|a| self.is_trusted(&addr_text(a)));
        if let Some(node) = self.nodes.get_mut(addr) {
            if is_ours && matches!(seen.role, Role::Replica { .. }) {
                node.announced = clock::mono();
            }
            node.seen = Some(seen);
            node.why = None;
        }
        for addr in announced {
            self.add(addr, Rank::Announced);
        }
        self.choose_primary();
    }

    /// Whether a node of this address is the primary or named in the config: only such a one can vouch for others.
    fn is_trusted(&self, name: &Arc<str>) -> bool {
        let name = self.aliases.get(name).map_or(name, |(kept, _)| kept);
        self.primary.as_ref() == Some(name)
            || self.nodes.get(name).is_some_and(|n| n.rank != Rank::Announced)
    }

    fn add(&mut self, addr: RedisAddr, rank: Rank) {
        let name = addr_text(&addr);
        let now = clock::mono();
        if let Some(node) = self.nodes.get_mut(&name) {
            node.announced = now;
            return;
        }
        if let Some((kept, run_id)) = self.aliases.get(&name) {
            // While the node is away its other name would be polled as a second server.
            let still = |n: &Node| n.seen.is_none() || n.serves(run_id);
            if self.nodes.get(kept).is_some_and(still) {
                return;
            }
            self.aliases.remove(&name);
        }
        if self.nodes.len() >= MAX_NODES {
            let store = &self.context.store.name;
            if !std::mem::replace(&mut self.warned_of_many, true) {
                warn!(%store, "more than {MAX_NODES} nodes; the rest is not watched");
            }
            return;
        }
        let (requests, inbox) = mpsc::channel(QUEUE);
        let scans = Arc::new(AtomicBool::new(false));
        let node = NodeRef { store: self.context.id, addr: name.clone() };
        let keys = self.list.subscribe();
        let task = NodeTask::new(self.context.clone(), node, addr, inbox, keys, scans.clone());
        let task = self.tasks.spawn(task.run());
        let node = Node { rank, requests, scans, task, seen: None, announced: now, why: None };
        self.nodes.insert(name, node);
    }

    fn remove(&mut self, addr: &Arc<str>) {
        self.nodes.remove(addr).inspect(|node| node.task.abort());
    }

    /// Lets nodes go that nobody announces any more. Not while no primary could announce them, and never a primary: in a
    /// failover nobody announces the promoted replica for a while.
    fn drop_forgotten(&mut self) {
        let now = clock::mono();
        let patience = self.context.settings.poll_interval * FORGOTTEN_AFTER;
        let forgotten: Vec<Arc<str>> = self
            .nodes
            .iter()
            .filter(|(_, n)| n.rank == Rank::Announced && now.since(n.announced) > patience)
            .filter(|(a, n)| !n.is_master() && self.has_other_master(a))
            .map(|(a, _)| a.clone())
            .collect();
        for addr in forgotten {
            info!(store = %self.context.store.name, node = %addr, "not announced any more");
            self.remove(&addr);
        }
        self.choose_primary();
    }

    fn has_other_master(&self, addr: &Arc<str>) -> bool {
        self.nodes.iter().any(|(a, n)| a != addr && n.is_master())
    }

    /// The primary stays who it was while it says so: an old one that comes back does not take over by that.
    fn choose_primary(&mut self) {
        let is_master = |a: &Arc<str>| self.nodes.get(a).is_some_and(Node::is_master);
        let stays = self.primary.clone().filter(is_master);
        let first = || {
            let masters = self.nodes.iter().filter(|(_, n)| n.is_master());
            masters.min_by_key(|(_, n)| n.rank).map(|(a, _)| a.clone())
        };
        self.primary = stays.or_else(first);
        for (addr, node) in &self.nodes {
            node.scans.store(self.primary.as_ref() == Some(addr), Ordering::Relaxed);
        }
        let primary = self.primary.as_ref().and_then(|a| self.nodes.get(a));
        let links = Links {
            primary: primary.map(|n| n.requests.clone()),
            primary_at: self.primary.clone(),
            all: self.nodes.values().map(|n| n.requests.clone()).collect(),
            evicts: primary.and_then(|n| n.seen.as_ref()?.evicts),
            why: self.nodes.values().min_by_key(|n| n.rank).and_then(|n| n.why),
        };
        self.links.send_replace(links);
    }

    async fn send(&self, observation: Observation) -> Result<(), Closed> {
        self.context.out.send(observation).await.map_err(|_| Closed)
    }
}
