//! The sentinels of a store: a task for each, what they say together of the primary, and the servers that they name. A node
//! that says master and that no sentinel names never takes over while any sentinel answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tracing::{info, warn};

use super::verdict::Verdict;
use super::{Closed, FORGOTTEN_AFTER, MAX_NODES, QUEUE, Supervisor};
use crate::clock;
use crate::config::{RedisAddr, Store};
use crate::observe::node::FailReason;
use crate::observe::{Line, Mono, NodeRef, Observation, SentinelsSay};
use crate::poll::redis::dial::addr_text;
use crate::poll::redis::member::Rank;
use crate::poll::redis::messages::Request;
use crate::poll::redis::sentinel::{Answer, Says, SentinelTask, Votes};

/// Sentinels of one store at most; what they announce is not to be trusted without bound.
const MOST: usize = 16;

/// The sentinels of one store; none where the topology has none.
#[derive(Default)]
pub(super) struct Sentinels {
    /// The store as they are connected to.
    access: Option<Arc<Store>>,
    asked: BTreeMap<Arc<str>, Asked>,
    /// Other addresses of a sentinel, with the one it is asked at and its run id.
    aliases: HashMap<Arc<str>, (Arc<str>, String)>,
    pub(super) votes: Votes,
    /// What was told last.
    told: Option<Verdict>,
    /// That they disagree was logged.
    warned_of_discord: bool,
    warned_of_many: bool,
}

/// A sentinel.
struct Asked {
    is_configured: bool,
    requests: mpsc::Sender<Request>,
    task: AbortHandle,
    /// Of the process that answers, while it does.
    run_id: Option<String>,
    /// Why it does not answer.
    why: Option<FailReason>,
    /// When another sentinel last named it.
    announced: Mono,
}

impl Sentinels {
    /// How many are known.
    pub(super) fn count(&self) -> usize {
        self.asked.len()
    }

    /// Their queues.
    pub(super) fn queues(&self) -> impl Iterator<Item = mpsc::Sender<Request>> {
        self.asked.values().map(|s| s.requests.clone())
    }

    /// Why one of them does not answer.
    pub(super) fn why(&self) -> Option<FailReason> {
        self.asked.values().find_map(|s| s.why)
    }
}

impl Supervisor {
    /// Starts with what is configured; `false` where the store has no sentinels.
    pub(super) fn begin_with_sentinels(&mut self) -> bool {
        let store = self.context.store.clone();
        self.sentinels.access = store.of_sentinels().map(Arc::new);
        let urls = std::iter::once(&store.url).chain(&store.further_urls);
        if self.sentinels.access.is_some() {
            urls.for_each(|url| self.ask_sentinel(url.addr.clone(), true));
        }
        self.sentinels.access.is_some()
    }

    fn ask_sentinel(&mut self, addr: RedisAddr, is_configured: bool) {
        let (name, now) = (addr_text(&addr), clock::mono());
        let all = &mut self.sentinels;
        let Some(access) = all.access.clone() else { return };
        if let Some(known) = all.asked.get_mut(&name) {
            known.announced = now;
            return;
        }
        if let Some((kept, run_id)) = all.aliases.get(&name) {
            // While it is away its other name would be asked as a second one.
            let kept = all.asked.get_mut(kept);
            let still = kept.filter(|s| s.run_id.as_ref().is_none_or(|now| now == run_id));
            if let Some(kept) = still {
                kept.announced = now;
                return;
            }
            all.aliases.remove(&name);
        }
        if all.asked.len() >= MOST {
            if !std::mem::replace(&mut all.warned_of_many, true) {
                warn!(store = %self.context.store.name, "more than {MOST} sentinels; the rest is not asked");
            }
            return;
        }
        let (requests, inbox) = mpsc::channel(QUEUE);
        let node = NodeRef { store: self.context.id, line: Line::default(), addr: name.clone() };
        let task = SentinelTask::new(self.context.clone(), access, node, addr, inbox);
        let task = self.tasks.spawn(task.run());
        let (run_id, why) = (None, None);
        let asked = Asked { is_configured, requests, task, run_id, why, announced: now };
        all.asked.insert(name, asked);
    }

    pub(super) async fn hear_sentinel(&mut self, addr: Arc<str>, says: Says) -> Result<(), Closed> {
        match says {
            Says::Up(run_id, keep) => self.sentinel_is_up(&addr, run_id, keep),
            Says::Answer(answer) => self.sentinel_answered(&addr, answer),
            Says::Down(why) => {
                if let Some(sentinel) = self.sentinels.asked.get_mut(&addr) {
                    (sentinel.run_id, sentinel.why) = (None, Some(why));
                    self.sentinels.votes.hear(&addr, None);
                }
            }
        }
        self.choose_primaries();
        let verdict = self.sentinels_verdict();
        if verdict == self.sentinels.told {
            return Ok(());
        }
        self.tell_of_sentinels(None).await
    }

    /// A sentinel connected: is it one that is asked already by another name?
    fn sentinel_is_up(
        &mut self,
        addr: &Arc<str>,
        run_id: Option<String>,
        keep: oneshot::Sender<bool>,
    ) {
        let all = &mut self.sentinels;
        let twin = run_id.as_ref().and_then(|id| {
            let twin = all.asked.iter().find(|(a, s)| *a != addr && s.run_id.as_ref() == Some(id));
            twin.map(|(a, s)| (a.clone(), s.is_configured, id.clone()))
        });
        let Some(sentinel) = all.asked.get_mut(addr) else { return };
        sentinel.run_id = run_id;
        if let Some((other, is_configured, run_id)) = twin {
            let keeps_other = is_configured || !sentinel.is_configured;
            let (kept, alias) =
                if keeps_other { (other, addr.clone()) } else { (addr.clone(), other) };
            info!(store = %self.context.store.name, node = %kept, alias = %alias, "one sentinel by two addresses");
            all.forget(&alias);
            all.aliases.insert(alias, (kept, run_id));
            if keeps_other {
                // The task ends when it hears nothing.
                return;
            }
        }
        let _ = keep.send(true);
    }

    fn sentinel_answered(&mut self, addr: &Arc<str>, answer: Answer) {
        let Some(sentinel) = self.sentinels.asked.get_mut(addr) else { return };
        sentinel.why = None;
        let Answer { primary, replicas, sentinels } = answer;
        self.sentinels.votes.hear(addr, primary.as_ref().map(addr_text));
        if let Some(node) = primary {
            self.add(node, Rank::Named, Line::default());
        }
        for node in replicas {
            // A place is left for every primary that is named.
            if self.nodes.len() + MOST < MAX_NODES || self.nodes.contains_key(&addr_text(&node)) {
                self.add(node, Rank::Named, Line::default());
            }
        }
        sentinels.into_iter().for_each(|other| self.ask_sentinel(other, false));
    }

    /// Once an interval: whether they disagree is told, and those that nobody names any more are let go.
    pub(super) async fn sentinels_round(&mut self) -> Result<(), Closed> {
        if self.sentinels.access.is_none() {
            return Ok(());
        }
        let now = clock::mono();
        let patience = self.context.settings.poll_interval * FORGOTTEN_AFTER;
        let others = |all: &Sentinels| all.asked.values().filter(|s| s.run_id.is_some()).count();
        if others(&self.sentinels) > 0 {
            let gone = self.sentinels.asked.iter().filter(|(_, s)| {
                !s.is_configured && s.why.is_some() && now.since(s.announced) > patience
            });
            for addr in gone.map(|(a, _)| a.clone()).collect::<Vec<_>>() {
                info!(store = %self.context.store.name, node = %addr, "sentinel not announced any more");
                self.sentinels.forget(&addr);
            }
        }
        let mut votes = std::mem::take(&mut self.sentinels.votes);
        let disagree = votes.disagree(|name| self.called(name));
        self.sentinels.votes = votes;
        self.log_discord(disagree);
        self.tell_of_sentinels(Some(disagree)).await
    }

    /// Who names whom, when it begins that they differ.
    fn log_discord(&mut self, disagree: Option<bool>) {
        let Some(disagree) = disagree else { return };
        let was = std::mem::replace(&mut self.sentinels.warned_of_discord, disagree);
        let store = &self.context.store.name;
        match (was, disagree) {
            (false, true) => {
                let told = self.sentinels.votes.told();
                warn!(%store, "the sentinels name different primaries: {told}");
            }
            (true, false) => info!(%store, "the sentinels name one primary again"),
            _ => {}
        }
    }

    async fn tell_of_sentinels(&mut self, round: Option<Option<bool>>) -> Result<(), Closed> {
        let verdict = self.sentinels_verdict();
        self.sentinels.told.clone_from(&verdict);
        self.send(Observation::Sentinels(SentinelsSay {
            store: self.context.id,
            at: clock::mono(),
            is_majority: verdict.as_ref().is_some_and(|v| v.is_majority),
            primary: verdict.map(|v| v.primary),
            disagree: round,
        }))
        .await
    }
}

impl Sentinels {
    fn forget(&mut self, addr: &Arc<str>) {
        self.asked.remove(addr).inspect(|sentinel| sentinel.task.abort());
        self.votes.hear(addr, None);
    }
}
