//! What a store and the pollers of its nodes say to each other. Plain data.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::ability::Ability;
use super::asides::Aside;
use super::cluster::map::SlotMap;
use super::cluster::redirect::Redirect;
use super::failure::Failure;
use super::parts::{PartRequest, PartsFailed, PartsReply};
use super::sentinel::Says;
use crate::config::RedisAddr;
use crate::observe::node::{FailReason, NodeFacts, Role};
use crate::observe::{KeyId, Line, Mono};

/// What a node can be asked for.
pub enum Request {
    /// Read these keys as near to this instant as possible.
    Read(Vec<KeyId>, Mono),
    /// Read these keys now: they have changed.
    Changed(Vec<KeyId>),
    /// Read `INFO` soon.
    Facts,
    /// Try again what was refused: rights may have been granted.
    RetryRefused,
    /// Another connection to the same server found out what becomes of a command.
    Learned(&'static str, Ability),
    /// Read parts of keys now.
    Parts(Vec<PartRequest>, oneshot::Sender<Result<PartsReply, PartsFailed>>),
}

/// What a node tells its store.
pub enum Report {
    /// Connected; the answer says whether to go on, or that this server is watched already under another address.
    Up(Arc<str>, Seen, oneshot::Sender<bool>),
    /// Facts were read again.
    Facts(Arc<str>, Seen),
    /// Not connected any more, or still not.
    Down(Arc<str>, FailReason),
    /// SCAN saw these keys in a line; whether they are the last of a round.
    Found(Line, Vec<Vec<u8>>, bool),
    /// A node of a cluster is not the one to ask for these keys.
    Strays(Arc<str>, Vec<(KeyId, Redirect)>),
    /// Which shard of a cluster has which slots, as one of its nodes says.
    Slots(SlotMap),
    /// No node says so; the last one that was asked, and why.
    NoSlots(RedisAddr, Failure),
    /// These were away from a line for the whole retention.
    Gone(Line, Vec<KeyId>),
    /// These take a lock's place from now on, or none.
    Aside(Vec<(KeyId, Aside)>),
    /// A sentinel.
    Sentinel(Arc<str>, Says),
    /// These should stay watched for a while should they go.
    Keep(Vec<KeyId>),
}

/// A replication history, and the one before that it goes on from.
pub type History = [Option<String>; 2];

/// What of a node's facts its store goes by.
pub struct Seen {
    /// Role.
    pub role: Role,
    /// Identifies the server process.
    pub run_id: Option<String>,
    /// Its replication history.
    pub history: History,
    /// Replicas that it announces.
    pub replicas: Vec<String>,
    /// The primary that it follows.
    pub primary: Option<String>,
    /// It is one of a cluster.
    pub is_cluster: bool,
    /// Whether it may evict keys, where it tells.
    pub evicts: Option<bool>,
    /// It is known to have none of the watched keys.
    pub shows_no_lock: bool,
}

impl Seen {
    /// Whether it is a replica of the other's history, be it by way of others.
    pub fn replicates(&self, primary: &Seen) -> bool {
        let [own, _] = &self.history;
        let is_replica = matches!(self.role, Role::Replica { .. });
        is_replica && own.is_some() && primary.history.contains(own)
    }

    /// Whether its history has a part in common with this one.
    pub fn is_kin(&self, history: &History) -> bool {
        self.history.iter().flatten().any(|own| history.iter().flatten().any(|id| id == own))
    }
}

impl From<&NodeFacts> for Seen {
    fn from(facts: &NodeFacts) -> Self {
        Self {
            role: facts.role,
            run_id: facts.run_id.clone(),
            history: [facts.replid.clone(), facts.replid2.clone()],
            replicas: facts.replicas.iter().map(|(addr, _)| addr.clone()).collect(),
            primary: facts.primary.clone(),
            is_cluster: facts.mode == "cluster",
            evicts: facts.evicts_locks(),
            shows_no_lock: false,
        }
    }
}

/// Why a session ended.
pub enum End {
    /// Nobody needs this node any more.
    Stop,
    /// It failed.
    Failed(Failure),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        End::Failed(failure)
    }
}
