//! One node of a store as its supervisor sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::messages::{History, Request, Seen};
use crate::observe::node::FailReason;
use crate::observe::{Line, Mono, Role};

/// Where a node is known from; the lower one wins when two addresses are one server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The store's `url`.
    Url,
    /// Its `replicas`.
    Configured,
    /// A sentinel, or the map of a cluster as the primary of a shard.
    Named,
    /// Another node.
    Announced,
}

/// A node.
pub struct Node {
    /// Where it is known from.
    pub rank: Rank,
    /// The line it belongs to.
    pub line: Line,
    /// Its queue.
    pub requests: mpsc::Sender<Request>,
    /// Whether it is the one that scans.
    pub scans: Arc<AtomicBool>,
    /// Its task.
    pub task: AbortHandle,
    /// What it said last, while it is connected.
    pub seen: Option<Seen>,
    /// It is a replica of the primary's history, by what it said last.
    pub is_ours: bool,
    /// What it said last of its history, if that is the line's.
    pub history: History,
    /// Since when nobody announces it and it does not answer, if it is asked in silence.
    pub missed: Option<Mono>,
    /// Whether its task keeps its failures to itself.
    pub is_silent: Arc<AtomicBool>,
    /// When another node last named it, or it spoke for itself.
    pub announced: Mono,
    /// Why it is not connected.
    pub why: Option<FailReason>,
}

impl Node {
    /// A node that has not answered yet.
    pub fn new(
        rank: Rank,
        line: Line,
        requests: mpsc::Sender<Request>,
        scans: Arc<AtomicBool>,
        task: AbortHandle,
        is_silent: Arc<AtomicBool>,
        announced: Mono,
    ) -> Self {
        let (seen, is_ours, history, missed, why) = (None, false, History::default(), None, None);
        Self {
            rank,
            line,
            requests,
            scans,
            task,
            seen,
            is_ours,
            history,
            missed,
            is_silent,
            announced,
            why,
        }
    }

    /// From now on it is asked in silence.
    pub fn is_missed_since(&mut self, at: Mono) {
        self.missed = Some(at);
        self.is_silent.store(true, Ordering::Relaxed);
    }

    /// It was announced again, or answers. True if it was missed.
    pub fn is_missed_no_more(&mut self) -> bool {
        self.is_silent.store(false, Ordering::Relaxed);
        self.missed.take().is_some()
    }

    /// Whether locks are read from it as the truth.
    pub fn is_master(&self) -> bool {
        match self.seen.as_ref().map(|s| s.role) {
            Some(Role::Master) => true,
            // A server that does not tell its role is taken for what the config says it is.
            Some(Role::Unknown) => self.rank == Rank::Url,
            _ => false,
        }
    }

    /// Whether it need not be announced while it is connected.
    pub fn speaks_for_itself(&self) -> bool {
        self.is_master() || (self.seen.is_some() && self.is_ours)
    }

    /// Whether it is connected to the server process of that run id.
    pub fn serves(&self, run_id: &str) -> bool {
        self.seen.as_ref().and_then(|s| s.run_id.as_deref()) == Some(run_id)
    }
}
