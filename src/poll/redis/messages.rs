//! What a store and the pollers of its nodes say to each other. Plain data.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::ability::Ability;
use super::asides::Aside;
use super::failure::Failure;
use super::parts::{PartRequest, PartsFailed, PartsReply};
use super::sentinel::Says;
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
    /// These were away from a line for the whole retention.
    Gone(Line, Vec<KeyId>),
    /// These take a lock's place from now on, or none.
    Aside(Vec<(KeyId, Aside)>),
    /// A sentinel.
    Sentinel(Arc<str>, Says),
    /// These should stay watched for a while should they go.
    Keep(Vec<KeyId>),
}

/// What of a node's facts its store goes by.
pub struct Seen {
    /// Role.
    pub role: Role,
    /// Identifies the server process.
    pub run_id: Option<String>,
    /// Replicas that it announces.
    pub replicas: Vec<String>,
    /// The primary that it follows.
    pub primary: Option<String>,
    /// Whether it may evict keys, where it tells.
    pub evicts: Option<bool>,
}

impl From<&NodeFacts> for Seen {
    fn from(facts: &NodeFacts) -> Self {
        Self {
            role: facts.role,
            run_id: facts.run_id.clone(),
            replicas: facts.replicas.iter().map(|(addr, _)| addr.clone()).collect(),
            primary: facts.primary.clone(),
            evicts: facts.evicts_locks(),
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
