//! The task over all nodes of a store: which nodes there are, which of them is the primary of its line, which keys are
//! watched. Never waits for a node.

mod agendas;
mod found;
mod lines;
mod missed;
mod rounds;
mod sentinels;
mod shards;
mod verdict;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::agenda::Agenda;
use super::context::{Context, Settings};
use super::dial::{addr_text, parse_addr};
use super::keys::Keys;
use super::links::Links;
use super::member::{Node, Rank};
use super::messages::{Report, Seen};
use super::share::Share;
use super::task::NodeTask;
use crate::clock;
use crate::config::{RedisAddr, Store, Topology};
use crate::observe::{Line, NodeRef, Observation, Role, StoreId};
use crate::poll::Out;
use found::Listing;
use rounds::Rounds;
use sentinels::Sentinels;

/// Nodes of one line at most; the announcements of a server are not to be trusted without bound.
const MAX_NODES: usize = 32;
/// Nodes of a store at most.
const MAX_ALL: usize = 1024;
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
    /// What the nodes of each line are to read.
    agendas: BTreeMap<Line, Agenda>,
    /// What is known of it if it is a cluster.
    cluster: Option<shards::Cluster>,
    links: watch::Sender<Links>,
    nodes: BTreeMap<Arc<str>, Node>,
    tasks: JoinSet<()>,
    /// Addresses that are other names of a node's server, with that node and the server's run id.
    aliases: HashMap<Arc<str>, (Arc<str>, String)>,
    /// The primary of each line that has one.
    primaries: BTreeMap<Line, Arc<str>>,
    rounds: Rounds,
    listing: Listing,
    sentinels: Sentinels,
    warned_of_many: bool,
    /// How often somebody asked to try again what was refused.
    retries: Arc<AtomicU64>,
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
        retries: Arc<AtomicU64>,
    ) -> Self {
        let share = Share::new(store.name.clone(), settings.shard);
        let (keys, told) = Keys::new(id, share, &store.locks, settings.keeps());
        let patterns = keys.patterns();
        let context = Context::new((store, id), settings, out, reports, patterns);
        Self {
            context: Arc::new(context),
            inbox,
            keys,
            told,
            agendas: BTreeMap::new(),
            retries,
            cluster: None,
            links,
            nodes: BTreeMap::new(),
            tasks: JoinSet::new(),
            aliases: HashMap::new(),
            primaries: BTreeMap::new(),
            rounds: Rounds::default(),
            listing: Listing::default(),
            sentinels: Sentinels::default(),
            warned_of_many: false,
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
        if self.context.store.topology == Topology::Cluster {
            self.begin_cluster();
        }
        if !self.begin_with_sentinels() {
            for (line, addr) in lines::beginnings(&self.context.store) {
                self.add(addr, Rank::Url, line);
            }
        }
        for replica in &self.context.store.clone().replicas {
            match parse_addr(replica) {
                Some(addr) => self.add(addr, Rank::Configured, Line::default()),
                None => warn!(store = %self.context.store.name, replica, "not host:port; ignored"),
            }
        }
        let interval = self.context.settings.poll_interval.max(Duration::from_millis(1));
        let mut tick = tokio::time::interval(interval);
        loop {
            let listing = self.listing.until(clock::mono(), self.keys.len());
            tokio::select! {
                () = tokio::time::sleep(listing.unwrap_or_default()), if listing.is_some() => {
                    self.list_in_time();
                }
                report = self.inbox.recv() => self.hear(report.ok_or(Closed)?).await?,
                _ = tick.tick() => {
                    self.drop_forgotten();
                    self.sentinels_round().await?;
                }
                // An ended task was dropped or found to be an alias; its set entry is not needed any more.
                Some(_) = self.tasks.join_next() => {}
            }
        }
    }

    async fn hear(&mut self, report: Report) -> Result<(), Closed> {
        match report {
            Report::Up(addr, seen, keep) => self.up(addr, seen, keep),
            Report::Facts(addr, seen) => self.facts(&addr, seen),
            Report::Strays(addr, strays) => self.strays(&addr, strays),
            Report::Slots(map) => self.slots(map),
            Report::NoSlots(addr, failure) => self.no_slots(addr, failure).await?,
            Report::Down(addr, why) => self.down(&addr, why),
            Report::Sentinel(addr, says) => self.hear_sentinel(addr, says).await?,
            Report::Found(line, found, last) => self.found(line, found, last).await?,
            Report::Gone(line, ids) => self.gone(line, ids).await?,
            Report::Aside(keys) => keys.into_iter().for_each(|(id, a)| self.keys.set_aside(id, a)),
            Report::Keep(ids) => ids.into_iter().for_each(|id| self.keys.keep(id)),
        }
        Ok(())
    }

    /// A node connected: is it one that we watch already by another name?
    fn up(&mut self, addr: Arc<str>, seen: Seen, keep: oneshot::Sender<bool>) {
        let Some(rank) = self.nodes.get(&addr).map(|n| n.rank) else { return };
        if !self.is_welcome(&addr, &seen) || self.is_found_to_be_cluster(&seen) {
            return;
        }
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
        let Some(line) = self.nodes.get(addr).map(|n| n.line) else { return };
        let is_ours = self.is_ours(line, &seen);
        let announced: Vec<RedisAddr> = match seen.role {
            // The map of its slots tells of all nodes.
            _ if self.cluster.is_some() => Vec::new(),
            Role::Master => seen.replicas.iter().filter_map(|r| parse_addr(r)).collect(),
            Role::Replica { .. } => {
                // It may have replicas of its own.
                let chained = seen.replicas.iter().filter(|_| is_ours);
                seen.primary.iter().chain(chained).filter_map(|a| parse_addr(a)).collect()
            }
            _ => Vec::new(),
        };
        let history = self.history(addr, line, &seen, is_ours);
        let Some(node) = self.nodes.get_mut(addr) else { return };
        node.is_ours = is_ours;
        node.history = history;
        if is_ours {
            node.announced = clock::mono();
        }
        let was = node.seen.replace(seen);
        node.why = None;
        lines::mistaken(&self.context.store, addr, node, was.as_ref());
        if self.hears(addr) {
            for addr in announced {
                self.add(addr, Rank::Announced, line);
            }
        }
        self.choose_primaries();
    }

    /// Whether a replica belongs to this line, whoever announces it: one whose link is down, or that of a replica that is
    /// gone, is announced by nobody, and yet may be the one that is promoted next.
    fn is_ours(&self, line: Line, seen: &Seen) -> bool {
        let primary = self.primaries.get(&line).and_then(|p| self.nodes.get(p)?.seen.as_ref());
        let follows = || seen.primary.as_deref().and_then(parse_addr);
        matches!(seen.role, Role::Replica { .. })
            && (primary.is_some_and(|p| seen.replicates(p))
                || follows().is_some_and(|a| self.is_trusted(&addr_text(&a))))
    }

    /// Whether a node of this address is a primary or named in the config: only such a one can vouch for others.
    fn is_trusted(&self, name: &Arc<str>) -> bool {
        let name = self.aliases.get(name).map_or(name, |(kept, _)| kept);
        self.nodes
            .get(name)
            .is_some_and(|n| n.rank < Rank::Named || self.primaries.get(&n.line) == Some(name))
    }

    /// Adds a node to a line. One that is known stays in its own, whoever announces it.
    fn add(&mut self, addr: RedisAddr, rank: Rank, line: Line) {
        let name = addr_text(&addr);
        let now = clock::mono();
        if let Some(node) = self.nodes.get_mut(&name) {
            node.announced = now;
            node.is_missed_no_more();
            return;
        }
        if let Some((kept, run_id)) = self.aliases.get(&name) {
            // While the node is away its other name would be polled as a second server.
            let kept = self.nodes.get_mut(kept);
            if let Some(kept) = kept.filter(|n| n.seen.is_none() || n.serves(run_id)) {
                kept.announced = now;
                return;
            }
            self.aliases.remove(&name);
        }
        self.make_room(line);
        let of_line = self.nodes.values().filter(|n| n.line == line).count();
        if of_line >= MAX_NODES || self.nodes.len() >= MAX_ALL {
            let store = &self.context.store.name;
            if !std::mem::replace(&mut self.warned_of_many, true) {
                warn!(%store, line = line.0, "more than {MAX_NODES} nodes, or {MAX_ALL} in all; the rest is not watched");
            }
            return;
        }
        let (requests, inbox) = mpsc::channel(QUEUE);
        let scans = Arc::new(AtomicBool::new(false));
        let node = NodeRef { store: self.context.id, line, addr: name.clone() };
        let agenda = self.agenda(line);
        let task = NodeTask::new(self.context.clone(), node, addr, inbox, agenda, scans.clone());
        let is_silent = task.is_silent.clone();
        let task = self.tasks.spawn(task.run());
        let node = Node::new(rank, line, requests, scans, task, is_silent, now);
        self.nodes.insert(name, node);
    }

    fn remove(&mut self, addr: &Arc<str>) {
        self.nodes.remove(addr).inspect(|node| node.task.abort());
    }

    async fn send(&self, observation: Observation) -> Result<(), Closed> {
        self.context.out.send(observation).await.map_err(|_| Closed)
    }
}
