//! What the sentinels of a store say of its primary, and who may take the primary's place by that. Knows no sentinel.

use std::sync::Arc;

use super::Store;
use crate::observe::{Mono, NodeRef, Role, SentinelsSay};

/// The sentinels' last word.
#[derive(Clone, Debug, Default)]
pub struct Sentinels {
    primary: Option<Arc<str>>,
    is_majority: bool,
    /// Whether they name different primaries, as of the last round; `None` where there are none or none answers.
    pub disagree: Option<(bool, Mono)>,
}

impl Store {
    /// Takes their word.
    pub fn sentinels_say(&mut self, say: &SentinelsSay) {
        self.sentinels.primary.clone_from(&say.primary);
        self.sentinels.is_majority = say.is_majority;
        if let Some(disagree) = say.disagree {
            self.sentinels.disagree = disagree.map(|d| (d, say.at));
        }
    }

    /// Whether a node may become the primary, whose place may be vacant: while sentinels answer only the one that they name,
    /// and in the place of one that is alive only if most of them do. An old primary that comes back says master too, for
    /// seconds.
    pub(super) fn may_take_over(&self, node: &NodeRef, is_vacant: bool) -> bool {
        match &self.sentinels.primary {
            Some(named) => *named == node.addr && (is_vacant || self.sentinels.is_majority),
            None => is_vacant,
        }
    }

    /// Whether a node that does not tell its role is the only one that could be its line's primary.
    pub(super) fn is_only_one(&self, node: &NodeRef) -> bool {
        if let Some(named) = &self.sentinels.primary {
            return *named == node.addr;
        }
        let of_line = self.nodes.values().filter(|n| n.line == node.line);
        of_line.filter(|n| n.role != Role::Sentinel).count() == 1
    }
}
