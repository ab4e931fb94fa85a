//! Slow commands on locks as servers' slow logs tell of them, and where those cannot be read.

use std::sync::Arc;

use super::BlindReason;
use crate::config::SeriesTier;
use crate::derive::State;
use crate::derive::lock::{Lock, SlowEntry};
use crate::derive::node::Node;
use crate::observe::slowlog::Why;

/// What is known of a node's slow log.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowlogView {
    /// Why it cannot be read, if it cannot.
    pub lost: Option<BlindReason>,
    /// Entries that touched watched keys; `None` until it was read.
    pub entries: Option<u64>,
    /// Entries that showed no watched key and were cut where one may have stood.
    pub cut: u64,
    /// Entries that came and went between two looks.
    pub missed: u64,
}

/// A slow command on a lock's key.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowCommandView {
    /// The node whose log it is in.
    pub addr: Arc<str>,
    /// When it ended, in seconds since the epoch on the server's clock.
    pub timestamp: f64,
    /// Its name.
    pub command: Arc<str>,
    /// How long the server was busy with it.
    pub duration_seconds: f64,
    /// Whose it was.
    pub client_address: Option<Arc<str>>,
    /// The name of that connection.
    pub client_name: Option<Arc<str>>,
    /// `key`, or `maybe` where the server cut the argument that may be the key.
    pub touches: &'static str,
    /// The server cut some of its arguments.
    pub truncated: bool,
    /// Of one that acquires the lock: the fingerprint of the token that it would put there.
    pub owner_fingerprint: Option<Arc<str>>,
}

/// What is known of a node's slow log; `None` where it was not looked at under the present config.
pub(super) fn of_node(node: &Node) -> Option<SlowlogView> {
    let log = &node.slowlog;
    let lost = log.standing?.err().map(reason);
    Some(SlowlogView { lost, entries: log.entries, cut: log.cut, missed: log.lost })
}

/// The last slow commands on a lock's key, oldest first.
pub(super) fn of_lock(lock: &Lock) -> Vec<SlowCommandView> {
    lock.slow.last.iter().map(|entry| command(lock, entry)).collect()
}

fn command(lock: &Lock, entry: &SlowEntry) -> SlowCommandView {
    let slow = &entry.command;
    SlowCommandView {
        addr: entry.addr.clone(),
        timestamp: slow.at_secs as f64,
        command: slow.command.clone(),
        duration_seconds: slow.took.as_secs_f64(),
        client_address: slow.client_addr.clone(),
        client_name: slow.client_name.clone(),
        touches: entry.touch.as_str(),
        truncated: slow.is_cut,
        owner_fingerprint: slow
            .acquires
            .as_ref()
            .filter(|(key, _)| *key == lock.key)
            .map(|(_, owner)| owner.clone()),
    }
}

/// Whether acquires in the slow log of a lock's primary are told.
pub(super) fn is_read(state: &State, lock: &Lock) -> bool {
    primary(state, lock).is_some_and(|n| matches!(n.slowlog.standing, Some(Ok(()))))
}

/// Why the slow log of a lock's primary is not read, where it is to be. Locks with few series are not told of one by one.
pub(super) fn blind(state: &State, lock: &Lock) -> Option<BlindReason> {
    let log = primary(state, lock).map(|n| &n.slowlog).filter(|log| log.is_asked)?;
    let lost = log.standing?.err().map(reason);
    lost.filter(|_| lock.rules.series == SeriesTier::Full)
}

fn primary<'a>(state: &'a State, lock: &Lock) -> Option<&'a Node> {
    state.stores.get(&lock.store)?.primary(lock.line)
}

fn reason(why: Why) -> BlindReason {
    match why {
        Why::Permission => BlindReason::Permission,
        Why::Unsupported => BlindReason::Unsupported,
    }
}
