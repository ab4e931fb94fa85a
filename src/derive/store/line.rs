//! One line of a store: a primary with its replicas, which of its nodes is judged, and where its record breaks. Knows no lock.

use std::sync::Arc;

use super::Store;
use super::hearing::Hearing;
use super::succession::Succession;
use crate::derive::feed::Feed;
use crate::derive::node::Node;
use crate::observe::node::SweepDone;
use crate::observe::{Line, NodeRef, Role};

/// What is known of a line.
#[derive(Clone, Debug, Default)]
pub struct LineState {
    /// The node whose reads are judged.
    pub primary: Option<Arc<str>>,
    /// The last node that was.
    pub(in crate::derive) led_by: Option<Arc<str>>,
    /// The last break of its record, as its store counts them over all lines: no two lines have the same.
    pub(in crate::derive) breaks: u64,
    /// Failovers and restarts among the breaks.
    pub(super) failover_marks: u64,
    /// `breaks` as of the primary's last facts.
    pub(super) facts_breaks: u64,
    /// The primary became another node.
    pub failovers: u64,
    /// It was seen to have a replica.
    pub is_replicated: bool,
    /// The histories of its primaries.
    pub succession: Succession,
    /// The last sweep over the primary.
    pub swept: Option<SweepDone>,
    /// Its event feed, if it ever told of itself.
    pub feed: Option<Feed>,
    pub(super) hearing: Option<Hearing>,
}

/// What a node's answer means for who is the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    /// Nothing new.
    Nothing,
    /// It is the primary, over another connection.
    Reconnected,
    /// It was the primary and says that it is none any more.
    Resigned,
    /// It is the primary now, the first one known.
    Leads,
    /// It is the primary now, after another node.
    Succeeds,
}

impl LineState {
    /// Whether this node's reads are judged.
    pub fn is_led_by(&self, addr: &Arc<str>) -> bool {
        self.primary.as_ref() == Some(addr)
    }

    /// Decides which node is the primary. A node that says master takes the place only when there is none: an old
    /// primary that comes back says master too, for seconds. `is_vacant` tells that no primary answers, `is_alone` that the
    /// line has no other node.
    pub(super) fn follow(
        &mut self,
        addr: &Arc<str>,
        role: Role,
        reconnected: bool,
        is_vacant: bool,
        is_alone: bool,
    ) -> Follows {
        if self.is_led_by(addr) {
            return match role {
                Role::Master | Role::Unknown if reconnected => Follows::Reconnected,
                Role::Master | Role::Unknown => Follows::Nothing,
                _ => {
                    self.primary = None;
                    Follows::Resigned
                }
            };
        }
        if !is_vacant || !(role == Role::Master || (role == Role::Unknown && is_alone)) {
            return Follows::Nothing;
        }
        self.primary = Some(addr.clone());
        let before = self.led_by.replace(addr.clone());
        if before.is_none_or(|before| before == *addr) {
            return Follows::Leads;
        }
        self.failovers += 1;
        self.failover_marks += 1;
        Follows::Succeeds
    }
}

impl Store {
    /// The primary of a line.
    pub fn primary(&self, line: Line) -> Option<&Node> {
        self.nodes.get(self.lines.get(&line)?.primary.as_ref()?)
    }

    /// Whether a node is its line's primary.
    pub(in crate::derive) fn leads(&self, node: &NodeRef) -> bool {
        self.lines.get(&node.line).is_some_and(|l| l.is_led_by(&node.addr))
    }

    /// What was seen of a line before and what is seen from now on do not belong together.
    pub(super) fn breaks(&mut self, line: Line) -> &mut LineState {
        self.breaks += 1;
        let state = self.lines.entry(line).or_default();
        state.breaks = self.breaks;
        state
    }

    /// Forgets lines without nodes: shards that gave all their slots away. What they counted stays.
    pub(in crate::derive) fn drop_empty_lines(&mut self) {
        let (nodes, past) = (&self.nodes, &mut self.past);
        self.lines.retain(|line, state| {
            let has_nodes = nodes.values().any(|n| n.line == *line);
            if !has_nodes {
                past.0 += state.failovers;
                past.1 += state.succession.lost_bytes;
            }
            has_nodes
        });
    }

    /// How often the primary of a line became another node, and how many bytes that cost.
    pub fn failovers(&self) -> (u64, u64) {
        self.lines.values().fold(self.past, |(times, lost), line| {
            (times + line.failovers, lost + line.succession.lost_bytes)
        })
    }

    /// The same for all of them.
    pub(in crate::derive) fn break_all(&mut self) {
        for line in self.lines.keys().copied().collect::<Vec<_>>() {
            self.breaks(line);
        }
    }
}
