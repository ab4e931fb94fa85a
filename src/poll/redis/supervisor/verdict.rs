//! What the sentinels of a store say together, and whom that makes the primary. Must not talk to a sentinel.

use std::sync::Arc;

use super::Supervisor;
use crate::observe::{Line, Role};
use crate::poll::redis::dial::{addr_text, parse_addr};

/// What they say together.
#[derive(Clone, PartialEq)]
pub(super) struct Verdict {
    /// Whom most of those that answer name.
    pub primary: Arc<str>,
    /// More than half of all that are known do.
    pub is_majority: bool,
}

impl Supervisor {
    /// Whom they name together.
    pub(super) fn sentinels_verdict(&self) -> Option<Verdict> {
        let prefers =
            |addr: &str| match self.primaries.get(&Line::default()).map(|a| &**a) == Some(addr) {
                true => 2,
                false => u8::from(self.may_lead(addr)),
            };
        let (primary, votes) = self.sentinels.votes.most(|name| self.called(name), prefers)?;
        Some(Verdict { primary, is_majority: votes * 2 > self.sentinels.count() })
    }

    /// Who is the primary by their word: whom they name, as soon as it says so itself; one that still says so gives way only
    /// to one that more than half of all known sentinels name.
    pub(super) fn primary_by(
        &self,
        verdict: &Verdict,
        stays: Option<Arc<str>>,
    ) -> Option<Arc<str>> {
        let takes_over = verdict.is_majority || stays.is_none();
        let named = Some(verdict.primary.clone());
        named.filter(|addr| takes_over && self.may_lead(addr)).or(stays)
    }

    /// A node that sentinels name and that does not tell its role is taken for what they say it is.
    pub(super) fn may_lead(&self, addr: &str) -> bool {
        let role = self.nodes.get(addr).and_then(|n| n.seen.as_ref()).map(|s| s.role);
        matches!(role, Some(Role::Master | Role::Unknown))
    }

    /// The one name of a node that may have several.
    pub(super) fn called(&self, name: &Arc<str>) -> Arc<str> {
        self.aliases.get(name).map_or(name, |(kept, _)| kept).clone()
    }

    /// Whether others are heard of from a node. Sentinels name all that belongs here, and a server that one of them named by
    /// mistake would keep itself and its replicas known: only the primary and what follows it are heard beside them.
    pub(super) fn hears(&self, addr: &Arc<str>) -> bool {
        if self.sentinels_verdict().is_none() {
            return true;
        }
        let Some(primary) = self.primaries.get(&Line::default()) else { return false };
        let seen = self.nodes.get(addr).and_then(|n| n.seen.as_ref());
        let followed = seen.and_then(|s| parse_addr(s.primary.as_deref()?));
        addr == primary || followed.is_some_and(|a| self.called(&addr_text(&a)) == *primary)
    }
}
