//! Where requests go at present: the primary of each line of a store. Decides nothing; the supervisor says who is primary.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::cluster::key_slot::slot_of;
use super::cluster::shards::SlotLines;
use super::messages::Request;
use crate::observe::node::FailReason;
use crate::observe::{KeyId, Line};

/// The nodes of a store that can be asked.
#[derive(Clone, Default)]
pub struct Links {
    /// By line; a line is in here as soon as one of its nodes is known.
    pub lines: BTreeMap<Line, LineLink>,
    /// All nodes.
    pub all: Vec<mpsc::Sender<Request>>,
    /// The line of each slot, in a cluster.
    pub by_slot: Option<SlotLines>,
}

/// One line.
#[derive(Clone, Default)]
pub struct LineLink {
    /// Its primary's queue, and where it is.
    pub primary: Option<(mpsc::Sender<Request>, Arc<str>)>,
    /// Whether that may evict keys, where it tells.
    pub evicts: Option<bool>,
    /// Why there is no primary.
    pub why: Option<FailReason>,
}

impl Links {
    /// The line that what is no lock is read in: lists of workers, heartbeats. Always the same one, as another server need
    /// not hold the same.
    pub fn home(&self) -> Option<&LineLink> {
        self.lines.values().next()
    }

    /// The line that a key which is no lock is read in, with the number of that line.
    pub fn line_of(&self, key: &[u8]) -> Option<(Line, &LineLink)> {
        match &self.by_slot {
            None => self.lines.first_key_value().map(|(line, link)| (*line, link)),
            Some(lines) => {
                let line = lines.get(usize::from(slot_of(key))).copied().flatten()?;
                self.lines.get(&line).map(|link| (line, link))
            }
        }
    }

    /// Who is to read which of these keys: a key lies in every line, or those that do not have it pass it over.
    pub fn reads(&self, keys: &[KeyId]) -> Vec<(&mpsc::Sender<Request>, Vec<KeyId>)> {
        let primaries = self.lines.values().filter_map(|l| l.primary.as_ref());
        primaries.map(|(requests, _)| (requests, keys.to_vec())).collect()
    }
}

impl LineLink {
    /// Whether it is known if its primary answers.
    pub fn is_known(&self) -> bool {
        self.primary.is_some() || self.why.is_some()
    }

    /// Why there is no primary, as far as is known.
    pub fn why(&self) -> FailReason {
        self.why.unwrap_or(FailReason::NotReady)
    }
}
